//! Empty buffers that the connections of a thread hand to each other, so that a silent connection holds none.
//!
//! Thousands of connections that wait would otherwise each keep memory for the next request. A thread serves one batch
//! at a time, so that one buffer for each direction is nearly always enough.

use crate::limits;
use std::cell::Cell;
use std::thread::LocalKey;

thread_local! {
    static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static OUTPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// An empty buffer to read into.
pub fn take_input() -> Vec<u8> {
    INPUT.take()
}

/// Gives back a buffer that was read into; its bytes are gone.
pub fn give_input(buffer: Vec<u8>) {
    give(&INPUT, buffer, limits::INPUT_KEPT_MAX);
}

/// An empty buffer for replies.
pub fn take_output() -> Vec<u8> {
    OUTPUT.take()
}

/// Gives back a buffer whose replies were written.
pub fn give_output(buffer: Vec<u8>) {
    give(&OUTPUT, buffer, limits::OUTPUT_KEPT_MAX);
}

fn give(place: &'static LocalKey<Cell<Vec<u8>>>, mut buffer: Vec<u8>, kept_max: usize) {
    buffer.clear();
    buffer.shrink_to(kept_max);
    place.set(buffer);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_lent_again_empty_and_not_too_large() {
        let mut buffer = take_input();
        buffer.resize(10 * limits::INPUT_KEPT_MAX, 1);
        give_input(buffer);
        let buffer = take_input();
        assert!(buffer.is_empty());
        assert!((1..=limits::INPUT_KEPT_MAX).contains(&buffer.capacity()));
        assert_eq!(take_input().capacity(), 0);
    }
}
