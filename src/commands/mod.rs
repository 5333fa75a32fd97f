//! The families of commands: declarations at the top of each file, handlers below.
//!
//! A handler gets a context ([`ReadCtx`](crate::engine::ctx::ReadCtx),
//! [`WriteCtx`](crate::engine::ctx::WriteCtx) or
//! [`ControlCtx`](crate::engine::ctx::ControlCtx)) and the arguments, the name
//! included; it writes one reply or returns an error. It reads no clock, does
//! no I/O, and leaves the chores after a change to the context.

mod acl;
mod bitmaps;
mod cluster;
pub mod connection;
mod geo;
mod hashes;
pub mod help;
mod hyperloglog;
mod keys;
mod lists;
mod migration;
mod modules;
mod numbers;
mod persistence;
mod picks;
mod pubsub;
#[cfg(test)]
mod replay_tests;
mod replication;
mod scanning;
pub mod scripting;
mod server;
mod sets;
#[cfg(test)]
mod simulation;
mod sorted_sets;
mod streams;
mod strings;
mod timeout;
mod transactions;

use crate::engine::spec::CommandSpec;

/// All families, for [`CommandTable::new`](crate::engine::table::CommandTable::new).
pub const FAMILIES: &[&[CommandSpec]] = &[
    acl::COMMANDS,
    bitmaps::COMMANDS,
    cluster::COMMANDS,
    connection::COMMANDS,
    connection::CLIENT_COMMANDS,
    connection::HELLO_COMMANDS,
    geo::COMMANDS,
    hashes::COMMANDS,
    hyperloglog::COMMANDS,
    keys::COMMANDS,
    keys::DEADLINE_COMMANDS,
    keys::OBJECT_COMMANDS,
    keys::SCAN_COMMANDS,
    keys::SORT_COMMANDS,
    lists::COMMANDS,
    migration::COMMANDS,
    modules::COMMANDS,
    persistence::COMMANDS,
    pubsub::COMMANDS,
    replication::COMMANDS,
    sets::COMMANDS,
    sorted_sets::ADD_COMMANDS,
    sorted_sets::COMBINE_COMMANDS,
    sorted_sets::LOOKUP_COMMANDS,
    sorted_sets::POP_COMMANDS,
    sorted_sets::RANDOM_COMMANDS,
    sorted_sets::RANGE_COMMANDS,
    sorted_sets::REMOVE_COMMANDS,
    sorted_sets::SCAN_COMMANDS,
    streams::COMMANDS,
    strings::COMMANDS,
    scripting::COMMANDS,
    scripting::FUNCTION_COMMANDS,
    server::COMMANDS,
    server::COMMAND_COMMANDS,
    server::CONFIG_COMMANDS,
    server::DEBUG_COMMANDS,
    server::INFO_COMMANDS,
    server::LATENCY_COMMANDS,
    server::MEMORY_COMMANDS,
    server::SLOW_LOG_COMMANDS,
    transactions::COMMANDS,
];
