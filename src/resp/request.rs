//! The incremental decoder of what clients send: RESP arrays of bulk strings and
//! inline commands, with Redis's limits, error texts and tolerance.
//!
//! The caller keeps the bytes; the decoder keeps how far it has come and where the
//! arguments lie. So a request costs no allocation, and bytes are looked at once,
//! however small the reads are. Nothing is reserved because a client announced it.
//!
//! What Redis tolerates is tolerated: the byte after a carriage return and the two
//! bytes after a bulk are not looked at, and a NUL byte hides the end of its line,
//! so that such a line ends at the limit for lines with an error.

use std::fmt;

use crate::limits::{
    BULK_LEN_MAX, INLINE_SCRATCH_KEPT_MAX, MULTIBULK_MAX, PROTOCOL_LINE_LEN_MAX, REQUEST_LEN_MAX,
    SPANS_KEPT_MAX, UNAUTHENTICATED_BULK_LEN_MAX, UNAUTHENTICATED_MULTIBULK_MAX,
};
use crate::resp::args::{Args, Span};
use crate::resp::inline::split_inline;
use crate::resp::number::parse_i64;
use crate::resp::reply::Reply;

/// What a decoder accepts. Lengths in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecoderLimits {
    /// One argument (`proto-max-bulk-len`).
    pub bulk_len_max: usize,
    /// Arguments of one request.
    pub multibulk_max: usize,
    /// An inline request or an announcing line, without its end.
    pub inline_len_max: usize,
    /// Before authentication only a few short arguments are taken.
    pub authenticated: bool,
}

impl Default for DecoderLimits {
    fn default() -> Self {
        Self {
            bulk_len_max: BULK_LEN_MAX,
            multibulk_max: MULTIBULK_MAX,
            inline_len_max: PROTOCOL_LINE_LEN_MAX,
            authenticated: true,
        }
    }
}

/// How far [`RequestDecoder::decode`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// More bytes are needed.
    Incomplete,
    /// One request ends after `consumed` bytes. It may have no arguments.
    Request { consumed: usize },
}

/// The peer does not speak the protocol; the connection answers this and closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    MultibulkLineTooBig,
    MultibulkLengthInvalid,
    MultibulkLengthUnauthenticated,
    BulkLineTooBig,
    BulkExpected {
        got: u8,
    },
    BulkLengthInvalid,
    BulkLengthUnauthenticated,
    InlineTooBig,
    QuotesUnbalanced,
    /// Beyond [`REQUEST_LEN_MAX`]; Redis has no such limit.
    RequestTooBig,
}

impl ProtocolError {
    fn reason(self) -> &'static str {
        match self {
            Self::MultibulkLineTooBig => "too big mbulk count string",
            Self::MultibulkLengthInvalid => "invalid multibulk length",
            Self::MultibulkLengthUnauthenticated => "unauthenticated multibulk length",
            Self::BulkLineTooBig => "too big bulk count string",
            Self::BulkExpected { .. } => "expected '$', got '",
            Self::BulkLengthInvalid => "invalid bulk length",
            Self::BulkLengthUnauthenticated => "unauthenticated bulk length",
            Self::InlineTooBig => "too big inline request",
            Self::QuotesUnbalanced => "unbalanced quotes in request",
            Self::RequestTooBig => "too big request",
        }
    }

    /// Appends the error to `reply`.
    pub fn write(self, reply: &mut Reply) {
        let mut text = b"ERR Protocol error: ".to_vec();
        text.extend_from_slice(self.reason().as_bytes());
        if let Self::BulkExpected { got } = self {
            text.extend_from_slice(&[got, b'\'']);
        }
        reply.error_bytes(&text);
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Protocol error: {}", self.reason())?;
        match self {
            Self::BulkExpected { got } => write!(f, "{}'", got.escape_ascii()),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ProtocolError {}

/// What the bytes at the decoder's position are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing of the next request was seen.
    Start,
    Inline,
    MultibulkLength,
    BulkLength,
    Bulk {
        len: usize,
    },
}

/// The progress of one connection.
///
/// Invariants while a request is unfinished: `position <= position + scanned <=`
/// the bytes seen so far; every span ends at or before `position`; bytes of the
/// current line below `scanned` hold no line end.
#[derive(Debug)]
pub struct RequestDecoder {
    limits: DecoderLimits,
    stage: Stage,
    /// Where the current line or bulk starts, from the start of the request.
    position: usize,
    /// Bytes of the current line that are known to hold no line end.
    scanned: usize,
    /// Announced arguments that are still to come, the current one included.
    remaining: usize,
    spans: Vec<Span>,
    /// Unescaped arguments of an inline request.
    scratch: Vec<u8>,
    /// Whether the spans lie in `scratch`.
    inline: bool,
}

impl Default for RequestDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestDecoder {
    pub fn new() -> Self {
        Self::with_limits(DecoderLimits::default())
    }

    pub fn with_limits(limits: DecoderLimits) -> Self {
        Self {
            limits,
            stage: Stage::Start,
            position: 0,
            scanned: 0,
            remaining: 0,
            spans: Vec::new(),
            scratch: Vec::new(),
            inline: false,
        }
    }

    pub fn limits(&self) -> &DecoderLimits {
        &self.limits
    }

    /// Applies to everything that is decoded from now on.
    pub fn limits_mut(&mut self) -> &mut DecoderLimits {
        &mut self.limits
    }

    /// Whether bytes of an unfinished request were seen.
    pub fn is_mid_request(&self) -> bool {
        self.stage != Stage::Start
    }

    /// Goes on with the request whose first byte is `buf[0]`.
    ///
    /// While it is `Incomplete`, the next call must bring the same bytes and more.
    /// Time is linear in the bytes of a request over all its calls. After an error
    /// the decoder only repeats it.
    #[inline]
    pub fn decode(&mut self, buf: &[u8]) -> Result<Decoded, ProtocolError> {
        if self.stage == Stage::Start {
            let Some(&first) = buf.first() else {
                return Ok(Decoded::Incomplete);
            };
            self.begin();
            if first != b'*' {
                self.stage = Stage::Inline;
            } else if let Some((count, line_len)) = short_length(&buf[1..])
                && count > 0
                && count <= self.multibulk_max()
            {
                self.stage = Stage::BulkLength;
                self.position = 1 + line_len;
                self.remaining = count;
            } else {
                self.stage = Stage::MultibulkLength;
            }
        }
        match self.stage {
            Stage::BulkLength | Stage::Bulk { .. } => self.decode_bulks(buf),
            _ => self.decode_line(buf),
        }
    }

    /// Where the arguments of the finished request lie; see [`RequestDecoder::args`]
    /// for the bytes that they lie in.
    #[inline]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Whether the finished request was inline, so that its spans do not lie in the
    /// caller's buffer.
    #[inline]
    pub fn is_inline(&self) -> bool {
        self.inline
    }

    /// The arguments of the finished request. `buf` is what `decode` got.
    #[inline]
    pub fn args<'a>(&'a self, buf: &'a [u8]) -> Args<'a> {
        Args::new(if self.inline { &self.scratch } else { buf }, &self.spans)
    }

    /// Bytes of memory held between requests.
    pub fn memory_bytes(&self) -> usize {
        self.spans.capacity() * size_of::<Span>() + self.scratch.capacity()
    }

    #[inline]
    fn begin(&mut self) {
        self.spans.clear();
        self.position = 0;
        self.scanned = 0;
        self.inline = false;
        if self.spans.capacity() > SPANS_KEPT_MAX {
            self.spans.shrink_to(SPANS_KEPT_MAX);
        }
    }

    #[inline(always)]
    fn multibulk_max(&self) -> usize {
        if self.limits.authenticated {
            self.limits.multibulk_max
        } else {
            self.limits.multibulk_max.min(UNAUTHENTICATED_MULTIBULK_MAX)
        }
    }

    #[inline(always)]
    fn bulk_len_max(&self) -> usize {
        if self.limits.authenticated {
            self.limits.bulk_len_max
        } else {
            self.limits.bulk_len_max.min(UNAUTHENTICATED_BULK_LEN_MAX)
        }
    }

    #[inline]
    fn finish(&mut self, consumed: usize) -> Decoded {
        self.stage = Stage::Start;
        Decoded::Request { consumed }
    }

    /// Takes bulks until the request or the bytes end.
    #[inline]
    fn decode_bulks(&mut self, buf: &[u8]) -> Result<Decoded, ProtocolError> {
        let bulk_len_max = self.bulk_len_max();
        loop {
            let len = if let Stage::Bulk { len } = self.stage {
                len
            } else if let Some([b'$', line @ ..]) = buf.get(self.position..)
                && let Some((len, line_len)) = short_length(line)
                && len <= bulk_len_max
            {
                self.position += 1 + line_len;
                len
            } else {
                match self.bulk_length_slow(buf)? {
                    Some(len) => len,
                    None => return Ok(Decoded::Incomplete),
                }
            };
            let start = self.position;
            let end = start + len + 2;
            if end > buf.len() || end > REQUEST_LEN_MAX {
                self.stage = Stage::Bulk { len };
                if end > REQUEST_LEN_MAX {
                    return Err(ProtocolError::RequestTooBig);
                }
                return Ok(Decoded::Incomplete);
            }
            self.spans.push(Span {
                start: start as u32,
                len: len as u32,
            });
            self.position = end;
            self.scanned = 0;
            self.remaining -= 1;
            if self.remaining == 0 {
                return Ok(self.finish(end));
            }
            self.stage = Stage::BulkLength;
        }
    }

    /// Takes the inline request or the line that announces arguments.
    #[cold]
    #[inline(never)]
    fn decode_line(&mut self, buf: &[u8]) -> Result<Decoded, ProtocolError> {
        if self.stage == Stage::Inline {
            return self.decode_inline(buf);
        }
        let Some(line_len) = self.find_line_end(buf, b'\r', ProtocolError::MultibulkLineTooBig)?
        else {
            return Ok(Decoded::Incomplete);
        };
        let count = match parse_i64(&buf[1..line_len]) {
            Some(count) if count <= self.limits.multibulk_max.min(MULTIBULK_MAX) as i64 => count,
            _ => return Err(ProtocolError::MultibulkLengthInvalid),
        };
        if count > 0 && count as usize > self.multibulk_max() {
            return Err(ProtocolError::MultibulkLengthUnauthenticated);
        }
        let consumed = line_len + 2;
        if count <= 0 {
            return Ok(self.finish(consumed));
        }
        self.stage = Stage::BulkLength;
        self.position = consumed;
        self.scanned = 0;
        self.remaining = count as usize;
        self.decode_bulks(buf)
    }

    /// The length of the next bulk when its line is not plain and complete, and
    /// `None` when the line goes on after the end of `buf`.
    #[cold]
    #[inline(never)]
    fn bulk_length_slow(&mut self, buf: &[u8]) -> Result<Option<usize>, ProtocolError> {
        self.stage = Stage::BulkLength;
        let Some(line_len) = self.find_line_end(buf, b'\r', ProtocolError::BulkLineTooBig)? else {
            return Ok(None);
        };
        let line = &buf[self.position..self.position + line_len];
        let digits = match line {
            [b'$', digits @ ..] => digits,
            // The line may be empty; then its end is what stands there.
            _ => {
                return Err(ProtocolError::BulkExpected {
                    got: buf[self.position],
                });
            }
        };
        let len = match parse_i64(digits).map(usize::try_from) {
            Some(Ok(len)) if len <= self.limits.bulk_len_max => len,
            _ => return Err(ProtocolError::BulkLengthInvalid),
        };
        if len > self.bulk_len_max() {
            return Err(ProtocolError::BulkLengthUnauthenticated);
        }
        if len > REQUEST_LEN_MAX {
            return Err(ProtocolError::RequestTooBig);
        }
        self.position += line_len + 2;
        self.scanned = 0;
        Ok(Some(len))
    }

    fn decode_inline(&mut self, buf: &[u8]) -> Result<Decoded, ProtocolError> {
        let Some(line_len) = self.find_line_end(buf, b'\n', ProtocolError::InlineTooBig)? else {
            return Ok(Decoded::Incomplete);
        };
        let line = &buf[..line_len];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.inline = true;
        self.scratch.clear();
        self.scratch.shrink_to(INLINE_SCRATCH_KEPT_MAX);
        if split_inline(line, &mut self.scratch, &mut self.spans).is_err() {
            return Err(ProtocolError::QuotesUnbalanced);
        }
        Ok(self.finish(line_len + 1))
    }

    /// The length of the current line up to `end`, if it is there, and for a carriage
    /// return the byte after it too.
    fn find_line_end(
        &mut self,
        buf: &[u8],
        end: u8,
        too_big: ProtocolError,
    ) -> Result<Option<usize>, ProtocolError> {
        let line = &buf[self.position..];
        let len_max = self.limits.inline_len_max;
        let window = &line[..line.len().min(len_max.saturating_add(1))];
        let from = self.scanned.min(window.len());
        let found = window[from..]
            .iter()
            .position(|&byte| byte == end || byte == 0)
            .map(|offset| from + offset);
        match found {
            Some(len) if window[len] == end => {
                self.scanned = len;
                let complete = end == b'\n' || line.len() > len + 1;
                Ok(complete.then_some(len))
            }
            _ if line.len() > len_max => Err(too_big),
            // At a NUL the scan stays where it is: no end will be seen behind it.
            Some(nul) => {
                self.scanned = nul;
                Ok(None)
            }
            None => {
                self.scanned = window.len();
                Ok(None)
            }
        }
    }
}

/// The value of a canonical length of at most nine digits at the start of `line`, with the
/// bytes up to and including the line's two-byte end; `None` if anything is unusual.
#[inline(always)]
fn short_length(line: &[u8]) -> Option<(usize, usize)> {
    const DIGITS_MAX: usize = 9;
    let first = digit(*line.first()?)?;
    let mut value = first;
    let mut at = 1;
    loop {
        let byte = *line.get(at)?;
        if byte == b'\r' {
            // A leading zero is only allowed to stand alone.
            let canonical = first != 0 || at == 1;
            return (canonical && line.len() > at + 1).then_some((value, at + 2));
        }
        if at == DIGITS_MAX {
            return None;
        }
        value = value * 10 + digit(byte)?;
        at += 1;
    }
}

#[inline(always)]
fn digit(byte: u8) -> Option<usize> {
    let value = byte.wrapping_sub(b'0');
    (value <= 9).then_some(value as usize)
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
