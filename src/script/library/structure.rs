//! The struct library: values to and from bytes by a format, as in Roberto
//! Ierusalimschy's library.

use std::ffi::CStr;

use crate::limits::SCRIPT_REPLY_BYTES_MAX;
use crate::script::bridge::set_function;
use crate::script::vm::{Lua, Outcome, Raised};

/// Widest integer in bytes.
const INTEGER_LEN_MAX: usize = 32;
/// Where the option stands in the error about it.
const INVALID_OPTION_AT: usize = 23;
/// What `!` without a number aligns to.
const ALIGN_DEFAULT: usize = 8;

pub fn install(lua: Lua, globals: i32) {
    lua.new_table(0, 0);
    set_function(lua, b"pack", pack);
    set_function(lua, b"unpack", unpack);
    set_function(lua, b"size", size);
    lua.raw_set_name(globals, b"struct");
}

/// A format being read, with the settings it made so far. Ends at its end or a NUL.
struct Format<'a> {
    lua: Lua,
    rest: &'a [u8],
    is_big_endian: bool,
    align: usize,
}

/// One step of a format that stands for bytes.
struct Step {
    option: u8,
    size: usize,
    /// Bytes to fill before it.
    padding: usize,
}

impl<'a> Format<'a> {
    fn new(lua: Lua) -> Self {
        let text = lua.check_bytes(1);
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        Self {
            lua,
            rest: text,
            is_big_endian: false,
            align: 1,
        }
    }

    /// The next step, whose data would lie at `total`. An option that stands for no bytes
    /// is given too, for the caller to have it obeyed.
    fn next(&mut self, total: usize) -> Result<Option<Step>, Raised> {
        let Some((&option, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        self.rest = rest;
        let size = self.option_size(option)?;
        let padding = self.padding(total, option, size)?;
        Ok(Some(Step {
            option,
            size,
            padding,
        }))
    }

    fn number(&mut self, default: usize) -> Result<usize, Raised> {
        let digits = self
            .rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits == 0 {
            return Ok(default);
        }
        let mut value: usize = 0;
        for byte in &self.rest[..digits] {
            let digit = usize::from(byte - b'0');
            if value > i32::MAX as usize / 10 || value * 10 > i32::MAX as usize - digit {
                return Err(self.lua.error(b"integral size overflow"));
            }
            value = value * 10 + digit;
        }
        self.rest = &self.rest[digits..];
        Ok(value)
    }

    fn option_size(&mut self, option: u8) -> Result<usize, Raised> {
        Ok(match option {
            b'B' | b'b' | b'x' => 1,
            b'H' | b'h' => 2,
            b'L' | b'l' | b'T' | b'd' => 8,
            b'f' => 4,
            b'c' => self.number(1)?,
            b'i' | b'I' => {
                let size = self.number(4)?;
                if size > INTEGER_LEN_MAX {
                    return Err(self.lua.error_text(format_args!(
                        "integral size {size} is larger than limit of {INTEGER_LEN_MAX}"
                    )));
                }
                size
            }
            _ => 0,
        })
    }

    fn padding(&self, total: usize, option: u8, size: usize) -> Result<usize, Raised> {
        if size == 0 || option == b'c' {
            return Ok(0);
        }
        let align = size.min(self.align);
        if align <= 1 {
            return Ok(0);
        }
        let mask = align - 1;
        Ok((align - (total & mask)) & mask)
    }

    fn obey(&mut self, option: u8) -> Result<(), Raised> {
        match option {
            b' ' => {}
            b'>' => self.is_big_endian = true,
            b'<' => self.is_big_endian = false,
            b'!' => {
                let align = self.number(ALIGN_DEFAULT)?;
                if !align.is_power_of_two() {
                    let text = format_args!("alignment {align} is not a power of 2");
                    return Err(self.lua.error_text(text));
                }
                self.align = align;
            }
            _ => {
                let mut text = *b"invalid format option '?'\0";
                text[INVALID_OPTION_AT] = option;
                let text = CStr::from_bytes_with_nul(&text).unwrap_or(c"invalid format option");
                return Err(self.lua.argument_error(1, text));
            }
        }
        Ok(())
    }
}

fn append(lua: Lua, bytes: &[u8]) {
    // SAFETY: the reference ends at once.
    unsafe { lua.runtime().scratch() }.extend_from_slice(bytes);
}

fn pack(lua: Lua) -> Outcome {
    let mut format = Format::new(lua);
    // What is missing at the end is nil in the errors about it.
    lua.push_nil();
    // SAFETY: the reference ends at once, here and below.
    unsafe { lua.runtime().scratch() }.clear();
    let mut argument = 2;
    let mut total = 0;
    while let Some(step) = format.next(total)? {
        total += step.padding;
        append(
            lua,
            &[0; INTEGER_LEN_MAX][..step.padding.min(INTEGER_LEN_MAX)],
        );
        let mut size = step.size;
        match step.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                pack_integer(lua, lua.check_number(argument), size, format.is_big_endian);
                argument += 1;
            }
            b'x' => append(lua, &[0]),
            b'f' => {
                let value = lua.check_number(argument) as f32;
                append_ordered(lua, value.to_le_bytes(), format.is_big_endian);
                argument += 1;
            }
            b'd' => {
                let value = lua.check_number(argument);
                append_ordered(lua, value.to_le_bytes(), format.is_big_endian);
                argument += 1;
            }
            b'c' | b's' => {
                let text = lua.check_bytes(argument);
                argument += 1;
                if size == 0 {
                    size = text.len();
                }
                if text.len() < size {
                    return Err(lua.argument_error(argument, c"string too short"));
                }
                append(lua, &text[..size]);
                if step.option == b's' {
                    append(lua, &[0]);
                    size += 1;
                }
            }
            option => format.obey(option)?,
        }
        total += size;
        if total > SCRIPT_REPLY_BYTES_MAX {
            return Err(lua.plain_error(b"not enough memory"));
        }
    }
    lua.push_bytes(unsafe { lua.runtime().scratch() });
    Ok(1)
}

fn append_ordered<const N: usize>(lua: Lua, mut bytes: [u8; N], is_big_endian: bool) {
    if is_big_endian {
        bytes.reverse();
    }
    append(lua, &bytes);
}

/// A negative number goes through the signed integer and any other through the unsigned
/// one, as the processor converts them.
fn pack_integer(lua: Lua, value: f64, size: usize, is_big_endian: bool) {
    const TOP: f64 = 9_223_372_036_854_775_808.0;
    let bits = if value < 0.0 {
        crate::script::convert::truncate(value) as u64
    } else if value < TOP {
        value as u64
    } else if value < 2.0 * TOP {
        (value - TOP) as u64 ^ 1 << 63
    } else {
        // What subtracting 2^63 and cutting gives beyond the range.
        0
    };
    let mut bytes = [0; INTEGER_LEN_MAX];
    let mut rest = bits;
    for place in &mut bytes[..size] {
        *place = rest as u8;
        rest >>= 8;
    }
    if is_big_endian {
        bytes[..size].reverse();
    }
    append(lua, &bytes[..size]);
}

fn unpack(lua: Lua) -> Outcome {
    let mut format = Format::new(lua);
    let data = lua.check_bytes(2);
    let offset = lua.optional_integer(3, 1);
    if offset == 0 {
        return Err(lua.argument_error(3, c"offset must be 1 or greater"));
    }
    // A negative offset is one beyond every end.
    let mut position = (offset as usize).wrapping_sub(1);
    let base = lua.top();
    while let Some(step) = format.next(position)? {
        position = position.wrapping_add(step.padding);
        let mut size = step.size;
        if size > data.len() || position > data.len() - size {
            return Err(lua.argument_error(2, c"data string too short"));
        }
        if !lua.reserve(2) {
            lua.set_top(base);
            return Err(lua.error(b"stack overflow (too many results)"));
        }
        let part = &data[position..position + size];
        match step.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let is_signed = step.option.is_ascii_lowercase();
                lua.push_number(unpack_integer(part, format.is_big_endian, is_signed));
            }
            b'x' => {}
            b'f' => {
                let bytes = ordered::<4>(part, format.is_big_endian);
                lua.push_number(f64::from(f32::from_le_bytes(bytes)));
            }
            b'd' => {
                let bytes = ordered::<8>(part, format.is_big_endian);
                lua.push_number(f64::from_le_bytes(bytes));
            }
            b'c' => {
                if size == 0 {
                    size = counted_size(lua, base, data.len(), position)?;
                }
                lua.push_bytes(&data[position..position + size]);
            }
            b's' => {
                let Some(len) = data[position..].iter().position(|&byte| byte == 0) else {
                    return Err(lua.error(b"unfinished string in data"));
                };
                lua.push_bytes(&data[position..position + len]);
                size = len + 1;
            }
            option => format.obey(option)?,
        }
        position += size;
        lua.runtime().spend(lua, 2)?;
    }
    lua.push_number(position.wrapping_add(1) as i64 as f64);
    Ok(lua.top() - base)
}

/// The length of a `c0`, which is the value read before it.
fn counted_size(lua: Lua, base: i32, data_len: usize, position: usize) -> Result<usize, Raised> {
    if lua.top() == base || !lua.is_number(-1) {
        return Err(lua.error(b"format 'c0' needs a previous size"));
    }
    let size = crate::script::convert::truncate(lua.to_number(-1)) as usize;
    lua.pop(1);
    if size > data_len || position > data_len - size {
        return Err(lua.argument_error(2, c"data string too short"));
    }
    Ok(size)
}

fn ordered<const N: usize>(bytes: &[u8], is_big_endian: bool) -> [u8; N] {
    let mut ordered = [0; N];
    ordered.copy_from_slice(bytes);
    if is_big_endian {
        ordered.reverse();
    }
    ordered
}

/// Only the low eight bytes count.
fn unpack_integer(bytes: &[u8], is_big_endian: bool, is_signed: bool) -> f64 {
    let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let value = if is_big_endian {
        bytes.iter().fold(0, fold)
    } else {
        bytes.iter().rev().fold(0, fold)
    };
    if !is_signed {
        return value as f64;
    }
    // The processor takes the shift modulo 64, which shows for integers of odd sizes.
    let sign_bits = u64::MAX.wrapping_shl((8 * bytes.len() as u32).wrapping_sub(1));
    let extended = if value & sign_bits != 0 {
        value | sign_bits
    } else {
        value
    };
    extended as i64 as f64
}

fn size(lua: Lua) -> Outcome {
    let mut format = Format::new(lua);
    let mut total = 0;
    while let Some(step) = format.next(total)? {
        total += step.padding;
        if step.option == b's' {
            return Err(lua.argument_error(1, c"option 's' has no fixed size"));
        }
        if step.option == b'c' && step.size == 0 {
            return Err(lua.argument_error(1, c"option 'c0' has no fixed size"));
        }
        // Letters without a meaning are passed over here.
        if !step.option.is_ascii_alphanumeric() {
            format.obey(step.option)?;
        }
        total += step.size;
    }
    lua.push_number(total as f64);
    Ok(1)
}
