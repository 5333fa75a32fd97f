//! Any text as a number: what is accepted is no NaN, agrees between the parsers, and
//! survives being written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankd::resp::number::{
    LongDouble, parse_double, parse_i64, parse_range_double, write_g17, write_i64, write_score,
};

fuzz_target!(|text: &[u8]| {
    let mut out = Vec::new();
    if let Some(value) = parse_i64(text) {
        write_i64(value, &mut out);
        assert_eq!(out, text);
        assert_eq!(parse_double(text), Some(value as f64));
    }
    if let Some(value) = parse_double(text) {
        assert!(!value.is_nan());
        for write in [write_score, write_g17] {
            out.clear();
            write(value, &mut out);
            assert_eq!(parse_double(&out).map(f64::to_bits), Some(value.to_bits()));
        }
        let is_hex = text.iter().any(|byte| matches!(byte, b'x' | b'X'));
        if !is_hex {
            assert_eq!(parse_range_double(text), Some(value));
        }
    }
    if let Some(value) = LongDouble::parse(text) {
        out.clear();
        value.write(&mut out);
        assert!(LongDouble::parse(&out).is_some());
        let doubled = value.checked_add(value);
        assert!(doubled.is_none_or(|sum| value.is_zero() || sum != value));
        assert!(doubled.is_some() || value.to_f64().is_infinite());
        let halves = text.split_at(text.len() / 2);
        if let (Some(left), Some(right)) =
            (LongDouble::parse(halves.0), LongDouble::parse(halves.1))
        {
            assert_eq!(left.checked_add(right), right.checked_add(left));
        }
    }
});
