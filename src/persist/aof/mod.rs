//! The append-only log in Redis's layout: a folder with a manifest, a base and increments.
//!
//! A base is a snapshot (or commands); increments are the effect stream as RESP.
//! The manifest names the files that count, in order. A file that it does not name
//! does not exist for a reader; so a new manifest, put in place by renaming, is the
//! moment at which a change of files takes effect.

pub mod base;
pub mod files;
pub mod manifest;
pub mod reader;
#[cfg(test)]
mod tests;
