//! List elements in a flat block, walked both ways.
//!
//! Beside the block its owner keeps [`Counts`]: how many elements there are, and how
//! many bytes Redis's listpack of them would take. The latter decides when a list
//! changes its encoding and where a chunk is full, so that both happen at the same
//! element as in Redis.

use super::super::block::Block;
use super::super::decimal::parse_canonical;
use super::super::packed::{
    length_size, read_length, read_length_backward, write_entry, write_length_backward,
};

/// Bytes of a listpack's header and end mark.
const LISTPACK_FRAME: usize = 7;

/// What the owner of a block of elements keeps about it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub elements: usize,
    /// Bytes of the elements in Redis's listpack, without its frame.
    payload: usize,
}

const PAYLOAD_BITS: u32 = 17;

impl Counts {
    /// Bytes of Redis's listpack with these elements.
    pub fn listpack_bytes(&self) -> usize {
        LISTPACK_FRAME + self.payload
    }

    /// Both counts in 32 bits, if they fit.
    pub fn pack(&self) -> Option<u32> {
        let fits = self.payload < 1 << PAYLOAD_BITS && self.elements < 1 << (32 - PAYLOAD_BITS);
        fits.then_some((self.elements as u32) << PAYLOAD_BITS | self.payload as u32)
    }

    pub fn unpack(packed: u32) -> Self {
        Counts {
            elements: (packed >> PAYLOAD_BITS) as usize,
            payload: (packed & ((1 << PAYLOAD_BITS) - 1)) as usize,
        }
    }

    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            elements: self.elements + other.elements,
            payload: self.payload + other.payload,
        }
    }

    fn add(&mut self, value: &[u8]) {
        self.elements += 1;
        self.payload += listpack_entry_size(value);
    }

    fn subtract(&mut self, value: &[u8]) {
        self.elements -= 1;
        self.payload -= listpack_entry_size(value);
    }
}

/// Bytes that one element takes in Redis's listpack: integers are kept in binary, and
/// the size stands once more behind the element in steps of seven bits.
pub fn listpack_entry_size(value: &[u8]) -> usize {
    let size = match parse_canonical(value) {
        Some(0..=127) => 1,
        Some(-4096..=4095) => 2,
        Some(-32_768..=32_767) => 3,
        Some(-8_388_608..=8_388_607) => 4,
        Some(-2_147_483_648..=2_147_483_647) => 5,
        Some(_) => 9,
        None => match value.len() {
            0..64 => 1 + value.len(),
            64..4096 => 2 + value.len(),
            _ => 5 + value.len(),
        },
    };
    let backward = match size {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    };
    size + backward
}

/// Bytes that one element takes in our block.
fn stored_size(len: usize) -> usize {
    let forward = length_size(len) + len;
    forward + length_size(forward)
}

/// The element that starts at `at`, and where the next one starts.
pub fn element_at(bytes: &[u8], at: usize) -> (&[u8], usize) {
    let (len, size) = read_length(&bytes[at..]);
    let forward = size + len;
    (
        &bytes[at + size..at + forward],
        at + forward + length_size(forward),
    )
}

/// Where the element starts that ends at `end`.
pub fn start_before(bytes: &[u8], end: usize) -> usize {
    let (forward, size) = read_length_backward(&bytes[..end]);
    end - size - forward
}

/// Where the element `index` of `count` starts; the end for `index == count`.
/// O(elements to the nearer end).
pub fn offset_of(bytes: &[u8], count: usize, index: usize) -> usize {
    if index <= count / 2 {
        (0..index).fold(0, |at, _| element_at(bytes, at).1)
    } else {
        (index..count).fold(bytes.len(), |end, _| start_before(bytes, end))
    }
}

/// Inserts an element so that it starts at `at`.
pub fn insert_at(block: &mut Block, counts: &mut Counts, at: usize, value: &[u8]) {
    let out = block.open(at, stored_size(value.len()));
    let forward = write_entry(out, value);
    write_length_backward(&mut out[forward..], forward);
    counts.add(value);
}

pub fn insert(block: &mut Block, counts: &mut Counts, index: usize, value: &[u8]) {
    let at = offset_of(block.as_slice(), counts.elements, index);
    insert_at(block, counts, at, value);
}

pub fn replace(block: &mut Block, counts: &mut Counts, index: usize, value: &[u8]) {
    let start = offset_of(block.as_slice(), counts.elements, index);
    let (old, end) = element_at(block.as_slice(), start);
    counts.subtract(old);
    let out = block.resize_range(start, end - start, stored_size(value.len()));
    let forward = write_entry(out, value);
    write_length_backward(&mut out[forward..], forward);
    counts.add(value);
}

/// Removes `count` elements from `index` on.
pub fn remove_range(block: &mut Block, counts: &mut Counts, index: usize, count: usize) {
    let bytes = block.as_slice();
    let start = offset_of(bytes, counts.elements, index);
    let mut end = start;
    for _ in 0..count {
        let (value, next) = element_at(bytes, end);
        counts.subtract(value);
        end = next;
    }
    block.close(start, end - start);
}

/// Removes the elements equal to `value`, at most `max`, from the front or the back on;
/// returns how many. One pass over the bytes.
pub fn remove_matching(
    block: &mut Block,
    counts: &mut Counts,
    value: &[u8],
    max: usize,
    from_back: bool,
) -> usize {
    let bytes = block.as_slice();
    let mut found = Vec::new();
    let (mut at, mut end) = (0, bytes.len());
    for _ in 0..counts.elements {
        if found.len() == max {
            break;
        }
        let start = if from_back {
            start_before(bytes, end)
        } else {
            at
        };
        let (element, next) = element_at(bytes, start);
        if element == value {
            found.push((start, next));
        }
        (at, end) = (next, start);
    }
    if from_back {
        found.reverse();
    }
    let Some(&(mut kept, _)) = found.first() else {
        return 0;
    };
    let bytes = block.as_mut_slice();
    for (nth, &(_, from)) in found.iter().enumerate() {
        let to = found.get(nth + 1).map_or(bytes.len(), |next| next.0);
        bytes.copy_within(from..to, kept);
        kept += to - from;
    }
    block.truncate(kept);
    for _ in &found {
        counts.subtract(value);
    }
    found.len()
}

/// Cuts the block in two: elements from `index` on go to the block that is returned.
pub fn split_off(block: &mut Block, counts: &mut Counts, index: usize) -> (Block, Counts) {
    let at = offset_of(block.as_slice(), counts.elements, index);
    let tail = Block::from(&block.as_slice()[at..]);
    let mut tail_counts = Counts::default();
    let mut next = 0;
    while next < tail.len() {
        let (value, after) = element_at(tail.as_slice(), next);
        tail_counts.add(value);
        counts.subtract(value);
        next = after;
    }
    block.truncate(at);
    (tail, tail_counts)
}
