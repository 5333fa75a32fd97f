//! The bit library: operations on 32-bit integers, as in LuaBitOp.

use crate::script::bridge::set_function;
use crate::script::vm::{Lua, Outcome};

/// Adding this leaves the low 32 bits of a whole double in its low bits, and rounds
/// fractions to even as the original does.
const SHIFTER: f64 = 6_755_399_441_055_744.0;

pub fn install(lua: Lua, globals: i32) {
    lua.new_table(0, 0);
    set_function(lua, b"tobit", |lua: Lua| push(lua, argument(lua, 1)));
    set_function(lua, b"bnot", |lua: Lua| push(lua, !argument(lua, 1)));
    set_function(lua, b"band", |lua: Lua| fold(lua, |a, b| a & b));
    set_function(lua, b"bor", |lua: Lua| fold(lua, |a, b| a | b));
    set_function(lua, b"bxor", |lua: Lua| fold(lua, |a, b| a ^ b));
    set_function(lua, b"lshift", |lua: Lua| shift(lua, |a, by| a << by));
    set_function(lua, b"rshift", |lua: Lua| shift(lua, |a, by| a >> by));
    set_function(lua, b"arshift", |lua: Lua| {
        shift(lua, |a, by| ((a as i32) >> by) as u32)
    });
    set_function(lua, b"rol", |lua: Lua| shift(lua, u32::rotate_left));
    set_function(lua, b"ror", |lua: Lua| shift(lua, u32::rotate_right));
    set_function(lua, b"bswap", |lua: Lua| {
        push(lua, argument(lua, 1).swap_bytes())
    });
    set_function(lua, b"tohex", to_hex);
    lua.raw_set_name(globals, b"bit");
}

fn argument(lua: Lua, index: i32) -> u32 {
    (lua.check_number(index) + SHIFTER).to_bits() as u32
}

fn push(lua: Lua, value: u32) -> Outcome {
    lua.push_number(f64::from(value as i32));
    Ok(1)
}

fn fold(lua: Lua, combine: fn(u32, u32) -> u32) -> Outcome {
    let mut value = argument(lua, 1);
    for index in (2..=lua.top()).rev() {
        value = combine(value, argument(lua, index));
    }
    push(lua, value)
}

fn shift(lua: Lua, shift: fn(u32, u32) -> u32) -> Outcome {
    let value = argument(lua, 1);
    let by = argument(lua, 2) & 31;
    push(lua, shift(value, by))
}

/// A negative width asks for capital letters.
fn to_hex(lua: Lua) -> Outcome {
    let value = argument(lua, 1);
    let width = if lua.kind(2) == crate::script::vm::NONE {
        8
    } else {
        argument(lua, 2) as i32
    };
    let digits = if width < 0 {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    let width = width.unsigned_abs().min(8) as usize;
    let mut text = [0; 8];
    for (index, place) in text[..width].iter_mut().rev().enumerate() {
        *place = digits[(value >> (4 * index) & 15) as usize];
    }
    lua.push_bytes(&text[..width]);
    Ok(1)
}
