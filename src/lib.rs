//! rankd: a leaderboard server that speaks Redis.
//!
//! The modules, in reading order:
//!
//! - [`resp`]: bytes to requests and replies, numbers as text.
//! - [`store`]: data; synchronous, time comes in as an argument.

pub mod limits;
pub mod resp;
pub mod store;
