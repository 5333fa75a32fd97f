//! The arguments of one request: byte ranges into a buffer that somebody owns.
//!
//! A decoded request borrows the connection's read buffer ([`Args`]); what must
//! outlive the buffer, or is made by the server itself, is an [`OwnedArgs`].
//! Positions are 32 bits wide, because a request is bounded to
//! [`REQUEST_LEN_MAX`](crate::limits::REQUEST_LEN_MAX) bytes.

use std::fmt;

use crate::limits::{ARGUMENT_LEN_MAX, REQUEST_LEN_MAX};
use crate::resp::number::write_u64;

/// Where one argument lies in its buffer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: u32,
    pub len: u32,
}

impl Span {
    /// The part of `bytes` that this span names.
    ///
    /// # Panics
    /// If the span was made for another, shorter buffer.
    #[inline]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..][..self.len as usize]
    }
}

/// Borrowed arguments, the command's name first. Copying copies two slices.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    bytes: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Args<'a> {
    /// Every span must lie inside `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8], spans: &'a [Span]) -> Self {
        Self { bytes, spans }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        self.spans.get(index).map(|span| span.of(self.bytes))
    }

    /// The argument at `index`, for use after the arity was checked.
    ///
    /// # Panics
    /// If there is no such argument.
    #[inline]
    pub fn arg(&self, index: usize) -> &'a [u8] {
        self.spans[index].of(self.bytes)
    }

    /// The command's name.
    ///
    /// # Panics
    /// If there are no arguments.
    #[inline]
    pub fn name(&self) -> &'a [u8] {
        self.arg(0)
    }

    /// The arguments from `index` on; none if there are not so many.
    #[inline]
    pub fn from(&self, index: usize) -> Args<'a> {
        Args {
            bytes: self.bytes,
            spans: self.spans.get(index..).unwrap_or_default(),
        }
    }

    /// The first `count` arguments; all if there are not so many.
    #[inline]
    pub fn first(&self, count: usize) -> Args<'a> {
        Args {
            bytes: self.bytes,
            spans: &self.spans[..count.min(self.spans.len())],
        }
    }

    #[inline]
    pub fn iter(&self) -> Iter<'a> {
        Iter {
            bytes: self.bytes,
            spans: self.spans.iter(),
        }
    }

    /// Appends the arguments as a RESP array of bulk strings.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(b'*');
        write_u64(self.len() as u64, out);
        out.extend_from_slice(b"\r\n");
        for arg in self.iter() {
            out.push(b'$');
            write_u64(arg.len() as u64, out);
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(arg);
            out.extend_from_slice(b"\r\n");
        }
    }
}

impl<'a> IntoIterator for Args<'a> {
    type Item = &'a [u8];
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Equal when the arguments are, wherever they lie.
impl PartialEq for Args<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Args<'_> {}

impl fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.iter().map(|arg| arg.escape_ascii().to_string()))
            .finish()
    }
}

/// The arguments in order.
#[derive(Clone)]
pub struct Iter<'a> {
    bytes: &'a [u8],
    spans: std::slice::Iter<'a, Span>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.spans.next().map(|span| span.of(self.bytes))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.spans.size_hint()
    }

    #[inline]
    fn nth(&mut self, skipped: usize) -> Option<&'a [u8]> {
        self.spans.nth(skipped).map(|span| span.of(self.bytes))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.spans.next_back().map(|span| span.of(self.bytes))
    }
}

impl ExactSizeIterator for Iter<'_> {}

/// Arguments that own their bytes, one after the other in one buffer.
#[derive(Clone, Default)]
pub struct OwnedArgs {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl OwnedArgs {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn from_args(args: Args<'_>) -> Self {
        let mut owned = Self {
            bytes: Vec::with_capacity(args.iter().map(<[u8]>::len).sum()),
            spans: Vec::with_capacity(args.len()),
        };
        for arg in args {
            owned.push(arg);
        }
        owned
    }

    /// # Panics
    /// If all together are longer than `REQUEST_LEN_MAX`.
    pub fn from_slices(slices: &[&[u8]]) -> Self {
        let mut owned = Self::new();
        for slice in slices {
            owned.push(slice);
        }
        owned
    }

    /// Becomes a copy of `args`, with what lies between them: one copy instead of many.
    pub fn copy_from(&mut self, args: Args<'_>) {
        self.clear();
        let start = args.spans.iter().map(|span| span.start).min();
        let start = start.unwrap_or(0);
        let end = args.spans.iter().map(|span| span.start + span.len).max();
        let end = end.unwrap_or(start);
        self.bytes
            .extend_from_slice(&args.bytes[start as usize..end as usize]);
        self.spans.extend(args.spans.iter().map(|span| Span {
            start: span.start - start,
            len: span.len,
        }));
    }

    /// Appends an argument whose length is known to be harmless.
    ///
    /// # Panics
    /// If all together would be longer than `REQUEST_LEN_MAX`; arguments that
    /// a script made go through [`OwnedArgs::try_push`].
    #[inline]
    pub fn push(&mut self, arg: &[u8]) {
        self.try_push(arg)
            .expect("the arguments of one request fit in 32 bits");
    }

    /// Appends an argument, or leaves all as it was if it does not fit.
    #[inline]
    pub fn try_push(&mut self, arg: &[u8]) -> Result<(), RequestTooBig> {
        if arg.len() > ARGUMENT_LEN_MAX || arg.len() > REQUEST_LEN_MAX - self.bytes.len() {
            return Err(RequestTooBig);
        }
        self.spans.push(Span {
            start: self.bytes.len() as u32,
            len: arg.len() as u32,
        });
        self.bytes.extend_from_slice(arg);
        Ok(())
    }

    /// Appends what `write` appends to the buffer as an argument, or leaves all as it was if
    /// that does not fit.
    #[inline]
    pub fn try_push_written(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), RequestTooBig> {
        let start = self.bytes.len();
        write(&mut self.bytes);
        let len = self.bytes.len() - start;
        if len > ARGUMENT_LEN_MAX || self.bytes.len() > REQUEST_LEN_MAX {
            self.bytes.truncate(start);
            return Err(RequestTooBig);
        }
        self.spans.push(Span {
            start: start as u32,
            len: len as u32,
        });
        Ok(())
    }

    /// Removes all arguments and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    #[inline]
    pub fn as_args(&self) -> Args<'_> {
        Args::new(&self.bytes, &self.spans)
    }

    /// Appends the arguments as a RESP array of bulk strings.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.as_args().encode(out);
    }

    /// Bytes of all arguments together.
    #[inline]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of memory held, capacity included.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.spans.capacity() * size_of::<Span>()
    }
}

impl PartialEq for OwnedArgs {
    fn eq(&self, other: &Self) -> bool {
        self.as_args() == other.as_args()
    }
}

impl Eq for OwnedArgs {}

impl fmt::Debug for OwnedArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_args().fmt(f)
    }
}

/// An argument would exceed `ARGUMENT_LEN_MAX` bytes, or all of a request `REQUEST_LEN_MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTooBig;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_reached_from_both_ends() {
        let owned = OwnedArgs::from_slices(&[b"ZADD", b"board", b"", b"ann"]);
        let args = owned.as_args();
        assert_eq!(args.name(), b"ZADD");
        assert_eq!(args.len(), 4);
        assert_eq!(args.get(2), Some(&b""[..]));
        assert_eq!(args.get(4), None);
        assert_eq!(args.from(3).name(), b"ann");
        assert!(args.from(4).is_empty());
        assert!(args.from(9).is_empty());
        assert_eq!(args.iter().len(), 4);
        assert_eq!(args.iter().next_back(), Some(&b"ann"[..]));
        assert_eq!(OwnedArgs::from_args(args.from(1)).as_args(), args.from(1));
    }

    #[test]
    fn a_copy_has_the_arguments_wherever_they_lay() {
        let bytes = b"..GET..key.";
        let spans = [(7, 3), (2, 3), (11, 0)].map(|(start, len)| Span { start, len });
        for count in 0..=spans.len() {
            let args = Args::new(bytes, &spans[..count]);
            let mut copy = OwnedArgs::from_slices(&[b"old"]);
            copy.copy_from(args);
            assert_eq!(copy.as_args(), args);
        }
    }

    #[test]
    fn encoding_is_an_array_of_bulks() {
        let mut owned = OwnedArgs::from_slices(&[b"GET", b"a\r\nb"]);
        let mut out = Vec::new();
        owned.encode(&mut out);
        assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n");
        owned.clear();
        assert!(owned.is_empty());
    }
}
