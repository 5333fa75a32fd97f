//! Reads the primitives of the format from a stream: lengths, strings, numbers.
//!
//! Memory is asked for as bytes arrive, never for a length that is only announced.

use super::error::RdbError;
use crate::limits::{RDB_READ_LEN, RDB_STRING_LEN_MAX};
use crc_fast::{CrcAlgorithm, Digest};
use std::io::Read;

/// A length, or how a string is encoded.
pub enum Length {
    Plain(u64),
    Encoded(u8),
}

const ENCODED_INT8: u8 = 0;
const ENCODED_INT16: u8 = 1;
const ENCODED_INT32: u8 = 2;
const ENCODED_LZF: u8 = 3;

/// Most bytes that one byte of compressed text can stand for: three bytes give up to 264.
const LZF_GROWTH_MAX: u64 = 88;

/// A buffered source that counts and sums up what was taken from it.
pub struct Input<R> {
    source: R,
    buffer: Vec<u8>,
    position: usize,
    /// Bytes taken before those in the buffer.
    offset: u64,
    digest: Option<Digest>,
    /// Up to where the buffer is in the digest.
    digested: usize,
    /// What a compressed or a number's string became.
    scratch: Vec<u8>,
}

impl<R: Read> Input<R> {
    pub fn new(source: R) -> Self {
        Input {
            source,
            buffer: Vec::new(),
            position: 0,
            offset: 0,
            digest: None,
            digested: 0,
            scratch: Vec::new(),
        }
    }

    /// Sums up everything from the start on. Call before the first read.
    pub fn with_checksum(mut self) -> Self {
        self.digest = Some(Digest::new(CrcAlgorithm::Crc64Redis));
        self
    }

    /// Bytes taken so far.
    pub fn offset(&self) -> u64 {
        self.offset + self.position as u64
    }

    /// The checksum of what was taken so far; 0 when none is kept.
    pub fn checksum(&mut self) -> u64 {
        self.digest_taken();
        self.digest.as_ref().map_or(0, Digest::finalize)
    }

    fn digest_taken(&mut self) {
        if let Some(digest) = &mut self.digest {
            digest.update(&self.buffer[self.digested..self.position]);
        }
        self.digested = self.position;
    }

    /// Makes `len` bytes lie in the buffer behind the position.
    fn fill(&mut self, len: usize) -> Result<(), RdbError> {
        if self.buffer.len() - self.position >= len {
            return Ok(());
        }
        self.digest_taken();
        self.buffer.drain(..self.position);
        self.offset += self.position as u64;
        self.position = 0;
        self.digested = 0;
        while self.buffer.len() < len {
            let wanted = RDB_READ_LEN as u64;
            let got = (&mut self.source)
                .take(wanted)
                .read_to_end(&mut self.buffer)?;
            if got == 0 {
                return Err(RdbError::Short);
            }
        }
        Ok(())
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&[u8], RdbError> {
        self.fill(len)?;
        let start = self.position;
        self.position += len;
        Ok(&self.buffer[start..self.position])
    }

    /// What was read from the source and not taken yet; after [`RdbError::Short`] that is all there is.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.position..]
    }

    /// Whether the source has no more bytes.
    pub fn is_at_end(&mut self) -> Result<bool, RdbError> {
        match self.fill(1) {
            Ok(()) => Ok(false),
            Err(RdbError::Short) => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RdbError> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| RdbError::Short)
    }

    pub fn byte(&mut self) -> Result<u8, RdbError> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u32(&mut self) -> Result<u32, RdbError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn i64(&mut self) -> Result<i64, RdbError> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, RdbError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub fn f64(&mut self) -> Result<f64, RdbError> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// A length or an encoding: its upper two bits tell which.
    fn length(&mut self) -> Result<Length, RdbError> {
        let first = self.byte()?;
        Ok(match first >> 6 {
            0 => Length::Plain(u64::from(first)),
            1 => {
                let second = self.byte()?;
                Length::Plain(u64::from(first & 0x3f) << 8 | u64::from(second))
            }
            2 if first == 0x80 => Length::Plain(u64::from(u32::from_be_bytes(self.array()?))),
            2 if first == 0x81 => Length::Plain(u64::from_be_bytes(self.array()?)),
            2 => return Err(RdbError::Corrupt("an unknown form of length")),
            _ => Length::Encoded(first & 0x3f),
        })
    }

    /// A plain length.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&mut self) -> Result<u64, RdbError> {
        match self.length()? {
            Length::Plain(len) => Ok(len),
            Length::Encoded(_) => Err(RdbError::Corrupt("an encoding where a length belongs")),
        }
    }

    /// A string, however it is encoded. Lives until the next read.
    pub fn string(&mut self) -> Result<&[u8], RdbError> {
        match self.length()? {
            Length::Plain(len) => {
                let len = checked_len(len)?;
                self.take(len)
            }
            Length::Encoded(ENCODED_INT8) => {
                let number = self.array::<1>()?[0] as i8;
                Ok(self.number(i64::from(number)))
            }
            Length::Encoded(ENCODED_INT16) => {
                let number = i16::from_le_bytes(self.array()?);
                Ok(self.number(i64::from(number)))
            }
            Length::Encoded(ENCODED_INT32) => {
                let number = i32::from_le_bytes(self.array()?);
                Ok(self.number(i64::from(number)))
            }
            Length::Encoded(ENCODED_LZF) => self.compressed(),
            Length::Encoded(_) => Err(RdbError::Corrupt("an unknown encoding of a string")),
        }
    }

    fn number(&mut self, number: i64) -> &[u8] {
        self.scratch.clear();
        crate::resp::number::write_i64(number, &mut self.scratch);
        &self.scratch
    }

    fn compressed(&mut self) -> Result<&[u8], RdbError> {
        let packed_len = self.len()?;
        let len = self.len()?;
        if len == 0 || len > packed_len.saturating_mul(LZF_GROWTH_MAX) {
            return Err(RdbError::Corrupt("an impossible length of compressed text"));
        }
        let (packed_len, len) = (checked_len(packed_len)?, checked_len(len)?);
        self.fill(packed_len)?;
        let packed = &self.buffer[self.position..self.position + packed_len];
        self.position += packed_len;
        self.scratch.clear();
        self.scratch.resize(len, 0);
        match lzf_rust::decompress(packed, &mut self.scratch) {
            Ok(written) if written == len => Ok(&self.scratch),
            _ => Err(RdbError::Corrupt("compressed text that does not unpack")),
        }
    }

    /// The score of the oldest layout of boards: text behind its length, or a mark.
    pub fn old_double(&mut self) -> Result<f64, RdbError> {
        match self.byte()? {
            253 => Ok(f64::NAN),
            254 => Ok(f64::INFINITY),
            255 => Ok(f64::NEG_INFINITY),
            len => {
                let text = self.take(usize::from(len))?;
                crate::resp::number::parse_double(text)
                    .ok_or(RdbError::Corrupt("a score that is no number"))
            }
        }
    }
}

fn checked_len(len: u64) -> Result<usize, RdbError> {
    usize::try_from(len)
        .ok()
        .filter(|&len| len <= RDB_STRING_LEN_MAX)
        .ok_or(RdbError::Corrupt("a string longer than any that is stored"))
}
