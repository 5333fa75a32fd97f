//! String values.
//!
//! One word, in one of five forms, told by its low three bits:
//!
//! | form | bits | OBJECT ENCODING | what it is |
//! |---|---|---|---|
//! | int | `..1` | int | an integer of 63 bits in the word itself |
//! | tiny | `110` | embstr | up to seven bytes in the word itself |
//! | wide | `100` | int | an integer of 64 bits on the heap |
//! | short | `000` | embstr | up to 44 bytes in a [`ThinBytes`] |
//! | raw | `010` | raw | a growable [`Block`] |
//!
//! Which encoding a value reports follows Redis 7.2: text that is the canonical
//! spelling of an integer is `int`, up to 44 bytes are `embstr`, and what APPEND, SETRANGE
//! and the bit commands have changed is `raw`, however short.
//!
//! This module is one of the few with `unsafe`. It keeps this invariant: the
//! pointer under the low three bits is what the form says, and has one owner.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::block::{BLOCK_BYTES_MAX, Block};
use super::decimal::{Scratch, parse_canonical, text_len};
use super::thin::ThinBytes;

/// Longest text that is `embstr` (Redis: OBJ_ENCODING_EMBSTR_SIZE_LIMIT).
const EMBSTR_BYTES_MAX: usize = 44;
const TINY_BYTES_MAX: usize = 7;

const TAG_MASK: usize = 0b111;
const INT: usize = 0b001;
const RAW: usize = 0b010;
const WIDE: usize = 0b100;
const TINY: usize = 0b110;

/// A string value; see the module's head.
#[repr(transparent)]
pub struct StringValue {
    word: *mut u8,
}

// SAFETY: what the word points to is owned and holds plain bytes.
unsafe impl Send for StringValue {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for StringValue {}

enum Form<'a> {
    Int(i64),
    Tiny(&'a [u8]),
    Short(&'a ThinBytes),
    Raw(ManuallyDrop<Block>),
}

impl StringValue {
    /// Longest string that can be held, whatever `proto-max-bulk-len` says.
    pub const LEN_MAX: usize = BLOCK_BYTES_MAX;

    /// The value that SET stores: an integer if `text` spells one canonically.
    pub fn new(text: &[u8]) -> Self {
        match parse_canonical(text) {
            Some(number) => StringValue::from_int(number),
            None => StringValue::text(text),
        }
    }

    /// Text that stays text, even if it spells an integer (INCRBYFLOAT stores such).
    pub fn text(text: &[u8]) -> Self {
        if text.len() <= TINY_BYTES_MAX {
            let mut bytes = [0; 8];
            bytes[0] = (TINY | text.len() << 3) as u8;
            bytes[1..=text.len()].copy_from_slice(text);
            StringValue::from_word(usize::from_le_bytes(bytes))
        } else if text.len() <= EMBSTR_BYTES_MAX {
            StringValue {
                word: ThinBytes::from(text).into_raw().as_ptr(),
            }
        } else {
            StringValue::raw(Block::from(text))
        }
    }

    pub fn from_int(number: i64) -> Self {
        let shifted = number << 1;
        if shifted >> 1 == number {
            StringValue::from_word(shifted as usize | INT)
        } else {
            let boxed = Box::into_raw(Box::new(number)).cast::<u8>();
            StringValue {
                word: boxed.map_addr(|addr| addr | WIDE),
            }
        }
    }

    fn raw(block: Block) -> Self {
        StringValue {
            word: block.into_raw().as_ptr().map_addr(|addr| addr | RAW),
        }
    }

    fn from_word(word: usize) -> Self {
        StringValue {
            word: std::ptr::without_provenance_mut(word),
        }
    }

    fn tag(&self) -> usize {
        let addr = self.word.addr();
        if addr & INT != 0 {
            INT
        } else {
            addr & TAG_MASK
        }
    }

    fn pointer(&self) -> NonNull<u8> {
        NonNull::new(self.word.map_addr(|addr| addr & !TAG_MASK))
            .expect("heap forms hold a pointer")
    }

    fn form(&self) -> Form<'_> {
        match self.tag() {
            INT => Form::Int(self.word.addr() as i64 >> 1),
            // SAFETY: the tag says that this is a live Box<i64> that we own.
            WIDE => Form::Int(unsafe { *self.pointer().cast::<i64>().as_ref() }),
            TINY => {
                let len = self.word.addr() >> 3 & TINY_BYTES_MAX;
                // SAFETY: the word is eight initialised bytes, stored with the lowest
                // byte first on the little-endian machines we build for; len is at most 7.
                Form::Tiny(unsafe {
                    let bytes = (&raw const self.word).cast::<u8>();
                    std::slice::from_raw_parts(bytes.add(1), len)
                })
            }
            // SAFETY: the tag says that this is a Block we own; ManuallyDrop lends it.
            RAW => Form::Raw(ManuallyDrop::new(unsafe {
                Block::from_raw(self.pointer())
            })),
            // SAFETY: untagged, the word is that of a ThinBytes, which is one pointer too.
            _ => Form::Short(unsafe { &*(&raw const self.word).cast::<ThinBytes>() }),
        }
    }

    /// The bytes of the value; `scratch` holds them if it is an integer.
    pub fn bytes<'a>(&'a self, scratch: &'a mut Scratch) -> &'a [u8] {
        match self.form() {
            Form::Int(number) => scratch.print(number),
            Form::Tiny(bytes) => bytes,
            Form::Short(thin) => thin.as_slice(),
            Form::Raw(block) => {
                let slice: *const [u8] = block.as_slice();
                // SAFETY: the bytes are on the heap and live as long as self is borrowed;
                // the lent handle's drop does nothing.
                unsafe { &*slice }
            }
        }
    }

    pub fn len(&self) -> usize {
        match self.form() {
            Form::Int(number) => text_len(number),
            Form::Tiny(bytes) => bytes.len(),
            Form::Short(thin) => thin.as_slice().len(),
            Form::Raw(block) => block.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The integer, if the value is the canonical text of one.
    pub fn as_int(&self) -> Option<i64> {
        match self.form() {
            Form::Int(number) => Some(number),
            Form::Tiny(bytes) => parse_canonical(bytes),
            Form::Short(thin) => parse_canonical(thin.as_slice()),
            Form::Raw(block) => parse_canonical(block.as_slice()),
        }
    }

    /// The name that OBJECT ENCODING gives.
    pub fn encoding(&self) -> &'static str {
        match self.form() {
            Form::Int(_) => "int",
            Form::Tiny(_) | Form::Short(_) => "embstr",
            Form::Raw(_) => "raw",
        }
    }

    /// Heap bytes behind the word.
    pub fn memory_usage(&self) -> usize {
        match self.form() {
            Form::Int(_) if self.tag() == WIDE => size_of::<i64>(),
            Form::Int(_) | Form::Tiny(_) => 0,
            Form::Short(thin) => thin.heap_bytes(),
            Form::Raw(block) => block.heap_bytes(),
        }
    }

    /// Lets `change` change the bytes freely; the value is `raw` from then on.
    pub fn edit<R>(&mut self, change: impl FnOnce(&mut Block) -> R) -> R {
        if self.tag() != RAW {
            let mut scratch = Scratch::default();
            let block = Block::from(self.bytes(&mut scratch));
            *self = StringValue::raw(block);
        }
        // The word is empty while the block is lent, so that a panic can't free it twice.
        let lent = std::mem::replace(self, StringValue::text(b""));
        // SAFETY: the tag says that this is a Block, and the ManuallyDrop gives it up.
        let mut block = unsafe { Block::from_raw(ManuallyDrop::new(lent).pointer()) };
        let result = change(&mut block);
        *self = StringValue::raw(block);
        result
    }

    /// Appends `bytes`; returns the new length. O(bytes appended), amortised.
    pub fn append(&mut self, bytes: &[u8]) -> usize {
        self.edit(|block| {
            block.append(bytes);
            block.len()
        })
    }

    /// Overwrites the bytes from `offset` on, with zeros before it if the value is
    /// shorter; returns the new length.
    pub fn set_range(&mut self, offset: usize, bytes: &[u8]) -> usize {
        self.edit(|block| {
            let kept = offset.saturating_add(bytes.len()).min(block.len());
            let len = block.len();
            if offset >= len {
                block.open(len, offset - len);
                block.append(bytes);
            } else {
                let inside = kept - offset;
                block.as_mut_slice()[offset..kept].copy_from_slice(&bytes[..inside]);
                block.append(&bytes[inside..]);
            }
            block.len()
        })
    }
}

impl Default for StringValue {
    fn default() -> Self {
        StringValue::text(b"")
    }
}

impl Clone for StringValue {
    fn clone(&self) -> Self {
        match self.form() {
            Form::Int(number) => StringValue::from_int(number),
            Form::Tiny(bytes) => StringValue::text(bytes),
            Form::Short(thin) => StringValue {
                word: thin.clone().into_raw().as_ptr(),
            },
            Form::Raw(block) => StringValue::raw((*block).clone()),
        }
    }
}

impl Drop for StringValue {
    fn drop(&mut self) {
        match self.tag() {
            // SAFETY: the tag says that this came from Box::into_raw; we own it.
            WIDE => drop(unsafe { Box::from_raw(self.pointer().cast::<i64>().as_ptr()) }),
            // SAFETY: the tag says that this came from Block::into_raw; we own it.
            RAW => drop(unsafe { Block::from_raw(self.pointer()) }),
            // SAFETY: untagged, this came from ThinBytes::into_raw; we own it.
            0 => drop(unsafe { ThinBytes::from_raw(self.pointer()) }),
            _ => {}
        }
    }
}

#[cfg(target_endian = "big")]
compile_error!("tiny strings are read from the word in little-endian order");

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(value: &StringValue) -> Vec<u8> {
        let mut scratch = Scratch::default();
        value.bytes(&mut scratch).to_vec()
    }

    #[test]
    fn set_picks_the_encoding() {
        for (text, encoding) in [
            (&b""[..], "embstr"),
            (b"0", "int"),
            (b"-1", "int"),
            (b"01", "embstr"),
            (b"9223372036854775807", "int"),
            (b"-9223372036854775808", "int"),
            (b"9223372036854775808", "embstr"),
            (b"1234567", "int"),
            (b"abcdefg", "embstr"),
            (b"abcdefgh", "embstr"),
            (&[b'x'; 44], "embstr"),
            (&[b'x'; 45], "raw"),
            (&[0xff; 100_000], "raw"),
        ] {
            let value = StringValue::new(text);
            assert_eq!(value.encoding(), encoding, "{text:?}");
            assert_eq!(text_of(&value), text);
            assert_eq!(value.len(), text.len());
            let copy = value.clone();
            drop(value);
            assert_eq!(text_of(&copy), text);
            assert_eq!(copy.encoding(), encoding);
            assert_eq!(copy.memory_usage() == 0, text.len() <= 7 || text == b"0");
            assert_eq!(copy.as_int(), parse_canonical(text));
        }
        assert_eq!(size_of::<StringValue>(), 8);
    }

    #[test]
    fn integers_keep_all_their_bits() {
        for number in [
            0,
            -1,
            1 << 62,
            (1 << 62) - 1,
            -(1 << 62),
            -(1 << 62) - 1,
            i64::MIN,
            i64::MAX,
        ] {
            let value = StringValue::from_int(number);
            assert_eq!(value.as_int(), Some(number));
            assert_eq!(text_of(&value.clone()), number.to_string().as_bytes());
            assert_eq!(value.encoding(), "int");
        }
    }

    #[test]
    fn changed_values_are_raw() {
        let mut value = StringValue::new(b"12");
        assert_eq!(value.append(b"3"), 3);
        assert_eq!(value.encoding(), "raw");
        assert_eq!(value.as_int(), Some(123));
        assert_eq!(value.set_range(5, b"ab"), 7);
        assert_eq!(text_of(&value), b"123\0\0ab");
        assert_eq!(value.set_range(6, b"cde"), 9);
        assert_eq!(value.set_range(0, b"X"), 9);
        assert_eq!(text_of(&value), b"X23\0\0acde");
        assert_eq!(StringValue::text(b"12").encoding(), "embstr");
    }

    #[test]
    fn random_edits_match_a_vec() {
        let mut state = 3u64;
        let mut below = move |bound: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        let mut value = StringValue::default();
        let mut model: Vec<u8> = Vec::new();
        for step in 0..4000 {
            let bytes = vec![step as u8; below(90)];
            match below(20) {
                0 => {
                    value = StringValue::new(&bytes);
                    model = bytes;
                }
                1..=9 => {
                    value.append(&bytes);
                    model.extend(&bytes);
                }
                _ => {
                    let offset = below(model.len() + 20);
                    let end = offset + bytes.len();
                    model.resize(model.len().max(end), 0);
                    model[offset..end].copy_from_slice(&bytes);
                    value.set_range(offset, &bytes);
                }
            }
            assert_eq!(text_of(&value), model, "step {step}");
            assert!(value.memory_usage() <= model.len() + model.len() / 2 + 64);
        }
    }
}
