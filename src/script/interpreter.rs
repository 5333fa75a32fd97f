//! One script machine and the scripts it knows: the safe door of this module.
//!
//! A machine runs one script at a time, under the engine's lock. It may run on a fiber
//! of at least [`SCRIPT_STACK_BYTES`](crate::limits::SCRIPT_STACK_BYTES); the host can
//! suspend it at every pause point.

use std::panic::resume_unwind;
use std::ptr;

use mlua::ffi;

use super::cache::{Cache, Script, ScriptId};
use super::convert::{FIELDS, until_nul, write_error_line, write_result};
use super::host::ScriptHost;
use super::memory;
use super::runtime::{Activity, Runtime};
use super::sandbox::{self, Kind};
use super::shebang::parse_shebang;
use super::vm::{GLOBALS, Lua, NUMBER, Outcome, STRING, TABLE, lua_State, set_hook};
use crate::limits::{SCRIPT_GARBAGE_BYTES_MAX, SCRIPT_HOOK_INSTRUCTIONS, SCRIPT_MEMORY_BYTES_MAX};
use crate::resp::{Args, Reply};

/// The digest that names a script.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScriptSha(pub [u8; 20]);

impl ScriptSha {
    pub fn of(source: &[u8]) -> Self {
        Self(sha1_smol::Sha1::from(source).digest().bytes())
    }

    /// The digest that 40 hexadecimal digits of either case name.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text: &[u8; 40] = text.try_into().ok()?;
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = (high << 4 | low) as u8;
        }
        Some(Self(bytes))
    }

    /// In lower case.
    pub fn hex(&self) -> [u8; 40] {
        let mut text = [0; 40];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        text
    }
}

/// How a script came to the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// EVAL: may be forgotten when there are too many.
    Eval,
    /// SCRIPT LOAD: stays until SCRIPT FLUSH.
    Load,
}

/// Why a source is no script; the whole text of the reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError(pub Vec<u8>);

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

/// What the protected entry is asked to do.
pub struct Request<'a> {
    /// The function, in the registry.
    pub function: i32,
    pub keys: Args<'a>,
    pub argv: Args<'a>,
    /// Where the result goes; used by the entry only.
    pub out: *mut Reply,
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

/// Upvalues of the entry after the field names.
const KEYS_UPVALUE: i32 = FIELDS.len() as i32 + 1;
const ARGV_UPVALUE: i32 = FIELDS.len() as i32 + 2;

impl Machine {
    /// # Panics
    /// If the machine can't be made within `memory_bytes_max`, which holds for any
    /// limit of a megabyte or more.
    pub fn new(kind: Kind, memory_bytes_max: usize) -> Self {
        let runtime = Box::new(Runtime::new(memory_bytes_max));
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

    /// Calls a kept function in a protected call, and writes its result, or the error
    /// that names `name`, to `out`.
    pub fn run(
        &mut self,
        request: Request<'_>,
        name: &[u8],
        activity: Activity,
        host: &mut dyn ScriptHost,
    ) -> Ended {
        let out = request.out;
        // SAFETY: the caller made `out` from a reference that lives through this call.
        let start = unsafe { (*out).len() };
        let result = self.call_entry(&request, activity, host);
        // SAFETY: as above; the entry's use of it has ended.
        let out = unsafe { &mut *out };
        match result {
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

    /// Runs the entry and leaves the stack empty. A panic of the host goes on here.
    pub fn call_entry(
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
        lua.push_kept(self.entry);
        let result = match lua.protected_call(0, 0, 1) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.describe_error()),
        };
        lua.set_top(0);
        self.runtime.request.set(ptr::null());
        let (was_ended, panic) = self.runtime.end();
        if was_ended {
            set_hook(self.state, SCRIPT_HOOK_INSTRUCTIONS);
        }
        self.collect_garbage();
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
        result
    }

    /// Reads the error value on top of the stack.
    fn describe_error(&self) -> ScriptError {
        let lua = self.lua();
        lua.push_kept(self.describer);
        lua.insert(-2);
        let described = lua.protected_call(1, 0, 0).is_ok();
        match self.runtime.failure.take() {
            Some(error) if described => error,
            _ => ScriptError {
                message: match self.runtime.activity() {
                    Activity::Ending => self.runtime.last_words().to_vec(),
                    _ => b"ERR not enough memory".to_vec(),
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
    pub fn protected<F>(&mut self, function: F, data: *mut std::ffi::c_void) -> Result<(), Vec<u8>>
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
    match parts.kind {
        Kind::Eval => lua.push_closure(enter_script, ARGV_UPVALUE),
        Kind::Functions => lua.push_closure(enter_function, ARGV_UPVALUE),
    }
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

/// Sets KEYS and ARGV, calls the script and writes its result.
fn enter_script(lua: Lua) -> Outcome {
    let request = current_request(lua);
    lua.push_value(Lua::upvalue(KEYS_UPVALUE));
    push_strings(lua, request.keys);
    lua.raw_set(GLOBALS);
    lua.push_value(Lua::upvalue(ARGV_UPVALUE));
    push_strings(lua, request.argv);
    lua.raw_set(GLOBALS);
    lua.push_kept(request.function);
    lua.call(0, 1);
    finish(lua, request)
}

/// Calls the function with its keys and arguments, and writes its result.
fn enter_function(lua: Lua) -> Outcome {
    let request = current_request(lua);
    lua.push_kept(request.function);
    push_strings(lua, request.keys);
    push_strings(lua, request.argv);
    lua.call(2, 1);
    finish(lua, request)
}

fn finish(lua: Lua, request: &Request<'_>) -> Outcome {
    // SAFETY: `run`'s caller lends the reply for the call and nobody else uses it now.
    let out = unsafe { &mut *request.out };
    let start = out.len();
    write_result(lua, out, start)
}

fn push_strings(lua: Lua, strings: Args<'_>) {
    lua.new_table(strings.len(), 0);
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

/// The machine of EVAL with the scripts it knows.
pub struct Interpreter {
    machine: Machine,
    cache: Cache,
    memory_bytes_max: usize,
}

impl Default for Interpreter {
    fn default() -> Self {
        Self::new(SCRIPT_MEMORY_BYTES_MAX)
    }
}

impl Interpreter {
    /// A machine whose Lua memory is bounded. About 0.2 ms.
    pub fn new(memory_bytes_max: usize) -> Self {
        Self {
            machine: Machine::new(Kind::Eval, memory_bytes_max),
            cache: Cache::default(),
            memory_bytes_max,
        }
    }

    /// The script of an EVAL, if its source is known: cheaper than its digest.
    pub fn find_source(&self, source: &[u8]) -> Option<ScriptId> {
        self.cache.find_source(source)
    }

    pub fn find(&self, sha: ScriptSha) -> Option<ScriptId> {
        self.cache.find(sha)
    }

    /// A script by its id, which is valid until the next `load` or `flush`.
    pub fn script(&self, id: ScriptId) -> &Script {
        self.cache.script(id)
    }

    pub fn script_count(&self) -> usize {
        self.cache.len()
    }

    /// Bytes of Lua's memory, and of the sources kept beside it.
    pub fn memory_bytes(&self) -> (usize, usize) {
        (self.machine.memory_bytes(), self.cache.source_bytes())
    }

    /// Compiles a source, or finds it among the known ones.
    pub fn load(&mut self, source: &[u8], origin: Origin) -> Result<ScriptId, LoadError> {
        if let Some(id) = self.cache.find_source(source) {
            if origin == Origin::Load {
                self.cache.pin(id);
            }
            return Ok(id);
        }
        let shebang = parse_shebang(source)?;
        let function = self.compile(&source[shebang.body_start..])?;
        let sha = ScriptSha::of(source);
        let script = Script::new(sha, shebang.flags, source, function, origin);
        let id = self.cache.insert(script);
        for reference in self.cache.forget_oldest() {
            self.machine.lua().forget(reference);
        }
        Ok(id)
    }

    fn compile(&mut self, body: &[u8]) -> Result<i32, LoadError> {
        let mut work = Compilation {
            source: body,
            function: 0,
        };
        let data: *mut Compilation<'_> = &mut work;
        self.machine
            .protected(compile_script, data.cast())
            .map_err(|message| {
                let mut text = b"ERR Error compiling script (new function): ".to_vec();
                text.extend_from_slice(&message);
                LoadError(text)
            })?;
        Ok(work.function)
    }

    /// Runs a script to its end, and appends its reply to `out`, in `out`'s protocol.
    ///
    /// # Panics
    /// If the host panics, after the machine was put in order.
    pub fn run(
        &mut self,
        id: ScriptId,
        keys: Args<'_>,
        argv: Args<'_>,
        host: &mut dyn ScriptHost,
        out: &mut Reply,
    ) -> Ended {
        let script = self.cache.script(id);
        let name = script.sha.hex();
        let request = Request {
            function: script.function,
            keys,
            argv,
            out,
        };
        self.machine.run(request, &name, Activity::Running, host)
    }

    /// Forgets all scripts.
    pub fn flush(&mut self) {
        *self = Self::new(self.memory_bytes_max);
    }
}

struct Compilation<'a> {
    source: &'a [u8],
    function: i32,
}

/// Slot 1 is the [`Compilation`].
fn compile_script(lua: Lua) -> Outcome {
    // SAFETY: `compile` passes its own, which outlives the protected call.
    let work = unsafe { &mut *lua.to_light(1).cast::<Compilation<'_>>() };
    if lua.compile(work.source, c"@user_script").is_err() {
        return Err(super::vm::Raised);
    }
    sandbox::choose_environment(lua);
    work.function = lua.keep();
    Ok(0)
}
