//! The options of SET and GETEX that set, keep or remove a deadline.

use crate::commands::numbers::integer;
use crate::engine::time::Moment;
use crate::resp::error::CommandError;

/// How a deadline is written: its number, the unit, and from when it counts.
#[derive(Clone, Copy)]
pub struct Deadline<'a> {
    number: &'a [u8],
    in_seconds: bool,
    /// Counted from now on, not since the Unix epoch.
    relative: bool,
}

impl<'a> Deadline<'a> {
    /// So many seconds from now.
    pub fn seconds(number: &'a [u8]) -> Self {
        Deadline {
            number,
            in_seconds: true,
            relative: true,
        }
    }

    /// So many milliseconds from now.
    pub fn milliseconds(number: &'a [u8]) -> Self {
        Deadline {
            number,
            in_seconds: false,
            relative: true,
        }
    }

    /// Unix milliseconds. `command` names itself in the refusal.
    pub fn resolve(self, command: &str, now: Moment) -> Result<i64, CommandError> {
        let number = integer(self.number)?;
        let unit = if self.in_seconds { 1000 } else { 1 };
        let start = if self.relative { now.unix_ms() } else { 0 };
        Some(number)
            .filter(|&number| number > 0)
            .and_then(|number| number.checked_mul(unit))
            .and_then(|ms| ms.checked_add(start))
            .ok_or_else(|| CommandError::invalid_expire(command))
    }

    /// Whether a deadline of this kind may be in the past already.
    pub fn is_absolute(self) -> bool {
        !self.relative
    }
}

/// What becomes of the deadline of a key.
#[derive(Clone, Copy, Default)]
pub enum Lifetime<'a> {
    /// The command's own default.
    #[default]
    Default,
    Keep,
    Persist,
    Until(Deadline<'a>),
}

impl<'a> Lifetime<'a> {
    /// Takes in one option and, if it has one, its argument: true if it is one of these
    /// and doesn't contradict those before it.
    pub fn take(&mut self, option: &[u8], argument: Option<&'a [u8]>) -> Taken {
        let word = |name: &str| option.eq_ignore_ascii_case(name.as_bytes());
        if word("KEEPTTL") && matches!(self, Lifetime::Default | Lifetime::Keep) {
            *self = Lifetime::Keep;
            return Taken::Word;
        }
        if word("PERSIST") && matches!(self, Lifetime::Default | Lifetime::Persist) {
            *self = Lifetime::Persist;
            return Taken::Word;
        }
        let units = [
            ("EX", true, true),
            ("PX", false, true),
            ("EXAT", true, false),
            ("PXAT", false, false),
        ];
        let Some((_, in_seconds, relative)) = units.into_iter().find(|(name, ..)| word(name))
        else {
            return Taken::No;
        };
        let fits = match self {
            Lifetime::Default => true,
            Lifetime::Keep | Lifetime::Persist => false,
            Lifetime::Until(old) => (old.in_seconds, old.relative) == (in_seconds, relative),
        };
        let Some(number) = argument.filter(|_| fits) else {
            return Taken::No;
        };
        *self = Lifetime::Until(Deadline {
            number,
            in_seconds,
            relative,
        });
        Taken::WordAndArgument
    }
}

/// What [`Lifetime::take`] used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    No,
    Word,
    WordAndArgument,
}
