//! Inline requests: a line split into words as a shell would, with Redis's rules.
//!
//! Words are parted by white space. A quote may open anywhere in a word and must be
//! closed before white space or the end. Between double quotes a backslash escapes:
//! `\n \r \t \b \a`, `\xHH`, and any other byte stands for itself; between single
//! quotes only `\'` is an escape. Also the syntax of a line of redis.conf.

use crate::resp::args::Span;

/// A quote was left open, or text followed a closing quote without a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnbalancedQuotes;

/// Appends the words of `line` to `bytes`, unescaped, and their places to `spans`.
///
/// `line` holds no NUL; its length must fit in 32 bits together with `bytes`.
pub fn split_inline(
    line: &[u8],
    bytes: &mut Vec<u8>,
    spans: &mut Vec<Span>,
) -> Result<(), UnbalancedQuotes> {
    let mut rest = line;
    loop {
        while let [byte, tail @ ..] = rest
            && is_space(*byte)
        {
            rest = tail;
        }
        if rest.is_empty() {
            return Ok(());
        }
        let start = bytes.len();
        rest = take_word(rest, bytes)?;
        spans.push(Span {
            start: start as u32,
            len: (bytes.len() - start) as u32,
        });
    }
}

/// Appends the first word of `rest` to `bytes` and gives what follows it.
fn take_word<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Result<&'a [u8], UnbalancedQuotes> {
    loop {
        match rest {
            // Only these end a word; a vertical tab or form feed inside one belongs to it.
            [] | [b' ' | b'\n' | b'\r' | b'\t', ..] => return Ok(rest),
            [b'"', tail @ ..] => return take_double_quoted(tail, bytes),
            [b'\'', tail @ ..] => return take_single_quoted(tail, bytes),
            [byte, tail @ ..] => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
}

fn take_double_quoted<'a>(
    mut rest: &'a [u8],
    bytes: &mut Vec<u8>,
) -> Result<&'a [u8], UnbalancedQuotes> {
    loop {
        let (byte, tail) = match rest {
            [] => return Err(UnbalancedQuotes),
            [b'"', tail @ ..] => return after_closing_quote(tail),
            [b'\\', b'x', high, low, tail @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                (hex_value(*high) * 16 + hex_value(*low), tail)
            }
            [b'\\', escaped, tail @ ..] => (unescape(*escaped), tail),
            [byte, tail @ ..] => (*byte, tail),
        };
        bytes.push(byte);
        rest = tail;
    }
}

fn take_single_quoted<'a>(
    mut rest: &'a [u8],
    bytes: &mut Vec<u8>,
) -> Result<&'a [u8], UnbalancedQuotes> {
    loop {
        let (byte, tail) = match rest {
            [] => return Err(UnbalancedQuotes),
            [b'\'', tail @ ..] => return after_closing_quote(tail),
            [b'\\', b'\'', tail @ ..] => (b'\'', tail),
            [byte, tail @ ..] => (*byte, tail),
        };
        bytes.push(byte);
        rest = tail;
    }
}

fn after_closing_quote(rest: &[u8]) -> Result<&[u8], UnbalancedQuotes> {
    match rest.first() {
        Some(byte) if !is_space(*byte) => Err(UnbalancedQuotes),
        _ => Ok(rest),
    }
}

fn unescape(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

/// White space of the C locale.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}
