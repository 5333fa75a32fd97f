//! The grammar of the C function `strtod`, which decides what Redis takes as a number.
//!
//! A sign, then `inf` or `infinity` in any case, a decimal or a hexadecimal number.
//! White space is accepted nowhere, and `nan` is no number: every command refuses it.

/// A text that is a number, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Literal<'a> {
    pub negative: bool,
    pub magnitude: Magnitude<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Magnitude<'a> {
    Infinity,
    Decimal(Decimal<'a>),
    Hex(Binary),
}

/// The digits before and after the point, times ten to the `exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal<'a> {
    pub integral: &'a [u8],
    pub fraction: &'a [u8],
    pub exponent: i64,
}

/// `significand * 2^exponent`, and a little more if `inexact`. An inexact one has
/// at least 124 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Binary {
    pub significand: u128,
    pub exponent: i64,
    pub inexact: bool,
}

/// Exponents beyond it, either way, differ in nothing: no text is long enough to
/// bring such a number back into any range. It leaves room for sums of a few.
const EXPONENT_MAGNITUDE_MAX: i64 = i64::MAX / 8;

impl<'a> Literal<'a> {
    /// Takes `text` apart if all of it is a number.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let magnitude = match text {
            [b'0', b'x' | b'X', hex @ ..] => Magnitude::Hex(parse_hex(hex)?),
            [b'i' | b'I', ..] => {
                let is_infinity =
                    text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity");
                is_infinity.then_some(Magnitude::Infinity)?
            }
            _ => Magnitude::Decimal(parse_decimal(text)?),
        };
        Some(Self {
            negative,
            magnitude,
        })
    }
}

impl Decimal<'_> {
    /// The digits without zeros at either end, and the power of ten of the last one;
    /// no digits for zero.
    pub fn significant(&self) -> (Vec<u8>, i64) {
        let mut digits = Vec::with_capacity(self.integral.len() + self.fraction.len());
        digits.extend(self.integral.iter().skip_while(|&&digit| digit == b'0'));
        if digits.is_empty() {
            digits.extend(self.fraction.iter().skip_while(|&&digit| digit == b'0'));
        } else {
            digits.extend_from_slice(self.fraction);
        }
        let mut exponent = self.exponent - self.fraction.len() as i64;
        while digits.last() == Some(&b'0') {
            digits.pop();
            exponent += 1;
        }
        (digits, exponent)
    }
}

fn parse_decimal(text: &[u8]) -> Option<Decimal<'_>> {
    let (integral, rest) = split_digits(text, u8::is_ascii_digit);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => split_digits(rest, u8::is_ascii_digit),
        _ => (&rest[..0], rest),
    };
    if integral.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', exponent @ ..] => parse_exponent(exponent)?,
        _ => return None,
    };
    Some(Decimal {
        integral,
        fraction,
        exponent,
    })
}

/// A hexadecimal number after its `0x`.
fn parse_hex(text: &[u8]) -> Option<Binary> {
    let (integral, rest) = split_digits(text, u8::is_ascii_hexdigit);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => split_digits(rest, u8::is_ascii_hexdigit),
        _ => (&rest[..0], rest),
    };
    if integral.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut exponent = match rest {
        [] => 0,
        [b'p' | b'P', exponent @ ..] => parse_exponent(exponent)?,
        _ => return None,
    };
    exponent -= 4 * fraction.len() as i64;
    let mut significand = 0u128;
    let mut inexact = false;
    for digit in integral.iter().chain(fraction) {
        let value = (*digit as char).to_digit(16)?;
        if significand >> 124 == 0 {
            significand = significand << 4 | u128::from(value);
        } else {
            inexact |= value != 0;
            exponent += 4;
        }
    }
    Some(Binary {
        significand,
        exponent,
        inexact,
    })
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value
            .saturating_mul(10)
            .saturating_add(i64::from(digit - b'0'))
            .min(EXPONENT_MAGNITUDE_MAX);
    }
    Some(if negative { -value } else { value })
}

fn split_digits(text: &[u8], is_digit: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let len = text.iter().take_while(|byte| is_digit(byte)).count();
    text.split_at(len)
}
