//! The cmsgpack library: Lua values to and from MessagePack, as in lua-cmsgpack.

use crate::limits::SCRIPT_NESTING_MAX;
use crate::script::bridge::set_function;
use crate::script::sandbox::resolve;
use crate::script::vm::{BOOLEAN, Lua, NUMBER, Outcome, Raised, STRING, TABLE};

/// Tables nested deeper are written as nil.
const NESTING_MAX: u32 = 16;

pub fn install(lua: Lua, globals: i32) {
    lua.new_table(0, 0);
    set_function(lua, b"pack", pack);
    set_function(lua, b"unpack", unpack_all);
    set_function(lua, b"unpack_one", unpack_one);
    set_function(lua, b"unpack_limit", unpack_limit);
    for (name, text) in [
        (&b"_NAME"[..], &b"cmsgpack"[..]),
        (b"_VERSION", b"lua-cmsgpack 0.4.0"),
        (b"_COPYRIGHT", b"Copyright (C) 2012, Salvatore Sanfilippo"),
        (b"_DESCRIPTION", b"MessagePack C implementation for Lua"),
    ] {
        lua.push_bytes(text);
        lua.raw_set_name(-2, name);
    }
    lua.raw_set_name(globals, b"cmsgpack");
}

fn append(lua: Lua, bytes: &[u8]) {
    // SAFETY: the reference ends at once.
    unsafe { lua.runtime().scratch() }.extend_from_slice(bytes);
}

/// A type byte and a number behind it, the highest byte first.
fn append_tagged<const N: usize>(lua: Lua, tag: u8, bytes: [u8; N]) {
    append(lua, &[tag]);
    append(lua, &bytes);
}

fn pack(lua: Lua) -> Outcome {
    let count = lua.top();
    if count == 0 {
        return Err(lua.argument_error(0, c"MessagePack pack needs input."));
    }
    if !lua.reserve(count) {
        return Err(lua.argument_error(0, c"Too many arguments for MessagePack pack."));
    }
    // SAFETY: the reference ends at once, here and below.
    unsafe { lua.runtime().scratch() }.clear();
    for argument in 1..=count {
        lua.push_value(argument);
        write_value(lua, 0)?;
    }
    lua.push_bytes(unsafe { lua.runtime().scratch() });
    Ok(1)
}

/// Writes the value on top, and pops it.
fn write_value(lua: Lua, level: u32) -> Result<(), Raised> {
    check_len(lua, 0)?;
    match lua.kind(-1) {
        STRING => write_string(lua, lua.bytes(-1).unwrap_or_default())?,
        BOOLEAN => append(lua, &[0xc2 | u8::from(lua.to_bool(-1))]),
        NUMBER => write_number(lua, lua.to_number(-1)),
        TABLE if level < NESTING_MAX => write_table(lua, level)?,
        _ => append(lua, &[0xc0]),
    }
    lua.pop(1);
    Ok(())
}

/// Whether so many bytes more may be written.
fn check_len(lua: Lua, more: usize) -> Result<(), Raised> {
    let runtime = lua.runtime();
    // SAFETY: the reference ends at once.
    let written = unsafe { runtime.scratch() }.len();
    // The bytes become a string of the script at last, which must have room.
    if runtime.memory.would_exceed(written + more) {
        return Err(lua.plain_error(b"not enough memory"));
    }
    Ok(())
}

/// A table may name one long string any number of times.
fn write_string(lua: Lua, text: &[u8]) -> Result<(), Raised> {
    check_len(lua, text.len())?;
    match text.len() {
        len @ 0..32 => append(lua, &[0xa0 | len as u8]),
        len @ 32..0x100 => append(lua, &[0xd9, len as u8]),
        len @ 0x100..0x1_0000 => append_tagged(lua, 0xda, (len as u16).to_be_bytes()),
        len => append_tagged(lua, 0xdb, (len as u32).to_be_bytes()),
    }
    append(lua, text);
    Ok(())
}

fn write_number(lua: Lua, value: f64) {
    let integer = crate::script::convert::truncate(value);
    if value.is_infinite() || integer as f64 != value {
        let short = value as f32;
        if f64::from(short) == value {
            append_tagged(lua, 0xca, short.to_be_bytes());
        } else {
            append_tagged(lua, 0xcb, value.to_be_bytes());
        }
        return;
    }
    match integer {
        0..0x80 => append(lua, &[integer as u8]),
        0x80..0x100 => append(lua, &[0xcc, integer as u8]),
        0x100..0x1_0000 => append_tagged(lua, 0xcd, (integer as u16).to_be_bytes()),
        0x1_0000..0x1_0000_0000 => append_tagged(lua, 0xce, (integer as u32).to_be_bytes()),
        0x1_0000_0000.. => append_tagged(lua, 0xcf, integer.to_be_bytes()),
        -32..0 => append(lua, &[integer as u8]),
        -0x80..-32 => append(lua, &[0xd0, integer as u8]),
        -0x8000..-0x80 => append_tagged(lua, 0xd1, (integer as i16).to_be_bytes()),
        -0x8000_0000..-0x8000 => append_tagged(lua, 0xd2, (integer as i32).to_be_bytes()),
        _ => append_tagged(lua, 0xd3, integer.to_be_bytes()),
    }
}

fn write_table(lua: Lua, level: u32) -> Result<(), Raised> {
    if !lua.reserve(8) {
        return Err(lua.error(b"stack overflow (in function mp_encode_lua_table)"));
    }
    lua.runtime().spend(lua, 10)?;
    resolve(lua, -1);
    let (is_array, pairs) = survey(lua);
    if is_array {
        let len = lua.raw_len(-1);
        write_count(lua, len, 0x90, 0xdc);
        for index in 1..=len {
            lua.raw_get_index(-1, index as i32);
            write_value(lua, level + 1)?;
            lua.runtime().spend(lua, 2)?;
        }
        return Ok(());
    }
    write_count(lua, pairs, 0x80, 0xde);
    lua.push_nil();
    while lua.next(-2) {
        lua.push_value(-2);
        write_value(lua, level + 1)?;
        write_value(lua, level + 1)?;
        lua.runtime().spend(lua, 4)?;
    }
    Ok(())
}

/// Whether the table on top has exactly the keys 1 to its number of pairs, and that.
fn survey(lua: Lua) -> (bool, usize) {
    let mut is_array = true;
    let mut pairs = 0;
    let mut max = 0.0;
    lua.push_nil();
    while lua.next(-2) {
        lua.pop(1);
        pairs += 1;
        let key = if lua.kind(-1) == NUMBER {
            lua.to_number(-1)
        } else {
            0.0
        };
        if key > 0.0 && key.trunc() == key && key <= f64::from(i32::MAX) {
            max = f64::max(max, key);
        } else {
            is_array = false;
        }
    }
    (is_array && max == pairs as f64, pairs)
}

fn write_count(lua: Lua, count: usize, short: u8, long: u8) {
    match count {
        0..16 => append(lua, &[short | count as u8]),
        16..0x1_0000 => append_tagged(lua, long, (count as u16).to_be_bytes()),
        _ => append_tagged(lua, long + 1, (count as u32).to_be_bytes()),
    }
}

fn unpack_all(lua: Lua) -> Outcome {
    unpack(lua, 0, 0)
}

fn unpack_one(lua: Lua) -> Outcome {
    let offset = lua.optional_integer(2, 0) as i32;
    lua.set_top(lua.top().min(1));
    unpack(lua, 1, offset)
}

fn unpack_limit(lua: Lua) -> Outcome {
    let limit = lua.check_int(2);
    let offset = lua.optional_integer(3, 0) as i32;
    lua.set_top(1);
    unpack(lua, limit, offset)
}

/// Reads values from argument 1. Without limit and offset all of them, else at most
/// `limit`, and the offset behind them (-1 at the end) comes first.
fn unpack(lua: Lua, limit: i32, offset: i32) -> Outcome {
    let data = lua.check_bytes(1);
    let len = data.len();
    if offset < 0 || limit < 0 {
        return Err(lua.error_text(format_args!(
            "Invalid request to unpack with offset of {offset} and limit of {len}."
        )));
    }
    if offset as usize > len {
        return Err(lua.error_text(format_args!(
            "Start offset {offset} greater than input length {len}."
        )));
    }
    let is_all = limit == 0 && offset == 0;
    let limit = if is_all { i32::MAX } else { limit };
    let mut reader = Reader {
        lua,
        rest: &data[offset as usize..],
        depth: 0,
    };
    let mut count = 0;
    while !reader.rest.is_empty() && count < limit {
        if let Err(fault) = reader.value() {
            return Err(match fault {
                Fault::Missing => lua.error(b"Missing bytes in input."),
                Fault::Format => lua.error(b"Bad data format in input."),
                Fault::Raised => Raised,
            });
        }
        count += 1;
    }
    if !is_all {
        if !lua.reserve(1) {
            return Err(lua.error(b"stack overflow (in function mp_unpack_full)"));
        }
        let next = data.len() - reader.rest.len();
        lua.push_number(if reader.rest.is_empty() {
            -1.0
        } else {
            next as f64
        });
        lua.insert(2);
        count += 1;
    }
    Ok(count)
}

enum Fault {
    /// The input ends within a value.
    Missing,
    /// No value starts so.
    Format,
    /// The error is on the Lua stack.
    Raised,
}

impl From<Raised> for Fault {
    fn from(_: Raised) -> Self {
        Fault::Raised
    }
}

struct Reader<'a> {
    lua: Lua,
    rest: &'a [u8],
    depth: i32,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Fault::Missing)?;
        self.rest = rest;
        Ok(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    /// Reads one value with its parts and pushes it.
    fn value(&mut self) -> Result<(), Fault> {
        let lua = self.lua;
        if !lua.reserve(1) {
            let text = b"stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)";
            lua.set_top(1);
            return Err(lua.error(text).into());
        }
        lua.runtime().spend(lua, 2)?;
        let tag = self.bytes::<1>()?[0];
        match tag {
            0x00..=0x7f => lua.push_number(f64::from(tag)),
            0xe0..=0xff => lua.push_number(f64::from(tag as i8)),
            0x80..=0x8f => return self.map(u32::from(tag & 15)),
            0x90..=0x9f => return self.array(u32::from(tag & 15)),
            0xa0..=0xbf => self.text(usize::from(tag & 31))?,
            0xc0 => lua.push_nil(),
            0xc2 => lua.push_bool(false),
            0xc3 => lua.push_bool(true),
            0xca => lua.push_number(f64::from(f32::from_be_bytes(self.bytes()?))),
            0xcb => lua.push_number(f64::from_be_bytes(self.bytes()?)),
            0xcc => lua.push_number(f64::from(self.bytes::<1>()?[0])),
            0xcd => lua.push_number(f64::from(u16::from_be_bytes(self.bytes()?))),
            0xce => lua.push_number(f64::from(u32::from_be_bytes(self.bytes()?))),
            // The original puts the unsigned kind through a signed integer too.
            0xcf | 0xd3 => lua.push_number(i64::from_be_bytes(self.bytes()?) as f64),
            0xd0 => lua.push_number(f64::from(i8::from_be_bytes(self.bytes()?))),
            0xd1 => lua.push_number(f64::from(i16::from_be_bytes(self.bytes()?))),
            0xd2 => lua.push_number(f64::from(i32::from_be_bytes(self.bytes()?))),
            0xd9 => {
                let len = usize::from(self.bytes::<1>()?[0]);
                self.text(len)?;
            }
            0xda => {
                let len = usize::from(u16::from_be_bytes(self.bytes()?));
                self.text(len)?;
            }
            0xdb => {
                let len = u32::from_be_bytes(self.bytes()?) as usize;
                self.text(len)?;
            }
            0xdc => {
                let len = u16::from_be_bytes(self.bytes()?);
                return self.array(u32::from(len));
            }
            0xdd => {
                let len = u32::from_be_bytes(self.bytes()?);
                return self.array(len);
            }
            0xde => {
                let len = u16::from_be_bytes(self.bytes()?);
                return self.map(u32::from(len));
            }
            0xdf => {
                let len = u32::from_be_bytes(self.bytes()?);
                return self.map(len);
            }
            _ => return Err(Fault::Format),
        }
        Ok(())
    }

    fn text(&mut self, len: usize) -> Result<(), Fault> {
        let text = self.take(len)?;
        self.lua.push_bytes(text);
        Ok(())
    }

    /// The frames of nested containers are small, and Lua's stack ends before the
    /// thread's does.
    fn array(&mut self, len: u32) -> Result<(), Fault> {
        if self.depth >= SCRIPT_NESTING_MAX || !self.lua.reserve(2) {
            let text = b"stack overflow (in function mp_decode_to_lua_array)";
            self.lua.set_top(1);
            return Err(self.lua.error(text).into());
        }
        self.depth += 1;
        self.lua.new_table(0, 0);
        for index in 1..=len {
            self.value()?;
            self.lua.raw_set_index(-2, index as i32);
        }
        self.depth -= 1;
        Ok(())
    }

    fn map(&mut self, len: u32) -> Result<(), Fault> {
        if self.depth >= SCRIPT_NESTING_MAX || !self.lua.reserve(3) {
            let text = b"stack overflow (in function mp_decode_to_lua_hash)";
            self.lua.set_top(1);
            return Err(self.lua.error(text).into());
        }
        self.depth += 1;
        self.lua.new_table(0, 0);
        for _ in 0..len {
            self.value()?;
            self.value()?;
            self.lua.raw_set(-3);
        }
        self.depth -= 1;
        Ok(())
    }
}
