//! The sizes in which the allocator (jemalloc) really hands out memory.
//!
//! Blocks are sized to fill a class, so that no byte of it is lost, and memory
//! use is reported in classes, so that it agrees with what is resident.

/// The least class that holds `bytes`; 0 for nothing.
#[inline]
pub(super) const fn size_class(bytes: usize) -> usize {
    if bytes <= 8 {
        return if bytes == 0 { 0 } else { 8 };
    }
    if bytes <= 128 {
        return (bytes + 15) & !15;
    }
    let log = usize::BITS - 1 - (bytes - 1).leading_zeros();
    let step = 1usize << (log - 2);
    (bytes + step - 1) & !(step - 1)
}

#[cfg(test)]
mod tests {
    use super::size_class;

    #[test]
    fn classes_are_the_allocators() {
        let classes = [
            0, 8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640,
            768, 896, 1024, 1280,
        ];
        for bytes in 0..=1280usize {
            let expected = *classes.iter().find(|class| **class >= bytes).unwrap();
            assert_eq!(size_class(bytes), expected, "{bytes}");
        }
        assert_eq!(size_class(4097), 5120);
        assert_eq!(size_class(14337), 16384);
        assert_eq!(size_class((1 << 20) + 1), (1 << 20) + (1 << 18));
    }
}
