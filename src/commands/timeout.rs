//! How long a blocking command waits.

use crate::resp::error::CommandError;
use crate::resp::number::LongDouble;

/// The deadline in Unix milliseconds that `text`, seconds with a fraction, means at `now_ms`; `None` for 0, which
/// waits without end. Parts of a millisecond count as a whole one.
pub fn parse_timeout_seconds(text: &[u8], now_ms: i64) -> Result<Option<i64>, CommandError> {
    let seconds = LongDouble::parse(text).ok_or(CommandError::TimeoutNotFloat)?;
    let timeout_ms = (seconds.to_f64() * 1000.0).ceil();
    if timeout_ms >= i64::MAX as f64 {
        return Err(CommandError::TimeoutOutOfRange);
    }
    if timeout_ms < 0.0 {
        return Err(CommandError::TimeoutNegative);
    }
    if timeout_ms == 0.0 {
        return Ok(None);
    }
    now_ms
        .checked_add(timeout_ms as i64)
        .map(Some)
        .ok_or(CommandError::TimeoutOutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_a_deadline() {
        let parse = |text: &str| parse_timeout_seconds(text.as_bytes(), 1000);
        assert_eq!(parse("0"), Ok(None));
        assert_eq!(parse("-0.0001"), Ok(None));
        assert_eq!(parse("1"), Ok(Some(2000)));
        assert_eq!(parse("0.0001"), Ok(Some(1001)));
        assert_eq!(parse("0.5"), Ok(Some(1500)));
        assert_eq!(parse("0x1"), Ok(Some(2000)));
        assert_eq!(parse("-0.01"), Err(CommandError::TimeoutNegative));
        assert_eq!(parse("-inf"), Err(CommandError::TimeoutNegative));
        for text in ["inf", "1e20", "9223372036854775.807", "9e18"] {
            assert_eq!(parse(text), Err(CommandError::TimeoutOutOfRange), "{text}");
        }
        for text in ["", "x", " 1", "1s", "nan"] {
            assert_eq!(parse(text), Err(CommandError::TimeoutNotFloat), "{text}");
        }
    }
}
