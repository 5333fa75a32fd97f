//! The hash slot of a key, as Redis Cluster computes it: CRC-16 (XMODEM) of the key,
//! or of its hash tag, modulo 16384.

/// Slots in all (Redis Cluster specification).
pub const SLOTS: usize = 16_384;

/// The slot of a key. When the key has a `{` and a `}` after it with at least one byte
/// between, only the bytes between the first such pair count.
pub fn slot(key: &[u8]) -> u16 {
    crc16(hash_tag(key)) & (SLOTS as u16 - 1)
}

/// The part of the key that decides its slot.
pub fn hash_tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|&byte| byte == b'{') else {
        return key;
    };
    let rest = &key[open + 1..];
    match rest.iter().position(|&byte| byte == b'}') {
        Some(len) if len > 0 => &rest[..len],
        _ => key,
    }
}

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 {
                (crc << 1) ^ 0x1021
            } else {
                crc << 1
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, &byte| {
        (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(slot(b"foo"), 12182);
        assert_eq!(slot(b"bar"), 5061);
        assert_eq!(slot(b""), 0);
    }

    #[test]
    fn only_the_first_filled_tag_counts() {
        assert_eq!(hash_tag(b"{user1}.board"), b"user1");
        assert_eq!(hash_tag(b"board{}{x}"), b"board{}{x}");
        assert_eq!(hash_tag(b"a{{b}}c"), b"{b");
        assert_eq!(hash_tag(b"a{b}{c}"), b"b");
        assert_eq!(hash_tag(b"a}b{c"), b"a}b{c");
        assert_eq!(slot(b"{user1}.a"), slot(b"b.{user1}"));
    }
}
