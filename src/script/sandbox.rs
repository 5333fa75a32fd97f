//! The world that scripts see: which globals exist, and that nobody can change them.
//!
//! Redis patches its Lua so that a table can be made read-only. Stock Lua has no such
//! flag, so a library's table is shown through a proxy: an empty table whose metatable
//! reads from the real one and refuses writes. What would tell the two apart (`pairs`,
//! `next`, `rawget`, `rawset`, `getmetatable`, `setmetatable`, `table.insert`,
//! `table.foreach` and the encoders) is replaced by functions that know proxies.
//!
//! The environment of a script is the real table of globals, which is the fastest. A
//! chunk that assigns a global gets the proxy `_G` instead, whose answer is an error;
//! the bytecode tells ([`bytecode`](super::bytecode)). Nothing gives a script the real
//! table: there is no setfenv or getfenv, and `_G` is the proxy.
//!
//! The real table of a proxy is at index 1 of the proxy's metatable, and what
//! `getmetatable` answers at index 2.

use std::ffi::CStr;

use super::bridge;
use super::bytecode::{Uses, uses};
use super::library;
use super::runtime::{Activity, PROXIES_MAX};
use super::vm::{FUNCTION, GLOBALS, Lua, NIL, Outcome, Raised, STRING, TABLE};

pub const READ_ONLY: &[u8] = b"Attempt to modify a readonly table";

/// What is kept of Lua's own globals. The order in which they enter the table is that
/// of Redis, because `pairs(_G)` shows it.
const KEPT: [&[u8]; 27] = [
    b"_G",
    b"assert",
    b"collectgarbage",
    b"error",
    b"gcinfo",
    b"getmetatable",
    b"load",
    b"loadstring",
    b"next",
    b"pcall",
    b"rawequal",
    b"rawget",
    b"rawset",
    b"select",
    b"setmetatable",
    b"tonumber",
    b"tostring",
    b"type",
    b"unpack",
    b"xpcall",
    b"_VERSION",
    b"ipairs",
    b"pairs",
    b"coroutine",
    b"table",
    b"string",
    b"math",
];

/// Which scripts a machine is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// EVAL and its kin.
    Eval,
    /// Libraries of functions.
    Functions,
}

const REAL: i32 = 1;
const VISIBLE_METATABLE: i32 = 2;

/// Fills a new state. Leaves values on the stack. May raise (memory).
pub fn build(lua: Lua, kind: Kind) {
    lua.open_standard_libraries();
    lua.new_table(0, 0);
    let globals = lua.top();
    for name in KEPT {
        lua.push_value(GLOBALS);
        lua.raw_get_name(-1, name);
        lua.raw_set_name(globals, name);
        lua.pop(1);
    }
    lua.push_value(globals);
    lua.replace(GLOBALS);
    // Redis opens the debug library for itself and closes it; its place stays.
    lua.push_bool(true);
    lua.raw_set_name(globals, b"debug");
    replace_functions(lua, globals);
    library::install(lua, globals);
    bridge::push_table(lua);
    if kind == Kind::Eval {
        bridge::add_eval_functions(lua);
    }
    lua.raw_set_name(globals, b"redis");
    lua.push_nil();
    lua.raw_set_name(globals, b"debug");
    if kind == Kind::Eval {
        lua.push_function(bridge::error_handler);
        lua.raw_set_name(globals, b"__redis__err__handler");
        for name in [b"KEYS", b"ARGV"] {
            lua.new_table(0, 0);
            lua.raw_set_name(globals, name);
        }
    }
    protect_libraries(lua, globals);
    protect_globals(lua, globals);
    if kind == Kind::Functions {
        super::registration::make_environment(lua);
    }
}

fn replace_functions(lua: Lua, globals: i32) {
    lua.push_value(globals);
    bridge::set_function(lua, b"pcall", protected_call);
    bridge::set_function(lua, b"xpcall", protected_call_with_handler);
    bridge::set_function(lua, b"getmetatable", get_metatable);
    bridge::set_function(lua, b"setmetatable", set_metatable);
    bridge::set_function(lua, b"rawget", raw_get);
    bridge::set_function(lua, b"rawset", raw_set);
    bridge::set_function(lua, b"load", load);
    bridge::set_function(lua, b"loadstring", load_string);
    lua.raw_get_name(-1, b"next");
    lua.push_function(next);
    lua.push_value(-1);
    lua.raw_set_name(-4, b"next");
    lua.push_closure(pairs, 2);
    lua.raw_set_name(-2, b"pairs");
    lua.pop(1);
}

/// Replaces each library's table by its proxy.
fn protect_libraries(lua: Lua, globals: i32) {
    for name in [
        &b"string"[..],
        b"math",
        b"table",
        b"coroutine",
        b"os",
        b"redis",
        b"cjson",
        b"cmsgpack",
        b"bit",
        b"struct",
    ] {
        lua.raw_get_name(globals, name);
        lua.push_nil();
        push_proxy(lua);
        lua.raw_set_name(globals, name);
    }
    // Strings keep their real metatable; what getmetatable shows of it is a proxy.
    lua.new_table(0, 1);
    lua.raw_get_name(globals, b"string");
    lua.raw_set_name(-2, b"__index");
    lua.push_nil();
    push_proxy(lua);
    lua.raw_set_name(super::vm::REGISTRY, STRING_METATABLE);
}

/// Where the registry keeps the proxy of the strings' metatable.
const STRING_METATABLE: &[u8] = b"rankd.string";

/// Makes access to what does not exist an error, and leaves the proxy of the globals
/// on the stack.
fn protect_globals(lua: Lua, globals: i32) {
    lua.new_table(0, 1);
    lua.push_function(missing_global);
    lua.raw_set_name(-2, b"__index");
    lua.push_value(-1);
    lua.set_metatable(globals);
    lua.push_nil();
    push_proxy(lua);
    // The metatable's proxy is what getmetatable(_G) answers.
    lua.push_value(globals);
    lua.insert(-2);
    push_proxy(lua);
    lua.push_value(-1);
    lua.raw_set_name(globals, b"_G");
    lua.remove(globals);
}

/// Takes a table and what `getmetatable` is to answer, and pushes the table's proxy.
/// May raise (memory).
pub fn push_proxy(lua: Lua) {
    lua.new_table(0, 0);
    lua.insert(-3);
    lua.new_table(2, 2);
    lua.insert(-2);
    lua.raw_set_index(-2, VISIBLE_METATABLE);
    lua.insert(-2);
    lua.push_value(-1);
    lua.raw_set_name(-3, b"__index");
    lua.raw_set_index(-2, REAL);
    lua.push_function(refuse_write);
    lua.raw_set_name(-2, b"__newindex");
    let pointer = lua.pointer(-1);
    let runtime = lua.runtime();
    let mut proxies = runtime.proxies.get();
    let free = proxies.iter_mut().find(|slot| slot.is_null());
    *free.expect("a sandbox makes at most PROXIES_MAX proxies") = pointer;
    runtime.proxies.set(proxies);
    // The registry keeps the metatable, so that its address stays its own.
    lua.push_value(-1);
    lua.keep();
    lua.set_metatable(-2);
}

const _: () = assert!(PROXIES_MAX >= 14);

/// Whether the value is a proxy; its metatable is then pushed.
#[inline]
fn push_proxy_metatable(lua: Lua, index: i32) -> bool {
    if !lua.metatable(index) {
        return false;
    }
    let pointer = lua.pointer(-1);
    let is_proxy = lua.runtime().proxies.get().contains(&pointer);
    if !is_proxy {
        lua.pop(1);
    }
    is_proxy
}

pub fn is_protected(lua: Lua, index: i32) -> bool {
    let is_proxy = push_proxy_metatable(lua, index);
    if is_proxy {
        lua.pop(1);
    }
    is_proxy
}

/// Replaces a proxy in its slot by the real table, for those who only read.
pub fn resolve(lua: Lua, index: i32) {
    if push_proxy_metatable(lua, index) {
        lua.raw_get_index(-1, REAL);
        lua.remove(-2);
        let index = if index < 0 { index - 1 } else { index };
        lua.replace(index);
    }
}

/// Readers of upvalues only: the globals and their proxies can't be reached otherwise.
pub fn refuse_write(lua: Lua) -> Outcome {
    Err(lua.error(READ_ONLY))
}

/// Refuses what would change a proxy from C, without a position as in Redis.
pub fn check_writable(lua: Lua, argument: i32) -> Result<(), Raised> {
    if is_protected(lua, argument) {
        return Err(lua.plain_error(READ_ONLY));
    }
    Ok(())
}

pub fn missing_global(lua: Lua) -> Outcome {
    if lua.top() != 2 {
        return Err(lua.error(b"Wrong number of arguments to luaProtectedTableError"));
    }
    let Some(name) = (match lua.kind(2) {
        STRING | super::vm::NUMBER => lua.bytes(2),
        _ => None,
    }) else {
        return Err(
            lua.error(b"Second argument to luaProtectedTableError must be a string or number")
        );
    };
    // C text: the name ends at a NUL byte.
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let before = b"Script attempted to access nonexistent global variable '";
    let buffer = lua.new_buffer(before.len() + name.len() + 1);
    buffer[..before.len()].copy_from_slice(before);
    buffer[before.len()..][..name.len()].copy_from_slice(name);
    buffer[before.len() + name.len()] = b'\'';
    Err(lua.error(buffer))
}

/// pcall as Redis's: a caught error table is shown as its text.
fn protected_call(lua: Lua) -> Outcome {
    if lua.top() == 0 {
        lua.push_bool(false);
        lua.push_bytes(b"attempt to call a boolean value");
        return Ok(2);
    }
    lua.push_bool(true);
    lua.insert(1);
    let arguments = lua.top() - 2;
    if lua
        .protected_call(arguments, super::vm::ALL_RESULTS, 0)
        .is_ok()
    {
        return Ok(lua.top());
    }
    lua.push_bool(false);
    lua.replace(1);
    if lua.kind(-1) == TABLE {
        lua.push_bytes(b"err");
        lua.get(-2);
        if lua.kind(-1) == STRING || lua.kind(-1) == super::vm::NUMBER {
            lua.replace(-2);
        }
        // Anything else stays behind the table, as a third result.
    }
    Ok(lua.top())
}

/// xpcall as Lua's, but the handler of a script that is to end is passed over: Lua calls it with hooks turned off,
/// so that nothing could end it.
fn protected_call_with_handler(lua: Lua) -> Outcome {
    lua.check_any(2);
    lua.set_top(2);
    if lua.kind(2) == FUNCTION {
        lua.push_closure(handle_unless_ending, 1);
    }
    lua.insert(1);
    let is_ok = lua.protected_call(0, super::vm::ALL_RESULTS, 1).is_ok();
    lua.push_bool(is_ok);
    lua.replace(1);
    Ok(lua.top())
}

/// Upvalue: the script's handler.
fn handle_unless_ending(lua: Lua) -> Outcome {
    if lua.runtime().activity() != Activity::Ending {
        lua.push_value(Lua::upvalue(1));
        lua.insert(1);
        lua.call(1, 1);
    }
    Ok(1)
}

fn get_metatable(lua: Lua) -> Outcome {
    lua.check_any(1);
    if lua.kind(1) == STRING {
        lua.raw_get_name(super::vm::REGISTRY, STRING_METATABLE);
        return Ok(1);
    }
    if push_proxy_metatable(lua, 1) {
        lua.raw_get_index(-1, VISIBLE_METATABLE);
        return Ok(1);
    }
    if !lua.metatable(1) {
        lua.push_nil();
    } else {
        lua.meta_field(1, c"__metatable");
    }
    Ok(1)
}

fn set_metatable(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    if !matches!(lua.kind(2), NIL | TABLE) {
        return Err(lua.argument_error(2, c"nil or table expected"));
    }
    check_writable(lua, 1)?;
    if lua.meta_field(1, c"__metatable") {
        return Err(lua.error(b"cannot change a protected metatable"));
    }
    lua.set_top(2);
    lua.set_metatable(1);
    Ok(1)
}

fn raw_get(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    lua.check_any(2);
    lua.set_top(2);
    resolve(lua, 1);
    lua.raw_get(1);
    Ok(1)
}

fn raw_set(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    lua.check_any(2);
    lua.check_any(3);
    lua.set_top(3);
    check_writable(lua, 1)?;
    lua.raw_set(1);
    Ok(1)
}

/// `next` that sees through proxies.
fn next(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    lua.set_top(2);
    resolve(lua, 1);
    if lua.next(1) {
        return Ok(2);
    }
    lua.push_nil();
    Ok(1)
}

/// Upvalues: Lua's own `next`, which is faster, and ours for proxies.
fn pairs(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    let step = if is_protected(lua, 1) { 2 } else { 1 };
    lua.push_value(Lua::upvalue(step));
    lua.push_value(1);
    lua.push_nil();
    Ok(3)
}

fn load_string(lua: Lua) -> Outcome {
    let source = lua.check_bytes(1);
    // SAFETY-free: the text of argument 1 ends with a NUL of Lua's.
    let name = lua.optional_text(2, c"");
    let name = if lua.kind(2) == super::vm::NONE || lua.kind(2) == NIL {
        lua.optional_text(1, c"")
    } else {
        name
    };
    let status = lua.compile(source, name);
    finish_load(lua, status.is_ok())
}

fn finish_load(lua: Lua, is_ok: bool) -> Outcome {
    if is_ok {
        choose_environment(lua);
        return Ok(1);
    }
    lua.push_nil();
    lua.insert(-2);
    Ok(2)
}

fn load(lua: Lua) -> Outcome {
    let name: &CStr = lua.optional_text(2, c"=(load)");
    lua.check_kind(1, FUNCTION);
    lua.set_top(3);
    let is_ok = super::reader::compile_from_function(lua, name);
    finish_load(lua, is_ok)
}

/// Gives the Lua function on top the proxy of the globals as its environment if it
/// assigns globals anywhere, and tells what it does. May raise (memory).
pub fn choose_environment(lua: Lua) -> Uses {
    let mut code = lua.runtime().text.take();
    code.clear();
    lua.dump(&mut code);
    let uses = uses(&code);
    code.clear();
    code.shrink_to(crate::limits::SCRIPT_BUFFER_KEPT_MAX);
    lua.runtime().text.set(code);
    if uses.assigns_globals {
        lua.push_value(GLOBALS);
        lua.raw_get_name(-1, b"_G");
        lua.remove(-2);
        lua.set_environment(-2);
    }
    uses
}
