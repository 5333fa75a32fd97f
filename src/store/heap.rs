//! How many bytes a heap request really takes.
//!
//! The allocator (jemalloc) rounds each request up to a size class: 8, the
//! multiples of 16 up to 128, then four classes for each doubling. Blocks that
//! grow use the whole class, and memory accounting counts whole classes.

/// Bytes that a request of `bytes` takes from the heap; 0 for no request.
pub const fn class_size(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        1..=8 => 8,
        9..=128 => bytes.next_multiple_of(16),
        _ => bytes.next_multiple_of(1 << ((bytes - 1).ilog2() - 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::class_size;

    #[test]
    fn classes_are_those_of_jemalloc() {
        let pairs = [
            (0, 0),
            (1, 8),
            (8, 8),
            (9, 16),
            (17, 32),
            (128, 128),
            (129, 160),
            (160, 160),
            (161, 192),
            (256, 256),
            (257, 320),
            (4097, 5120),
            (16385, 20480),
        ];
        for (request, class) in pairs {
            assert_eq!(class_size(request), class, "request of {request}");
        }
    }
}
