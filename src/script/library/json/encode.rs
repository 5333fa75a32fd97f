//! cjson.encode: Lua values as JSON text, with the rules and error texts of lua-cjson.

use super::{InvalidNumbers, Settings, settings};
use crate::limits::SCRIPT_NESTING_MAX;
use crate::resp::number::{write_g14, write_general};
use crate::script::runtime::Runtime;
use crate::script::sandbox::resolve;
use crate::script::vm::{BOOLEAN, LIGHT, Lua, NIL, NUMBER, Outcome, Raised, STRING, TABLE};

pub fn encode(lua: Lua) -> Outcome {
    if lua.top() != 1 {
        return Err(lua.argument_error(1, c"expected 1 argument"));
    }
    let runtime = lua.runtime();
    // SAFETY: no script code runs while the encoder lives, and nobody else uses the buffer. A raise leaves it behind
    // unharmed.
    let out = unsafe { runtime.scratch() };
    out.clear();
    let mut encoder = Encoder {
        lua,
        runtime,
        settings: settings(lua),
        out,
    };
    encoder.write_value(0)?;
    lua.push_bytes(encoder.out);
    Ok(1)
}

struct Encoder<'a> {
    lua: Lua,
    runtime: &'a Runtime,
    settings: Settings,
    out: &'a mut Vec<u8>,
}

impl Encoder<'_> {
    /// Writes the value on top, and leaves it.
    fn write_value(&mut self, depth: i32) -> Result<(), Raised> {
        let lua = self.lua;
        self.check_len(0)?;
        match lua.kind(-1) {
            STRING => return self.write_text(-1),
            NUMBER => return self.write_number(-1),
            BOOLEAN if lua.to_bool(-1) => self.out.extend_from_slice(b"true"),
            BOOLEAN => self.out.extend_from_slice(b"false"),
            NIL => self.out.extend_from_slice(b"null"),
            TABLE => return self.write_table(depth + 1),
            LIGHT if lua.to_light(-1).is_null() => self.out.extend_from_slice(b"null"),
            _ => return Err(self.refuse(-1, "type not supported")),
        }
        Ok(())
    }

    #[cold]
    fn refuse(&self, index: i32, reason: &str) -> Raised {
        let kind = self.lua.kind_name(index);
        self.lua
            .error_text(format_args!("Cannot serialise {kind}: {reason}"))
    }

    fn write_table(&mut self, depth: i32) -> Result<(), Raised> {
        let lua = self.lua;
        if depth > self.settings.encode_max_depth.min(SCRIPT_NESTING_MAX) || !lua.reserve(8) {
            let text = format_args!("Cannot serialise, excessive nesting ({depth})");
            return Err(lua.error_text(text));
        }
        resolve(lua, -1);
        let len = self.array_len()?;
        if len > 0 {
            self.write_array(depth, len)
        } else {
            self.write_object(depth)
        }
    }

    /// The length of the table on top as an array; not above 0 for what becomes an object.
    fn array_len(&self) -> Result<i32, Raised> {
        let lua = self.lua;
        let mut max = 0;
        let mut items = 0;
        lua.push_nil();
        while lua.next(-2) {
            let key = if lua.kind(-2) == NUMBER {
                lua.to_number(-2)
            } else {
                0.0
            };
            if !(key >= 1.0 && key.floor() == key) {
                lua.pop(2);
                return Ok(0);
            }
            if key > f64::from(max) {
                // What no int holds becomes the least one, and so the table an object if no other index follows.
                max = if key <= f64::from(i32::MAX) {
                    key as i32
                } else {
                    i32::MIN
                };
            }
            items += 1;
            lua.pop(1);
        }
        self.runtime.spend(lua, items)?;
        let is_sparse = self.settings.sparse_ratio > 0
            && i64::from(max) > items * i64::from(self.settings.sparse_ratio)
            && max > self.settings.sparse_safe;
        if !is_sparse {
            return Ok(max);
        }
        if self.settings.sparse_convert {
            return Ok(0);
        }
        Err(self.refuse(-1, "excessively sparse array"))
    }

    fn write_array(&mut self, depth: i32, len: i32) -> Result<(), Raised> {
        self.out.push(b'[');
        for index in 1..=len {
            if index > 1 {
                self.out.push(b',');
            }
            self.lua.raw_get_index(-1, index);
            self.write_value(depth)?;
            self.lua.pop(1);
            if index & 0xFF == 0 {
                self.runtime.spend(self.lua, 0x400)?;
            }
        }
        self.out.push(b']');
        Ok(())
    }

    fn write_object(&mut self, depth: i32) -> Result<(), Raised> {
        let lua = self.lua;
        self.out.push(b'{');
        let mut is_first = true;
        lua.push_nil();
        while lua.next(-2) {
            if !is_first {
                self.out.push(b',');
            }
            is_first = false;
            match lua.kind(-2) {
                NUMBER => {
                    self.out.push(b'"');
                    self.write_number(-2)?;
                    self.out.extend_from_slice(b"\":");
                }
                STRING => {
                    self.write_text(-2)?;
                    self.out.push(b':');
                }
                _ => return Err(self.refuse(-2, "table key must be a number or string")),
            }
            self.write_value(depth)?;
            lua.pop(1);
            self.runtime.spend(lua, 4)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    /// A table may name one long string any number of times.
    fn write_text(&mut self, index: i32) -> Result<(), Raised> {
        let text = self.lua.bytes(index).unwrap_or_default();
        self.check_len(text.len())?;
        write_string(text, self.out);
        Ok(())
    }

    /// Whether so many bytes more may be written.
    #[inline]
    fn check_len(&self, more: usize) -> Result<(), Raised> {
        // The text becomes a string of the script at last, which must have room.
        if self.runtime.memory.would_exceed(self.out.len() + more) {
            return Err(self.lua.plain_error(b"not enough memory"));
        }
        Ok(())
    }

    fn write_number(&mut self, index: i32) -> Result<(), Raised> {
        let value = self.lua.to_number(index);
        if !value.is_finite() {
            let text: &[u8] = match self.settings.encode_invalid {
                InvalidNumbers::Refuse => {
                    return Err(self.refuse(index, "must not be NaN or Inf"));
                }
                InvalidNumbers::Null => b"null",
                InvalidNumbers::Write if value.is_nan() => b"nan",
                InvalidNumbers::Write if value > 0.0 => b"inf",
                InvalidNumbers::Write => b"-inf",
            };
            self.out.extend_from_slice(text);
        } else if self.settings.precision == 14 {
            write_g14(value, self.out);
        } else {
            write_general(value, self.settings.precision as u32, self.out);
        }
        Ok(())
    }
}

/// What a byte becomes between quotes: 0 for itself, `u` for a code in hexadecimal,
/// else the letter after a backslash.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 32 {
        table[byte] = b'u';
        byte += 1;
    }
    table[127] = b'u';
    table[8] = b'b';
    table[9] = b't';
    table[10] = b'n';
    table[12] = b'f';
    table[13] = b'r';
    table[b'"' as usize] = b'"';
    table[b'/' as usize] = b'/';
    table[b'\\' as usize] = b'\\';
    table
};

fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text;
    while let Some(plain) = rest
        .iter()
        .position(|&byte| ESCAPES[usize::from(byte)] != 0)
    {
        out.extend_from_slice(&rest[..plain]);
        let byte = rest[plain];
        match ESCAPES[usize::from(byte)] {
            b'u' => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(DIGITS[usize::from(byte >> 4)]);
                out.push(DIGITS[usize::from(byte & 15)]);
            }
            letter => out.extend_from_slice(&[b'\\', letter]),
        }
        rest = &rest[plain + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
