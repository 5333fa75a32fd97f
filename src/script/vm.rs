//! The door to the Lua 5.1 machine: a handle over its C interface.
//!
//! Obligations. A [`Lua`] is made only by the trampoline that Lua calls, and by the
//! interpreter around a protected call. Whoever holds one keeps the stack discipline
//! of Lua's manual: an index names a live slot, no more than 20 values are pushed
//! without [`Lua::reserve`], and bytes borrowed from a slot are used only while the
//! value stays there. Methods marked *may raise* can leave by a C long jump, so no
//! value with a destructor may be alive across them; what must outlive them lies in
//! Lua's memory or in the [`Runtime`]. Raising on our own account is different: a
//! function returns `Err(Raised)` with the error value on top, and the trampoline
//! raises after all Rust frames are gone.

use std::any::Any;
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::slice;

use mlua::ffi;
pub use mlua::ffi::lua_State;

use super::runtime::Runtime;
use crate::limits::SCRIPT_SOURCE_PIECE_BYTES;

pub const NIL: c_int = ffi::LUA_TNIL;
pub const BOOLEAN: c_int = ffi::LUA_TBOOLEAN;
pub const LIGHT: c_int = ffi::LUA_TLIGHTUSERDATA;
pub const NUMBER: c_int = ffi::LUA_TNUMBER;
pub const STRING: c_int = ffi::LUA_TSTRING;
pub const TABLE: c_int = ffi::LUA_TTABLE;
pub const FUNCTION: c_int = ffi::LUA_TFUNCTION;
pub const NONE: c_int = ffi::LUA_TNONE;
pub const GLOBALS: c_int = ffi::LUA_GLOBALSINDEX;
pub const REGISTRY: c_int = ffi::LUA_REGISTRYINDEX;
pub const ALL_RESULTS: c_int = ffi::LUA_MULTRET;

/// An error is to be raised; its value is on top of the Lua stack.
#[derive(Debug)]
pub struct Raised;

/// The number of results on top of the stack, or an error to raise.
pub type Outcome = Result<c_int, Raised>;

/// What went wrong in a protected call; the error value is on top of the stack.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Failure {
    Error,
    Memory,
    Syntax,
}

/// One Lua thread. See the module for what its holder promises.
#[derive(Clone, Copy)]
pub struct Lua(*mut lua_State);

/// Called by Lua. `F` is a function item, which has no bytes, so its value can be
/// made here from nothing.
unsafe extern "C-unwind" fn trampoline<F>(raw: *mut lua_State) -> c_int
where
    F: Fn(Lua) -> Outcome + Copy + 'static,
{
    const { assert!(size_of::<F>() == 0) };
    let lua = Lua(raw);
    // SAFETY: F has no bytes, and a value of it was passed to `push_function`.
    let function = unsafe { NonNull::<F>::dangling().read() };
    let failure = match catch_unwind(AssertUnwindSafe(|| function(lua))) {
        Ok(Ok(results)) => return results,
        Ok(Err(Raised)) => None,
        Err(payload) => Some(payload),
    };
    if let Some(payload) = failure {
        keep_panic(lua, payload);
    }
    // SAFETY: the error value is on top, and nothing here owns anything any more.
    unsafe { ffi::lua_error(raw) }
}

/// A panic must not cross C: it waits in the runtime until the script has ended.
#[cold]
fn keep_panic(lua: Lua, payload: Box<dyn Any + Send>) {
    lua.runtime().stop_for_panic(payload);
    lua.stop_soon();
    lua.set_top(0);
    lua.push_bytes(b"internal error");
}

impl Lua {
    /// # Safety
    /// `raw` is a live thread of a state made by this module's owner, and the
    /// holder keeps the obligations that the module states.
    pub unsafe fn from_raw(raw: *mut lua_State) -> Self {
        Self(raw)
    }

    /// What belongs to the whole machine. The reference must not be kept longer
    /// than the machine, which no caller of ours does.
    #[inline]
    pub fn runtime<'a>(self) -> &'a Runtime {
        let mut runtime: *mut c_void = std::ptr::null_mut();
        // SAFETY: every state is made with its runtime as the allocator's data; it
        // is boxed, shared only (its fields are cells) and freed after the state.
        unsafe {
            ffi::lua_getallocf(self.0, &mut runtime);
            &*runtime.cast::<Runtime>()
        }
    }

    #[inline]
    pub fn top(self) -> c_int {
        unsafe { ffi::lua_gettop(self.0) }
    }

    #[inline]
    pub fn set_top(self, top: c_int) {
        unsafe { ffi::lua_settop(self.0, top) }
    }

    #[inline]
    pub fn pop(self, count: c_int) {
        unsafe { ffi::lua_settop(self.0, -count - 1) }
    }

    #[inline]
    pub fn push_value(self, index: c_int) {
        unsafe { ffi::lua_pushvalue(self.0, index) }
    }

    pub fn remove(self, index: c_int) {
        unsafe { ffi::lua_remove(self.0, index) }
    }

    pub fn insert(self, index: c_int) {
        unsafe { ffi::lua_insert(self.0, index) }
    }

    pub fn replace(self, index: c_int) {
        unsafe { ffi::lua_replace(self.0, index) }
    }

    /// Makes room for `slots` more values; false if the stack would be too big.
    /// May raise (memory).
    pub fn reserve(self, slots: c_int) -> bool {
        unsafe { ffi::lua_checkstack(self.0, slots) != 0 }
    }

    #[inline]
    pub fn kind(self, index: c_int) -> c_int {
        unsafe { ffi::lua_type(self.0, index) }
    }

    pub fn kind_name(self, index: c_int) -> &'static str {
        // SAFETY: Lua's names of types are static C strings in ASCII.
        let name = unsafe { CStr::from_ptr(ffi::lua_typename(self.0, self.kind(index))) };
        name.to_str().unwrap_or("?")
    }

    #[inline]
    pub fn push_nil(self) {
        unsafe { ffi::lua_pushnil(self.0) }
    }

    #[inline]
    pub fn push_number(self, value: f64) {
        unsafe { ffi::lua_pushnumber(self.0, value) }
    }

    #[inline]
    pub fn push_bool(self, value: bool) {
        unsafe { ffi::lua_pushboolean(self.0, c_int::from(value)) }
    }

    /// May raise (memory).
    #[inline]
    pub fn push_bytes(self, bytes: &[u8]) {
        unsafe { ffi::lua_pushlstring_(self.0, bytes.as_ptr().cast(), bytes.len()) }
    }

    pub fn push_light(self, pointer: *mut c_void) {
        unsafe { ffi::lua_pushlightuserdata(self.0, pointer) }
    }

    /// Pushes a function item as a Lua function with the `upvalues` on top of the
    /// stack. May raise (memory).
    pub fn push_closure<F>(self, function: F, upvalues: c_int)
    where
        F: Fn(Lua) -> Outcome + Copy + 'static,
    {
        let _ = function;
        unsafe { ffi::lua_pushcclosure(self.0, trampoline::<F>, upvalues) }
    }

    /// May raise (memory).
    pub fn push_function<F>(self, function: F)
    where
        F: Fn(Lua) -> Outcome + Copy + 'static,
    {
        self.push_closure(function, 0);
    }

    pub fn upvalue(index: c_int) -> c_int {
        ffi::lua_upvalueindex(index)
    }

    #[inline]
    pub fn to_number(self, index: c_int) -> f64 {
        unsafe { ffi::lua_tonumber(self.0, index) }
    }

    #[inline]
    pub fn to_bool(self, index: c_int) -> bool {
        unsafe { ffi::lua_toboolean(self.0, index) != 0 }
    }

    pub fn to_light(self, index: c_int) -> *mut c_void {
        unsafe { ffi::lua_touserdata(self.0, index) }
    }

    pub fn pointer(self, index: c_int) -> *const c_void {
        unsafe { ffi::lua_topointer(self.0, index) }
    }

    pub fn is_number(self, index: c_int) -> bool {
        unsafe { ffi::lua_isnumber(self.0, index) != 0 }
    }

    /// The bytes of a string, or of a number, which becomes a string in its slot;
    /// `None` for anything else. May raise (memory) for a number.
    #[inline]
    pub fn bytes<'a>(self, index: c_int) -> Option<&'a [u8]> {
        let mut len = 0;
        // SAFETY: a non-null answer points to `len` bytes that live as long as the
        // value, which the holder keeps on the stack while using them.
        unsafe {
            let start = ffi::lua_tolstring(self.0, index, &mut len);
            (!start.is_null()).then(|| slice::from_raw_parts(start.cast(), len))
        }
    }

    /// May raise (memory).
    #[inline]
    pub fn new_table(self, array: usize, hash: usize) {
        let clamp = |len: usize| c_int::try_from(len).unwrap_or(c_int::MAX);
        unsafe { ffi::lua_createtable(self.0, clamp(array), clamp(hash)) }
    }

    /// Uncollected memory of Lua's own, for building what may be interrupted by a
    /// raise; it stays on the stack. May raise (memory).
    pub fn new_buffer<'a>(self, len: usize) -> &'a mut [u8] {
        // SAFETY: the userdata has `len` bytes, nobody else knows it, and the holder
        // keeps it on the stack while using it.
        unsafe {
            let start: *mut u8 = ffi::lua_newuserdata(self.0, len).cast();
            start.write_bytes(0, len);
            slice::from_raw_parts_mut(start, len)
        }
    }

    #[inline]
    pub fn raw_get(self, table: c_int) {
        unsafe { ffi::lua_rawget_(self.0, table) }
    }

    /// May raise (memory, or the key is nil or NaN).
    #[inline]
    pub fn raw_set(self, table: c_int) {
        unsafe { ffi::lua_rawset(self.0, table) }
    }

    #[inline]
    pub fn raw_get_index(self, table: c_int, index: c_int) {
        unsafe { ffi::lua_rawgeti_(self.0, table, index) }
    }

    /// May raise (memory).
    #[inline]
    pub fn raw_set_index(self, table: c_int, index: c_int) {
        unsafe { ffi::lua_rawseti_(self.0, table, index) }
    }

    /// `table[name] = top`, without metamethods. May raise (memory).
    pub fn raw_set_name(self, table: c_int, name: &[u8]) {
        let table = if table < 0 && table > REGISTRY {
            table - 1
        } else {
            table
        };
        self.push_bytes(name);
        self.insert(-2);
        self.raw_set(table);
    }

    /// Pushes `table[name]` without metamethods. May raise (memory).
    pub fn raw_get_name(self, table: c_int, name: &[u8]) {
        let table = if table < 0 && table > REGISTRY {
            table - 1
        } else {
            table
        };
        self.push_bytes(name);
        self.raw_get(table);
    }

    /// Pushes `object[key]` for the key on top, with metamethods. May raise.
    pub fn get(self, object: c_int) {
        unsafe { ffi::lua_gettable_(self.0, object) }
    }

    /// Whether the value at one index is less than that at another, with metamethods. May raise.
    pub fn is_less(self, left: c_int, right: c_int) -> bool {
        unsafe { ffi::lua_lessthan(self.0, left, right) != 0 }
    }

    pub fn raw_len(self, index: c_int) -> usize {
        unsafe { ffi::lua_objlen(self.0, index) }
    }

    /// May raise (the key is not in the table).
    #[inline]
    pub fn next(self, table: c_int) -> bool {
        unsafe { ffi::lua_next(self.0, table) != 0 }
    }

    pub fn set_metatable(self, index: c_int) {
        unsafe {
            ffi::lua_setmetatable(self.0, index);
        }
    }

    /// Pushes the metatable if there is one.
    #[inline]
    pub fn metatable(self, index: c_int) -> bool {
        unsafe { ffi::lua_getmetatable(self.0, index) != 0 }
    }

    /// Pushes a field of the metatable if there is one. May raise (memory).
    pub fn meta_field(self, index: c_int, name: &CStr) -> bool {
        unsafe { ffi::luaL_getmetafield_(self.0, index, name.as_ptr()) != 0 }
    }

    pub fn set_environment(self, function: c_int) {
        unsafe {
            ffi::lua_setfenv(self.0, function);
        }
    }

    /// May raise.
    pub fn call(self, arguments: c_int, results: c_int) {
        unsafe { ffi::lua_call(self.0, arguments, results) }
    }

    /// Calls, and on failure leaves the error value on top. `handler` is an index
    /// or 0.
    pub fn protected_call(
        self,
        arguments: c_int,
        results: c_int,
        handler: c_int,
    ) -> Result<(), Failure> {
        match unsafe { ffi::lua_pcall(self.0, arguments, results, handler) } {
            ffi::LUA_OK => Ok(()),
            ffi::LUA_ERRMEM => Err(Failure::Memory),
            _ => Err(Failure::Error),
        }
    }

    /// Calls a function with a light value in a protected call that allocates nothing
    /// outside of it. On failure the error value is on top.
    pub fn protected_light<F>(self, function: F, data: *mut c_void) -> Result<(), Failure>
    where
        F: Fn(Lua) -> Outcome + Copy + 'static,
    {
        let _ = function;
        match unsafe { ffi::lua_cpcall(self.0, trampoline::<F>, data) } {
            ffi::LUA_OK => Ok(()),
            ffi::LUA_ERRMEM => Err(Failure::Memory),
            _ => Err(Failure::Error),
        }
    }

    /// Compiles source text and pushes the function. A text that looks like
    /// bytecode is refused as the syntax error that it is. May raise (memory).
    pub fn compile(self, source: &[u8], chunk_name: &CStr) -> Result<(), Failure> {
        struct Pieces<'a> {
            guard: bool,
            source: &'a [u8],
        }
        unsafe extern "C-unwind" fn read(
            raw: *mut lua_State,
            data: *mut c_void,
            len: *mut usize,
        ) -> *const std::ffi::c_char {
            // SAFETY: `data` is the Pieces below, which outlives the load.
            let pieces = unsafe { &mut *data.cast::<Pieces<'_>>() };
            let piece = if std::mem::take(&mut pieces.guard) {
                &b" "[..]
            } else {
                let len = pieces.source.len().min(SCRIPT_SOURCE_PIECE_BYTES);
                let (piece, rest) = pieces.source.split_at(len);
                pieces.source = rest;
                piece
            };
            let lua = Lua(raw);
            if lua.runtime().work(lua, piece.len() as i64).is_err() {
                // SAFETY: the error value is on top, and nothing here owns anything.
                unsafe { ffi::lua_error(raw) }
            }
            // SAFETY: Lua passes a valid place for the length.
            unsafe { *len = piece.len() };
            piece.as_ptr().cast()
        }
        let mut pieces = Pieces {
            // A leading blank keeps the loader from taking bytecode for what it is.
            guard: source.first() == Some(&ffi::LUA_SIGNATURE[0]),
            source,
        };
        let data: *mut Pieces<'_> = &mut pieces;
        self.compile_with(read, data.cast(), chunk_name)
    }

    /// Compiles what a reader delivers piece by piece. May raise.
    pub fn compile_with(
        self,
        reader: ffi::lua_Reader,
        data: *mut c_void,
        chunk_name: &CStr,
    ) -> Result<(), Failure> {
        // The compiler does not hold on to the name that it makes a string of: this one does.
        self.push_bytes(chunk_name.to_bytes());
        let status = unsafe { ffi::lua_load(self.0, reader, data, chunk_name.as_ptr()) };
        self.remove(-2);
        load_status(status)
    }

    /// The bytecode of the Lua function on top, appended to `out`.
    pub fn dump(self, out: &mut Vec<u8>) {
        unsafe extern "C-unwind" fn write(
            _: *mut lua_State,
            bytes: *const c_void,
            len: usize,
            data: *mut c_void,
        ) -> c_int {
            // SAFETY: Lua passes `len` readable bytes and the vector below.
            unsafe {
                let out = &mut *data.cast::<Vec<u8>>();
                out.extend_from_slice(slice::from_raw_parts(bytes.cast(), len));
            }
            0
        }
        let out: *mut Vec<u8> = out;
        // SAFETY: dumping pushes nothing and does not raise; the vector outlives it.
        unsafe {
            ffi::lua_dump_(self.0, write, out.cast());
        }
    }

    /// Keeps the value on top in the registry. May raise (memory).
    pub fn keep(self) -> c_int {
        unsafe { ffi::luaL_ref(self.0, REGISTRY) }
    }

    pub fn forget(self, reference: c_int) {
        unsafe { ffi::luaL_unref(self.0, REGISTRY, reference) }
    }

    #[inline]
    pub fn push_kept(self, reference: c_int) {
        unsafe { ffi::lua_rawgeti_(self.0, REGISTRY, reference) }
    }

    /// Base, coroutines, strings, tables and mathematics. May raise (memory).
    pub fn open_standard_libraries(self) {
        for open in [
            ffi::luaopen_base,
            ffi::luaopen_table,
            ffi::luaopen_string,
            ffi::luaopen_math,
        ] {
            unsafe { ffi::lua_pushcclosure(self.0, open, 0) };
            self.call(0, 0);
        }
    }

    pub fn collect_all(self) {
        unsafe {
            ffi::lua_gc(self.0, ffi::LUA_GCCOLLECT, 0);
        }
    }

    pub fn collect_step(self, size: c_int) -> bool {
        unsafe { ffi::lua_gc(self.0, ffi::LUA_GCSTEP, size) != 0 }
    }

    /// A string argument (numbers count), else the standard error. May raise.
    pub fn check_bytes<'a>(self, argument: c_int) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: as in `bytes`; the call does not return without a string.
        unsafe {
            let start = ffi::luaL_checklstring(self.0, argument, &mut len);
            slice::from_raw_parts(start.cast(), len)
        }
    }

    /// A string argument as C text that lives as long as the value. May raise.
    pub fn optional_text(self, argument: c_int, default: &CStr) -> &CStr {
        // SAFETY: Lua ends its strings with a NUL; the default lives long enough.
        unsafe {
            CStr::from_ptr(ffi::luaL_optlstring(
                self.0,
                argument,
                default.as_ptr(),
                std::ptr::null_mut(),
            ))
        }
    }

    /// May raise.
    pub fn check_number(self, argument: c_int) -> f64 {
        unsafe { ffi::luaL_checknumber(self.0, argument) }
    }

    /// An integer as C's conversion makes it. May raise.
    pub fn check_integer(self, argument: c_int) -> i64 {
        unsafe { ffi::luaL_checkinteger(self.0, argument) }
    }

    /// An integer cut to 32 bits, as Lua's libraries do. May raise.
    pub fn check_int(self, argument: c_int) -> c_int {
        self.check_integer(argument) as c_int
    }

    /// May raise.
    pub fn optional_integer(self, argument: c_int, default: i64) -> i64 {
        unsafe { ffi::luaL_optinteger(self.0, argument, default) }
    }

    /// May raise.
    pub fn check_kind(self, argument: c_int, kind: c_int) {
        unsafe { ffi::luaL_checktype(self.0, argument, kind) }
    }

    /// May raise.
    pub fn check_any(self, argument: c_int) {
        unsafe { ffi::luaL_checkany(self.0, argument) }
    }

    /// `bad argument #n to 'f' (text)`: raises.
    pub fn argument_error(self, argument: c_int, text: &CStr) -> Raised {
        unsafe {
            ffi::luaL_argerror(self.0, argument, text.as_ptr());
        }
        Raised
    }

    /// `bad argument #n to 'f' (invalid option 'x')`: raises.
    pub fn option_error(self, argument: c_int) -> Raised {
        let none: [*const std::ffi::c_char; 1] = [std::ptr::null()];
        unsafe {
            ffi::luaL_checkoption(self.0, argument, std::ptr::null(), none.as_ptr());
        }
        Raised
    }

    /// An error with the caller's position before the text.
    pub fn error(self, text: &[u8]) -> Raised {
        unsafe { ffi::luaL_where(self.0, 1) };
        self.push_bytes(text);
        unsafe { ffi::lua_concat(self.0, 2) };
        Raised
    }

    /// An error with the caller's position before a short text; a longer one is cut.
    pub fn error_text(self, text: std::fmt::Arguments<'_>) -> Raised {
        use std::io::Write;
        let mut buffer = [0; 160];
        let mut rest = &mut buffer[..];
        let _ = rest.write_fmt(text);
        let left = rest.len();
        let len = buffer.len() - left;
        self.error(&buffer[..len])
    }

    /// An error that is the text alone.
    pub fn plain_error(self, text: &[u8]) -> Raised {
        self.push_bytes(text);
        Raised
    }

    /// Makes the count hook fire at the next instruction of this thread and of the
    /// main thread, and stay so.
    pub fn stop_soon(self) {
        set_hook(self.0, 1);
        set_hook(self.runtime().main_thread(), 1);
    }

    /// Makes the count hook of this thread fire each `count` instructions.
    pub fn set_pace(self, count: c_int) {
        if unsafe { ffi::lua_gethookcount(self.0) } != count {
            set_hook(self.0, count);
        }
    }

    /// What the function `level` frames up is and where it stands; `None` beyond
    /// the last.
    pub fn frame(self, level: c_int) -> Option<Frame> {
        let mut record = MaybeUninit::<ffi::lua_Debug>::zeroed();
        // SAFETY: getstack fills what getinfo reads; "S" and "l" set the fields used.
        unsafe {
            if ffi::lua_getstack(self.0, level, record.as_mut_ptr()) == 0 {
                return None;
            }
            ffi::lua_getinfo(self.0, c"Sl".as_ptr(), record.as_mut_ptr());
            let record = record.assume_init_ref();
            Some(Frame {
                is_c: CStr::from_ptr(record.what).to_bytes() == b"C",
                source: CStr::from_ptr(record.source),
                line: record.currentline,
            })
        }
    }
}

/// One active function.
pub struct Frame {
    pub is_c: bool,
    /// Chunk name; valid while the function lives.
    pub source: &'static CStr,
    /// -1 if unknown.
    pub line: c_int,
}

fn load_status(status: c_int) -> Result<(), Failure> {
    match status {
        ffi::LUA_OK => Ok(()),
        ffi::LUA_ERRMEM => Err(Failure::Memory),
        ffi::LUA_ERRSYNTAX => Err(Failure::Syntax),
        _ => Err(Failure::Error),
    }
}

/// Has the machine call the runtime each `count` instructions of the thread.
pub fn set_hook(thread: *mut lua_State, count: c_int) {
    unsafe extern "C-unwind" fn hook(raw: *mut lua_State, _: *mut ffi::lua_Debug) {
        let lua = Lua(raw);
        let outcome = catch_unwind(AssertUnwindSafe(|| lua.runtime().on_hook(lua)));
        match outcome {
            Ok(Ok(())) => return,
            Ok(Err(Raised)) => {}
            Err(payload) => {
                lua.runtime().stop_for_panic(payload);
                lua.stop_soon();
                lua.push_bytes(b"internal error");
            }
        }
        // SAFETY: the error value is on top; nothing here owns anything any more.
        unsafe { ffi::lua_error(raw) }
    }
    // SAFETY: the thread is live; setting a hook is allowed at any moment.
    unsafe {
        ffi::lua_sethook(thread, Some(hook), ffi::LUA_MASKCOUNT, count);
    }
}
