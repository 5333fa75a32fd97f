//! Asking for memory before it is needed.
//!
//! A lookup waits for memory three times: for the line, the record and the value. For
//! several keys at once the waits of each kind can pass together. What is fetched is a
//! guess (the first slot with the tag); a wrong one costs time and nothing else.

use super::{Line, Segment, Spot};

impl Segment {
    /// Asks for the home line of a hash.
    #[inline]
    pub(in super::super) fn prefetch_line(&self, hash: u64) {
        prefetch(&raw const self.lines[self.home(hash)]);
    }

    /// Asks for the record that the line probably leads to.
    #[inline]
    pub(in super::super) fn prefetch_record(&self, hash: u64) {
        if let Some(spot) = self.likely_spot(hash) {
            prefetch(self.record(spot).address());
        }
    }

    /// Asks for the heap block of the value that the record probably holds.
    #[inline]
    pub(in super::super) fn prefetch_value(&self, hash: u64) {
        if let Some(spot) = self.likely_spot(hash) {
            prefetch(self.record(spot).handle_as_address());
        }
    }

    #[inline]
    fn likely_spot(&self, hash: u64) -> Option<Spot> {
        let home = self.home(hash);
        let slot = self.lines[home].with_tag(Line::tag(hash)).next()?;
        Some(Spot::new(home, slot))
    }
}

#[inline]
fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; no address is wrong for it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
