//! What a script may ask of the engine, seen from the script.
//!
//! The engine's author implements [`ScriptHost`]; this module knows nothing of
//! keys, users or clocks.

use crate::resp::{Args, Reply};

/// Levels of `redis.log`, in rising order of importance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Debug,
    Verbose,
    Notice,
    Warning,
}

/// What `redis.set_repl` chose: where the script's writes go from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replication {
    pub to_log: bool,
    pub to_replicas: bool,
}

/// The host's answer at a pause point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Continue,
    /// The script ends with the error that says it was killed, whatever it catches.
    Kill,
}

/// The engine, as one running script sees it.
pub trait ScriptHost {
    /// Runs one command. Appends the reply to `out`, which is empty and already speaks
    /// the protocol that the script chose; an error is a RESP error there. All checks
    /// (name, arity, allowed in scripts, read-only script, memory, ACL) are the host's.
    fn call(&mut self, args: Args<'_>, out: &mut Reply);

    /// Writes a line to the server's log.
    fn log(&mut self, level: LogLevel, message: &[u8]);

    /// Whether the script's user may run the command; `None` if there is no such
    /// command.
    fn acl_check(&mut self, args: Args<'_>) -> Option<bool>;

    fn set_replication(&mut self, replication: Replication);

    /// Called about each millisecond of script time: the moment to look at the clock,
    /// serve others, or suspend the fiber that the script runs on. Nothing of ours is
    /// borrowed meanwhile.
    fn pause_point(&mut self) -> Verdict;
}
