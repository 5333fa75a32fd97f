//! The table `redis`: what a script calls to reach the engine.

use super::convert::push_reply;
use super::host::{LogLevel, Replication};
use super::vm::{Lua, NUMBER, Outcome, Raised, STRING, TABLE};
use crate::limits::{SCRIPT_BUFFER_KEPT_MAX, SCRIPT_CALL_BYTES_MAX, SCRIPT_LOG_BYTES_MAX};
use crate::resp::number::write_script_number;
use crate::resp::{OwnedArgs, Protocol};

/// The version whose behaviour scripts see.
const REDIS_VERSION: &[u8] = b"7.2.4";
const REDIS_VERSION_NUM: f64 = 0x0007_0204 as f64;

const REPLICATE_TO_LOG: i32 = 1;
const REPLICATE_TO_REPLICAS: i32 = 2;

const WRONG_ARGUMENTS: &[u8] = b"ERR Lua redis lib command arguments must be strings or integers";
const NO_ARGUMENTS: &[u8] = b"ERR Please specify at least one argument for this redis lib call";

/// How a failed command comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnError {
    Raise,
    Return,
}

/// Pushes the table that scripts get: everything but registering functions. The order
/// of the fields is that of Redis, because `pairs` shows it.
pub fn push_table(lua: Lua) {
    lua.new_table(0, 0);
    set_function(lua, b"call", call);
    set_function(lua, b"pcall", protected_call);
    set_log_functions(lua);
    set_version(lua);
    set_function(lua, b"setresp", set_protocol);
    set_function(lua, b"sha1hex", sha1_hex);
    set_function(lua, b"error_reply", error_reply);
    set_function(lua, b"status_reply", status_reply);
    set_function(lua, b"set_repl", set_replication);
    for (name, value) in [
        (&b"REPL_NONE"[..], 0),
        (b"REPL_AOF", REPLICATE_TO_LOG),
        (b"REPL_SLAVE", REPLICATE_TO_REPLICAS),
        (b"REPL_REPLICA", REPLICATE_TO_REPLICAS),
        (b"REPL_ALL", REPLICATE_TO_LOG | REPLICATE_TO_REPLICAS),
    ] {
        set_number(lua, name, f64::from(value));
    }
    set_function(lua, b"acl_check_cmd", acl_check_command);
}

/// Adds what only EVAL's scripts have.
pub fn add_eval_functions(lua: Lua) {
    set_function(lua, b"breakpoint", breakpoint);
    set_function(lua, b"debug", debug);
    set_function(lua, b"replicate_commands", replicate_commands);
}

pub fn set_log_functions(lua: Lua) {
    set_function(lua, b"log", log);
    for (name, level) in [
        (&b"LOG_DEBUG"[..], LogLevel::Debug),
        (b"LOG_VERBOSE", LogLevel::Verbose),
        (b"LOG_NOTICE", LogLevel::Notice),
        (b"LOG_WARNING", LogLevel::Warning),
    ] {
        set_number(lua, name, f64::from(level as i32));
    }
}

pub fn set_version(lua: Lua) {
    set_number(lua, b"REDIS_VERSION_NUM", REDIS_VERSION_NUM);
    lua.push_bytes(REDIS_VERSION);
    lua.raw_set_name(-2, b"REDIS_VERSION");
}

/// Sets a function as a field of the table on top. May raise (memory).
pub fn set_function<F>(lua: Lua, name: &[u8], function: F)
where
    F: Fn(Lua) -> Outcome + Copy + 'static,
{
    lua.push_function(function);
    lua.raw_set_name(-2, name);
}

fn set_number(lua: Lua, name: &[u8], value: f64) {
    lua.push_number(value);
    lua.raw_set_name(-2, name);
}

/// Pushes `{err = text}`. May raise (memory).
pub fn push_error_table(lua: Lua, text: &[u8]) {
    lua.new_table(0, 0);
    lua.push_bytes(text);
    lua.raw_set_name(-2, b"err");
}

/// An error value as Redis raises its own: a table, without a position.
pub fn error_table(lua: Lua, text: &[u8]) -> Raised {
    push_error_table(lua, text);
    Raised
}

fn call(lua: Lua) -> Outcome {
    run_command(lua, OnError::Raise)
}

fn protected_call(lua: Lua) -> Outcome {
    run_command(lua, OnError::Return)
}

fn run_command(lua: Lua, on_error: OnError) -> Outcome {
    let runtime = lua.runtime();
    let mut args = runtime.args.take();
    let collected = collect_args(lua, &mut args);
    if let Err(text) = collected {
        runtime.args.set(args);
        return refuse(lua, on_error, text);
    }
    // SAFETY: both references end before the machine goes on, and a command of a
    // script can't start another script.
    let ran = unsafe {
        let reply = runtime.reply();
        reply.clear();
        reply.set_protocol(runtime.protocol.get());
        runtime
            .host()
            .map(|host| host.call(args.as_args(), reply))
            .is_some()
    };
    runtime.args.set(args);
    if !ran {
        let text = b"ERR redis.call/pcall can only be called inside a script invocation";
        return refuse(lua, on_error, text);
    }
    // SAFETY: the buffer is not touched until the next command.
    let reply = unsafe { runtime.reply() };
    let is_error = reply.as_bytes().first() == Some(&b'-');
    let is_whole = push_reply(lua, reply.as_bytes(), runtime.protocol.get());
    if reply.capacity() > SCRIPT_BUFFER_KEPT_MAX {
        reply.clear();
        reply.shrink_to(SCRIPT_BUFFER_KEPT_MAX);
    }
    if !is_whole {
        return refuse(
            lua,
            on_error,
            b"ERR the reply is nested too deeply for a script",
        );
    }
    runtime.command_ran(lua)?;
    if is_error && on_error == OnError::Raise {
        return Err(Raised);
    }
    Ok(1)
}

/// Fails a call for a reason of the bridge's own.
fn refuse(lua: Lua, on_error: OnError, text: &[u8]) -> Outcome {
    push_error_table(lua, text);
    match on_error {
        OnError::Raise => Err(Raised),
        OnError::Return => Ok(1),
    }
}

/// Copies the arguments from the Lua stack. Raises nothing: strings are borrowed as
/// they are, numbers are written here.
fn collect_args(lua: Lua, args: &mut OwnedArgs) -> Result<(), &'static [u8]> {
    args.clear();
    let count = lua.top();
    if count == 0 {
        return Err(NO_ARGUMENTS);
    }
    for index in 1..=count {
        let pushed = match lua.kind(index) {
            STRING => args.try_push(lua.bytes(index).unwrap_or_default()),
            NUMBER => args.try_push_written(|out| write_script_number(lua.to_number(index), out)),
            _ => return Err(WRONG_ARGUMENTS),
        };
        if pushed.is_err() || args.byte_len() > SCRIPT_CALL_BYTES_MAX {
            return Err(b"ERR the arguments of a script's command are too big");
        }
    }
    Ok(())
}

fn acl_check_command(lua: Lua) -> Outcome {
    let runtime = lua.runtime();
    let mut args = runtime.args.take();
    let collected = collect_args(lua, &mut args);
    // SAFETY: the reference ends with the call.
    let answer = match (collected, unsafe { runtime.host() }) {
        (Err(text), _) => Err(text),
        (Ok(()), host) => host
            .and_then(|host| host.acl_check(args.as_args()))
            .ok_or(&b"ERR Invalid command passed to redis.acl_check_cmd()"[..]),
    };
    runtime.args.set(args);
    match answer {
        Ok(allowed) => {
            lua.push_bool(allowed);
            Ok(1)
        }
        Err(text) => Err(error_table(lua, text)),
    }
}

fn log(lua: Lua) -> Outcome {
    let count = lua.top();
    if count < 2 {
        let text = b"ERR redis.log() requires two arguments or more.";
        return Err(error_table(lua, text));
    }
    if !lua.is_number(1) {
        let text = b"ERR First argument must be a number (log level).";
        return Err(error_table(lua, text));
    }
    let level = match lua.to_number(1) as i32 {
        0 => LogLevel::Debug,
        1 => LogLevel::Verbose,
        2 => LogLevel::Notice,
        3 => LogLevel::Warning,
        _ => return Err(error_table(lua, b"ERR Invalid log level.")),
    };
    // Numbers become strings here, so that nothing raises while the text is built.
    for index in 2..=count {
        lua.bytes(index);
    }
    let mut message = lua.runtime().text.take();
    message.clear();
    for index in 2..=count {
        if let Some(part) = lua.bytes(index) {
            if index > 2 {
                message.push(b' ');
            }
            let left = SCRIPT_LOG_BYTES_MAX.saturating_sub(message.len());
            message.extend_from_slice(&part[..part.len().min(left)]);
        }
    }
    // SAFETY: the reference ends with the call.
    if let Some(host) = unsafe { lua.runtime().host() } {
        host.log(level, &message);
    }
    message.truncate(SCRIPT_BUFFER_KEPT_MAX);
    message.shrink_to(SCRIPT_BUFFER_KEPT_MAX);
    lua.runtime().text.set(message);
    Ok(0)
}

fn set_protocol(lua: Lua) -> Outcome {
    if lua.top() != 1 {
        let text = b"ERR redis.setresp() requires one argument.";
        return Err(error_table(lua, text));
    }
    let protocol = match lua.to_number(1) as i32 {
        2 => Protocol::Resp2,
        3 => Protocol::Resp3,
        _ => return Err(error_table(lua, b"ERR RESP version must be 2 or 3.")),
    };
    lua.runtime().protocol.set(protocol);
    Ok(0)
}

fn sha1_hex(lua: Lua) -> Outcome {
    if lua.top() != 1 {
        return Err(error_table(lua, b"ERR wrong number of arguments"));
    }
    let digest = sha1_smol::Sha1::from(lua.bytes(1).unwrap_or_default()).digest();
    lua.push_bytes(&super::interpreter::ScriptSha(digest.bytes()).hex());
    Ok(1)
}

fn error_reply(lua: Lua) -> Outcome {
    if lua.top() != 1 || lua.kind(1) != STRING {
        push_error_table(lua, b"ERR wrong number or type of arguments");
        return Ok(1);
    }
    let text = lua.bytes(1).unwrap_or_default();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    // C text: nothing after a NUL byte is seen.
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    let (code, message) = match text.iter().position(|&byte| byte == b' ') {
        Some(space) => (&text[..space], &text[space + 1..]),
        None => (&b"ERR"[..], text),
    };
    let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let start = message.iter().position(|byte| !is_line_end(byte));
    let end = message.iter().rposition(|byte| !is_line_end(byte));
    let message = match (start, end) {
        (Some(start), Some(end)) => &message[start..=end],
        _ => b"",
    };
    lua.new_table(0, 0);
    let buffer = lua.new_buffer(code.len() + 1 + message.len());
    buffer[..code.len()].copy_from_slice(code);
    buffer[code.len()] = b' ';
    buffer[code.len() + 1..].copy_from_slice(message);
    lua.push_bytes(buffer);
    lua.remove(-2);
    lua.raw_set_name(-2, b"err");
    Ok(1)
}

fn status_reply(lua: Lua) -> Outcome {
    if lua.top() != 1 || lua.kind(1) != STRING {
        push_error_table(lua, b"ERR wrong number or type of arguments");
        return Ok(1);
    }
    lua.new_table(0, 0);
    lua.push_value(1);
    lua.raw_set_name(-2, b"ok");
    Ok(1)
}

fn set_replication(lua: Lua) -> Outcome {
    if lua.top() != 1 {
        let text = b"ERR redis.set_repl() requires one argument.";
        return Err(error_table(lua, text));
    }
    let flags = lua.to_number(1) as i32;
    if flags & !(REPLICATE_TO_LOG | REPLICATE_TO_REPLICAS) != 0 {
        let text =
            b"ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.";
        return Err(error_table(lua, text));
    }
    // SAFETY: the reference ends with the call.
    if let Some(host) = unsafe { lua.runtime().host() } {
        host.set_replication(Replication {
            to_log: flags & REPLICATE_TO_LOG != 0,
            to_replicas: flags & REPLICATE_TO_REPLICAS != 0,
        });
    }
    Ok(0)
}

/// Scripts are always replicated by their effects.
fn replicate_commands(lua: Lua) -> Outcome {
    lua.push_bool(true);
    Ok(1)
}

/// There is no debugger, so nobody stops here.
fn breakpoint(lua: Lua) -> Outcome {
    lua.push_bool(false);
    Ok(1)
}

fn debug(_: Lua) -> Outcome {
    Ok(0)
}

/// The handler of errors that nobody caught: makes a table of the error and notes
/// where it was raised.
pub fn error_handler(lua: Lua) -> Outcome {
    lua.set_top(1);
    if lua.kind(1) != TABLE {
        lua.push_value(super::vm::GLOBALS);
        lua.raw_get_name(-1, b"tostring");
        lua.push_value(1);
        lua.call(1, 1);
        let text = lua.bytes(-1).unwrap_or_default();
        let buffer = lua.new_buffer(b"ERR ".len() + text.len());
        buffer[..4].copy_from_slice(b"ERR ");
        buffer[4..].copy_from_slice(text);
        push_error_table(lua, buffer);
        lua.replace(1);
        lua.set_top(1);
    }
    if super::sandbox::is_protected(lua, 1) {
        return Err(lua.error(super::sandbox::READ_ONLY));
    }
    let mut frame = lua.frame(1);
    if frame.as_ref().is_some_and(|frame| frame.is_c) {
        frame = lua.frame(2);
    }
    if let Some(frame) = frame {
        lua.push_bytes(frame.source.to_bytes());
        lua.raw_set_name(1, b"source");
        lua.push_number(f64::from(frame.line));
        lua.raw_set_name(1, b"line");
    }
    Ok(1)
}
