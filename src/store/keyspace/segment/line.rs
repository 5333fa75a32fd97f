//! A line of slots: what finds a record, in one cache line.
//!
//! A slot has a tag (one byte of the hash, 0 for a free slot), the access clock and the
//! place of its record in the arena. A line counts the entries that found it full and
//! went on to the lines after it, so that a search knows where to stop.

use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

use super::super::access::AccessClock;

/// Slots of a line: what 64 bytes hold at six bytes a slot.
pub(super) const SLOTS_PER_LINE: usize = 10;

/// A line that so many entries passed counts no more, and never back.
pub(super) const PASSED_MAX: u8 = u8::MAX;

#[derive(Default)]
#[repr(C, align(64))]
pub(super) struct Line {
    tags: [u8; SLOTS_PER_LINE],
    passed: u8,
    clock_high: [AtomicU8; SLOTS_PER_LINE],
    clock_low: [AtomicU16; SLOTS_PER_LINE],
    offsets: [u16; SLOTS_PER_LINE],
}

const _: () = assert!(size_of::<Line>() == 64);

impl Line {
    /// The tag of a hash; never 0.
    #[inline]
    pub(super) fn tag(hash: u64) -> u8 {
        (hash as u8).max(1)
    }

    /// The slots with this tag.
    #[inline]
    pub(super) fn with_tag(&self, tag: u8) -> SlotMask {
        let differing = self.tag_bytes() ^ (u128::from(tag) * REPEATED_ONE);
        SlotMask(zero_bytes(differing) & SLOTS_MASK)
    }

    /// The slots in use.
    pub(super) fn occupied(&self) -> SlotMask {
        SlotMask(!zero_bytes(self.tag_bytes()) & REPEATED_HIGH & SLOTS_MASK)
    }

    /// The first free slot.
    pub(super) fn first_free(&self) -> Option<usize> {
        self.with_tag(0).next()
    }

    #[inline]
    fn tag_bytes(&self) -> u128 {
        let mut bytes = [0; 16];
        bytes[..SLOTS_PER_LINE].copy_from_slice(&self.tags);
        u128::from_le_bytes(bytes)
    }

    #[inline]
    pub(super) fn offset(&self, slot: usize) -> u16 {
        self.offsets[slot]
    }

    pub(super) fn set_offset(&mut self, slot: usize, offset: u16) {
        self.offsets[slot] = offset;
    }

    pub(super) fn fill(&mut self, slot: usize, tag: u8, offset: u16, clock: AccessClock) {
        self.tags[slot] = tag;
        self.offsets[slot] = offset;
        self.set_clock(slot, clock);
    }

    pub(super) fn free(&mut self, slot: usize) {
        self.tags[slot] = 0;
    }

    /// Whether entries that belong here are in lines after this one.
    #[inline]
    pub(super) fn is_passed(&self) -> bool {
        self.passed > 0
    }

    #[cfg(test)]
    pub(super) fn passed(&self) -> u8 {
        self.passed
    }

    pub(super) fn pass(&mut self) {
        self.passed = self.passed.saturating_add(1);
    }

    pub(super) fn unpass(&mut self) {
        if self.passed < PASSED_MAX {
            self.passed -= 1;
        }
    }

    /// The access clock. Its two parts are read one after the other: beside a reader that
    /// sets the clock, one reading may mix the old and the new one, which eviction, a
    /// game of chance, stands.
    #[inline]
    pub(super) fn clock(&self, slot: usize) -> AccessClock {
        let high = self.clock_high[slot].load(Ordering::Relaxed);
        let low = self.clock_low[slot].load(Ordering::Relaxed);
        AccessClock::from_bits(u32::from(high) << 16 | u32::from(low))
    }

    /// Sets the access clock; writes only what differs, so that readers of one hot key
    /// don't take the line from each other.
    #[inline]
    pub(super) fn set_clock(&self, slot: usize, clock: AccessClock) {
        let (high, low) = ((clock.to_bits() >> 16) as u8, clock.to_bits() as u16);
        if self.clock_high[slot].load(Ordering::Relaxed) != high {
            self.clock_high[slot].store(high, Ordering::Relaxed);
        }
        if self.clock_low[slot].load(Ordering::Relaxed) != low {
            self.clock_low[slot].store(low, Ordering::Relaxed);
        }
    }
}

const REPEATED_ONE: u128 = u128::MAX / 0xFF;
const REPEATED_HIGH: u128 = REPEATED_ONE * 0x80;
const SLOTS_MASK: u128 = (1 << (8 * SLOTS_PER_LINE)) - 1;

/// The high bit of each byte that is zero; exact, without carries between bytes.
#[inline]
fn zero_bytes(bytes: u128) -> u128 {
    const LOW_BITS: u128 = !REPEATED_HIGH;
    !(((bytes & LOW_BITS) + LOW_BITS) | bytes | LOW_BITS)
}

/// A set of slots, to walk over.
#[derive(Clone, Copy)]
pub(super) struct SlotMask(u128);

impl Iterator for SlotMask {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let slot = self.0.trailing_zeros() as usize / 8;
        self.0 &= self.0 - 1;
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_tag_without_false_alarms() {
        let mut line = Line::default();
        assert_eq!(line.occupied().count(), 0);
        assert_eq!(line.first_free(), Some(0));
        for slot in 0..SLOTS_PER_LINE {
            // Neighbouring tags that differ in the low bit are what a carry would confuse.
            line.fill(
                slot,
                0x80 + (slot as u8 & 1),
                slot as u16 * 7,
                AccessClock::from_bits(9),
            );
        }
        assert_eq!(line.first_free(), None);
        let odd: Vec<_> = line.with_tag(0x81).collect();
        assert_eq!(odd, [1, 3, 5, 7, 9]);
        assert_eq!(line.with_tag(0x01).count(), 0);
        line.free(4);
        assert_eq!(line.first_free(), Some(4));
        assert_eq!(line.occupied().count(), 9);
        assert_eq!(line.with_tag(0x80).collect::<Vec<_>>(), [0, 2, 6, 8]);
        assert_eq!(line.offset(3), 21);
    }

    #[test]
    fn clocks_are_kept_whole() {
        let line = Line::default();
        let clock = AccessClock::from_bits(0x00AB_CDEF);
        line.set_clock(9, clock);
        assert_eq!(line.clock(9), clock);
        assert_eq!(line.clock(8), AccessClock::default());
    }

    #[test]
    fn a_line_that_was_passed_too_often_stays_passed() {
        let mut line = Line::default();
        line.pass();
        line.unpass();
        assert!(!line.is_passed());
        for _ in 0..300 {
            line.pass();
        }
        for _ in 0..300 {
            line.unpass();
        }
        assert!(line.is_passed());
    }
}
