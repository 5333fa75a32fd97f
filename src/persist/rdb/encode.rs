//! Writes values in the format: plain layouts that every version since Redis 4 reads.

use super::{kind, stream};
use crate::limits::RDB_COMPRESSED_LEN_MIN;
use crate::store::decimal::{Scratch, parse_canonical};
use crate::store::sorted_set::Score;
use crate::store::value::{Type, ValueRef};

/// Longest text that can spell a number of 32 bits.
const INT32_TEXT_LEN_MAX: usize = 11;

/// Appends encoded bytes to a buffer.
pub struct Encoder {
    out: Vec<u8>,
    compress: bool,
    scratch: Vec<u8>,
}

/// The layout in which a value is written.
pub fn kind_of(value: Type) -> u8 {
    match value {
        Type::String => kind::STRING,
        Type::List => kind::LIST,
        Type::Set => kind::SET,
        Type::SortedSet => kind::ZSET_2,
        Type::Hash => kind::HASH,
        Type::Stream => kind::STREAM_2,
    }
}

impl Encoder {
    /// `compress` packs long texts.
    pub fn new(compress: bool) -> Self {
        Encoder {
            out: Vec::new(),
            compress,
            scratch: Vec::new(),
        }
    }

    /// Whether long texts are packed.
    pub fn compresses(&self) -> bool {
        self.compress
    }

    /// What was written and not taken yet.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Takes what was written.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Forgets what was written and keeps its memory.
    pub fn clear(&mut self) {
        self.out.clear();
    }

    pub fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// A length, in as few bytes as it fits.
    pub fn len(&mut self, len: u64) {
        match len {
            0..=0x3f => self.out.push(len as u8),
            0x40..=0x3fff => {
                self.out.push(0x40 | (len >> 8) as u8);
                self.out.push(len as u8);
            }
            0x4000..=0xffff_ffff => {
                self.out.push(0x80);
                self.raw(&(len as u32).to_be_bytes());
            }
            _ => {
                self.out.push(0x81);
                self.raw(&len.to_be_bytes());
            }
        }
    }

    /// A string: as a number if it spells one of 32 bits, else compressed if that is shorter, else plain.
    pub fn string(&mut self, text: &[u8]) {
        if text.len() <= INT32_TEXT_LEN_MAX
            && let Some(number) = parse_canonical(text)
            && self.small_int(number)
        {
            return;
        }
        if self.compress && text.len() >= RDB_COMPRESSED_LEN_MIN && self.compressed(text) {
            return;
        }
        self.len(text.len() as u64);
        self.raw(text);
    }

    fn small_int(&mut self, number: i64) -> bool {
        if let Ok(number) = i8::try_from(number) {
            self.raw(&[0xc0, number as u8]);
        } else if let Ok(number) = i16::try_from(number) {
            self.byte(0xc1);
            self.raw(&number.to_le_bytes());
        } else if let Ok(number) = i32::try_from(number) {
            self.byte(0xc2);
            self.raw(&number.to_le_bytes());
        } else {
            return false;
        }
        true
    }

    fn compressed(&mut self, text: &[u8]) -> bool {
        // Four bytes are what the second length and the mark cost.
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(text.len() - 4, 0);
        let packed = lzf_rust::compress(text, &mut scratch);
        if let Ok(packed) = packed {
            self.byte(0xc3);
            self.len(packed as u64);
            self.len(text.len() as u64);
            self.raw(&scratch[..packed]);
        }
        self.scratch = scratch;
        packed.is_ok()
    }

    /// One member of a board.
    pub fn scored(&mut self, member: &[u8], score: Score) {
        self.string(member);
        self.raw(&score.get().to_le_bytes());
    }

    /// The value in the layout of [`kind_of`].
    pub fn value(&mut self, value: ValueRef<'_>) {
        let mut scratch = Scratch::default();
        match value {
            ValueRef::String(text) => match text.as_int() {
                Some(number) if self.small_int(number) => {}
                _ => self.string(text.bytes(&mut scratch)),
            },
            ValueRef::List(list) => {
                self.len(list.len() as u64);
                list.iter().for_each(|element| self.string(element));
            }
            ValueRef::Set(set) => {
                self.len(set.len() as u64);
                for member in set.iter() {
                    self.string(member.bytes(&mut scratch));
                }
            }
            ValueRef::SortedSet(board) => {
                self.len(board.len() as u64);
                // From the greatest down: a loader that inserts each then always inserts in front.
                for (member, score) in board.iter().rev() {
                    self.scored(member, score);
                }
            }
            ValueRef::Hash(hash) => {
                self.len(hash.len() as u64);
                for (field, value) in hash.iter() {
                    self.string(field);
                    self.string(value);
                }
            }
            ValueRef::Stream(stream) => stream::encode(self, stream),
        }
    }
}
