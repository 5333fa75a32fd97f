//! Sizes of memory as text: `100`, `1k` (1000), `1kb` (1024), up to `gb`.

/// Reads a size in bytes; `None` when it is no size or larger than 64 bits.
///
/// The unit's case does not matter. As in Redis, no digits at all count as zero, so
/// that the empty text is 0 bytes.
pub fn parse(text: &[u8]) -> Option<u64> {
    let end = text
        .iter()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit: u64 = match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1000 * 1000,
        b"mb" => 1 << 20,
        b"g" => 1000 * 1000 * 1000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    let number = digits.iter().try_fold(0u64, |sum, digit| {
        sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })?;
    number.checked_mul(unit)
}

/// Writes bytes with the largest binary unit that divides them.
pub fn show(bytes: i128) -> String {
    for (shift, unit) in [(30, "gb"), (20, "mb"), (10, "kb")] {
        if bytes != 0 && bytes % (1 << shift) == 0 {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units() {
        let cases: [(&str, Option<u64>); 14] = [
            ("100", Some(100)),
            ("", Some(0)),
            ("1b", Some(1)),
            ("1k", Some(1000)),
            ("1KB", Some(1024)),
            ("2m", Some(2_000_000)),
            ("2mB", Some(2 << 20)),
            ("3g", Some(3_000_000_000)),
            ("3gb", Some(3 << 30)),
            ("-1", None),
            ("1 kb", None),
            ("1kbx", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("99999999999gb", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse(text.as_bytes()), bytes, "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_sizes_are_read_back(bytes: u64) {
            prop_assert_eq!(parse(show(bytes.into()).as_bytes()), Some(bytes));
        }
    }
}
