//! Text to a double, as Redis reads scores and the bounds of ranges.

use crate::resp::number::integer::write_i64;
use crate::resp::number::literal::{Decimal, Literal, Magnitude};
use crate::resp::number::rounding::{DOUBLE, round};

/// Texts up to this length go to the fast parser as they are: their exponents have
/// so few digits that it counts them without clamping.
const PLAIN_TEXT_LEN_MAX: usize = 64;

/// Digits that settle the rounding of every double, with one more that says whether
/// anything follows.
const DECISIVE_DIGITS_MAX: usize = 800;

/// A decimal exponent that certainly overflows or underflows with 800 digits before it.
const DECISIVE_EXPONENT_MAX: i64 = 2_000;

/// The value of `text` as a score: a decimal or hexadecimal number or an infinity,
/// never NaN. Texts that overflow, or that are not zero but would round to it, are
/// refused. Time O(len).
#[inline]
pub fn parse_double(text: &[u8]) -> Option<f64> {
    if let Some(value) = parse_short_integer(text) {
        return Some(value);
    }
    let value = parse_any(text)?;
    // Only rounding made these infinite or zero.
    if value.is_infinite() && !is_infinity_word(text) {
        return None;
    }
    if value == 0.0 && !is_zero(text) {
        return None;
    }
    Some(value)
}

/// The value of `text` as the bound of a range of scores, its `(` taken off. Looser
/// than a score: nothing stands for zero, a NUL ends the text, what overflows is
/// infinite and what underflows is zero; but there are no hexadecimal numbers.
pub fn parse_range_double(text: &[u8]) -> Option<f64> {
    let text = match text.iter().position(|&byte| byte == 0) {
        Some(end) => &text[..end],
        None => text,
    };
    if text.is_empty() {
        return Some(0.0);
    }
    if text.iter().any(|&byte| matches!(byte, b'x' | b'X')) {
        return None;
    }
    parse_any(text)
}

/// Whole numbers of at most 18 digits, the most frequent scores by far.
#[inline]
fn parse_short_integer(text: &[u8]) -> Option<f64> {
    const DIGITS_MAX: usize = 18;
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    let mut value = 0u64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    let value = value as f64;
    Some(if negative { -value } else { value })
}

/// The nearest double, infinite or zero where the text is beyond all others.
fn parse_any(text: &[u8]) -> Option<f64> {
    if text.len() <= PLAIN_TEXT_LEN_MAX && text.iter().all(is_plain) {
        return fast_float2::parse(text).ok();
    }
    let literal = Literal::parse(text)?;
    let magnitude = match literal.magnitude {
        Magnitude::Infinity => f64::INFINITY,
        Magnitude::Decimal(decimal) => nearest_to_decimal(decimal)?,
        Magnitude::Hex(number) => round(number, &DOUBLE).map_or(f64::INFINITY, from_parts),
    };
    Some(if literal.negative {
        -magnitude
    } else {
        magnitude
    })
}

fn is_plain(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E')
}

/// Any length of text in bounded further work: the digits that decide and an
/// exponent that is counted exactly.
fn nearest_to_decimal(decimal: Decimal<'_>) -> Option<f64> {
    let (mut digits, mut exponent) = decimal.significant();
    if digits.is_empty() {
        return Some(0.0);
    }
    if digits.len() > DECISIVE_DIGITS_MAX {
        exponent += (digits.len() - DECISIVE_DIGITS_MAX) as i64;
        digits.truncate(DECISIVE_DIGITS_MAX);
        // The last digit cut off is not zero.
        digits.push(b'1');
        exponent -= 1;
    }
    digits.push(b'e');
    write_i64(
        exponent.clamp(-DECISIVE_EXPONENT_MAX, DECISIVE_EXPONENT_MAX),
        &mut digits,
    );
    fast_float2::parse(&digits).ok()
}

/// A double from what [`round`] gives for [`DOUBLE`].
pub(super) fn from_parts((significand, exponent): (u64, i32)) -> f64 {
    const HIDDEN_BIT: u64 = 1 << 52;
    if significand < HIDDEN_BIT {
        return f64::from_bits(significand);
    }
    let field = (exponent + 1075) as u64;
    f64::from_bits(field << 52 | (significand & (HIDDEN_BIT - 1)))
}

fn is_infinity_word(text: &[u8]) -> bool {
    matches!(text, [b'i' | b'I', ..] | [b'+' | b'-', b'i' | b'I', ..])
}

/// Whether a text that is a number has no digit but zeros before its exponent.
fn is_zero(text: &[u8]) -> bool {
    let hex = text.iter().any(|&byte| matches!(byte, b'x' | b'X'));
    let is_exponent = |byte: u8| match byte {
        b'p' | b'P' => true,
        b'e' | b'E' => !hex,
        _ => false,
    };
    text.iter()
        .take_while(|&&byte| !is_exponent(byte))
        .all(|&byte| matches!(byte, b'0' | b'.' | b'+' | b'-' | b'x' | b'X'))
}
