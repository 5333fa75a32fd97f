//! All integration tests in one binary, so that the crate is linked once.
//!
//! They meet the server as a client does, over real sockets.  What one family of commands answers is held by its
//! transcripts (tests/transcripts), and by the comparison with a real server.

mod access;
mod command_docs;
mod command_info;
mod crowd;
mod debug;
mod differential;
mod durability;
mod eviction;
mod expiry;
mod glob_real;
mod harness;
mod limits;
mod linearizable;
mod long_scripts;
mod migrate;
mod monitor;
mod pause;
mod readme;
mod settings_live;
mod settings_real;
mod start;
mod tidy;
mod transcript;
mod wire;
