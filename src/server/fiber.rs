//! Commands that run scripts, on stacks of their own, so that a long script can let go of its thread.
//!
//! Past its time limit a script suspends its fiber at its pause points; the
//! thread then serves its other connections, which learn that the server is
//! busy, while the fiber keeps the engine's lock.
//!
//! A fiber that is not finished is never unwound: C frames of the interpreter
//! are on its stack.  One that is dropped unfinished, which happens only when
//! the process ends, is leaked.

use crate::engine::dispatch::Outcome;
use crate::engine::session::Session;
use crate::engine::table::Resolved;
use crate::engine::time::Moment;
use crate::engine::{Engine, RunningScript, ScriptKind};
use crate::limits;
use crate::resp::args::OwnedArgs;
use crate::resp::reply::Reply;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use parking_lot::{ArcRwLockWriteGuard, Mutex, RawRwLock};
use std::cell::{Cell, RefCell};
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The engine, held alone, in a form that can rest in a fiber.
pub type OwnedGuard = ArcRwLockWriteGuard<RawRwLock, Engine>;

/// What other connections may know about the script that keeps the engine.
#[derive(Default)]
pub struct Busy {
    active: AtomicBool,
    has_written: AtomicBool,
    told_to_end: AtomicBool,
    running: Mutex<Option<Running>>,
}

/// What runs past its time limit.
#[derive(Clone)]
pub struct Running {
    pub kind: ScriptKind,
    pub name: Vec<u8>,
    /// The command that runs it.
    pub call: OwnedArgs,
    pub running_ms: u64,
    pub libraries: usize,
    pub functions: usize,
}

impl Running {
    fn new(script: &RunningScript<'_>) -> Self {
        Self {
            kind: script.kind,
            name: script.name.to_vec(),
            call: OwnedArgs::from_args(script.call),
            running_ms: script.running_ms,
            libraries: script.libraries,
            functions: script.functions,
        }
    }
}

/// The answer to SCRIPT KILL and FUNCTION KILL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Killed {
    WillEnd,
    HasWritten,
    NotBusy,
    /// What runs is of the other kind.
    OtherKind,
}

impl Busy {
    /// Whether a script is past its time limit.
    pub fn is_active(&self) -> bool {
        self.active.load(Relaxed)
    }

    /// What is past its time limit.
    pub fn running(&self) -> Option<Running> {
        self.running.lock().clone()
    }

    /// Whether a function, and not a script, is past its time limit.
    pub fn is_function(&self) -> bool {
        let running = self.running.lock();
        running
            .as_ref()
            .is_some_and(|running| running.kind == ScriptKind::Function)
    }

    /// Tells the script or function to end, unless that would leave half of its work behind.
    pub fn kill(&self, kind: ScriptKind) -> Killed {
        let running_kind = self.running.lock().as_ref().map(|running| running.kind);
        if running_kind.is_none() || !self.is_active() {
            Killed::NotBusy
        } else if self.has_written.load(Relaxed) {
            Killed::HasWritten
        } else if running_kind != Some(kind) {
            Killed::OtherKind
        } else {
            self.told_to_end.store(true, Relaxed);
            Killed::WillEnd
        }
    }

    /// A script's pause point: past the limit it lets others run. True tells it to end.
    pub fn pause(&self, script: RunningScript<'_>) -> bool {
        let limit_ms = script.busy_after_ms;
        if limit_ms == 0 || script.running_ms < limit_ms {
            return false;
        }
        let Some(yielder) = CURRENT.get() else {
            return false;
        };
        match &mut *self.running.lock() {
            Some(running) => running.running_ms = script.running_ms,
            running => {
                *running = Some(Running::new(&script));
                let command = match script.kind {
                    ScriptKind::Script => "SCRIPT KILL",
                    ScriptKind::Function => "FUNCTION KILL",
                };
                tracing::warn!(
                    "Slow script detected: still in execution after {} milliseconds. You can try killing the script \
                     using the {command} command.",
                    script.running_ms
                );
            }
        }
        self.active.store(true, Relaxed);
        self.has_written.store(script.has_written, Relaxed);
        // SAFETY: the pointer was set by the fiber that this call runs on, which lives while it runs.
        unsafe { yielder.as_ref() }.suspend(());
        self.told_to_end.swap(false, Relaxed)
    }

    fn leave(&self) {
        if self.active.swap(false, Relaxed) {
            *self.running.lock() = None;
        }
        self.told_to_end.store(false, Relaxed);
    }
}

thread_local! {
    /// The way out of the fiber that runs on this thread now.
    static CURRENT: Cell<Option<NonNull<Yielder<(), ()>>>> = const { Cell::new(None) };
    /// Stacks to be used again.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A request and all that it needs, on its way through a fiber.
pub struct Job {
    pub guard: OwnedGuard,
    pub session: Box<Session>,
    pub resolved: Resolved,
    pub args: OwnedArgs,
    pub reply: Reply,
    pub now: Moment,
}

/// A finished [`Job`].
pub struct Done {
    pub job: Job,
    pub outcome: Outcome,
}

/// A request on a stack of its own.
pub struct Fiber {
    coroutine: ManuallyDrop<Coroutine<(), (), Done, DefaultStack>>,
}

impl Fiber {
    /// Prepares to run a request; it starts with the first [`Fiber::resume`].
    pub fn new(mut job: Job) -> io::Result<Self> {
        let stack = match STACKS.with_borrow_mut(Vec::pop) {
            Some(stack) => stack,
            None => DefaultStack::new(limits::SCRIPT_STACK_BYTES)?,
        };
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            let before = CURRENT.replace(Some(NonNull::from(yielder)));
            let outcome = job.guard.execute(
                &mut job.session,
                job.resolved,
                job.args.as_args(),
                &mut job.reply,
                &mut job.now,
            );
            CURRENT.set(before);
            Done { job, outcome }
        });
        Ok(Self {
            coroutine: ManuallyDrop::new(coroutine),
        })
    }

    /// Runs on; None when the script let go of the thread and has to be resumed later.
    pub fn resume(&mut self, busy: &Busy) -> Option<Done> {
        match self.coroutine.resume(()) {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(done) => {
                busy.leave();
                // SAFETY: the coroutine is finished, and this is the only place that takes it; a finished fiber is
                // not resumed.
                let stack = unsafe { ManuallyDrop::take(&mut self.coroutine) }.into_stack();
                STACKS.with_borrow_mut(|stacks| {
                    if stacks.len() < limits::SCRIPT_STACKS_KEPT_MAX {
                        stacks.push(stack);
                    }
                });
                Some(done)
            }
        }
    }
}
