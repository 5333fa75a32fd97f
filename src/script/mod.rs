//! Lua 5.1 scripting as Redis has it: EVAL's scripts and libraries of functions.
//!
//! - [`host`]: what a script may ask of the engine, a trait that the engine's side
//!   implements.
//! - [`interpreter`]: the door: load, find and run scripts.
//! - [`functions`], `registration`: libraries of functions.
//! - [`shebang`]: the first line with its flags.
//! - `sandbox`, `bridge`, `convert`, `library`: the world that a script sees.
//! - `machine`, `vm`, `memory`, `runtime`, `reader`, `bytecode`: the Lua machine underneath.

mod bridge;
mod bytecode;
mod cache;
mod convert;
pub mod functions;
pub mod host;
pub mod interpreter;
mod library;
mod machine;
mod memory;
pub mod random;
mod reader;
mod registration;
mod runtime;
mod sandbox;
pub mod shebang;
mod vm;

pub use cache::{Script, ScriptId};
pub use functions::{
    Function, FunctionError, FunctionId, FunctionLibrary, Functions, RestorePolicy,
};
pub use host::{LogLevel, Replication, ScriptHost, Verdict};
pub use interpreter::{Interpreter, LoadError, Origin, ScriptSha};
pub use machine::Ended;
pub use shebang::ScriptFlags;

#[cfg(test)]
mod tests;
