//! SipHash-1-3 of a byte string under a secret key of 128 bits.
//!
//! A keyed function that can't be predicted is needed, not only a fast one: SCAN hands
//! out positions in the order of the hashes, from which the seed of a weaker function
//! could be worked out and a flood of colliding keys be made. The standard library has
//! the function, but not with a key of the caller's choice.

/// The key of the hash of one database.
#[derive(Clone, Copy)]
pub(super) struct SipKey {
    k0: u64,
    k1: u64,
}

impl SipKey {
    pub(super) fn new(seed: u128) -> Self {
        SipKey {
            k0: seed as u64,
            k1: (seed >> 64) as u64,
        }
    }

    #[inline]
    pub(super) fn hash(self, bytes: &[u8]) -> u64 {
        let mut state = State {
            v0: self.k0 ^ 0x736f_6d65_7073_6575,
            v1: self.k1 ^ 0x646f_7261_6e64_6f6d,
            v2: self.k0 ^ 0x6c79_6765_6e65_7261,
            v3: self.k1 ^ 0x7465_6462_7974_6573,
        };
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            state.take(u64::from_le_bytes(*word));
        }
        state.take(last_word(rest) | (bytes.len() as u64) << 56);
        state.v2 ^= 0xff;
        for _ in 0..3 {
            state.round();
        }
        state.v0 ^ state.v1 ^ state.v2 ^ state.v3
    }
}

/// Up to seven bytes as the low end of a word, without a loop over them.
#[inline]
fn last_word(rest: &[u8]) -> u64 {
    if let (Some(low), Some(high)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        let shift = 8 * (rest.len() - 4);
        u64::from(u32::from_le_bytes(*low)) | u64::from(u32::from_le_bytes(*high)) << shift
    } else if let (Some(first), Some(last)) = (rest.first(), rest.last()) {
        let middle = rest.len() / 2;
        u64::from(*first)
            | u64::from(rest[middle]) << (8 * middle)
            | u64::from(*last) << (8 * (rest.len() - 1))
    } else {
        0
    }
}

struct State {
    v0: u64,
    v1: u64,
    v2: u64,
    v3: u64,
}

impl State {
    #[inline(always)]
    fn take(&mut self, word: u64) {
        self.v3 ^= word;
        self.round();
        self.v0 ^= word;
    }

    #[inline(always)]
    fn round(&mut self) {
        self.v0 = self.v0.wrapping_add(self.v1);
        self.v1 = self.v1.rotate_left(13) ^ self.v0;
        self.v0 = self.v0.rotate_left(32);
        self.v2 = self.v2.wrapping_add(self.v3);
        self.v3 = self.v3.rotate_left(16) ^ self.v2;
        self.v0 = self.v0.wrapping_add(self.v3);
        self.v3 = self.v3.rotate_left(21) ^ self.v0;
        self.v2 = self.v2.wrapping_add(self.v1);
        self.v1 = self.v1.rotate_left(17) ^ self.v2;
        self.v2 = self.v2.rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{DefaultHasher, Hasher};

    #[test]
    fn agrees_with_the_standard_library_for_every_tail() {
        // The standard hasher is SipHash-1-3 with the key 0.
        let bytes: Vec<u8> = (0..100u8).map(|byte| byte.wrapping_mul(37)).collect();
        for len in 0..=bytes.len() {
            let mut standard = DefaultHasher::new();
            standard.write(&bytes[..len]);
            assert_eq!(SipKey::new(0).hash(&bytes[..len]), standard.finish());
        }
    }

    #[test]
    fn every_bit_of_the_key_counts() {
        let plain = SipKey::new(0).hash(b"board");
        for bit in 0..128 {
            assert_ne!(SipKey::new(1 << bit).hash(b"board"), plain);
        }
    }
}
