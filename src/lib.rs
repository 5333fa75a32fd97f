//! rankd: a leaderboard server that speaks Redis.
//!
//! The modules, in reading order:
//!
//! - [`resp`]: bytes to requests and replies, numbers as text.
//! - [`store`]: data; synchronous, time comes in as an argument.
//! - [`settings`]: every setting once; files, command line and CONFIG from one table.

pub mod limits;
pub mod resp;
pub mod settings;
pub mod store;
