//! Byte strings one behind the other: lengths and entries of the flat encodings.
//!
//! An entry is its length, then its bytes. A length takes one byte below 128,
//! else four, the first of which has its high bit set. Lists, which are walked
//! both ways, write the size of the entry once more behind it.

/// Largest length that can be written.
pub const LENGTH_MAX: usize = (1 << 31) - 1;

const LONG: u32 = 1 << 31;

/// Bytes that the length `len` takes.
pub fn length_size(len: usize) -> usize {
    if len < 0x80 { 1 } else { 4 }
}

/// Writes `len` at the start of `out`; returns its size.
pub fn write_length(out: &mut [u8], len: usize) -> usize {
    if len < 0x80 {
        out[0] = len as u8;
        1
    } else {
        out[..4].copy_from_slice(&(len as u32 | LONG).to_be_bytes());
        4
    }
}

/// The length at the start of `bytes`, and the size it takes.
pub fn read_length(bytes: &[u8]) -> (usize, usize) {
    let first = bytes[0];
    if first < 0x80 {
        (usize::from(first), 1)
    } else {
        let long = u32::from_be_bytes([first, bytes[1], bytes[2], bytes[3]]);
        ((long & !LONG) as usize, 4)
    }
}

/// Writes `len` so that it can be read from its end.
pub fn write_length_backward(out: &mut [u8], len: usize) -> usize {
    if len < 0x80 {
        out[0] = len as u8;
        1
    } else {
        out[..4].copy_from_slice(&(len as u32 | LONG).to_le_bytes());
        4
    }
}

/// The length that ends `bytes`, and the size it takes.
pub fn read_length_backward(bytes: &[u8]) -> (usize, usize) {
    let end = bytes.len();
    let last = bytes[end - 1];
    if last < 0x80 {
        (usize::from(last), 1)
    } else {
        let long = u32::from_le_bytes([bytes[end - 4], bytes[end - 3], bytes[end - 2], last]);
        ((long & !LONG) as usize, 4)
    }
}

/// Bytes that an entry of `len` bytes takes.
pub fn entry_size(len: usize) -> usize {
    length_size(len) + len
}

/// Writes one entry at the start of `out`; returns its size.
pub fn write_entry(out: &mut [u8], entry: &[u8]) -> usize {
    let at = write_length(out, entry.len());
    out[at..at + entry.len()].copy_from_slice(entry);
    at + entry.len()
}

/// The entries of a flat block in order.
#[derive(Clone)]
pub struct Entries<'a> {
    rest: &'a [u8],
}

impl<'a> Entries<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Entries { rest: bytes }
    }

    /// Bytes that are not yet read.
    pub fn rest_len(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let (len, size) = read_length(self.rest);
        let (entry, rest) = self.rest[size..].split_at(len);
        self.rest = rest;
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_back_from_both_ends() {
        for len in [0, 1, 127, 128, 255, 65_536, LENGTH_MAX] {
            let mut out = [0; 4];
            let size = write_length(&mut out, len);
            assert_eq!((len, size), read_length(&out[..size]));
            assert_eq!(size, length_size(len));
            let size = write_length_backward(&mut out, len);
            assert_eq!((len, size), read_length_backward(&out[..size]));
        }
    }

    #[test]
    fn entries_come_back_in_order() {
        let long = vec![b'x'; 200];
        let mut out = vec![0; 300];
        let mut at = 0;
        for entry in [&b""[..], b"a", &long] {
            at += write_entry(&mut out[at..], entry);
        }
        let read: Vec<&[u8]> = Entries::new(&out[..at]).collect();
        assert_eq!(read, [&b""[..], b"a", &long]);
    }
}
