//! Replies taken apart again: a cursor over RESP2 and RESP3 bytes, for those who turn
//! a reply into something else.
//!
//! The cursor gives one token after the other and keeps no stack: an aggregate is its
//! header, and its elements follow. So nesting costs nothing here, and who builds a
//! tree bounds its depth there. Counts are only claims: reserve nothing for them.

use crate::resp::number::parse_i64;

/// One step of a reply. Texts and bytes lie in the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    Simple(&'a [u8]),
    Error(&'a [u8]),
    Integer(i64),
    Bulk(&'a [u8]),
    /// No value: `$-1` of RESP2 or `_` of RESP3.
    Null,
    /// `*-1` of RESP2.
    NullArray,
    /// So many elements follow.
    Array(usize),
    /// So many pairs follow.
    Map(usize),
    Set(usize),
    Push(usize),
    /// The text of a floating-point number, as it was sent.
    Double(&'a [u8]),
    Bool(bool),
    /// The digits of an integer of any length.
    BigNumber(&'a [u8]),
    /// Text with a format of three letters.
    Verbatim {
        ext: &'a [u8],
        text: &'a [u8],
    },
    /// So many pairs follow that describe the value after them.
    Attribute(usize),
}

impl Token<'_> {
    /// How many values follow as parts of this one; an attribute's include the value
    /// that it describes.
    pub fn children(&self) -> usize {
        match *self {
            Token::Array(len) | Token::Set(len) | Token::Push(len) => len,
            Token::Map(pairs) => pairs.saturating_mul(2),
            Token::Attribute(pairs) => pairs.saturating_mul(2).saturating_add(1),
            _ => 0,
        }
    }
}

/// Reads tokens from the bytes of one or more replies.
///
/// It ends at the end of the bytes, and for good where they are no reply or an
/// incomplete one; [`ReplyCursor::rest`] tells the two apart.
#[derive(Clone, Debug)]
pub struct ReplyCursor<'a> {
    rest: &'a [u8],
    failed: bool,
}

impl<'a> ReplyCursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            failed: false,
        }
    }

    /// The bytes that were not read; empty when all of them were whole tokens.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Passes over one value with all its parts, in time linear in its bytes and without
    /// a stack. `None` if it is not whole.
    pub fn skip_value(&mut self) -> Option<()> {
        let mut pending = 1usize;
        while pending > 0 {
            let children = self.next()?.children();
            pending = (pending - 1).saturating_add(children);
        }
        Some(())
    }

    /// The next token and what follows it.
    #[inline]
    fn parse_token(&self) -> Option<(Token<'a>, &'a [u8])> {
        let (&kind, after_kind) = self.rest.split_first()?;
        let (line, rest) = split_line(after_kind)?;
        let token = match kind {
            b'+' => Token::Simple(line),
            b'-' => Token::Error(line),
            b':' => Token::Integer(parse_i64(line)?),
            b'$' if line == b"-1" => Token::Null,
            b'$' => {
                let (bytes, rest) = split_bulk(line, rest)?;
                return Some((Token::Bulk(bytes), rest));
            }
            b'*' if line == b"-1" => Token::NullArray,
            b'*' => Token::Array(count(line)?),
            b'_' if line.is_empty() => Token::Null,
            b'%' => Token::Map(count(line)?),
            b'~' => Token::Set(count(line)?),
            b'>' => Token::Push(count(line)?),
            b'|' => Token::Attribute(count(line)?),
            b',' => Token::Double(line),
            b'#' if line == b"t" => Token::Bool(true),
            b'#' if line == b"f" => Token::Bool(false),
            b'(' => Token::BigNumber(line),
            b'=' => {
                let (bytes, rest) = split_bulk(line, rest)?;
                let (ext, text) = bytes.split_at_checked(3)?;
                let text = text.strip_prefix(b":")?;
                return Some((Token::Verbatim { ext, text }, rest));
            }
            _ => return None,
        };
        Some((token, rest))
    }
}

impl<'a> Iterator for ReplyCursor<'a> {
    type Item = Token<'a>;

    #[inline]
    fn next(&mut self) -> Option<Token<'a>> {
        if self.failed {
            return None;
        }
        match self.parse_token() {
            Some((token, rest)) => {
                self.rest = rest;
                Some(token)
            }
            None => {
                self.failed = true;
                None
            }
        }
    }
}

/// The bytes before the first carriage return and those after the line's end.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = bytes.iter().position(|&byte| byte == b'\r')?;
    let rest = bytes[len..].strip_prefix(b"\r\n")?;
    Some((&bytes[..len], rest))
}

/// The bytes whose length `line` announces, and those after their end.
fn split_bulk<'a>(line: &[u8], bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (bulk, rest) = bytes.split_at_checked(count(line)?)?;
    Some((bulk, rest.strip_prefix(b"\r\n")?))
}

fn count(line: &[u8]) -> Option<usize> {
    usize::try_from(parse_i64(line)?).ok()
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
