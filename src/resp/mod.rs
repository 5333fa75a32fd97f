//! Bytes to requests and replies, and numbers to text. No I/O, no store.
//!
//! - [`args`]: the arguments of one request, borrowed or owned.
//! - [`request`]: the incremental decoder of what clients send.
//! - [`glimpse`]: a look ahead at requests that are still to be decoded.
//! - [`inline`]: a line of text split into words.
//! - [`reply`]: the writer of what clients get; RESP2 and RESP3 differ only here.
//! - [`parse`]: replies taken apart again.
//! - [`error`]: what a client can be told when a command fails.
//! - [`quote`]: bytes as printable text.
//! - [`number`]: numbers as text, both ways, with Redis's layouts.

pub mod args;
pub mod error;
pub mod glimpse;
pub mod inline;
pub mod number;
pub mod parse;
pub mod quote;
pub mod reply;
pub mod request;

pub use args::{Args, OwnedArgs, Span};
pub use error::CommandError;
pub use parse::{ReplyCursor, Token};
pub use reply::{Protocol, Reply};
pub use request::{Decoded, DecoderLimits, ProtocolError, RequestDecoder};
