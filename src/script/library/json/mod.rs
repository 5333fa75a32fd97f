//! cjson: settings and the table of the library. See [`encode`] and [`decode`].

mod decode;
mod encode;

use std::ffi::CStr;

use crate::script::vm::{BOOLEAN, Lua, NIL, Outcome, Raised};

/// Digits that a number may show at the most.
const PRECISION_MAX: i32 = 14;

/// How a script has set the library up; each script starts with the defaults.
#[derive(Clone, Copy)]
pub struct Settings {
    pub encode_max_depth: i32,
    pub decode_max_depth: i32,
    pub precision: i32,
    pub keep_buffer: bool,
    pub sparse_convert: bool,
    pub sparse_ratio: i32,
    pub sparse_safe: i32,
    pub encode_invalid: InvalidNumbers,
    pub decode_invalid: bool,
}

/// What becomes of infinities and NaN in encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InvalidNumbers {
    Refuse,
    Write,
    Null,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            encode_max_depth: 1000,
            decode_max_depth: 1000,
            precision: 14,
            keep_buffer: true,
            sparse_convert: false,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_invalid: InvalidNumbers::Refuse,
            decode_invalid: true,
        }
    }
}

/// Adds the library to the globals. May raise (memory).
pub fn install(lua: Lua, globals: i32) {
    lua.push_nil();
    push_library(lua);
    lua.raw_set_name(globals, b"cjson");
}

/// Takes the place of the settings (nil for the machine's, else memory of Lua's own)
/// from the top and pushes the library's table.
fn push_library(lua: Lua) {
    lua.new_table(0, 0);
    set_closure(lua, b"encode", encode::encode);
    set_closure(lua, b"decode", decode::decode);
    set_closure(lua, b"encode_sparse_array", encode_sparse_array);
    set_closure(lua, b"encode_max_depth", encode_max_depth);
    set_closure(lua, b"decode_max_depth", decode_max_depth);
    set_closure(lua, b"encode_number_precision", encode_number_precision);
    set_closure(lua, b"encode_keep_buffer", encode_keep_buffer);
    set_closure(lua, b"encode_invalid_numbers", encode_invalid_numbers);
    set_closure(lua, b"decode_invalid_numbers", decode_invalid_numbers);
    set_closure(lua, b"new", new_library);
    lua.push_light(std::ptr::null_mut());
    lua.raw_set_name(-2, b"null");
    lua.push_bytes(b"cjson");
    lua.raw_set_name(-2, b"_NAME");
    lua.push_bytes(b"2.1.0");
    lua.raw_set_name(-2, b"_VERSION");
    lua.remove(-2);
}

/// The table is on top and the settings' place below it.
fn set_closure<F>(lua: Lua, name: &[u8], function: F)
where
    F: Fn(Lua) -> Outcome + Copy + 'static,
{
    lua.push_value(-2);
    lua.push_closure(function, 1);
    lua.raw_set_name(-2, name);
}

/// A library of its own settings.
fn new_library(lua: Lua) -> Outcome {
    let place = lua.new_buffer(size_of::<Settings>());
    // SAFETY: userdata is aligned to 8 bytes and big enough; nobody else has it.
    unsafe {
        place
            .as_mut_ptr()
            .cast::<Settings>()
            .write(Settings::default())
    };
    push_library(lua);
    Ok(1)
}

fn settings(lua: Lua) -> Settings {
    let place = lua.to_light(Lua::upvalue(1)).cast::<Settings>();
    if place.is_null() {
        return lua.runtime().json.get();
    }
    // SAFETY: the upvalue is what `new_library` made.
    unsafe { *place }
}

fn set_settings(lua: Lua, settings: Settings) {
    let place = lua.to_light(Lua::upvalue(1)).cast::<Settings>();
    if place.is_null() {
        lua.runtime().json.set(settings);
    } else {
        // SAFETY: as in `settings`.
        unsafe { *place = settings };
    }
}

/// Checks the number of arguments of a setting and fills them up with nil.
fn start(lua: Lua, count: i32) -> Result<Settings, Raised> {
    if lua.top() > count {
        return Err(lua.argument_error(count + 1, c"found too many arguments"));
    }
    lua.set_top(count);
    Ok(settings(lua))
}

fn integer_option(
    lua: Lua,
    argument: i32,
    value: &mut i32,
    min: i32,
    max: i32,
) -> Result<(), Raised> {
    if lua.kind(argument) != NIL {
        let given = lua.check_int(argument);
        if given < min || given > max {
            let bounds: &CStr = match (min, max) {
                (0, _) => c"expected integer between 0 and 2147483647",
                (_, PRECISION_MAX) => c"expected integer between 1 and 14",
                _ => c"expected integer between 1 and 2147483647",
            };
            return Err(lua.argument_error(1, bounds));
        }
        *value = given;
    }
    Ok(())
}

/// A boolean or one of `off` and `on` (and `null`, if allowed): their index.
fn switch_option(lua: Lua, argument: i32, value: u8, with_null: bool) -> Result<u8, Raised> {
    match lua.kind(argument) {
        NIL => Ok(value),
        BOOLEAN => Ok(u8::from(lua.to_bool(argument))),
        _ => match lua.check_bytes(argument) {
            b"off" => Ok(0),
            b"on" => Ok(1),
            b"null" if with_null => Ok(2),
            _ => Err(lua.option_error(argument)),
        },
    }
}

fn push_switch(lua: Lua, value: u8) {
    if value == 2 {
        lua.push_bytes(b"null");
    } else {
        lua.push_bool(value == 1);
    }
}

fn encode_sparse_array(lua: Lua) -> Outcome {
    let mut changed = start(lua, 3)?;
    let convert = switch_option(lua, 1, u8::from(changed.sparse_convert), false)?;
    changed.sparse_convert = convert == 1;
    set_settings(lua, changed);
    integer_option(lua, 2, &mut changed.sparse_ratio, 0, i32::MAX)?;
    set_settings(lua, changed);
    integer_option(lua, 3, &mut changed.sparse_safe, 0, i32::MAX)?;
    set_settings(lua, changed);
    push_switch(lua, convert);
    lua.push_number(f64::from(changed.sparse_ratio));
    lua.push_number(f64::from(changed.sparse_safe));
    Ok(3)
}

fn encode_max_depth(lua: Lua) -> Outcome {
    let mut changed = start(lua, 1)?;
    integer_option(lua, 1, &mut changed.encode_max_depth, 1, i32::MAX)?;
    set_settings(lua, changed);
    lua.push_number(f64::from(changed.encode_max_depth));
    Ok(1)
}

fn decode_max_depth(lua: Lua) -> Outcome {
    let mut changed = start(lua, 1)?;
    integer_option(lua, 1, &mut changed.decode_max_depth, 1, i32::MAX)?;
    set_settings(lua, changed);
    lua.push_number(f64::from(changed.decode_max_depth));
    Ok(1)
}

fn encode_number_precision(lua: Lua) -> Outcome {
    let mut changed = start(lua, 1)?;
    integer_option(lua, 1, &mut changed.precision, 1, PRECISION_MAX)?;
    set_settings(lua, changed);
    lua.push_number(f64::from(changed.precision));
    Ok(1)
}

/// Only remembered: our buffer is kept or not as its size is.
fn encode_keep_buffer(lua: Lua) -> Outcome {
    let mut changed = start(lua, 1)?;
    let keep = switch_option(lua, 1, u8::from(changed.keep_buffer), false)?;
    changed.keep_buffer = keep == 1;
    set_settings(lua, changed);
    push_switch(lua, keep);
    Ok(1)
}

fn encode_invalid_numbers(lua: Lua) -> Outcome {
    let mut changed = start(lua, 1)?;
    let switch = switch_option(lua, 1, changed.encode_invalid as u8, true)?;
    changed.encode_invalid = match switch {
        0 => InvalidNumbers::Refuse,
        1 => InvalidNumbers::Write,
        _ => InvalidNumbers::Null,
    };
    set_settings(lua, changed);
    push_switch(lua, switch);
    Ok(1)
}

fn decode_invalid_numbers(lua: Lua) -> Outcome {
    let mut changed = start(lua, 1)?;
    let switch = switch_option(lua, 1, u8::from(changed.decode_invalid), false)?;
    changed.decode_invalid = switch == 1;
    set_settings(lua, changed);
    push_switch(lua, switch);
    Ok(1)
}
