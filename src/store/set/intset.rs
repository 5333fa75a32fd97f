//! A flat block of sorted integers, all of the narrowest width that holds them.
//!
//! The width (2, 4 or 8 bytes) is the block's length over its tally; an empty block
//! has the narrowest. Integers are little-endian and in ascending order.

use super::super::block::Block;

fn width_for(number: i64) -> usize {
    if i16::try_from(number).is_ok() {
        2
    } else if i32::try_from(number).is_ok() {
        4
    } else {
        8
    }
}

/// The integers of a block, `count` of them.
#[derive(Clone, Copy)]
pub struct Ints<'a> {
    bytes: &'a [u8],
    width: usize,
    count: usize,
}

impl<'a> Ints<'a> {
    pub fn new(bytes: &'a [u8], count: usize) -> Self {
        let width = bytes.len().checked_div(count).unwrap_or(2);
        Ints {
            bytes,
            width,
            count,
        }
    }

    pub fn get(&self, index: usize) -> i64 {
        let mut wide = [0; 8];
        let at = index * self.width;
        wide[..self.width].copy_from_slice(&self.bytes[at..at + self.width]);
        let unused = 64 - 8 * self.width as u32;
        (i64::from_le_bytes(wide) << unused) >> unused
    }

    /// Where `number` is, or where it would be inserted. O(log n).
    pub fn search(&self, number: i64) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = (low + high) / 2;
            match self.get(middle).cmp(&number) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    pub fn iter(self) -> impl Iterator<Item = i64> + Clone + use<'a> {
        (0..self.count).map(move |index| self.get(index))
    }
}

/// Inserts a number; false if it is there. The caller counts.
pub fn insert(block: &mut Block, count: usize, number: i64) -> bool {
    let ints = Ints::new(block.as_slice(), count);
    let Err(at) = ints.search(number) else {
        return false;
    };
    let wanted = width_for(number);
    let width = if count == 0 { wanted } else { ints.width };
    if wanted > width {
        widen(block, count, wanted);
    }
    let width = width.max(wanted);
    block.insert(at * width, &number.to_le_bytes()[..width]);
    true
}

fn widen(block: &mut Block, count: usize, width: usize) {
    let mut wide = Block::with_room((count + 1) * width);
    for number in Ints::new(block.as_slice(), count).iter() {
        wide.append(&number.to_le_bytes()[..width]);
    }
    wide.set_tally(block.tally());
    *block = wide;
}

/// Removes a number; false if it is not there. The caller counts.
pub fn remove(block: &mut Block, count: usize, number: i64) -> bool {
    let ints = Ints::new(block.as_slice(), count);
    let Ok(at) = ints.search(number) else {
        return false;
    };
    let width = ints.width;
    block.close(at * width, width);
    true
}
