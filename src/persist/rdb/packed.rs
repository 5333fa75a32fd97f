//! The flat encodings inside a string: listpack, ziplist, zipmap, intset.
//!
//! Each is read once from front to back and checked as a whole: counts, lengths,
//! back links and the end mark have to agree, or nothing of it is used.

use super::error::RdbError;
use crate::resp::number::write_i64;
use crate::store::decimal::parse_canonical;

const END: u8 = 0xff;

/// The element count that says "more than fits in here".
const COUNT_UNKNOWN: usize = u16::MAX as usize;

/// The elements of a flat encoding; integers as their text.
pub struct Elements {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Elements {
    fn new(expected_bytes: usize) -> Self {
        Elements {
            bytes: Vec::with_capacity(expected_bytes),
            ends: Vec::new(),
        }
    }

    fn push(&mut self, element: &[u8]) {
        self.bytes.extend_from_slice(element);
        self.ends.push(self.bytes.len());
    }

    fn push_int(&mut self, number: i64) {
        write_i64(number, &mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let element = &self.bytes[start..end];
            start = end;
            element
        })
    }

    /// The elements two by two; an odd one is an error.
    pub fn pairs(&self) -> Result<impl Iterator<Item = (&[u8], &[u8])>, RdbError> {
        if !self.len().is_multiple_of(2) {
            return Err(RdbError::Corrupt("pairs with an odd number of elements"));
        }
        let mut all = self.iter();
        Ok(std::iter::from_fn(move || Some((all.next()?, all.next()?))))
    }
}

/// A cursor over the bytes of one encoding.
struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    broken: RdbError,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], RdbError> {
        let end = self.position.checked_add(len);
        match end.and_then(|end| self.bytes.get(self.position..end)) {
            Some(taken) => {
                self.position += len;
                Ok(taken)
            }
            None => Err(self.error()),
        }
    }

    fn byte(&mut self) -> Result<u8, RdbError> {
        Ok(self.take(1)?[0])
    }

    fn peek(&self) -> Result<u8, RdbError> {
        self.bytes
            .get(self.position)
            .copied()
            .ok_or_else(|| self.error())
    }

    /// A signed number of up to eight little-endian bytes.
    fn signed(&mut self, len: usize) -> Result<i64, RdbError> {
        let taken = self.take(len)?;
        let mut wide = [0; 8];
        wide[8 - len..].copy_from_slice(taken);
        Ok(i64::from_le_bytes(wide) >> (64 - 8 * len))
    }

    fn unsigned(&mut self, len: usize) -> Result<usize, RdbError> {
        let taken = self.take(len)?;
        let mut wide = [0; 8];
        wide[..len].copy_from_slice(taken);
        usize::try_from(u64::from_le_bytes(wide)).map_err(|_| self.error())
    }

    fn error(&self) -> RdbError {
        match self.broken {
            RdbError::Corrupt(what) => RdbError::Corrupt(what),
            _ => RdbError::Short,
        }
    }

    fn require(&self, holds: bool) -> Result<(), RdbError> {
        if holds { Ok(()) } else { Err(self.error()) }
    }
}

/// Reads a listpack.
pub fn listpack(bytes: &[u8]) -> Result<Elements, RdbError> {
    let mut cursor = Cursor {
        bytes,
        position: 0,
        broken: RdbError::Corrupt("a listpack that contradicts itself"),
    };
    let total = cursor.unsigned(4)?;
    cursor.require(total == bytes.len())?;
    let count = cursor.unsigned(2)?;
    let mut elements = Elements::new(bytes.len());
    while cursor.peek()? != END {
        let start = cursor.position;
        listpack_entry(&mut cursor, &mut elements)?;
        let len = cursor.position - start;
        let (link, link_len) = back_link(len);
        let found = cursor.take(link_len)?;
        cursor.require(found == &link[..link_len])?;
    }
    cursor.position += 1;
    cursor.require(cursor.position == bytes.len())?;
    cursor.require(count == elements.len() || count == COUNT_UNKNOWN)?;
    Ok(elements)
}

fn listpack_entry(cursor: &mut Cursor<'_>, elements: &mut Elements) -> Result<(), RdbError> {
    let first = cursor.byte()?;
    let number = match first {
        0x00..=0x7f => i64::from(first),
        0x80..=0xbf => {
            elements.push(cursor.take(usize::from(first & 0x3f))?);
            return Ok(());
        }
        0xc0..=0xdf => {
            let raw = i64::from(first & 0x1f) << 8 | i64::from(cursor.byte()?);
            // Thirteen bits with a sign.
            (raw << 51) >> 51
        }
        0xe0..=0xef => {
            let len = usize::from(first & 0x0f) << 8 | usize::from(cursor.byte()?);
            elements.push(cursor.take(len)?);
            return Ok(());
        }
        0xf0 => {
            let len = cursor.unsigned(4)?;
            elements.push(cursor.take(len)?);
            return Ok(());
        }
        0xf1 => cursor.signed(2)?,
        0xf2 => cursor.signed(3)?,
        0xf3 => cursor.signed(4)?,
        0xf4 => cursor.signed(8)?,
        _ => return Err(cursor.error()),
    };
    elements.push_int(number);
    Ok(())
}

/// The link behind an entry of `len` bytes: seven bits a byte, all but the first marked.
fn back_link(len: usize) -> ([u8; 5], usize) {
    let size = match len {
        0..=127 => 1,
        128..16383 => 2,
        16383..2097151 => 3,
        2097151..268435455 => 4,
        _ => 5,
    };
    let mut link = [0; 5];
    for (index, byte) in link[..size].iter_mut().enumerate() {
        let bits = (len >> (7 * (size - 1 - index))) as u8 & 0x7f;
        *byte = if index == 0 { bits } else { bits | 0x80 };
    }
    (link, size)
}

/// Builds a listpack.
pub struct ListpackWriter {
    bytes: Vec<u8>,
    count: usize,
}

impl ListpackWriter {
    pub fn new() -> Self {
        ListpackWriter {
            bytes: vec![0; 6],
            count: 0,
        }
    }

    /// Appends an element: as a number if it spells one.
    pub fn push(&mut self, element: &[u8]) {
        match parse_canonical(element) {
            Some(number) => self.push_int(number),
            None => self.push_text(element),
        }
    }

    pub fn push_int(&mut self, number: i64) {
        let start = self.bytes.len();
        let raw = number.to_le_bytes();
        match number {
            0..=127 => self.bytes.push(number as u8),
            -4096..=4095 => {
                self.bytes.push(0xc0 | (number >> 8) as u8 & 0x1f);
                self.bytes.push(number as u8);
            }
            -0x8000..=0x7fff => self.push_wide(0xf1, &raw[..2]),
            -0x80_0000..=0x7f_ffff => self.push_wide(0xf2, &raw[..3]),
            -0x8000_0000..=0x7fff_ffff => self.push_wide(0xf3, &raw[..4]),
            _ => self.push_wide(0xf4, &raw),
        }
        self.link(start);
    }

    fn push_wide(&mut self, mark: u8, raw: &[u8]) {
        self.bytes.push(mark);
        self.bytes.extend_from_slice(raw);
    }

    fn push_text(&mut self, text: &[u8]) {
        let start = self.bytes.len();
        let len = text.len();
        match len {
            0..64 => self.bytes.push(0x80 | len as u8),
            64..4096 => {
                self.bytes.push(0xe0 | (len >> 8) as u8);
                self.bytes.push(len as u8);
            }
            _ => self.push_wide(0xf0, &(len as u32).to_le_bytes()),
        }
        self.bytes.extend_from_slice(text);
        self.link(start);
    }

    /// Ends the element that began at `start`.
    fn link(&mut self, start: usize) {
        let (link, len) = back_link(self.bytes.len() - start);
        self.bytes.extend_from_slice(&link[..len]);
        self.count += 1;
    }

    /// The listpack.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(END);
        let total = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&total.to_le_bytes());
        let count = self.count.min(COUNT_UNKNOWN) as u16;
        self.bytes[4..6].copy_from_slice(&count.to_le_bytes());
        self.bytes
    }
}

/// Reads a ziplist.
pub fn ziplist(bytes: &[u8]) -> Result<Elements, RdbError> {
    let mut cursor = Cursor {
        bytes,
        position: 0,
        broken: RdbError::Corrupt("a ziplist that contradicts itself"),
    };
    let total = cursor.unsigned(4)?;
    cursor.require(total == bytes.len())?;
    let tail = cursor.unsigned(4)?;
    let count = cursor.unsigned(2)?;
    let mut elements = Elements::new(bytes.len());
    let mut previous_len = 0;
    let mut last = cursor.position;
    while cursor.peek()? != END {
        last = cursor.position;
        let link = match cursor.byte()? {
            0xfe => cursor.unsigned(4)?,
            short => usize::from(short),
        };
        cursor.require(link == previous_len)?;
        ziplist_entry(&mut cursor, &mut elements)?;
        previous_len = cursor.position - last;
    }
    cursor.position += 1;
    cursor.require(cursor.position == bytes.len())?;
    cursor.require(tail == last)?;
    cursor.require(count == elements.len() || count == COUNT_UNKNOWN)?;
    Ok(elements)
}

fn ziplist_entry(cursor: &mut Cursor<'_>, elements: &mut Elements) -> Result<(), RdbError> {
    let first = cursor.byte()?;
    let number = match first {
        0x00..=0x3f => {
            elements.push(cursor.take(usize::from(first))?);
            return Ok(());
        }
        0x40..=0x7f => {
            let len = usize::from(first & 0x3f) << 8 | usize::from(cursor.byte()?);
            elements.push(cursor.take(len)?);
            return Ok(());
        }
        0x80 => {
            let taken = cursor.take(4)?;
            let len = taken
                .iter()
                .fold(0usize, |len, &byte| len << 8 | usize::from(byte));
            elements.push(cursor.take(len)?);
            return Ok(());
        }
        0xc0 => cursor.signed(2)?,
        0xd0 => cursor.signed(4)?,
        0xe0 => cursor.signed(8)?,
        0xf0 => cursor.signed(3)?,
        0xfe => cursor.signed(1)?,
        0xf1..=0xfd => i64::from(first & 0x0f) - 1,
        _ => return Err(cursor.error()),
    };
    elements.push_int(number);
    Ok(())
}

/// Reads a zipmap: fields and values one after the other.
pub fn zipmap(bytes: &[u8]) -> Result<Elements, RdbError> {
    let mut cursor = Cursor {
        bytes,
        position: 0,
        broken: RdbError::Corrupt("a zipmap that contradicts itself"),
    };
    let count = usize::from(cursor.byte()?);
    let mut elements = Elements::new(bytes.len());
    while cursor.peek()? != END {
        let len = zipmap_len(&mut cursor)?;
        elements.push(cursor.take(len)?);
        let len = zipmap_len(&mut cursor)?;
        let free = usize::from(cursor.byte()?);
        elements.push(cursor.take(len)?);
        cursor.take(free)?;
    }
    cursor.position += 1;
    cursor.require(cursor.position == bytes.len())?;
    // From 254 fields on the count is left open, and says 254.
    cursor.require(count == 254 || count * 2 == elements.len())?;
    Ok(elements)
}

fn zipmap_len(cursor: &mut Cursor<'_>) -> Result<usize, RdbError> {
    match cursor.byte()? {
        254 => cursor.unsigned(4),
        END => Err(cursor.error()),
        short => Ok(usize::from(short)),
    }
}

/// Reads an intset: ascending numbers of two, four or eight bytes.
pub fn intset(bytes: &[u8]) -> Result<Vec<i64>, RdbError> {
    let mut cursor = Cursor {
        bytes,
        position: 0,
        broken: RdbError::Corrupt("an intset that contradicts itself"),
    };
    let size = cursor.unsigned(4)?;
    cursor.require(matches!(size, 2 | 4 | 8))?;
    let count = cursor.unsigned(4)?;
    cursor.require(count.checked_mul(size) == Some(bytes.len() - 8))?;
    let mut numbers = Vec::with_capacity(count);
    for _ in 0..count {
        numbers.push(cursor.signed(size)?);
    }
    cursor.require(numbers.windows(2).all(|pair| pair[0] < pair[1]))?;
    Ok(numbers)
}
