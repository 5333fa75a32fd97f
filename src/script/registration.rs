//! How a library's body registers its functions: the environment it sees, and
//! redis.register_function.

use super::bridge::{self, error_table};
use super::runtime::Activity;
use super::sandbox;
use super::shebang::{NAME_RULE, ScriptFlags, is_name, named_flag};
use super::vm::{FUNCTION, GLOBALS, Lua, NIL, NUMBER, Outcome, REGISTRY, Raised, STRING, TABLE};

/// What a call of redis.register_function told.
pub struct RegisteredFunction {
    pub name: Vec<u8>,
    pub description: Option<Vec<u8>>,
    pub flags: ScriptFlags,
    /// The function's place in Lua's registry.
    pub callback: i32,
}

/// Places in the registry: the environment, its metatable, and the world of a body.
const ENVIRONMENT: &[u8] = b"rankd.environment";
const ENVIRONMENT_METATABLE: &[u8] = b"rankd.environment.metatable";
const BODY_WORLD: &[u8] = b"rankd.body";

/// Makes the environment of libraries, which shows the globals. May raise (memory).
pub fn make_environment(lua: Lua) {
    let base = lua.top();
    lua.new_table(0, 0);
    lua.new_table(0, 2);
    lua.push_value(GLOBALS);
    lua.raw_set_name(-2, b"__index");
    lua.push_function(sandbox::refuse_write);
    lua.raw_set_name(-2, b"__newindex");
    lua.push_value(-1);
    lua.raw_set_name(REGISTRY, ENVIRONMENT_METATABLE);
    lua.set_metatable(-2);
    lua.raw_set_name(REGISTRY, ENVIRONMENT);

    push_strict_table(lua);
    push_strict_table(lua);
    bridge::set_function(lua, b"register_function", register_function);
    bridge::set_log_functions(lua);
    bridge::set_version(lua);
    lua.push_nil();
    sandbox::push_proxy(lua);
    lua.raw_set_name(-2, b"redis");
    lua.raw_set_name(REGISTRY, BODY_WORLD);
    lua.set_top(base);
}

/// A table in which reading what does not exist is an error.
fn push_strict_table(lua: Lua) {
    lua.new_table(0, 0);
    lua.new_table(0, 1);
    lua.push_function(sandbox::missing_global);
    lua.raw_set_name(-2, b"__index");
    lua.set_metatable(-2);
}

/// Gives the function on top the environment of libraries. May raise (memory).
pub fn set_environment(lua: Lua) {
    lua.raw_get_name(REGISTRY, ENVIRONMENT);
    lua.set_environment(-2);
}

/// What the environment shows from now on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// A body's: what registers functions.
    Body,
    /// A function's: everything.
    Function,
}

/// May raise (memory).
pub fn show_world(lua: Lua, world: World) {
    if lua.runtime().world.get() == world {
        return;
    }
    lua.raw_get_name(REGISTRY, ENVIRONMENT_METATABLE);
    match world {
        World::Body => lua.raw_get_name(REGISTRY, BODY_WORLD),
        World::Function => lua.push_value(GLOBALS),
    }
    lua.raw_set_name(-2, b"__index");
    lua.pop(1);
    lua.runtime().world.set(world);
}

fn register_function(lua: Lua) -> Outcome {
    if lua.runtime().activity() != Activity::Loading {
        let text = b"ERR redis.register_function can only be called on FUNCTION LOAD command";
        return Err(error_table(lua, text));
    }
    match lua.top() {
        1 => register_named(lua),
        2 => register_plain(lua),
        _ => {
            let text = b"ERR wrong number of arguments to redis.register_function";
            Err(error_table(lua, text))
        }
    }
}

fn is_text(lua: Lua, index: i32) -> bool {
    matches!(lua.kind(index), STRING | NUMBER)
}

/// `redis.register_function(name, callback)`
fn register_plain(lua: Lua) -> Outcome {
    if !is_text(lua, 1) {
        let text = b"ERR first argument to redis.register_function must be a string";
        return Err(error_table(lua, text));
    }
    if lua.kind(2) != FUNCTION {
        let text = b"ERR second argument to redis.register_function must be a function";
        return Err(error_table(lua, text));
    }
    add_function(lua, 1, 2, None, ScriptFlags::empty())
}

/// `redis.register_function{function_name=, callback=, description=, flags=}`
fn register_named(lua: Lua) -> Outcome {
    if lua.kind(1) != TABLE {
        let text =
            b"ERR calling redis.register_function with a single argument is only applicable \
                     to Lua table (representing named arguments).";
        return Err(error_table(lua, text));
    }
    const NAME: i32 = 2;
    const CALLBACK: i32 = 3;
    const DESCRIPTION: i32 = 4;
    // Slots for name, callback and description; the pairs go above them.
    lua.set_top(DESCRIPTION);
    let mut flags = ScriptFlags::empty();
    lua.push_nil();
    while lua.next(1) {
        let key = if lua.kind(-2) == STRING {
            lua.bytes(-2)
        } else {
            None
        };
        let refusal = match key.unwrap_or_default().to_ascii_lowercase().as_slice() {
            b"function_name" if is_text(lua, -1) => Ok(NAME),
            b"function_name" => Err(
                &b"ERR function_name argument given to redis.register_function must be a string"[..],
            ),
            b"description" if is_text(lua, -1) => Ok(DESCRIPTION),
            b"description" => Err(
                &b"ERR description argument given to redis.register_function must be a string"[..],
            ),
            b"callback" if lua.kind(-1) == FUNCTION => Ok(CALLBACK),
            b"callback" => Err(
                &b"ERR callback argument given to redis.register_function must be a function"[..],
            ),
            b"flags" if lua.kind(-1) == TABLE => Ok(0),
            b"flags" => Err(
                &b"ERR flags argument to redis.register_function must be a table representing \
                   function flags"[..],
            ),
            _ => Err(&b"ERR unknown argument given to redis.register_function"[..]),
        };
        match refusal {
            Err(text) => return Err(error_table(lua, text)),
            Ok(0) => {
                flags = read_flags(lua)?;
                lua.pop(1);
            }
            Ok(slot) => lua.replace(slot),
        }
    }
    if lua.kind(NAME) == NIL {
        let text = b"ERR redis.register_function must get a function name argument";
        return Err(error_table(lua, text));
    }
    if lua.kind(CALLBACK) == NIL {
        let text = b"ERR redis.register_function must get a callback argument";
        return Err(error_table(lua, text));
    }
    let description = (lua.kind(DESCRIPTION) != NIL).then_some(DESCRIPTION);
    add_function(lua, NAME, CALLBACK, description, flags)
}

/// The flags in the list on top.
fn read_flags(lua: Lua) -> Result<ScriptFlags, Raised> {
    let mut flags = ScriptFlags::empty();
    for index in 1.. {
        lua.raw_get_index(-1, index);
        if lua.kind(-1) == NIL {
            lua.pop(1);
            break;
        }
        let name = if lua.kind(-1) == STRING {
            lua.bytes(-1)
        } else {
            None
        };
        let mut lower = [0; 32];
        let flag = name
            .filter(|name| name.len() <= lower.len())
            .and_then(|name| {
                lower[..name.len()].copy_from_slice(name);
                lower.make_ascii_lowercase();
                named_flag(&lower[..name.len()])
            });
        let Some(flag) = flag else {
            return Err(error_table(lua, b"ERR unknown flag given"));
        };
        flags |= flag;
        lua.pop(1);
    }
    Ok(flags)
}

/// Keeps a function whose name, callback and description lie in these slots.
fn add_function(
    lua: Lua,
    name: i32,
    callback: i32,
    description: Option<i32>,
    flags: ScriptFlags,
) -> Outcome {
    // Whatever raises is done before anything is owned here.
    let name = lua.bytes(name).unwrap_or_default();
    let description = description.and_then(|slot| lua.bytes(slot));
    let runtime = lua.runtime();
    if !is_name(name) {
        return Err(error_table(lua, NAME_RULE));
    }
    let mut registered = runtime.registered.take();
    let is_known = registered.iter().any(|function| function.name == name);
    if is_known {
        runtime.registered.set(registered);
        let text = b"ERR Function already exists in the library";
        return Err(error_table(lua, text));
    }
    runtime.registered.set(registered);
    lua.push_value(callback);
    let callback = lua.keep();
    registered = runtime.registered.take();
    registered.push(RegisteredFunction {
        name: name.to_vec(),
        description: description.map(<[u8]>::to_vec),
        flags,
        callback,
    });
    runtime.registered.set(registered);
    Ok(0)
}
