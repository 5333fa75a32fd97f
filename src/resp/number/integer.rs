//! 64-bit integers as decimal text.
//!
//! Reading accepts only the one canonical text of each value, as Redis does:
//! no plus sign, no spaces, no leading zeros, no `-0`. So a text that parses is
//! the text that would be written, and an integer encoding of it loses nothing.

/// Digits of `u64::MAX`, the longest unsigned text.
const DIGITS_MAX: usize = 20;

/// The value of the canonical decimal `text`, or `None`.
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', b'0', ..] => None,
        [b'-', digits @ ..] => {
            let magnitude = parse_u64(digits)?;
            if magnitude > i64::MIN.unsigned_abs() {
                return None;
            }
            Some((magnitude as i64).wrapping_neg())
        }
        digits => i64::try_from(parse_u64(digits)?).ok(),
    }
}

/// The value of the canonical decimal `text` without a sign, or `None`.
pub fn parse_u64(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > DIGITS_MAX || (text[0] == b'0' && text.len() > 1) {
        return None;
    }
    // Nineteen digits always fit; only a twentieth can overflow.
    let (safe, last) = text.split_at(text.len().min(DIGITS_MAX - 1));
    let mut value = 0u64;
    for byte in safe {
        value = value * 10 + u64::from(digit(*byte)?);
    }
    for byte in last {
        value = value
            .checked_mul(10)?
            .checked_add(u64::from(digit(*byte)?))?;
    }
    Some(value)
}

#[inline(always)]
fn digit(byte: u8) -> Option<u8> {
    let value = byte.wrapping_sub(b'0');
    (value <= 9).then_some(value)
}

/// Appends the decimal text of `value`.
#[inline]
pub fn write_i64(value: i64, out: &mut Vec<u8>) {
    match Packed::integer(value) {
        Some(text) => text.append_to(out),
        None => {
            if value < 0 {
                out.push(b'-');
            }
            write_u64(value.unsigned_abs(), out);
        }
    }
}

/// Appends the decimal text of `value`.
#[inline]
pub fn write_u64(value: u64, out: &mut Vec<u8>) {
    if value < PACKED_MAX {
        Packed::unsigned(value).append_to(out);
    } else {
        write_long(value, out);
    }
}

fn write_long(value: u64, out: &mut Vec<u8>) {
    let (high, low) = (value / PACKED_MAX, value % PACKED_MAX);
    write_u64(high, out);
    let digits = eight_digits(low) | ASCII_ZEROS;
    out.extend_from_slice(&digits.to_le_bytes());
}

/// The number of decimal digits of `value`; 1 for zero.
#[inline]
pub fn digit_count(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The decimal text of an unsigned integer, on the stack: for those who need it as bytes.
pub struct Decimal {
    text: [u8; DIGITS_MAX],
    start: usize,
}

impl Decimal {
    pub fn new(mut value: u64) -> Self {
        let mut text = [0; DIGITS_MAX];
        let mut start = DIGITS_MAX;
        loop {
            start -= 1;
            text[start] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                return Self { text, start };
            }
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.text[self.start..]
    }
}

/// Beyond the eight digits that are made in one register.
const PACKED_MAX: u64 = 100_000_000;

const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;

/// The digits of a value below [`PACKED_MAX`], one in each byte, the first one lowest.
#[inline(always)]
fn eight_digits(value: u64) -> u64 {
    // Halves of four digits, then quarters of two, then single ones, side by side. The
    // factors are 2^20 / 100 and 2^10 / 10, rounded up: exact for so few digits.
    let halves = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let quarters = hundreds | ((halves - hundreds * 100) << 16);
    let tens = ((quarters * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((quarters - tens * 10) << 8)
}

/// A short text in a register, first byte lowest: a small integer and its frame.
///
/// Bytes that were stored one by one can't be loaded together without a stall, so
/// the text is put together by shifting and stored once, with a surplus that is cut off.
#[derive(Clone, Copy)]
pub struct Packed {
    bytes: u128,
    len: usize,
}

impl Packed {
    /// The text of `value` if it has at most eight digits; then there is room for
    /// seven more bytes.
    #[inline(always)]
    pub fn integer(value: i64) -> Option<Self> {
        let magnitude = value.unsigned_abs();
        if magnitude >= PACKED_MAX {
            return None;
        }
        let text = Self::unsigned(magnitude);
        Some(if value < 0 { text.after(b'-') } else { text })
    }

    #[inline(always)]
    fn unsigned(value: u64) -> Self {
        let digits = eight_digits(value);
        // The last digit counts even if it is zero.
        let zeros = (digits | 1 << 56).trailing_zeros() / 8;
        Self {
            bytes: u128::from((digits | ASCII_ZEROS) >> (zeros * 8)),
            len: 8 - zeros as usize,
        }
    }

    /// This text with `byte` in front.
    #[inline(always)]
    pub fn after(self, byte: u8) -> Self {
        Self {
            bytes: self.bytes << 8 | u128::from(byte),
            len: self.len + 1,
        }
    }

    /// This text as a bulk string, its line end excepted.
    #[inline(always)]
    pub fn after_bulk_header(self) -> Self {
        let header = u32::from_le_bytes([b'$', b'0' + self.len as u8, b'\r', b'\n']);
        Self {
            bytes: self.bytes << 32 | u128::from(header),
            len: self.len + 4,
        }
    }

    /// This text with a line end behind.
    #[inline(always)]
    pub fn line(self) -> Self {
        let line_end = u128::from(u16::from_le_bytes(*b"\r\n"));
        Self {
            bytes: self.bytes | line_end << (self.len * 8),
            len: self.len + 2,
        }
    }

    #[inline(always)]
    pub fn append_to(self, out: &mut Vec<u8>) {
        let len = out.len() + self.len;
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out.truncate(len);
    }
}
