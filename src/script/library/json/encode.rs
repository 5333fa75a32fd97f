//! cjson.encode: Lua values as JSON text, with the rules and error texts of lua-cjson.

use super::{InvalidNumbers, Settings, settings};
use crate::limits::{SCRIPT_NESTING_MAX, SCRIPT_REPLY_BYTES_MAX};
use crate::resp::number::{write_g14, write_general};
use crate::script::sandbox::resolve;
use crate::script::vm::{BOOLEAN, LIGHT, Lua, NIL, NUMBER, Outcome, Raised, STRING, TABLE};

pub fn encode(lua: Lua) -> Outcome {
    if lua.top() != 1 {
        return Err(lua.argument_error(1, c"expected 1 argument"));
    }
    let settings = settings(lua);
    // SAFETY: here and below the buffer is used for one append at a time.
    unsafe { lua.runtime().scratch() }.clear();
    write_value(lua, &settings, 0)?;
    lua.push_bytes(unsafe { lua.runtime().scratch() });
    Ok(1)
}

fn append(lua: Lua, bytes: &[u8]) {
    // SAFETY: the reference ends at once.
    unsafe { lua.runtime().scratch() }.extend_from_slice(bytes);
}

/// Writes the value on top, and leaves it.
fn write_value(lua: Lua, settings: &Settings, depth: i32) -> Result<(), Raised> {
    match lua.kind(-1) {
        STRING => write_string(lua, lua.bytes(-1).unwrap_or_default()),
        NUMBER => return write_number(lua, settings, -1),
        BOOLEAN if lua.to_bool(-1) => append(lua, b"true"),
        BOOLEAN => append(lua, b"false"),
        NIL => append(lua, b"null"),
        TABLE => return write_table(lua, settings, depth + 1),
        LIGHT if lua.to_light(-1).is_null() => append(lua, b"null"),
        _ => return Err(refuse(lua, -1, "type not supported")),
    }
    Ok(())
}

fn refuse(lua: Lua, index: i32, reason: &str) -> Raised {
    let kind = lua.kind_name(index);
    lua.error_text(format_args!("Cannot serialise {kind}: {reason}"))
}

fn write_table(lua: Lua, settings: &Settings, depth: i32) -> Result<(), Raised> {
    if depth > settings.encode_max_depth.min(SCRIPT_NESTING_MAX) || !lua.reserve(8) {
        let text = format_args!("Cannot serialise, excessive nesting ({depth})");
        return Err(lua.error_text(text));
    }
    // SAFETY: the reference ends at once.
    if unsafe { lua.runtime().scratch() }.len() > SCRIPT_REPLY_BYTES_MAX {
        return Err(lua.plain_error(b"not enough memory"));
    }
    resolve(lua, -1);
    let len = array_len(lua, settings)?;
    if len > 0 {
        write_array(lua, settings, depth, len)
    } else {
        write_object(lua, settings, depth)
    }
}

/// The length of the table on top as an array; 0 for what becomes an object.
fn array_len(lua: Lua, settings: &Settings) -> Result<i32, Raised> {
    let mut max = 0.0;
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
        max = f64::max(max, key);
        items += 1;
        lua.pop(1);
    }
    lua.runtime().spend(lua, items)?;
    // Longer than an int is wrapped by C; no such array can be written anyway.
    let max = max.min(f64::from(i32::MAX)) as i32;
    let is_sparse = settings.sparse_ratio > 0
        && i64::from(max) > items * i64::from(settings.sparse_ratio)
        && max > settings.sparse_safe;
    if !is_sparse {
        return Ok(max);
    }
    if settings.sparse_convert {
        return Ok(0);
    }
    Err(refuse(lua, -1, "excessively sparse array"))
}

fn write_array(lua: Lua, settings: &Settings, depth: i32, len: i32) -> Result<(), Raised> {
    append(lua, b"[");
    for index in 1..=len {
        if index > 1 {
            append(lua, b",");
        }
        lua.raw_get_index(-1, index);
        write_value(lua, settings, depth)?;
        lua.pop(1);
        if index & 0xFF == 0 {
            lua.runtime().spend(lua, 0x400)?;
        }
    }
    append(lua, b"]");
    Ok(())
}

fn write_object(lua: Lua, settings: &Settings, depth: i32) -> Result<(), Raised> {
    append(lua, b"{");
    let mut is_first = true;
    lua.push_nil();
    while lua.next(-2) {
        if !is_first {
            append(lua, b",");
        }
        is_first = false;
        match lua.kind(-2) {
            NUMBER => {
                append(lua, b"\"");
                write_number(lua, settings, -2)?;
                append(lua, b"\":");
            }
            STRING => {
                write_string(lua, lua.bytes(-2).unwrap_or_default());
                append(lua, b":");
            }
            _ => return Err(refuse(lua, -2, "table key must be a number or string")),
        }
        write_value(lua, settings, depth)?;
        lua.pop(1);
        lua.runtime().spend(lua, 4)?;
    }
    append(lua, b"}");
    Ok(())
}

fn write_number(lua: Lua, settings: &Settings, index: i32) -> Result<(), Raised> {
    let value = lua.to_number(index);
    if !value.is_finite() {
        let text: &[u8] = match settings.encode_invalid {
            InvalidNumbers::Refuse => return Err(refuse(lua, index, "must not be NaN or Inf")),
            InvalidNumbers::Null => b"null",
            InvalidNumbers::Write if value.is_nan() => b"nan",
            InvalidNumbers::Write if value > 0.0 => b"inf",
            InvalidNumbers::Write => b"-inf",
        };
        append(lua, text);
        return Ok(());
    }
    // SAFETY: the reference ends with the append.
    let out = unsafe { lua.runtime().scratch() };
    if settings.precision == 14 {
        write_g14(value, out);
    } else {
        write_general(value, settings.precision as u32, out);
    }
    Ok(())
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

fn write_string(lua: Lua, text: &[u8]) {
    // SAFETY: nothing of Lua is called while the reference lives.
    let out = unsafe { lua.runtime().scratch() };
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
