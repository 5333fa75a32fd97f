//! rankd: a leaderboard server that speaks Redis.
//!
//! The modules, in reading order (an arrow of use only ever points down this list):
//!
//! - [`server`]: sockets, threads, the wall clock, signals.
//! - [`commands`]: the families of commands: declarations and handlers.
//! - [`script`]: Lua scripts; calls the engine through a door that the commands implement.
//! - [`engine`]: runs commands: the table, the gates, dispatch, effects.
//! - [`persist`]: snapshots and the append-only log, as files.
//! - [`store`]: data; synchronous, time comes in as an argument.
//! - [`resp`]: bytes to requests and replies, numbers as text.
//! - [`settings`]: every setting once, and the command line.
//! - [`limits`]: constants that bound inputs.

pub mod commands;
pub mod engine;
pub mod limits;
pub mod persist;
pub mod resp;
pub mod script;
pub mod server;
pub mod settings;
pub mod store;
