//! Searches of short arrays, without branches that a processor would have to guess.

/// One bit for each of the 12 tags that equals `tag`.
#[inline]
pub(super) fn tag_matches(tags: &[u8; 12], tag: u8) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_cvtsi32_si128, _mm_loadl_epi64, _mm_movemask_epi8, _mm_set1_epi8,
            _mm_unpacklo_epi64,
        };
        let low = tags.as_ptr();
        // SAFETY: SSE2 is part of the target; the loads read bytes 0 to 7 and 8 to 11.
        unsafe {
            let rest = low.add(8).cast::<i32>().read_unaligned();
            let both = _mm_unpacklo_epi64(_mm_loadl_epi64(low.cast()), _mm_cvtsi32_si128(rest));
            let equal = _mm_cmpeq_epi8(both, _mm_set1_epi8(tag as i8));
            _mm_movemask_epi8(equal) as u32 & 0xfff
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    tags.iter().enumerate().fold(0, |matches, (slot, other)| {
        matches | u32::from(*other == tag) << slot
    })
}

/// How many of the ascending keys are below `key`, and how many are not above it.
#[inline]
pub(super) fn equal_range(keys: &[u16], key: u16) -> (usize, usize) {
    // Searches by halves compile to conditional moves, which beat counting every key.
    let below = keys.partition_point(|other| *other < key);
    if keys.get(below) != Some(&key) {
        return (below, below);
    }
    (
        below,
        below + 1 + keys[below + 1..].partition_point(|other| *other == key),
    )
}

/// Where `handle` is.
#[inline]
pub(super) fn position(handles: &[u32], handle: u32) -> Option<usize> {
    handles.iter().position(|other| *other == handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_matched_in_every_slot() {
        for slot in 0..12 {
            let mut tags = [9; 12];
            tags[slot] = 200;
            assert_eq!(tag_matches(&tags, 200), 1 << slot);
            assert_eq!(tag_matches(&tags, 9), 0xfff & !(1 << slot));
            assert_eq!(tag_matches(&tags, 0), 0);
        }
    }

    #[test]
    fn equal_ranges_are_those_of_a_binary_search() {
        let keys: Vec<u16> = (0..144).map(|number| number / 3 * 1000).collect();
        let mut sorted = keys;
        sorted.sort_unstable();
        for key in [0, 1, 999, 1000, 47000, u16::MAX] {
            let expected = (
                sorted.partition_point(|other| *other < key),
                sorted.partition_point(|other| *other <= key),
            );
            assert_eq!(equal_range(&sorted, key), expected);
        }
        assert_eq!(equal_range(&[], 5), (0, 0));
    }
}
