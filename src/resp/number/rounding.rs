//! Rounding a binary number to a floating-point format, to nearest, ties to even.

use crate::resp::number::literal::Binary;

/// A floating-point format. Exponents are those of a significand's last bit.
pub(super) struct Format {
    pub significand_bits: u32,
    pub exponent_min: i64,
    pub exponent_max: i64,
}

pub(super) const DOUBLE: Format = Format {
    significand_bits: 53,
    exponent_min: -1074,
    exponent_max: 971,
};

/// The 80-bit format of x87, the `long double` of C on x86-64.
pub(super) const EXTENDED: Format = Format {
    significand_bits: 64,
    exponent_min: -16445,
    exponent_max: 16320,
};

/// The nearest number of `format` as significand and exponent; the significand has
/// all its bits unless the exponent is the lowest. `None` if it would be infinite.
pub(super) fn round(number: Binary, format: &Format) -> Option<(u64, i32)> {
    let Binary {
        significand,
        exponent,
        inexact,
    } = number;
    if significand == 0 {
        return Some((0, format.exponent_min as i32));
    }
    let bits = i64::from(u128::BITS - significand.leading_zeros());
    let wanted = exponent + bits - i64::from(format.significand_bits);
    let mut target = wanted.max(format.exponent_min);
    let shift = target - exponent;
    let mut rounded = if shift <= 0 {
        debug_assert!(!inexact);
        significand << -shift
    } else if shift > i64::from(u128::BITS) {
        0
    } else {
        let half = 1u128 << (shift - 1);
        // A shift by all 128 bits leaves nothing.
        let truncated = significand.checked_shr(shift as u32).unwrap_or(0);
        let rest = significand & (half - 1 + half);
        let up = rest > half || (rest == half && (inexact || truncated & 1 == 1));
        truncated + u128::from(up)
    };
    if rounded >> format.significand_bits != 0 {
        rounded >>= 1;
        target += 1;
    }
    (target <= format.exponent_max).then_some((rounded as u64, target as i32))
}
