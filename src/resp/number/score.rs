//! Doubles to text: scores in Redis's layout, and what scripts and GEO commands show.

use crate::resp::number::grisu::Digits;
use crate::resp::number::integer::{write_i64, write_u64};
use crate::resp::number::long_double::LongDouble;

/// Integral values up to 2^62 print as integers.
const INTEGER_MAGNITUDE_MAX: f64 = (1u64 << 62) as f64;

/// Appends the text of `value`: `inf`, `-inf`, `nan`, an integer, a plain decimal or
/// scientific notation, whichever Redis would choose. It reads back as `value`.
/// Negative zero is `-0`. At most 25 bytes.
#[inline]
pub fn write_score(value: f64, out: &mut Vec<u8>) {
    match integral_score(value) {
        Some(integer) => write_i64(integer, out),
        None => write_other_score(value, out),
    }
}

/// The integer as which `value` prints, if it does; not for negative zero.
#[inline]
pub fn integral_score(value: f64) -> Option<i64> {
    // The cast saturates, and the bound keeps what it gives for too large values out.
    let integer = value as i64;
    let prints_as_integer = value.abs() <= INTEGER_MAGNITUDE_MAX
        && integer as f64 == value
        && (integer != 0 || value.is_sign_positive());
    prints_as_integer.then_some(integer)
}

/// Appends the shortest text that reads back as `value`, in Redis's layout but without the
/// integers of scores: 1e15 is `1e+15`. Zero is `0` or `-0`. This is what DEBUG DIGEST hashes.
pub fn write_shortest(value: f64, out: &mut Vec<u8>) {
    if value == 0.0 && value.is_sign_positive() {
        out.push(b'0');
    } else {
        write_other_score(value, out);
    }
}

fn write_other_score(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        out.extend_from_slice(b"nan");
        return;
    }
    if value < 0.0 {
        out.push(b'-');
    }
    if value.is_infinite() {
        out.extend_from_slice(b"inf");
        return;
    }
    if value == 0.0 {
        out.extend_from_slice(b"-0");
        return;
    }
    let digits = Digits::new(value.abs());
    write_digits(digits.as_bytes(), digits.exponent, out);
}

/// Appends the text of a number that a script passes to a command: that of a score, but
/// zero has no sign and NaN has.
pub fn write_script_number(value: f64, out: &mut Vec<u8>) {
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    if value.is_nan() && value.is_sign_negative() {
        out.push(b'-');
    }
    write_score(value, out);
}

/// Appends `value` with seventeen digits after the point, without zeros at the end and
/// without an exponent, as GEO commands show coordinates.
pub fn write_human_double(value: f64, out: &mut Vec<u8>) {
    match LongDouble::from_f64(value) {
        Some(value) => value.write(out),
        None => out.extend_from_slice(b"nan"),
    }
}

/// Appends `digits * 10^exponent`.
fn write_digits(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    let len = digits.len() as i32;
    // Power of ten of the first digit.
    let magnitude = exponent + len - 1;
    if exponent >= 0 && magnitude.abs() < len + 7 {
        out.extend_from_slice(digits);
        out.resize(out.len() + exponent as usize, b'0');
        return;
    }
    if exponent < 0 && (exponent > -7 || magnitude.abs() < 4) {
        let integral_len = len + exponent;
        if integral_len <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + integral_len.unsigned_abs() as usize, b'0');
            out.extend_from_slice(digits);
        } else {
            let (integral, fraction) = digits.split_at(integral_len as usize);
            out.extend_from_slice(integral);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
        return;
    }
    let (first, rest) = digits.split_at(1);
    out.extend_from_slice(first);
    if !rest.is_empty() {
        out.push(b'.');
        out.extend_from_slice(rest);
    }
    out.extend_from_slice(if magnitude < 0 { b"e-" } else { b"e+" });
    write_u64(u64::from(magnitude.unsigned_abs()), out);
}
