//! Ids and intervals of ids as arguments.

use crate::resp::error::CommandError;
use crate::resp::number::parse_u64;
use crate::resp::reply::Reply;
use crate::store::stream::StreamId;

/// Longest text that is looked at as an id.
const TEXT_LEN_MAX: usize = 127;

const INVALID: CommandError =
    CommandError::Text("ERR Invalid stream ID specified as stream command argument");

/// An id whose number may be left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewId {
    Full(StreamId),
    /// `ms-*`
    Time(u64),
}

/// A number in any spelling that C's strtoull takes.
fn number(text: &[u8]) -> Option<u64> {
    if let Some(value) = parse_u64(text) {
        return Some(value);
    }
    let digits = text.trim_ascii_start();
    let digits = digits.strip_prefix(b"+").unwrap_or(digits);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(digit.into())
    })
}

/// `ms` or `ms-seq`; a missing number is `missing_seq`.
fn parse(text: &[u8], missing_seq: u64) -> Result<StreamId, CommandError> {
    if text.len() > TEXT_LEN_MAX {
        return Err(INVALID);
    }
    let (ms, seq) = match text.iter().position(|&byte| byte == b'-') {
        Some(dash) => (&text[..dash], Some(&text[dash + 1..])),
        None => (text, None),
    };
    let ms = number(ms).ok_or(INVALID)?;
    let seq = match seq {
        Some(seq) => number(seq).ok_or(INVALID)?,
        None => missing_seq,
    };
    Ok(StreamId { ms, seq })
}

/// An id, not `-` or `+`.
pub fn strict(text: &[u8]) -> Result<StreamId, CommandError> {
    parse(text, 0)
}

/// An id, `-` or `+`.
pub fn any(text: &[u8], missing_seq: u64) -> Result<StreamId, CommandError> {
    match text {
        b"-" => Ok(StreamId::MIN),
        b"+" => Ok(StreamId::MAX),
        _ => parse(text, missing_seq),
    }
}

/// The id of XADD.
pub fn new_id(text: &[u8]) -> Result<NewId, CommandError> {
    match text.strip_suffix(b"-*") {
        Some(ms) if !ms.contains(&b'-') => number(ms).map(NewId::Time).ok_or(INVALID),
        _ => strict(text).map(NewId::Full),
    }
}

/// The first id of an interval; `(` in front excludes it.
pub fn interval_start(text: &[u8]) -> Result<StreamId, CommandError> {
    match text.strip_prefix(b"(") {
        Some(rest) if !rest.is_empty() => strict(rest)?
            .next()
            .ok_or(CommandError::Text("ERR invalid start ID for the interval")),
        _ => any(text, 0),
    }
}

/// The last id of an interval; `(` in front excludes it.
pub fn interval_end(text: &[u8]) -> Result<StreamId, CommandError> {
    match text.strip_prefix(b"(") {
        Some(rest) if !rest.is_empty() => parse(rest, u64::MAX)?
            .previous()
            .ok_or(CommandError::Text("ERR invalid end ID for the interval")),
        _ => any(text, u64::MAX),
    }
}

pub fn write(reply: &mut Reply, id: StreamId) {
    reply.bulk_fmt(format_args!("{id}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_redis_reads_them() {
        let id = |ms, seq| Ok(StreamId { ms, seq });
        assert_eq!(strict(b"5"), id(5, 0));
        assert_eq!(strict(b"5-3"), id(5, 3));
        assert_eq!(strict(b"+5-007"), id(5, 7));
        assert_eq!(strict(b"18446744073709551615-1"), id(u64::MAX, 1));
        for text in [
            &b""[..],
            b"-",
            b"+",
            b"5-",
            b"-5",
            b"5-3-1",
            b"x",
            b"5-*",
            b"1.5",
        ] {
            assert_eq!(strict(text), Err(INVALID), "{text:?}");
        }
        assert_eq!(strict(b"18446744073709551616"), Err(INVALID));
        assert_eq!(new_id(b"5-*"), Ok(NewId::Time(5)));
        assert_eq!(new_id(b"5-1-*"), Err(INVALID));
        assert_eq!(interval_start(b"(5"), id(5, 1));
        assert_eq!(interval_end(b"5"), id(5, u64::MAX));
        assert_eq!(interval_end(b"(5-0"), id(4, u64::MAX));
        assert!(interval_start(b"(+").is_err());
        assert!(interval_end(b"(0-0").is_err());
    }
}
