//! The score of a member: a double that is never NaN.
//!
//! Negative zero equals zero and has the same place in the order, but keeps its sign:
//! Redis shows `-0` where a score comes from a command or the big encoding. The
//! small encoding drops the sign, as Redis's does.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A score; ordered by value.
#[derive(Clone, Copy, PartialEq)]
pub struct Score(f64);

impl Score {
    pub const ZERO: Score = Score(0.0);
    pub const NEGATIVE_ZERO: Score = Score(-0.0);
    pub const ONE: Score = Score(1.0);
    /// Negative infinity, the least score.
    pub const MIN: Score = Score(f64::NEG_INFINITY);
    /// Positive infinity, the greatest score.
    pub const MAX: Score = Score(f64::INFINITY);

    /// `None` for NaN.
    #[inline]
    pub fn new(value: f64) -> Option<Score> {
        if value.is_nan() {
            None
        } else {
            Some(Score(value))
        }
    }

    #[inline]
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether this is zero with a sign.
    pub fn is_negative_zero(self) -> bool {
        self.0 == 0.0 && self.0.is_sign_negative()
    }

    /// The sum, or `None` when infinities of opposite sign meet.
    #[inline]
    pub fn checked_add(self, delta: f64) -> Option<Score> {
        Score::new(self.0 + delta)
    }

    /// An integer that orders as the scores do.
    #[inline]
    pub(super) fn order_bits(self) -> u64 {
        // Adding zero takes the sign off negative zero.
        let bits = (self.0 + 0.0).to_bits();
        let flip = ((bits as i64 >> 63) as u64) | (1 << 63);
        bits ^ flip
    }

    /// A value that was a score when it was stored.
    #[inline]
    pub(super) fn from_stored(value: f64) -> Score {
        debug_assert!(!value.is_nan());
        Score(value)
    }

    /// The score as an integer of 32 bits, if it is one; negative zero is none.
    #[inline]
    pub(super) fn as_i32(self) -> Option<i32> {
        let integer = self.0 as i32;
        (f64::from(integer).to_bits() == self.0.to_bits()).then_some(integer)
    }
}

impl Default for Score {
    fn default() -> Self {
        Score::ZERO
    }
}

impl From<i32> for Score {
    #[inline]
    fn from(value: i32) -> Self {
        Score(f64::from(value))
    }
}

impl Eq for Score {}

impl PartialOrd for Score {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.order_bits().cmp(&other.order_bits())
    }
}

impl Hash for Score {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.order_bits().hash(state);
    }
}

impl std::fmt::Debug for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_by_value_and_zero_has_one_place() {
        let ascending = [
            f64::NEG_INFINITY,
            -1.79e308,
            -9007199254740993.0,
            -1.0,
            -4.9e-324,
            0.0,
            4.9e-324,
            0.5,
            1.0,
            9007199254740992.0,
            1.79e308,
            f64::INFINITY,
        ];
        for pair in ascending.windows(2) {
            assert!(Score::new(pair[0]) < Score::new(pair[1]), "{pair:?}");
        }
        let negative_zero = Score::new(-0.0).unwrap();
        assert_eq!(negative_zero, Score::ZERO);
        assert!(negative_zero.get().is_sign_negative());
        assert_eq!(negative_zero.cmp(&Score::ZERO), Ordering::Equal);
        assert_eq!(negative_zero.as_i32(), None);
        assert_eq!(Score::new(f64::NAN), None);
        assert_eq!(Score::MAX.checked_add(f64::NEG_INFINITY), None);
    }

    #[test]
    fn integers_of_32_bits_are_recognised() {
        for value in [0, 1, -1, i32::MAX, i32::MIN] {
            assert_eq!(Score::from(value).as_i32(), Some(value));
        }
        for value in [
            0.5,
            2147483648.0,
            -2147483649.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e300,
        ] {
            assert_eq!(Score::new(value).unwrap().as_i32(), None);
        }
    }
}
