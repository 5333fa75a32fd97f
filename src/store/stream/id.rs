//! The id of an entry: a time in milliseconds and a number within it.

use std::fmt;

/// Ordered by time, then by number; shown as `ms-seq`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    pub ms: u64,
    pub seq: u64,
}

impl StreamId {
    pub const MIN: Self = Self { ms: 0, seq: 0 };
    pub const MAX: Self = Self {
        ms: u64::MAX,
        seq: u64::MAX,
    };

    pub fn new(ms: u64, seq: u64) -> Self {
        Self { ms, seq }
    }

    /// The smallest id above this one.
    pub fn next(self) -> Option<Self> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => self.ms.checked_add(1).map(|ms| Self { ms, seq: 0 }),
        }
    }

    /// The greatest id below this one.
    pub fn previous(self) -> Option<Self> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => self.ms.checked_sub(1).map(|ms| Self { ms, seq: u64::MAX }),
        }
    }

    pub fn is_zero(self) -> bool {
        self == Self::MIN
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}
