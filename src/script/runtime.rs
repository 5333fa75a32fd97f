//! What belongs to one script machine beside Lua's own state: its memory, the budget of
//! the running script, its host, and buffers. Everything is a cell, because Lua's
//! callbacks meet it anywhere.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::host::{ScriptHost, Verdict};
use super::memory::Memory;
use super::random::Random;
use super::vm::{Lua, Raised, lua_State};
use crate::limits::{
    SCRIPT_BUFFER_KEPT_MAX, SCRIPT_HOOK_INSTRUCTIONS, SCRIPT_HOOK_INSTRUCTIONS_LONG,
    SCRIPT_PAUSE_INSTRUCTIONS, SCRIPT_PAUSE_MS_MAX,
};
use crate::resp::{OwnedArgs, Protocol, Reply};

/// What the machine is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    Idle,
    /// A script or a function.
    Running,
    /// The body of a library that registers its functions.
    Loading,
    /// Whatever runs must end; it may not catch that.
    Ending,
}

/// Commands of a script between two looks at the time.
const COMMANDS_PER_LOOK: u8 = 8;

/// Bytes of a big block whose filling takes about as long as an instruction.
const BYTES_PER_INSTRUCTION: i64 = 32;

/// A clock that is cheap to read and goes in steps of some milliseconds: it only measures how long work takes.
fn coarse_ms() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is valid; should the call fail, it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// The most read-only tables that a sandbox makes.
pub const PROXIES_MAX: usize = 16;

pub struct Runtime {
    pub memory: Memory,
    /// Shared by the machines of a server.
    pub random: Arc<Random>,
    /// What commands of the running script answer in.
    pub protocol: Cell<Protocol>,
    /// Metatables of the read-only tables; see the sandbox.
    pub proxies: Cell<[*const std::ffi::c_void; PROXIES_MAX]>,
    /// Settings of the cjson library, which a script may change for itself.
    pub json: Cell<super::library::json::Settings>,
    /// Pause and step multiplier that the script believes it set for the collector.
    pub collector_settings: Cell<[i32; 2]>,
    /// Where a failed call's error is described.
    pub failure: Cell<Option<super::machine::ScriptError>>,
    /// What the protected entry works on.
    pub request: Cell<*const super::machine::Request<'static>>,
    /// Functions that a library under load registered.
    pub registered: Cell<Vec<super::registration::RegisteredFunction>>,
    /// What libraries' environment shows.
    pub world: Cell<super::registration::World>,
    /// Arguments of a command under construction, and the text of a number.
    pub args: Cell<OwnedArgs>,
    pub text: Cell<Vec<u8>>,
    reply: UnsafeCell<Reply>,
    scratch: UnsafeCell<Vec<u8>>,
    main_thread: Cell<*mut lua_State>,
    activity: Cell<Activity>,
    /// Instructions, or work worth as much, until the next pause point.
    budget: Cell<i64>,
    /// When the script was last at a pause point, in the milliseconds of a coarse clock; 0 if nobody looked yet.
    paused_ms: Cell<u64>,
    /// Commands that the script called, to look at the time now and then.
    commands: Cell<u8>,
    /// The hook was set to fire at the next instruction, for a collection.
    hurries: Cell<bool>,
    host: Cell<Option<NonNull<dyn ScriptHost>>>,
    /// The error of a script that was told to end.
    last_words: Cell<&'static [u8]>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

impl Runtime {
    pub fn new(memory_limit: usize, random: Arc<Random>) -> Self {
        Self {
            memory: Memory::new(memory_limit),
            random,
            protocol: Cell::default(),
            proxies: Cell::new([ptr::null(); PROXIES_MAX]),
            json: Cell::default(),
            collector_settings: Cell::new([200; 2]),
            failure: Cell::default(),
            request: Cell::new(ptr::null()),
            registered: Cell::default(),
            world: Cell::new(super::registration::World::Function),
            args: Cell::default(),
            text: Cell::default(),
            reply: UnsafeCell::default(),
            scratch: UnsafeCell::default(),
            main_thread: Cell::new(ptr::null_mut()),
            activity: Cell::new(Activity::Idle),
            budget: Cell::new(0),
            paused_ms: Cell::new(0),
            commands: Cell::new(0),
            hurries: Cell::new(false),
            host: Cell::new(None),
            last_words: Cell::new(b"ERR internal error"),
            panic: Cell::new(None),
        }
    }

    pub fn main_thread(&self) -> *mut lua_State {
        self.main_thread.get()
    }

    pub fn set_main_thread(&self, thread: *mut lua_State) {
        self.main_thread.set(thread);
    }

    pub fn activity(&self) -> Activity {
        self.activity.get()
    }

    /// The error of a script that was told to end.
    pub fn last_words(&self) -> &'static [u8] {
        self.last_words.get()
    }

    /// Lends the host to the machine and starts a budget. The host must stay until
    /// [`Runtime::end`].
    pub fn begin(&self, host: &mut dyn ScriptHost, activity: Activity) {
        let host: NonNull<dyn ScriptHost + '_> = NonNull::from(host);
        // SAFETY: only the lifetime changes; `end` takes the pointer away before the
        // borrow that it was made of ends.
        let host: NonNull<dyn ScriptHost + 'static> = unsafe { mem::transmute(host) };
        self.host.set(Some(host));
        self.activity.set(activity);
        self.budget.set(SCRIPT_PAUSE_INSTRUCTIONS);
        self.paused_ms.set(0);
        self.protocol.set(Protocol::Resp2);
        self.json.take();
        self.collector_settings.set([200; 2]);
    }

    /// Takes the host away, and gives the panic that waits to go on.
    pub fn end(&self) -> Option<Box<dyn Any + Send>> {
        self.host.set(None);
        self.activity.set(Activity::Idle);
        self.hurries.set(false);
        let args = self.args.take();
        if args.memory_bytes() <= SCRIPT_BUFFER_KEPT_MAX {
            self.args.set(args);
        }
        // SAFETY: no script runs, so nobody else uses the reply.
        let reply = unsafe { &mut *self.reply.get() };
        if reply.capacity() > SCRIPT_BUFFER_KEPT_MAX {
            *reply = Reply::default();
        }
        // SAFETY: likewise.
        let scratch = unsafe { self.scratch() };
        if scratch.capacity() > SCRIPT_BUFFER_KEPT_MAX {
            *scratch = Vec::new();
        }
        self.panic.take()
    }

    /// The host of the running script; `None` outside of one.
    ///
    /// # Safety
    /// The reference must be used for one call of the host only, which does not come
    /// back into the machine.
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub unsafe fn host(&self) -> Option<&mut dyn ScriptHost> {
        // SAFETY: `begin` borrowed it mutably until `end`, and nobody else holds it.
        self.host.get().map(|host| unsafe { &mut *host.as_ptr() })
    }

    /// The buffer of commands' replies.
    ///
    /// # Safety
    /// As [`Runtime::host`]: no other reference to it may be in use.
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub unsafe fn reply(&self) -> &mut Reply {
        unsafe { &mut *self.reply.get() }
    }

    /// The buffer in which a library builds a string; a raise leaves it behind unharmed.
    ///
    /// # Safety
    /// No other reference to it may be in use, so no script code may run meanwhile.
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub unsafe fn scratch(&self) -> &mut Vec<u8> {
        unsafe { &mut *self.scratch.get() }
    }

    /// Ends the running script because of a panic, which goes on after it.
    pub fn stop_for_panic(&self, payload: Box<dyn Any + Send>) {
        self.panic.set(Some(payload));
        self.activity.set(Activity::Ending);
    }

    /// Called by Lua's count hook.
    pub fn on_hook(&self, lua: Lua) -> Result<(), Raised> {
        if self.memory.wants_collection() {
            lua.collect_all();
            self.memory.collected();
        }
        self.hurries.set(false);
        let is_late = self.is_late();
        lua.set_pace(if is_late {
            SCRIPT_HOOK_INSTRUCTIONS_LONG
        } else {
            SCRIPT_HOOK_INSTRUCTIONS
        });
        if is_late {
            return self.pause(lua);
        }
        self.spend(lua, i64::from(SCRIPT_HOOK_INSTRUCTIONS))
    }

    /// As [`Runtime::spend`], for a bundle of work: looks at the time too.
    pub fn work(&self, lua: Lua, cost: i64) -> Result<(), Raised> {
        if self.is_late() {
            return self.pause(lua);
        }
        self.spend(lua, cost)
    }

    /// A command was run. May raise (memory).
    #[inline]
    pub fn command_ran(&self, lua: Lua) -> Result<(), Raised> {
        let commands = self.commands.get().wrapping_add(1);
        self.commands.set(commands);
        if commands.is_multiple_of(COMMANDS_PER_LOOK) && self.is_late() {
            return self.pause(lua);
        }
        Ok(())
    }

    /// Whether the script was for long at no pause point.
    fn is_late(&self) -> bool {
        let now_ms = coarse_ms();
        let paused_ms = self.paused_ms.get();
        if paused_ms == 0 {
            self.paused_ms.set(now_ms);
            return false;
        }
        now_ms.saturating_sub(paused_ms) > SCRIPT_PAUSE_MS_MAX
    }

    /// Lua takes a big block. The script may be suspended here, in the middle of an instruction: nobody else uses
    /// the machine meanwhile. False refuses the block, because the script is to end.
    pub fn may_allocate(&self, len: usize) -> bool {
        if self.activity.get() == Activity::Ending {
            return true;
        }
        if self.memory.wants_collection() && !self.hurries.replace(true) {
            super::vm::set_hook(self.main_thread.get(), 1);
        }
        self.budget
            .set(self.budget.get() - len as i64 / BYTES_PER_INSTRUCTION);
        if self.budget.get() > 0 && !self.is_late() {
            return true;
        }
        self.ask_host() == Verdict::Continue
    }

    /// Work of `cost` instructions was or will be done. May raise (memory).
    #[inline]
    pub fn spend(&self, lua: Lua, cost: i64) -> Result<(), Raised> {
        let left = self.budget.get().saturating_sub(cost);
        self.budget.set(left);
        if left > 0 && self.activity.get() != Activity::Ending {
            return Ok(());
        }
        self.pause(lua)
    }

    #[cold]
    fn pause(&self, lua: Lua) -> Result<(), Raised> {
        if self.ask_host() == Verdict::Continue {
            return Ok(());
        }
        lua.stop_soon();
        super::bridge::push_error_table(lua, self.last_words.get());
        Err(Raised)
    }

    /// The pause point itself. From its refusal on the script is ending.
    fn ask_host(&self) -> Verdict {
        self.budget.set(SCRIPT_PAUSE_INSTRUCTIONS);
        let activity = self.activity.get();
        // SAFETY: the reference ends with the call.
        let verdict = match unsafe { self.host() } {
            Some(host) if activity != Activity::Ending => host.pause_point(),
            Some(_) => Verdict::Kill,
            None => Verdict::Continue,
        };
        self.paused_ms.set(coarse_ms());
        if verdict == Verdict::Kill && activity != Activity::Ending {
            self.last_words.set(if activity == Activity::Loading {
                b"ERR FUNCTION LOAD timeout"
            } else {
                b"ERR Script killed by user with SCRIPT KILL..."
            });
            self.activity.set(Activity::Ending);
            super::vm::set_hook(self.main_thread.get(), 1);
        }
        verdict
    }
}
