//! Integer arguments, refused in Redis's words.

use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;

/// Any 64-bit integer.
pub fn integer(text: &[u8]) -> Result<i64, CommandError> {
    parse_i64(text).ok_or(CommandError::NotInteger)
}

/// An integer of 0 or more; everything else is refused with the same text.
pub fn count(text: &[u8], refusal: CommandError) -> Result<usize, CommandError> {
    parse_i64(text)
        .and_then(|number| usize::try_from(number).ok())
        .ok_or(refusal)
}

/// An integer of 1 or more; everything else is refused with the same text.
pub fn positive(text: &[u8], refusal: &'static str) -> Result<usize, CommandError> {
    match count(text, CommandError::Text(refusal))? {
        0 => Err(CommandError::Text(refusal)),
        number => Ok(number),
    }
}

/// An integer whose negation is one too.
pub fn symmetric(text: &[u8]) -> Result<i64, CommandError> {
    match integer(text)? {
        i64::MIN => Err(CommandError::Text(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        )),
        number => Ok(number),
    }
}

/// The positions that `start` and `stop` (negative from the end, both inclusive) name
/// in a sequence of `len`: the first one and how many; None if there are none.
pub fn range(start: i64, stop: i64, len: usize) -> Option<(usize, usize)> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let from_end = |index: i64| if index < 0 { index + len } else { index };
    let start = from_end(start).max(0);
    let stop = from_end(stop).min(len - 1);
    (start <= stop).then(|| (start as usize, (stop - start + 1) as usize))
}

/// The position of `index` (negative from the end) in a sequence of `len`.
pub fn position(index: i64, len: usize) -> Option<usize> {
    let wanted = if index < 0 {
        len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
    } else {
        usize::try_from(index).ok()?
    };
    (wanted < len).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_clipped_to_what_is_there() {
        assert_eq!(range(0, -1, 3), Some((0, 3)));
        assert_eq!(range(-100, 100, 3), Some((0, 3)));
        assert_eq!(range(1, 1, 3), Some((1, 1)));
        assert_eq!(range(2, 1, 3), None);
        assert_eq!(range(3, 5, 3), None);
        assert_eq!(range(0, -4, 3), None);
        assert_eq!(range(i64::MIN, i64::MAX, 0), None);
        assert_eq!(range(i64::MIN, i64::MAX, 2), Some((0, 2)));
    }

    #[test]
    fn positions_count_from_both_ends() {
        assert_eq!(position(0, 2), Some(0));
        assert_eq!(position(-1, 2), Some(1));
        assert_eq!(position(-2, 2), Some(0));
        assert_eq!(position(-3, 2), None);
        assert_eq!(position(2, 2), None);
        assert_eq!(position(i64::MIN, 2), None);
    }
}
