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
use std::cell::{Cell, RefCell, UnsafeCell};
use std::io;
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
        unsafe { yielder.as_ref() }.suspend(Stop::Resting);
        self.told_to_end.swap(false, Relaxed)
    }

    fn leave(&self) {
        if self.active.swap(false, Relaxed) {
            *self.running.lock() = None;
        }
        self.told_to_end.store(false, Relaxed);
    }
}

/// What the pointer to a worker's place is to the fiber that runs on its stack.
type Place = NonNull<Option<Job>>;

/// Why a fiber let go of its thread.
enum Stop {
    /// A script rests and is to be resumed later.
    Resting,
    /// The job is done and lies in its place.
    Finished(Outcome),
}

type FiberYielder = Yielder<Place, Stop>;

thread_local! {
    /// The way out of the fiber that runs on this thread now.
    static CURRENT: Cell<Option<NonNull<FiberYielder>>> = const { Cell::new(None) };
    /// Workers without a job.
    static IDLE: RefCell<Vec<Worker>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the way out of a fiber known while it runs a job, also when the job panics.
struct Current {
    before: Option<NonNull<FiberYielder>>,
}

impl Current {
    fn set(yielder: &FiberYielder) -> Self {
        let before = CURRENT.replace(Some(NonNull::from(yielder)));
        Self { before }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
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

/// A stack on which one job after the other runs.
struct Worker {
    coroutine: Coroutine<Place, Stop, (), DefaultStack>,
    /// The job, which stays where it is while the fiber works on it.
    place: Box<UnsafeCell<Option<Job>>>,
}

impl Worker {
    fn new() -> io::Result<Self> {
        let stack = DefaultStack::new(limits::SCRIPT_STACK_BYTES)?;
        let coroutine = Coroutine::with_stack(stack, |yielder: &FiberYielder, mut place: Place| {
            loop {
                // SAFETY: who resumed keeps the job in its place, and does not touch it, until it is told that the
                // job is finished.
                let outcome = match unsafe { place.as_mut() } {
                    Some(job) => {
                        let _current = Current::set(yielder);
                        job.guard.execute(
                            &mut job.session,
                            job.resolved,
                            job.args.as_args(),
                            &mut job.reply,
                            &mut job.now,
                        )
                    }
                    None => return,
                };
                place = yielder.suspend(Stop::Finished(outcome));
            }
        });
        Ok(Self {
            coroutine,
            place: Box::default(),
        })
    }
}

impl Drop for Worker {
    /// Only an idle worker is dropped: its stack holds nothing that must be unwound.
    fn drop(&mut self) {
        if self.coroutine.started() && !self.coroutine.done() {
            // SAFETY: between jobs nothing on the stack owns anything.
            unsafe { self.coroutine.force_reset() };
        }
    }
}

/// A request on a stack of its own.
pub struct Fiber {
    /// None once the job is done.
    worker: Option<Worker>,
}

impl Fiber {
    /// Prepares to run a request; it starts with the first [`Fiber::resume`].
    pub fn new(job: Job) -> io::Result<Self> {
        let mut worker = match IDLE.with_borrow_mut(Vec::pop) {
            Some(worker) => worker,
            None => Worker::new()?,
        };
        *worker.place.get_mut() = Some(job);
        Ok(Self {
            worker: Some(worker),
        })
    }

    /// Runs on; None when the script let go of the thread and has to be resumed later.
    pub fn resume(&mut self, busy: &Busy) -> Option<Done> {
        let worker = self.worker.as_mut()?;
        let place = NonNull::new(worker.place.get()).expect("a box has an address");
        let CoroutineResult::Yield(Stop::Finished(outcome)) = worker.coroutine.resume(place) else {
            return None;
        };
        busy.leave();
        let job = worker.place.get_mut().take()?;
        let worker = self.worker.take()?;
        IDLE.with_borrow_mut(|idle| {
            if idle.len() < limits::SCRIPT_STACKS_KEPT_MAX {
                idle.push(worker);
            }
        });
        Some(Done { job, outcome })
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        let Some(worker) = self.worker.take() else {
            return;
        };
        // A job that panicked is over, and gives the engine back.
        if !worker.coroutine.done() {
            std::mem::forget(worker);
        }
    }
}
