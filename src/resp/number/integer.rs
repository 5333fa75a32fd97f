//! 64-bit integers as decimal text.
//!
//! Reading accepts only the one canonical text of each value, as Redis does:
//! no plus sign, no spaces, no leading zeros, no `-0`. So a text that parses is
//! the text that would be written, and an integer encoding of it loses nothing.

/// Digits of `u64::MAX`, the longest unsigned text.
const DIGITS_MAX: usize = 20;

/// All pairs of digits, `00` to `99`, one after the other.
static DIGIT_PAIRS: [u8; 200] = digit_pairs();

const fn digit_pairs() -> [u8; 200] {
    let mut pairs = [0; 200];
    let mut value = 0;
    while value < 100 {
        pairs[value * 2] = b'0' + (value / 10) as u8;
        pairs[value * 2 + 1] = b'0' + (value % 10) as u8;
        value += 1;
    }
    pairs
}

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
    if value < 0 {
        out.push(b'-');
    }
    write_u64(value.unsigned_abs(), out);
}

/// Appends the decimal text of `value`.
#[inline]
pub fn write_u64(value: u64, out: &mut Vec<u8>) {
    if value < 10 {
        out.push(b'0' + value as u8);
        return;
    }
    let text = Decimal::new(value);
    out.extend_from_slice(text.as_bytes());
}

/// The number of decimal digits of `value`; 1 for zero.
#[inline]
pub fn digit_count(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The decimal text of an unsigned integer, on the stack.
pub struct Decimal {
    text: [u8; DIGITS_MAX],
    start: usize,
}

impl Decimal {
    #[inline]
    pub fn new(mut value: u64) -> Self {
        let mut text = [0; DIGITS_MAX];
        let mut start = DIGITS_MAX;
        while value >= 100 {
            let pair = (value % 100) as usize * 2;
            value /= 100;
            start -= 2;
            text[start..start + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
        }
        if value >= 10 {
            let pair = value as usize * 2;
            start -= 2;
            text[start..start + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
        } else {
            start -= 1;
            text[start] = b'0' + value as u8;
        }
        Self { text, start }
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[self.start..]
    }
}
