//! A Lua state with its runtime, and the protected entry through which everything runs.
//!
//! A machine runs one script at a time, under the engine's lock. It may run on a fiber
//! of at least [`SCRIPT_STACK_BYTES`](crate::limits::SCRIPT_STACK_BYTES); the host can
//! suspend it at every pause point.

use std::ffi::{CStr, c_void};
use std::panic::resume_unwind;
use std::ptr;
use std::sync::Arc;

use mlua::ffi;

use super::convert::{FIELDS, grown_len, until_nul, write_error_line, write_result, write_simple};
use super::host::ScriptHost;
use super::memory;
use super::random::Random;
use super::registration::{self, World, show_world};
use super::runtime::{Activity, Runtime};
use super::sandbox::{self, Kind};
use super::vm::{
    Failure, GLOBALS, Lua, NUMBER, Outcome, Raised, STRING, TABLE, lua_State, set_hook,
};
use crate::limits::{SCRIPT_GARBAGE_BYTES_MAX, SCRIPT_HOOK_INSTRUCTIONS};
use crate::resp::{Args, Reply};

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// A value was written. It may be an error that the script returned.
    Value,
    /// An error that the script did not catch was written. `counted` if it came from a
    /// command and was counted in the statistics there.
    Error { counted: bool },
}

/// An uncaught error, as the script's error value told it.
#[derive(Default, Debug)]
pub struct ScriptError {
    pub message: Vec<u8>,
    /// Chunk and line.
    pub position: Option<(Vec<u8>, Vec<u8>)>,
    pub counted: bool,
}

/// What the protected entry is asked to do. `function` is a place in the registry.
pub enum Work<'a> {
    /// A script that can't reach its keys and arguments.
    BareScript { function: i32 },
    /// Any other script: keys and arguments are globals.
    Script {
        function: i32,
        keys: Args<'a>,
        argv: Args<'a>,
    },
    /// A function of a library: keys and arguments are its parameters.
    Function {
        function: i32,
        keys: Args<'a>,
        argv: Args<'a>,
    },
    /// The body of a library, which sees only what registers functions.
    Library { function: i32 },
}

/// The work, and where its result goes.
pub struct Request<'a> {
    work: Work<'a>,
    /// Used by the entry only; null for work without a result.
    out: *mut Reply,
}

/// A Lua state with its runtime and what the entry points need, without scripts.
pub struct Machine {
    state: *mut lua_State,
    runtime: Box<Runtime>,
    kind: Kind,
    /// Registry places of the error handler, the entry and the error's describer.
    handler: i32,
    entry: i32,
    describer: i32,
    /// Bytes alive after the last full collection.
    alive: usize,
}

// SAFETY: the state and the runtime are reached through the machine only, by one thread
// at a time, and hold nothing of a thread.
unsafe impl Send for Machine {}

/// A compiled function.
#[derive(Clone, Copy)]
pub struct Compiled {
    /// Its place in the registry.
    pub function: i32,
    /// Whether an EVAL script can reach KEYS or ARGV.
    pub uses_arguments: bool,
}

/// What a script is told that used all of its memory.
const NO_MEMORY: &[u8] = b"ERR not enough memory";

/// The stack slot of the error handler while something runs.
const HANDLER: i32 = 1;

/// Upvalues of the entry after the field names.
const KEYS_UPVALUE: i32 = FIELDS.len() as i32 + 1;
const ARGV_UPVALUE: i32 = FIELDS.len() as i32 + 2;

impl Machine {
    /// # Panics
    /// If the machine can't be made within `memory_bytes_max`, which holds for any
    /// limit of a megabyte or more.
    pub fn new(kind: Kind, memory_bytes_max: usize, random: Arc<Random>) -> Self {
        let runtime = Box::new(Runtime::new(memory_bytes_max, random));
        let data = ptr::from_ref::<Runtime>(&runtime).cast_mut();
        // SAFETY: the allocator gets the runtime that it expects, which outlives the
        // state: the state is closed first in `drop`.
        let state = unsafe { ffi::lua_newstate(memory::allocate, data.cast()) };
        assert!(!state.is_null(), "memory for a script machine");
        runtime.set_main_thread(state);
        let mut machine = Self {
            state,
            runtime,
            kind,
            handler: 0,
            entry: 0,
            describer: 0,
            alive: 0,
        };
        machine.set_up();
        machine
    }

    fn set_up(&mut self) {
        let mut parts = Parts {
            kind: self.kind,
            handler: 0,
            entry: 0,
            describer: 0,
        };
        let data: *mut Parts = &mut parts;
        let built = self.protected(build, data.cast());
        assert!(built.is_ok(), "a script machine fits in its memory");
        self.handler = parts.handler;
        self.entry = parts.entry;
        self.describer = parts.describer;
        set_hook(self.state, SCRIPT_HOOK_INSTRUCTIONS);
        self.lua().collect_all();
        self.alive = self.runtime.memory.used();
    }

    /// The main thread.
    pub fn lua(&self) -> Lua {
        // SAFETY: the state is live, and the users in this module keep the rules: what
        // may raise is done in protected calls.
        unsafe { Lua::from_raw(self.state) }
    }

    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Bytes of Lua's memory.
    pub fn memory_bytes(&self) -> usize {
        self.runtime.memory.used()
    }

    /// Does the work in a protected call, and writes its result, or the error that names
    /// `name`, to `out`.
    ///
    /// # Panics
    /// If the host panics, after the machine was put in order.
    pub fn run(
        &mut self,
        work: Work<'_>,
        name: &[u8],
        host: &mut dyn ScriptHost,
        out: &mut Reply,
    ) -> Ended {
        let start = out.len();
        let request = Request {
            work,
            out: ptr::from_mut(out),
        };
        match self.enter(&request, Activity::Running, host) {
            Ok(()) => Ended::Value,
            Err(error) => {
                out.truncate(start);
                write_error(&error, name, out);
                Ended::Error {
                    counted: error.counted,
                }
            }
        }
    }

    /// Does work without a result; `Err` is what was not caught.
    ///
    /// # Panics
    /// As [`Machine::run`].
    pub fn load(&mut self, function: i32, host: &mut dyn ScriptHost) -> Result<(), ScriptError> {
        let request = Request {
            work: Work::Library { function },
            out: ptr::null_mut(),
        };
        self.enter(&request, Activity::Loading, host)
    }

    /// Runs the entry and leaves the stack empty. A panic of the host goes on here.
    fn enter(
        &mut self,
        request: &Request<'_>,
        activity: Activity,
        host: &mut dyn ScriptHost,
    ) -> Result<(), ScriptError> {
        let lua = self.lua();
        lua.set_top(0);
        self.runtime.begin(host, activity);
        self.runtime.request.set(ptr::from_ref(request).cast());
        lua.push_kept(self.handler);
        let result = match request.work {
            Work::BareScript { function } => self.run_bare(function, request),
            _ => {
                lua.push_kept(self.entry);
                lua.protected_call(0, 0, HANDLER)
            }
        };
        let result = result.map_err(|_| self.describe_error());
        lua.set_top(0);
        self.runtime.request.set(ptr::null());
        let panic = self.runtime.end();
        lua.set_pace(SCRIPT_HOOK_INSTRUCTIONS);
        self.collect_garbage();
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
        result
    }

    /// Runs a script without anything to prepare; only a table as its result needs the
    /// entry.
    fn run_bare(&self, function: i32, request: &Request<'_>) -> Result<(), Failure> {
        let lua = self.lua();
        lua.push_kept(function);
        lua.protected_call(0, 1, HANDLER)?;
        // SAFETY: `run` made it from a reference that it does not use meanwhile.
        if write_simple(lua, unsafe { &mut *request.out }) {
            return Ok(());
        }
        lua.push_kept(self.entry);
        lua.insert(-2);
        lua.protected_call(1, 0, HANDLER)
    }

    /// Compiles source text and keeps the function; `Err` is Lua's message.
    pub fn compile(
        &mut self,
        source: &[u8],
        chunk_name: &'static CStr,
    ) -> Result<Compiled, Vec<u8>> {
        let mut compilation = Compilation {
            kind: self.kind,
            source,
            chunk_name,
            compiled: Compiled {
                function: 0,
                uses_arguments: true,
            },
        };
        let data: *mut Compilation<'_> = &mut compilation;
        self.protected(compile, data.cast())?;
        Ok(compilation.compiled)
    }

    /// Frees a kept function.
    pub fn forget(&mut self, function: i32) {
        self.lua().forget(function);
    }

    /// Reads the error value on top of the stack.
    fn describe_error(&self) -> ScriptError {
        let lua = self.lua();
        lua.push_kept(self.describer);
        lua.insert(-2);
        let described = lua.protected_call(1, 0, 0).is_ok();
        match self.runtime.failure.take() {
            // An end told while Lua took memory looks to it as if there was none.
            Some(error)
                if described
                    && !(self.runtime.activity() == Activity::Ending
                        && error.message == NO_MEMORY) =>
            {
                error
            }
            _ => ScriptError {
                message: match self.runtime.activity() {
                    Activity::Ending => self.runtime.last_words().to_vec(),
                    _ => NO_MEMORY.to_vec(),
                },
                ..ScriptError::default()
            },
        }
    }

    /// A script that made much garbage pays for it at its end.
    fn collect_garbage(&mut self) {
        if self.runtime.memory.used() > 2 * self.alive + SCRIPT_GARBAGE_BYTES_MAX {
            self.lua().collect_all();
            self.alive = self.runtime.memory.used();
            self.runtime.memory.collected();
        }
    }

    /// Calls `function` with the given light value in a protected call, for work beside
    /// running scripts; `Err` with the text of the error.
    fn protected<F>(&mut self, function: F, data: *mut c_void) -> Result<(), Vec<u8>>
    where
        F: Fn(Lua) -> Outcome + Copy + 'static,
    {
        let lua = self.lua();
        lua.set_top(0);
        let result = match lua.protected_light(function, data) {
            Ok(()) => Ok(()),
            Err(_) => Err(lua.bytes(-1).unwrap_or(b"not enough memory").to_vec()),
        };
        lua.set_top(0);
        result
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: the state was made in `new` and nobody uses it any more.
        unsafe { ffi::lua_close(self.state) }
    }
}

/// What `build` is told, and the registry places that it answers.
struct Parts {
    kind: Kind,
    handler: i32,
    entry: i32,
    describer: i32,
}

/// Makes the sandbox, the error handler, the entry and the describer. Slot 1 is the
/// [`Parts`].
fn build(lua: Lua) -> Outcome {
    // SAFETY: `set_up` passes its own, which outlives the protected call.
    let parts = unsafe { &mut *lua.to_light(1).cast::<Parts>() };
    sandbox::build(lua, parts.kind);
    lua.set_top(0);
    lua.push_function(super::bridge::error_handler);
    parts.handler = lua.keep();
    for field in FIELDS {
        lua.push_bytes(field);
    }
    lua.push_bytes(b"KEYS");
    lua.push_bytes(b"ARGV");
    lua.push_closure(enter, ARGV_UPVALUE);
    parts.entry = lua.keep();
    lua.push_function(describe);
    parts.describer = lua.keep();
    Ok(0)
}

/// The request of the running call.
fn current_request<'a>(lua: Lua) -> &'a Request<'a> {
    // SAFETY: set by `call_entry` before it calls the entry, and alive until it returns.
    unsafe { &*lua.runtime().request.get().cast() }
}

/// The function that everything runs in.
fn enter(lua: Lua) -> Outcome {
    let request = current_request(lua);
    match request.work {
        // It has run; its result is the argument.
        Work::BareScript { .. } => {}
        Work::Script {
            function,
            keys,
            argv,
        } => {
            lua.push_value(Lua::upvalue(KEYS_UPVALUE));
            push_strings(lua, keys);
            lua.raw_set(GLOBALS);
            lua.push_value(Lua::upvalue(ARGV_UPVALUE));
            push_strings(lua, argv);
            lua.raw_set(GLOBALS);
            lua.push_kept(function);
            lua.call(0, 1);
        }
        Work::Function {
            function,
            keys,
            argv,
        } => {
            show_world(lua, World::Function);
            lua.push_kept(function);
            push_strings(lua, keys);
            push_strings(lua, argv);
            lua.call(2, 1);
        }
        Work::Library { function } => {
            show_world(lua, World::Body);
            lua.push_kept(function);
            lua.call(0, 0);
            return Ok(0);
        }
    }
    // SAFETY: `run` made it from a reference that it does not use before the entry ends.
    let out = unsafe { &mut *request.out };
    let start = out.len();
    write_result(lua, out, start)
}

fn push_strings(lua: Lua, strings: Args<'_>) {
    lua.new_table(grown_len(strings.len()), 0);
    for (index, string) in (1..).zip(strings.iter()) {
        lua.push_bytes(string);
        lua.raw_set_index(-2, index);
    }
}

/// Reads the error value in slot 1 into the runtime.
fn describe(lua: Lua) -> Outcome {
    let mut error = ScriptError::default();
    if lua.kind(1) != TABLE {
        let text = lua.bytes(1).unwrap_or(b"unknown error");
        error.message = [b"ERR ", text].concat();
    } else {
        for name in [
            &b"err"[..],
            b"source",
            b"line",
            b"ignore_error_stats_update",
        ] {
            lua.push_bytes(name);
            lua.get(1);
        }
        // Numbers become strings before anything is owned.
        let message = text(lua, 2).unwrap_or(b"ERR unknown error");
        let source = text(lua, 3);
        let line = text(lua, 4);
        error.message = message.to_vec();
        error.position = source
            .zip(line)
            .map(|(source, line)| (source.to_vec(), line.to_vec()));
        error.counted = lua.to_bool(5);
    }
    lua.runtime().failure.set(Some(error));
    Ok(0)
}

fn text<'a>(lua: Lua, index: i32) -> Option<&'a [u8]> {
    match lua.kind(index) {
        STRING | NUMBER => lua.bytes(index),
        _ => None,
    }
}

/// `-<message> script: <name>, on <source>:<line>.`
fn write_error(error: &ScriptError, name: &[u8], out: &mut Reply) {
    let mut text = until_nul(&error.message).to_vec();
    if let Some((source, line)) = &error.position {
        text.extend_from_slice(b" script: ");
        text.extend_from_slice(name);
        text.extend_from_slice(b", on ");
        text.extend_from_slice(source);
        text.push(b':');
        text.extend_from_slice(line);
        text.push(b'.');
    }
    write_error_line(out, &text);
}

struct Compilation<'a> {
    kind: Kind,
    source: &'a [u8],
    chunk_name: &'static CStr,
    compiled: Compiled,
}

/// Slot 1 is the [`Compilation`].
fn compile(lua: Lua) -> Outcome {
    // SAFETY: `Machine::compile` passes its own, which outlives the protected call.
    let compilation = unsafe { &mut *lua.to_light(1).cast::<Compilation<'_>>() };
    if lua
        .compile(compilation.source, compilation.chunk_name)
        .is_err()
    {
        return Err(Raised);
    }
    match compilation.kind {
        Kind::Eval => {
            compilation.compiled.uses_arguments = sandbox::choose_environment(lua).arguments;
        }
        Kind::Functions => registration::set_environment(lua),
    }
    compilation.compiled.function = lua.keep();
    Ok(0)
}
