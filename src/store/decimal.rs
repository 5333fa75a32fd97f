//! Integers as decimal text, in the one spelling that stands for them.
//!
//! Values that hold integers in binary must give back exactly the bytes that
//! the client sent, so only the canonical spelling counts as an integer: no
//! plus sign, no leading zeros, no `-0`, no blanks, within 64 bits.

/// Longest text of a 64-bit integer: the sign and 19 digits.
const TEXT_LEN_MAX: usize = 20;

/// Room for the text of one integer, lent to the functions that print.
#[derive(Default)]
pub struct Scratch([u8; TEXT_LEN_MAX]);

impl Scratch {
    /// The canonical text of `number`.
    pub fn print(&mut self, number: i64) -> &[u8] {
        let mut rest = number.unsigned_abs();
        let mut at = TEXT_LEN_MAX;
        loop {
            at -= 1;
            self.0[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            at -= 1;
            self.0[at] = b'-';
        }
        &self.0[at..]
    }
}

/// The integer whose canonical text is `text`.
pub fn parse_canonical(text: &[u8]) -> Option<i64> {
    if text == b"0" {
        return Some(0);
    }
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() >= TEXT_LEN_MAX || !matches!(digits, [b'1'..=b'9', ..]) {
        return None;
    }
    let mut magnitude: u64 = 0;
    for &digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        // Nineteen digits stay below 10^19, which fits.
        magnitude = magnitude * 10 + u64::from(value);
    }
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// Length of the canonical text of `number`.
pub fn text_len(number: i64) -> usize {
    let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
    digits + usize::from(number < 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_integer_agree_both_ways() {
        for number in [
            0,
            1,
            -1,
            9,
            10,
            -10,
            99,
            12345,
            i64::MAX,
            i64::MIN,
            i64::MIN + 1,
        ] {
            let mut scratch = Scratch::default();
            let text = scratch.print(number);
            assert_eq!(text, number.to_string().as_bytes());
            assert_eq!(text.len(), text_len(number));
            assert_eq!(parse_canonical(text), Some(number));
        }
    }

    #[test]
    fn other_spellings_are_not_integers() {
        for text in [
            "",
            "-",
            "-0",
            "+1",
            "01",
            "-01",
            " 1",
            "1 ",
            "1a",
            "0x1",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999",
            "18446744073709551616",
            "1.0",
        ] {
            assert_eq!(parse_canonical(text.as_bytes()), None, "{text:?}");
        }
    }
}
