//! The writer of what clients get. RESP2 and RESP3 differ here and nowhere else.
//!
//! A reply only grows, except that a failed handler's part is cut off again with
//! [`Reply::truncate`]. The writer does not count elements: who announces an
//! aggregate writes as many, or defers the count ([`Reply::begin_array`]).

use std::fmt::{self, Write as _};

use crate::resp::number::{
    Packed, digit_count, integral_score, write_human_double, write_i64, write_score,
};

/// What the client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    #[default]
    Resp2,
    Resp3,
}

/// An aggregate whose count is not known yet; see [`Reply::begin_array`].
#[derive(Debug)]
#[must_use = "the aggregate has no count until it is ended"]
pub struct Mark {
    position: usize,
}

/// A deferred header, made for the most frequent case of one digit.
const PLACEHOLDER: &[u8] = b"*0\r\n";

/// The bytes of one or more replies, written in order.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    buf: Vec<u8>,
    protocol: Protocol,
}

impl Reply {
    pub fn new(protocol: Protocol) -> Self {
        Self {
            buf: Vec::new(),
            protocol,
        }
    }

    /// A writer that goes on after the bytes of `buf`.
    pub fn with_buffer(buf: Vec<u8>, protocol: Protocol) -> Self {
        Self { buf, protocol }
    }

    #[inline]
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Applies to what is written from now on.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    #[inline]
    pub fn is_resp3(&self) -> bool {
        self.protocol == Protocol::Resp3
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.buf.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.buf
    }

    /// The bytes written; the writer starts afresh without memory.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buf)
    }

    /// Forgets the bytes and keeps the memory.
    pub fn clear(&mut self) {
        self.buf.clear();
    }

    /// Bytes of memory held.
    pub fn capacity(&self) -> usize {
        self.buf.capacity()
    }

    /// Gives back memory beyond `capacity` bytes.
    pub fn shrink_to(&mut self, capacity: usize) {
        self.buf.shrink_to(capacity);
    }

    /// Drops what was written after [`Reply::len`] was `position`.
    pub fn truncate(&mut self, position: usize) {
        self.buf.truncate(position);
    }

    /// Appends bytes that are a whole reply, or a part that the caller completes.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.buf.extend_from_slice(bytes);
    }

    #[inline]
    pub fn ok(&mut self) {
        self.raw(b"+OK\r\n");
    }

    #[inline]
    pub fn queued(&mut self) {
        self.raw(b"+QUEUED\r\n");
    }

    /// A status; line ends in it become spaces.
    pub fn simple(&mut self, text: &str) {
        self.simple_bytes(text.as_bytes());
    }

    /// A status that need not be UTF-8; line ends in it become spaces.
    pub fn simple_bytes(&mut self, text: &[u8]) {
        self.line(b'+', text);
    }

    /// An error; `text` starts with its code word. Line ends around it are cut, and
    /// those in it become spaces.
    pub fn error(&mut self, text: &str) {
        self.error_bytes(text.as_bytes());
    }

    /// An error whose text need not be UTF-8; else as [`Reply::error`].
    #[cold]
    pub fn error_bytes(&mut self, text: &[u8]) {
        let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let start = text.iter().position(|byte| !is_line_end(byte));
        let end = text.iter().rposition(|byte| !is_line_end(byte));
        let text = match (start, end) {
            (Some(start), Some(end)) => &text[start..=end],
            _ => &[],
        };
        self.line(b'-', text);
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.buf.reserve(text.len() + 3);
        self.buf.push(kind);
        self.buf.extend(text.iter().map(|&byte| match byte {
            b'\r' | b'\n' => b' ',
            other => other,
        }));
        self.raw(b"\r\n");
    }

    #[inline]
    pub fn integer(&mut self, value: i64) {
        if (0..10).contains(&value) {
            self.raw(&[b':', b'0' + value as u8, b'\r', b'\n']);
            return;
        }
        self.framed_integer(b':', value);
    }

    #[inline]
    fn framed_integer(&mut self, kind: u8, value: i64) {
        if let Some(text) = Packed::integer(value) {
            text.after(kind).line().append_to(&mut self.buf);
            return;
        }
        self.buf.push(kind);
        write_i64(value, &mut self.buf);
        self.raw(b"\r\n");
    }

    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.buf.reserve(bytes.len() + 16);
        self.header(b'$', bytes.len());
        self.raw(bytes);
        self.raw(b"\r\n");
    }

    /// A bulk string made of formatted text: `reply.bulk_fmt(format_args!(...))`.
    pub fn bulk_fmt(&mut self, text: fmt::Arguments<'_>) {
        let mark = self.begin(b'$');
        let start = self.buf.len();
        // A Vec takes everything, so only a Display that fails by itself can fail here;
        // then the reply is what it wrote so far.
        let _ = AppendText(&mut self.buf).write_fmt(text);
        self.end_bulk(mark, start);
    }

    /// The decimal text of `value` as a bulk string.
    #[inline]
    pub fn bulk_integer(&mut self, value: i64) {
        if let Some(text) = Packed::integer(value) {
            text.after_bulk_header().line().append_to(&mut self.buf);
            return;
        }
        let sign_len = usize::from(value < 0);
        self.header(b'$', sign_len + digit_count(value.unsigned_abs()));
        write_i64(value, &mut self.buf);
        self.raw(b"\r\n");
    }

    /// No value.
    #[inline]
    pub fn null(&mut self) {
        self.raw(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// No value where an array was asked for.
    #[inline]
    pub fn null_array(&mut self) {
        self.raw(match self.protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// Announces `len` elements.
    #[inline]
    pub fn array(&mut self, len: usize) {
        self.header(b'*', len);
    }

    /// Announces `pairs` keys, each followed by its value.
    pub fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', pairs * 2),
            Protocol::Resp3 => self.header(b'%', pairs),
        }
    }

    /// Announces `len` elements without an order.
    pub fn set(&mut self, len: usize) {
        self.header(self.kind(b'~'), len);
    }

    /// Announces an out-of-band message of `len` elements.
    pub fn push(&mut self, len: usize) {
        self.header(self.kind(b'>'), len);
    }

    /// Announces `pairs` of out-of-band keys and values in front of the next reply.
    ///
    /// RESP2 knows no attributes: the caller asks [`Reply::is_resp3`] first and
    /// leaves the pairs out.
    pub fn attribute(&mut self, pairs: usize) {
        debug_assert!(self.is_resp3());
        self.header(b'|', pairs);
    }

    /// A floating-point number in Redis's layout for scores.
    #[inline]
    pub fn double(&mut self, value: f64) {
        if self.protocol == Protocol::Resp2 {
            self.bulk_double(value);
        } else if let Some(integer) = integral_score(value) {
            self.framed_integer(b',', integer);
        } else {
            self.buf.push(b',');
            write_score(value, &mut self.buf);
            self.raw(b"\r\n");
        }
    }

    /// A score; the same as [`Reply::double`].
    #[inline]
    pub fn score(&mut self, value: f64) {
        self.double(value);
    }

    /// A floating-point number as a bulk string in both protocols.
    #[inline]
    pub fn bulk_double(&mut self, value: f64) {
        if let Some(integer) = integral_score(value) {
            self.bulk_integer(integer);
            return;
        }
        let mark = self.begin(b'$');
        let start = self.buf.len();
        write_score(value, &mut self.buf);
        self.end_bulk(mark, start);
    }

    /// A floating-point number with up to seventeen digits after the point and no
    /// exponent, such as a coordinate.
    pub fn human_double(&mut self, value: f64) {
        match self.protocol {
            Protocol::Resp2 => {
                let mark = self.begin(b'$');
                let start = self.buf.len();
                write_human_double(value, &mut self.buf);
                self.end_bulk(mark, start);
            }
            Protocol::Resp3 => {
                self.buf.push(b',');
                write_human_double(value, &mut self.buf);
                self.raw(b"\r\n");
            }
        }
    }

    pub fn bool(&mut self, value: bool) {
        self.raw(match (self.protocol, value) {
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
        });
    }

    /// An integer of any length, as its decimal text.
    pub fn big_number(&mut self, digits: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits.as_bytes()),
            Protocol::Resp3 => self.line(b'(', digits.as_bytes()),
        }
    }

    /// Text with a format of three letters, such as `txt` or `mkd`.
    pub fn verbatim(&mut self, ext: &str, text: &[u8]) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(text),
            Protocol::Resp3 => {
                debug_assert_eq!(ext.len(), 3);
                self.header(b'=', ext.len() + 1 + text.len());
                self.raw(ext.as_bytes());
                self.buf.push(b':');
                self.raw(text);
                self.raw(b"\r\n");
            }
        }
    }

    /// Starts an array whose length is given when it ends, at the cost of moving
    /// its bytes if that has more than one digit.
    pub fn begin_array(&mut self) -> Mark {
        self.begin(b'*')
    }

    pub fn end_array(&mut self, mark: Mark, len: usize) {
        self.end(mark, len);
    }

    /// Starts a map whose count of pairs is given when it ends.
    pub fn begin_map(&mut self) -> Mark {
        self.begin(self.kind(b'%'))
    }

    pub fn end_map(&mut self, mark: Mark, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.end(mark, pairs * 2),
            Protocol::Resp3 => self.end(mark, pairs),
        }
    }

    /// Starts a set whose length is given when it ends.
    pub fn begin_set(&mut self) -> Mark {
        self.begin(self.kind(b'~'))
    }

    pub fn end_set(&mut self, mark: Mark, len: usize) {
        self.end(mark, len);
    }

    /// The type byte of an aggregate that RESP2 calls an array.
    #[inline]
    fn kind(&self, resp3: u8) -> u8 {
        match self.protocol {
            Protocol::Resp2 => b'*',
            Protocol::Resp3 => resp3,
        }
    }

    #[inline]
    fn header(&mut self, kind: u8, len: usize) {
        if len < 10 {
            self.raw(&[kind, b'0' + len as u8, b'\r', b'\n']);
        } else if len < 100 {
            let (tens, ones) = ((len / 10) as u8, (len % 10) as u8);
            self.raw(&[kind, b'0' + tens, b'0' + ones, b'\r', b'\n']);
        } else {
            self.framed_integer(kind, len as i64);
        }
    }

    fn begin(&mut self, kind: u8) -> Mark {
        let position = self.buf.len();
        self.raw(PLACEHOLDER);
        self.buf[position] = kind;
        Mark { position }
    }

    fn end(&mut self, mark: Mark, len: usize) {
        let first_digit = mark.position + 1;
        if len < 10 {
            self.buf[first_digit] = b'0' + len as u8;
            return;
        }
        let digits_len = digit_count(len as u64);
        let moved = first_digit + 1..self.buf.len();
        self.buf.resize(self.buf.len() + digits_len - 1, 0);
        self.buf.copy_within(moved, first_digit + digits_len);
        let mut rest = len;
        for digit in self.buf[first_digit..][..digits_len].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }

    fn end_bulk(&mut self, mark: Mark, start: usize) {
        let len = self.buf.len() - start;
        self.end(mark, len);
        self.raw(b"\r\n");
    }
}

/// Formatted text into bytes.
struct AppendText<'a>(&'a mut Vec<u8>);

impl fmt::Write for AppendText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
