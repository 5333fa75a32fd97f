//! Any bytes as operations on a board: every answer is the model's, and the invariants
//! hold after each.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankd::store::sorted_set::Thresholds;
use rankd::store::sorted_set::model::{Choices, Pair, Shape};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[members, scores, max_entries, long], bytes)) = bytes.split_first_chunk() else {
        return;
    };
    let shape = Shape {
        members: 1 + u32::from(members) * 8,
        scores: 1 + u32::from(scores) * 4,
        long: (long > 100).then_some((u32::from(long & 7) + 1, usize::from(long) + 60)),
        thresholds: Thresholds {
            // Most boards outgrow the small encoding soon: there is more to go wrong in the big one.
            max_entries: usize::from(max_entries).saturating_sub(160),
            max_value: 64,
        },
    };
    let mut choices = Choices::new(bytes);
    let mut pair = Pair::new(shape);
    while !choices.is_empty() {
        pair.step(&mut choices);
        pair.check();
    }
});
