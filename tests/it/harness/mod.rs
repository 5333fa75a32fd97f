//! What the integration tests stand on: servers of their own, a client that keeps replies as they were on the wire,
//! and sessions written down as redis-cli prints them.
//!
//! Each server runs in a temporary folder on a free port and ends with the value that holds it.

#![allow(dead_code, reason = "a harness offers more than each test takes")]

pub mod client;
pub mod random;
pub mod server;
pub mod session;
pub mod value;

pub use client::Client;
pub use random::Random;
pub use server::Server;
pub use value::Value;
