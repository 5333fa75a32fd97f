//! Functions of Lua's own libraries that Redis changes, or that could otherwise run for
//! long without the script's budget noticing.

use crate::script::bridge::set_function;
use crate::script::vm::{Lua, NIL, NONE, Outcome, TABLE};

/// Beyond so many values the stack of a C function is too small anyway (Lua: LUAI_MAXCSTACK), but the check of it
/// must not overflow.
const UNPACK_MAX: i32 = 8000;

pub fn install(lua: Lua, globals: i32) {
    lua.raw_get_name(globals, b"math");
    set_function(lua, b"random", random);
    set_function(lua, b"randomseed", random_seed);
    lua.pop(1);
    lua.raw_get_name(globals, b"string");
    set_function(lua, b"rep", repeat);
    lua.pop(1);
    lua.new_table(0, 1);
    set_function(lua, b"clock", clock);
    lua.raw_set_name(globals, b"os");
    lua.push_value(globals);
    set_function(lua, b"collectgarbage", collect_garbage);
    set_function(lua, b"unpack", unpack);
    lua.pop(1);
}

/// Integers are cut to 32 bits as Lua's library does.
fn random(lua: Lua) -> Outcome {
    let fraction = lua.runtime().random.fraction();
    match lua.top() {
        0 => lua.push_number(fraction),
        1 => {
            let high = lua.check_int(1);
            if high < 1 {
                return Err(lua.argument_error(1, c"interval is empty"));
            }
            lua.push_number((fraction * f64::from(high)).floor() + 1.0);
        }
        2 => {
            let low = lua.check_int(1);
            let high = lua.check_int(2);
            if low > high {
                return Err(lua.argument_error(2, c"interval is empty"));
            }
            // The width wraps at 32 bits, as in C.
            let width = f64::from(high.wrapping_sub(low).wrapping_add(1));
            lua.push_number((fraction * width).floor() + f64::from(low));
        }
        _ => return Err(lua.error(b"wrong number of arguments")),
    }
    Ok(1)
}

fn random_seed(lua: Lua) -> Outcome {
    lua.runtime().random.seed(lua.check_int(1) as u32);
    Ok(0)
}

/// Lua's own computes the number of values in 32 bits, and runs off the stack when it overflows.
fn unpack(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    let first = lua.optional_integer(2, 1) as i32;
    let last = match lua.kind(3) {
        NIL | NONE => lua.raw_len(1) as i32,
        _ => lua.check_int(3),
    };
    if first > last {
        return Ok(0);
    }
    let count = i32::try_from(i64::from(last) - i64::from(first) + 1).unwrap_or(i32::MAX);
    if count > UNPACK_MAX || !lua.reserve(count) {
        return Err(lua.error(b"too many results to unpack"));
    }
    for index in first..=last {
        lua.raw_get_index(1, index);
    }
    Ok(count)
}

fn repeat(lua: Lua) -> Outcome {
    let text = lua.check_bytes(1);
    let times = usize::try_from(lua.check_int(2)).unwrap_or(0);
    let len = text.len().saturating_mul(times);
    let memory = &lua.runtime().memory;
    if memory.would_exceed(len.saturating_mul(2)) {
        // A collection looks at all that is alive.
        lua.runtime().work(lua, memory.used() as i64 / 64)?;
        lua.collect_all();
        memory.collected();
        if memory.would_exceed(len.saturating_mul(2)) {
            return Err(lua.plain_error(b"not enough memory"));
        }
    }
    lua.runtime().spend(lua, len as i64 / 64)?;
    let buffer = lua.new_buffer(len);
    if len > 0 {
        buffer[..text.len()].copy_from_slice(text);
        let mut filled = text.len();
        while filled < len {
            let part = filled.min(len - filled);
            buffer.copy_within(..part, filled);
            filled += part;
        }
    }
    lua.push_bytes(buffer);
    Ok(1)
}

/// Processor time of the process in seconds.
fn clock(lua: Lua) -> Outcome {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is valid; should the call fail, it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    // As fine as C's clock(), microseconds.
    let micros = time.tv_sec * 1_000_000 + time.tv_nsec / 1000;
    lua.push_number(micros as f64 / 1e6);
    Ok(1)
}

/// The collector's settings are the server's: a script may ask for a collection, and
/// believes that it may change how it works.
fn collect_garbage(lua: Lua) -> Outcome {
    let option = lua.optional_text(1, c"collect").to_bytes();
    let argument = lua.optional_integer(2, 0) as i32;
    let runtime = lua.runtime();
    let used = runtime.memory.used();
    // A collection looks at all that is alive.
    let cost = used as i64 / 64;
    match option {
        b"collect" => {
            runtime.spend(lua, cost)?;
            lua.collect_all();
            lua.push_number(0.0);
        }
        b"step" => {
            runtime.spend(lua, cost)?;
            let is_finished = lua.collect_step(argument);
            lua.push_bool(is_finished);
        }
        b"count" => lua.push_number(used as f64 / 1024.0),
        b"stop" | b"restart" => lua.push_number(0.0),
        b"setpause" | b"setstepmul" => {
            let mut settings = runtime.collector_settings.get();
            let setting = &mut settings[usize::from(option == b"setstepmul")];
            let before = std::mem::replace(setting, argument);
            runtime.collector_settings.set(settings);
            lua.push_number(f64::from(before));
        }
        _ => return Err(lua.option_error(1)),
    }
    Ok(1)
}
