//! The 80-bit floating-point numbers of x87, in which Redis increments by floats.
//!
//! Only what INCRBYFLOAT and HINCRBYFLOAT need: text to number, sum, number to text,
//! each rounded to nearest, ties to even, as the hardware and the C library do.

use num_bigint::BigUint;

use crate::limits::NUMBER_TEXT_LEN_MAX;
use crate::resp::number::double;
use crate::resp::number::integer::write_u64;
use crate::resp::number::literal::{Binary, Decimal, Literal, Magnitude};
use crate::resp::number::rounding::{DOUBLE, EXTENDED, round};

/// Digits after the point of the text that clients see.
const FRACTION_DIGITS: usize = 17;
const FRACTION_SCALE: u64 = 10u64.pow(FRACTION_DIGITS as u32);

/// Powers of ten beyond it certainly overflow, or underflow below zero, whatever
/// digits a text of permitted length has.
const DECIMAL_EXPONENT_MAX: i64 = 5_000 + NUMBER_TEXT_LEN_MAX as i64;

/// A number or an infinity, never NaN: `significand * 2^exponent`.
///
/// Invariant: the significand has its highest bit set, unless the number is
/// infinite or the exponent is the lowest; zero has the lowest exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongDouble {
    negative: bool,
    infinite: bool,
    exponent: i32,
    significand: u64,
}

impl LongDouble {
    pub const ZERO: Self = Self {
        negative: false,
        infinite: false,
        exponent: EXTENDED.exponent_min as i32,
        significand: 0,
    };

    /// The value of `text`: a decimal or hexadecimal number or an infinity. Refused are
    /// texts of [`NUMBER_TEXT_LEN_MAX`] bytes or more, those that overflow, and those
    /// that are not zero but would round to it.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() >= NUMBER_TEXT_LEN_MAX {
            return None;
        }
        let Literal {
            negative,
            magnitude,
        } = Literal::parse(text)?;
        let number = match magnitude {
            Magnitude::Infinity => return Some(Self::infinity(negative)),
            Magnitude::Hex(number) => number,
            Magnitude::Decimal(decimal) => binary_of(decimal)?,
        };
        let value = Self::rounded(negative, number)?;
        (value.significand != 0 || number.significand == 0).then_some(value)
    }

    /// The sum; `None` if it is infinite or not a number.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        if self.infinite || other.infinite {
            return None;
        }
        // Bits below the last one of the larger number; enough for any rounding, because
        // a sum that cancels more than one bit is exact.
        const GUARD_BITS: u32 = 62;
        let (larger, smaller) = if self.order() >= other.order() {
            (self, other)
        } else {
            (other, self)
        };
        let distance = larger.exponent.abs_diff(smaller.exponent);
        let large = u128::from(larger.significand) << GUARD_BITS;
        let unshifted = u128::from(smaller.significand) << GUARD_BITS;
        let small = unshifted.checked_shr(distance).unwrap_or(0);
        let inexact = small.checked_shl(distance).unwrap_or(0) != unshifted;
        let sum = if larger.negative == smaller.negative {
            large + small
        } else {
            large - small - u128::from(inexact)
        };
        // The dropped part becomes one more bit at the end: below half a unit of the last
        // place that is kept, and so as good as what it stands for.
        let number = Binary {
            significand: sum << 1 | u128::from(inexact),
            exponent: i64::from(larger.exponent) - i64::from(GUARD_BITS) - 1,
            inexact: false,
        };
        let negative = larger.negative && (sum != 0 || smaller.negative);
        Self::rounded(negative, number)
    }

    pub fn is_infinite(self) -> bool {
        self.infinite
    }

    pub fn is_zero(self) -> bool {
        self.significand == 0 && !self.infinite
    }

    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// The exact value of `value`; `None` for NaN.
    pub fn from_f64(value: f64) -> Option<Self> {
        if value.is_nan() {
            return None;
        }
        let negative = value.is_sign_negative();
        if value.is_infinite() {
            return Some(Self::infinity(negative));
        }
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let field = (bits >> 52 & 0x7ff) as i64;
        let number = Binary {
            significand: u128::from(if field == 0 {
                fraction
            } else {
                fraction | 1 << 52
            }),
            exponent: field.max(1) - 1075,
            inexact: false,
        };
        Self::rounded(negative, number)
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        let number = Binary {
            significand: u128::from(self.significand),
            exponent: i64::from(self.exponent),
            inexact: false,
        };
        let magnitude = if self.infinite {
            f64::INFINITY
        } else {
            round(number, &DOUBLE).map_or(f64::INFINITY, double::from_parts)
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// Appends the text that clients see: seventeen digits after the point without the
    /// zeros at the end, never an exponent; up to 4,951 bytes. Infinities are `inf` and
    /// `-inf`, and there is no `-0`.
    pub fn write(self, out: &mut Vec<u8>) {
        let start = out.len();
        if self.negative {
            out.push(b'-');
        }
        if self.infinite {
            out.extend_from_slice(b"inf");
        } else if self.exponent > 0 {
            let integer = BigUint::from(self.significand) << self.exponent.unsigned_abs();
            out.extend_from_slice(integer.to_str_radix(10).as_bytes());
        } else {
            self.write_with_fraction(out);
        }
        if out[start..] == *b"-0" {
            out.remove(start);
        }
    }

    /// Appends the magnitude of a number whose last bit is not above the point.
    fn write_with_fraction(self, out: &mut Vec<u8>) {
        let shift = self.exponent.unsigned_abs();
        let (mut integral, fraction) = match self.significand.checked_shr(shift) {
            Some(integral) => (integral, self.significand - (integral << shift)),
            None => (0, self.significand),
        };
        // 64 bits of fraction and 57 of the scale: a shift beyond those leaves less than half.
        let scaled = u128::from(fraction) * u128::from(FRACTION_SCALE);
        let mut digits = match shift {
            0 => 0,
            1..=121 => {
                let half = 1u128 << (shift - 1);
                let rest = scaled & (2 * half - 1);
                let digits = (scaled >> shift) as u64;
                digits + u64::from(rest > half || (rest == half && digits & 1 == 1))
            }
            _ => 0,
        };
        if digits == FRACTION_SCALE {
            integral += 1;
            digits = 0;
        }
        write_u64(integral, out);
        if digits == 0 {
            return;
        }
        // One digit more keeps the zeros in front; the point takes its place.
        let point = out.len();
        write_u64(FRACTION_SCALE + digits, out);
        out[point] = b'.';
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }

    fn infinity(negative: bool) -> Self {
        Self {
            negative,
            infinite: true,
            exponent: 0,
            significand: 0,
        }
    }

    fn rounded(negative: bool, number: Binary) -> Option<Self> {
        let (significand, exponent) = round(number, &EXTENDED)?;
        Some(Self {
            negative,
            infinite: false,
            exponent,
            significand,
        })
    }

    /// Orders finite magnitudes.
    fn order(self) -> (i32, u64) {
        (self.exponent, self.significand)
    }
}

/// A decimal number with at least two bits more than are kept; `None` if it is
/// certainly too large or too small.
fn binary_of(decimal: Decimal<'_>) -> Option<Binary> {
    let (digits, exponent) = decimal.significant();
    if digits.is_empty() {
        return Some(Binary {
            significand: 0,
            exponent: 0,
            inexact: false,
        });
    }
    if exponent.abs() > DECIMAL_EXPONENT_MAX {
        return None;
    }
    Some(
        binary_of_short(&digits, exponent)
            .unwrap_or_else(|| binary_of_long(&digits, exponent as i32)),
    )
}

/// The same for at most 19 digits with at most 18 of them after the point.
fn binary_of_short(digits: &[u8], exponent: i64) -> Option<Binary> {
    const DIGITS_MAX: usize = 19;
    const FRACTION_DIGITS_MAX: i64 = 18;
    if digits.len() > DIGITS_MAX || !(-FRACTION_DIGITS_MAX..=0).contains(&exponent) {
        return None;
    }
    let value = digits
        .iter()
        .fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    let value = u128::from(value);
    // 127 bits over at most 60 leave a quotient of at least 67, and room for one more
    // bit that stands for the remainder.
    let shift = value.leading_zeros() - 1;
    let divisor = 10u128.pow(exponent.unsigned_abs() as u32);
    let shifted = value << shift;
    let quotient = shifted / divisor;
    let remainder = shifted % divisor;
    Some(Binary {
        significand: quotient << 1 | u128::from(remainder != 0),
        exponent: -i64::from(shift) - 1,
        inexact: false,
    })
}

fn binary_of_long(digits: &[u8], exponent: i32) -> Binary {
    /// Bits of the quotient at least: two more than are kept.
    const QUOTIENT_BITS: u64 = 66;
    let value = BigUint::parse_bytes(digits, 10).unwrap_or_default();
    let power = BigUint::from(10u32).pow(exponent.unsigned_abs());
    if exponent >= 0 {
        return leading_bits(value * power, 0, false);
    }
    let shift = (power.bits() + QUOTIENT_BITS).saturating_sub(value.bits());
    let shifted = value << shift;
    let quotient = &shifted / &power;
    let inexact = &quotient * &power != shifted;
    leading_bits(quotient, -(shift as i64), inexact)
}

/// The 126 highest bits of `value`, one that stands for all others and for `inexact`.
fn leading_bits(value: BigUint, exponent: i64, inexact: bool) -> Binary {
    const KEPT_BITS: u64 = 126;
    let shift = value.bits().saturating_sub(KEPT_BITS);
    let kept = &value >> shift;
    let dropped = inexact || value.trailing_zeros().is_some_and(|zeros| zeros < shift);
    let significand = kept
        .iter_u64_digits()
        .rev()
        .fold(0u128, |bits, digit| bits << 64 | u128::from(digit));
    Binary {
        significand: significand << 1 | u128::from(dropped),
        exponent: exponent + shift as i64 - 1,
        inexact: false,
    }
}

#[cfg(test)]
#[path = "long_double_tests.rs"]
mod tests;
