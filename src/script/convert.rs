//! Between replies and Lua values, both ways, with Redis's rules.

use super::sandbox::resolve;
use super::vm::{BOOLEAN, Lua, NUMBER, Outcome, Raised, STRING, TABLE};
use crate::limits::{SCRIPT_NESTING_MAX, SCRIPT_REPLY_BYTES_MAX};
use crate::resp::parse::{ReplyCursor, Token};
use crate::resp::{Protocol, Reply};

/// Pushes the first reply in `bytes` as a Lua value. If it is nested too deeply or is
/// not whole, false, and nothing is pushed. May raise (memory).
pub fn push_reply(lua: Lua, bytes: &[u8], protocol: Protocol) -> bool {
    let top = lua.top();
    let is_whole = push_token(lua, &mut ReplyCursor::new(bytes), protocol).is_some();
    if !is_whole {
        lua.set_top(top);
    }
    is_whole
}

fn push_token(lua: Lua, cursor: &mut ReplyCursor<'_>, protocol: Protocol) -> Option<()> {
    match cursor.next()? {
        Token::Bulk(bytes) => lua.push_bytes(bytes),
        Token::Integer(value) => lua.push_number(value as f64),
        Token::Null | Token::NullArray => match protocol {
            Protocol::Resp2 => lua.push_bool(false),
            Protocol::Resp3 => lua.push_nil(),
        },
        Token::Bool(value) => lua.push_bool(value),
        Token::Simple(text) => push_field(lua, b"ok", text),
        Token::Error(text) => push_command_error(lua, text),
        Token::Array(len) | Token::Push(len) => push_array(lua, cursor, protocol, len)?,
        Token::Map(pairs) => push_map(lua, cursor, protocol, pairs)?,
        Token::Set(len) => push_set(lua, cursor, protocol, len)?,
        Token::Double(text) => {
            lua.new_table(0, 1);
            lua.push_number(crate::resp::number::parse_double(text).unwrap_or(f64::NAN));
            lua.raw_set_name(-2, b"double");
        }
        Token::BigNumber(digits) => push_field(lua, b"big_number", digits),
        Token::Verbatim { ext, text } => {
            lua.new_table(0, 1);
            lua.new_table(0, 2);
            lua.push_bytes(text);
            lua.raw_set_name(-2, b"string");
            lua.push_bytes(ext);
            lua.raw_set_name(-2, b"format");
            lua.raw_set_name(-2, b"verbatim_string");
        }
        Token::Attribute(pairs) => {
            for _ in 0..pairs.saturating_mul(2) {
                cursor.skip_value()?;
            }
            return push_token(lua, cursor, protocol);
        }
    }
    Some(())
}

/// Places that the array part of a table has once so many values were set one after the other, as Redis does; scripts
/// see it in the length of a table with holes.
pub fn grown_len(len: usize) -> usize {
    if len == 0 { 0 } else { len.next_power_of_two() }
}

/// Pushes `{name = text}`.
fn push_field(lua: Lua, name: &[u8], text: &[u8]) {
    lua.new_table(0, 1);
    lua.push_bytes(text);
    lua.raw_set_name(-2, name);
}

/// The error of a command was counted when the command failed.
fn push_command_error(lua: Lua, text: &[u8]) {
    lua.new_table(0, 2);
    lua.push_bytes(text);
    lua.raw_set_name(-2, b"err");
    lua.push_bool(true);
    lua.raw_set_name(-2, b"ignore_error_stats_update");
}

fn push_array(
    lua: Lua,
    cursor: &mut ReplyCursor<'_>,
    protocol: Protocol,
    len: usize,
) -> Option<()> {
    if !lua.reserve(8) {
        return None;
    }
    // In RESP3 nulls leave holes, and what Lua takes for the length then depends on how the table grew. A count is
    // only a claim: each element takes at least three bytes.
    match protocol {
        Protocol::Resp2 => lua.new_table(grown_len(len.min(cursor.rest().len() / 3)), 0),
        Protocol::Resp3 => lua.new_table(0, 0),
    }
    for index in 0..len {
        push_token(lua, cursor, protocol)?;
        lua.raw_set_index(-2, i32::try_from(index + 1).ok()?);
    }
    Some(())
}

fn push_map(
    lua: Lua,
    cursor: &mut ReplyCursor<'_>,
    protocol: Protocol,
    pairs: usize,
) -> Option<()> {
    if !lua.reserve(8) {
        return None;
    }
    lua.new_table(0, 1);
    lua.new_table(0, 0);
    for _ in 0..pairs {
        push_token(lua, cursor, protocol)?;
        push_token(lua, cursor, protocol)?;
        lua.raw_set(-3);
    }
    lua.raw_set_name(-2, b"map");
    Some(())
}

fn push_set(lua: Lua, cursor: &mut ReplyCursor<'_>, protocol: Protocol, len: usize) -> Option<()> {
    if !lua.reserve(8) {
        return None;
    }
    lua.new_table(0, 1);
    lua.new_table(0, 0);
    for _ in 0..len {
        push_token(lua, cursor, protocol)?;
        lua.push_bool(true);
        lua.raw_set(-3);
    }
    lua.raw_set_name(-2, b"set");
    Some(())
}

/// Fields that make a table something else than an array, in the order in which they
/// are looked for. They are upvalues of the machine's entry, in this order from
/// [`FIELDS_UPVALUE`] on.
pub const FIELDS: [&[u8]; 9] = [
    b"err",
    b"ok",
    b"double",
    b"map",
    b"set",
    b"big_number",
    b"verbatim_string",
    b"format",
    b"string",
];
pub const FIELDS_UPVALUE: i32 = 1;

const ERR: usize = 0;
const OK: usize = 1;
const DOUBLE: usize = 2;
const MAP: usize = 3;
const SET: usize = 4;
const BIG_NUMBER: usize = 5;
const VERBATIM: usize = 6;
const FORMAT: usize = 7;
const TEXT: usize = 8;

/// Writes the value on top as the reply of the script, and pops it. Only for the
/// machine's entry, whose upvalues it uses. `Err` with an error value on top.
pub fn write_result(lua: Lua, out: &mut Reply, start: usize) -> Outcome {
    write_value(lua, out, Place { start, depth: 0 })
}

/// Where in the reply a value stands: the reply's start, and the tables around it.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    depth: i32,
}

impl Place {
    fn inside(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }
}

fn write_value(lua: Lua, out: &mut Reply, place: Place) -> Outcome {
    // A table may name one long string any number of times.
    let len = if lua.kind(-1) == STRING {
        lua.raw_len(-1)
    } else {
        0
    };
    if out.len() - place.start + len > SCRIPT_REPLY_BYTES_MAX {
        return Err(lua.plain_error(b"the reply of the script is too big"));
    }
    if write_simple(lua, out) {
        return Ok(0);
    }
    write_table(lua, out, place.inside())
}

/// Writes and pops the value on top if it is no table. Raises nothing.
pub fn write_simple(lua: Lua, out: &mut Reply) -> bool {
    match lua.kind(-1) {
        STRING => out.bulk(lua.bytes(-1).unwrap_or_default()),
        NUMBER => out.integer(truncate(lua.to_number(-1))),
        BOOLEAN => write_bool(lua, out),
        TABLE => return false,
        _ => out.null(),
    }
    lua.pop(1);
    true
}

/// As the processor cuts a double: what does not fit becomes the least integer.
pub fn truncate(value: f64) -> i64 {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if (-BEYOND..BEYOND).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

fn write_bool(lua: Lua, out: &mut Reply) {
    let value = lua.to_bool(-1);
    match (lua.runtime().protocol.get(), value) {
        (Protocol::Resp3, _) => out.bool(value),
        (Protocol::Resp2, true) => out.integer(1),
        (Protocol::Resp2, false) => out.null(),
    }
}

/// Pushes a named field of the table on top.
#[inline]
fn push_named(lua: Lua, field: usize) {
    lua.push_value(Lua::upvalue(FIELDS_UPVALUE + field as i32));
    lua.raw_get(-2);
}

fn write_table(lua: Lua, out: &mut Reply, place: Place) -> Outcome {
    if place.depth > SCRIPT_NESTING_MAX || !lua.reserve(8) {
        out.error("ERR reached lua stack limit");
        lua.pop(1);
        return Ok(0);
    }
    lua.runtime().spend(lua, 10)?;
    resolve(lua, -1);
    for field in [ERR, OK, DOUBLE, MAP, SET, BIG_NUMBER, VERBATIM] {
        push_named(lua, field);
        let is_taken = match (field, lua.kind(-1)) {
            (ERR, STRING) => {
                write_error_line(out, lua.bytes(-1).unwrap_or_default());
                true
            }
            (OK, STRING) => {
                out.simple_bytes(until_nul(lua.bytes(-1).unwrap_or_default()));
                true
            }
            (DOUBLE, NUMBER) => {
                out.double(lua.to_number(-1));
                true
            }
            (BIG_NUMBER, STRING) => {
                write_big_number(lua, out, lua.bytes(-1).unwrap_or_default());
                true
            }
            (VERBATIM, TABLE) => write_verbatim(lua, out),
            (MAP, TABLE) => {
                write_map(lua, out, place)?;
                true
            }
            (SET, TABLE) => {
                write_set(lua, out, place)?;
                true
            }
            _ => false,
        };
        lua.pop(1);
        if is_taken {
            lua.pop(1);
            return Ok(0);
        }
    }
    let mark = out.begin_array();
    let mut len = 0;
    loop {
        lua.raw_get_index(-1, len + 1);
        if lua.kind(-1) == super::vm::NIL {
            lua.pop(1);
            break;
        }
        write_value(lua, out, place)?;
        len += 1;
        lua.runtime().spend(lua, 2)?;
    }
    out.end_array(mark, len as usize);
    lua.pop(1);
    Ok(0)
}

/// Texts of errors and states are C text in Redis, which ends at a NUL byte.
pub fn until_nul(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// An error as the script made it, with spaces for line ends but none at the end.
pub fn write_error_line(out: &mut Reply, text: &[u8]) {
    let text = until_nul(text);
    let end = text.iter().rposition(|byte| !is_line_end(byte));
    out.raw(b"-");
    for part in
        text[..end.map_or(0, |last| last + 1)].chunk_by(|a, b| !is_line_end(a) && !is_line_end(b))
    {
        out.raw(if is_line_end(&part[0]) { b" " } else { part });
    }
    out.raw(b"\r\n");
}

fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Any bytes may be called a number; only a line end would break the reply.
fn write_big_number(lua: Lua, out: &mut Reply, digits: &[u8]) {
    let mut clean = lua.runtime().text.take();
    clean.clear();
    let clean_byte = |byte| if is_line_end(byte) { b' ' } else { *byte };
    clean.extend(digits.iter().map(clean_byte));
    if out.is_resp3() {
        out.raw(b"(");
        out.raw(&clean);
        out.raw(b"\r\n");
    } else {
        out.bulk(&clean);
    }
    lua.runtime().text.set(clean);
}

/// The table on top as text with a format, if it is one.
fn write_verbatim(lua: Lua, out: &mut Reply) -> bool {
    push_named(lua, FORMAT);
    lua.push_value(Lua::upvalue(FIELDS_UPVALUE + TEXT as i32));
    lua.raw_get(-3);
    let is_text = lua.kind(-1) == STRING && lua.kind(-2) == STRING;
    if is_text {
        let format = lua.bytes(-2).unwrap_or_default();
        let text = lua.bytes(-1).unwrap_or_default();
        let mut ext = [b' '; 3];
        ext.iter_mut()
            .zip(format)
            .for_each(|(to, from)| *to = *from);
        match str::from_utf8(&ext) {
            Ok(ext) => out.verbatim(ext, text),
            Err(_) if out.is_resp3() => {
                out.raw(format!("={}\r\n", ext.len() + 1 + text.len()).as_bytes());
                out.raw(&ext);
                out.raw(b":");
                out.raw(text);
                out.raw(b"\r\n");
            }
            Err(_) => out.bulk(text),
        }
    }
    lua.pop(2);
    is_text
}

/// Writes the pairs of the table on top.
fn write_map(lua: Lua, out: &mut Reply, place: Place) -> Result<(), Raised> {
    resolve(lua, -1);
    let mark = out.begin_map();
    let mut pairs = 0;
    lua.push_nil();
    while lua.next(-2) {
        lua.push_value(-2);
        write_value(lua, out, place)?;
        write_value(lua, out, place)?;
        pairs += 1;
        lua.runtime().spend(lua, 4)?;
    }
    out.end_map(mark, pairs);
    Ok(())
}

/// Writes the keys of the table on top.
fn write_set(lua: Lua, out: &mut Reply, place: Place) -> Result<(), Raised> {
    resolve(lua, -1);
    let mark = out.begin_set();
    let mut len = 0;
    lua.push_nil();
    while lua.next(-2) {
        lua.pop(1);
        lua.push_value(-1);
        write_value(lua, out, place)?;
        len += 1;
        lua.runtime().spend(lua, 4)?;
    }
    out.end_set(mark, len);
    Ok(())
}
