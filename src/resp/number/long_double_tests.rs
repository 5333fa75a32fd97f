//! Sums as a real server on x86-64 shows them.

use proptest::prelude::*;

use super::*;

/// The text of `left + right`, or why there is none.
fn sum(left: &str, right: &str) -> Result<String, &'static str> {
    let parse = |text: &str| LongDouble::parse(text.as_bytes()).ok_or("not a number");
    let sum = parse(left)?
        .checked_add(parse(right)?)
        .ok_or("not finite")?;
    let mut text = Vec::new();
    sum.write(&mut text);
    Ok(String::from_utf8(text).unwrap())
}

const SUMS: &[(&str, &str, Result<&str, &str>)] = &[
    ("0", "0.1", Ok("0.1")),
    ("0.1", "0.2", Ok("0.3")),
    ("1.1", "0", Ok("1.1")),
    ("3.0e3", "200", Ok("3200")),
    ("+5", "1", Ok("6")),
    ("0x10", "0x1p-3", Ok("16.125")),
    ("1", "-1", Ok("0")),
    ("-0", "0", Ok("0")),
    ("-0", "-0", Ok("0")),
    ("0.5", "-1e-18", Ok("0.5")),
    ("1e-17", "0", Ok("0.00000000000000001")),
    ("1.5e-17", "0", Ok("0.00000000000000002")),
    ("5e-18", "0", Ok("0")),
    ("-5e-18", "0", Ok("0")),
    ("9223372036854775807", "0.5", Ok("9223372036854775807.5")),
    ("18446744073709551615", "1", Ok("18446744073709551616")),
    ("18446744073709551617", "0", Ok("18446744073709551616")),
    ("1e20", "1e-20", Ok("100000000000000000000")),
    ("inf", "1", Err("not finite")),
    ("inf", "-inf", Err("not finite")),
    ("1e4932", "1.1e4932", Err("not finite")),
    ("1.18973149535723176509e4932", "0", Err("not a number")),
    ("1e4933", "0", Err("not a number")),
    ("0", "1e-4950", Ok("0")),
    ("0", "1.9e-4951", Ok("0")),
    ("0", "1.8e-4951", Err("not a number")),
    ("0x1p-16445", "0", Ok("0")),
    ("0x1p-16446", "0", Err("not a number")),
    ("0x1.8p-16446", "0", Ok("0")),
    ("0x1.ffffffffffffffffp16383", "0", Err("not a number")),
    ("nan", "1", Err("not a number")),
    ("", "1", Err("not a number")),
    (" 1", "1", Err("not a number")),
    ("1 ", "1", Err("not a number")),
    ("1_0", "1", Err("not a number")),
    ("0x", "1", Err("not a number")),
];

#[test]
fn sums_are_those_of_a_real_server() {
    for (left, right, expected) in SUMS {
        assert_eq!(
            sum(left, right),
            expected.map(str::to_owned),
            "{left} + {right}"
        );
    }
}

#[test]
fn the_largest_number_has_all_its_digits() {
    for largest in ["1.18973149535723176502e4932", "0x1.fffffffffffffffep16383"] {
        let text = sum(largest, "0").unwrap();
        assert_eq!(text.len(), 4933);
        assert!(text.starts_with("118973149535723176502126385303"));
        assert!(text.ends_with("604419552086811989770240"));
    }
}

#[test]
fn texts_are_bounded() {
    let longest = "0".repeat(NUMBER_TEXT_LEN_MAX - 1);
    assert_eq!(sum(&longest, "1"), Ok("1".to_owned()));
    let too_long = "0".repeat(NUMBER_TEXT_LEN_MAX);
    assert_eq!(sum(&too_long, "1"), Err("not a number"));
}

proptest! {
    #[test]
    fn arbitrary_texts_do_no_harm(text in "[-+0-9.eExXpPaAinfINF]{0,30}") {
        if let Some(value) = LongDouble::parse(text.as_bytes()) {
            let mut out = Vec::new();
            value.write(&mut out);
            prop_assert!(LongDouble::parse(&out).is_some());
        }
    }

    #[test]
    fn doubles_survive(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        match LongDouble::from_f64(value) {
            Some(long) => prop_assert_eq!(long.to_f64().to_bits(), bits),
            None => prop_assert!(value.is_nan()),
        }
    }

    #[test]
    fn sums_of_integers_are_exact(left in -1i64 << 62..1 << 62, right in -1i64 << 62..1 << 62) {
        let expected = (left + right).to_string();
        prop_assert_eq!(sum(&left.to_string(), &right.to_string()), Ok(expected));
    }

    #[test]
    fn sums_commute(
        left in "-?[0-9]{1,20}(\\.[0-9]{1,20})?(e-?[0-9]{1,4})?",
        right in "-?[0-9]{1,20}(\\.[0-9]{1,20})?(e-?[0-9]{1,4})?",
    ) {
        prop_assert_eq!(sum(&left, &right), sum(&right, &left));
    }
}
