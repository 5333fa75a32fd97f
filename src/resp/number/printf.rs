//! Doubles as `printf` of C writes them with `%.<digits>g`: exactly rounded, without
//! zeros at the end of the fraction.

use std::fmt::Write as _;

use crate::resp::number::integer::write_i64;

/// Appends `value` with 17 significant digits, as `%.17g`: enough to read it back.
pub fn write_g17(value: f64, out: &mut Vec<u8>) {
    write_general(value, 17, out);
}

/// Appends `value` with 14 significant digits, as `%.14g`: what Lua shows.
pub fn write_g14(value: f64, out: &mut Vec<u8>) {
    write_general(value, 14, out);
}

const POWERS_OF_TEN: [f64; 18] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17,
];

/// Appends `value` with up to `precision` significant digits, as `%.*g`; at least 1 and at
/// most 17.
pub fn write_general(value: f64, precision: u32, out: &mut Vec<u8>) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if !value.is_finite() {
        out.extend_from_slice(if value.is_nan() { b"nan" } else { b"inf" });
        return;
    }
    let value = value.abs();
    // Below 2^63 the cast is exact for whole numbers.
    if value < POWERS_OF_TEN[precision as usize] && value.trunc() == value {
        write_i64(value as i64, out);
        return;
    }
    let mut text = ScientificText::default();
    // The longest text, `d.dddddddddddddddde-324`, fits.
    let _ = write!(text, "{:.*e}", precision as usize - 1, value);
    let (digits, exponent) = text.parts();
    write_layout(digits, exponent, precision, out);
}

/// Appends `d.ddd * 10^exponent`, its digits without zeros at the end.
fn write_layout(digits: &[u8], exponent: i32, precision: u32, out: &mut Vec<u8>) {
    let len = digits.len() as i32;
    if exponent < -4 || exponent >= precision as i32 {
        write_with_point(digits, 1, out);
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        write_i64(i64::from(exponent.abs()), out);
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-exponent - 1) as usize, b'0');
        out.extend_from_slice(digits);
    } else if exponent < len {
        write_with_point(digits, exponent as usize + 1, out);
    } else {
        out.extend_from_slice(digits);
        out.resize(out.len() + (exponent + 1 - len) as usize, b'0');
    }
}

fn write_with_point(digits: &[u8], integral_len: usize, out: &mut Vec<u8>) {
    let (integral, fraction) = digits.split_at(integral_len);
    out.extend_from_slice(integral);
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

/// What `{:e}` writes, its digits and its exponent apart.
#[derive(Default)]
struct ScientificText {
    digits: [u8; 24],
    digits_len: usize,
    exponent: i32,
    exponent_negative: bool,
    in_exponent: bool,
}

impl ScientificText {
    fn parts(&self) -> (&[u8], i32) {
        let digits = &self.digits[..self.digits_len];
        let zeros = digits.iter().rev().take_while(|&&d| d == b'0').count();
        let exponent = if self.exponent_negative {
            -self.exponent
        } else {
            self.exponent
        };
        (&digits[..digits.len() - zeros], exponent)
    }
}

impl std::fmt::Write for ScientificText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            match byte {
                b'0'..=b'9' if self.in_exponent => {
                    self.exponent = self.exponent * 10 + i32::from(byte - b'0');
                }
                b'0'..=b'9' => {
                    let slot = self.digits.get_mut(self.digits_len);
                    *slot.ok_or(std::fmt::Error)? = byte;
                    self.digits_len += 1;
                }
                b'e' => self.in_exponent = true,
                b'-' => self.exponent_negative = true,
                _ => {}
            }
        }
        Ok(())
    }
}
