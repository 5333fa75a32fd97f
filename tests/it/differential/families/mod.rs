//! What is sent: one file of templates for each family of commands.
//!
//! A new family is a file with a `FAMILY` and a line in [`ALL`].

pub mod acl;
pub mod bitmap;
pub mod geo;
pub mod hash;
pub mod hyperloglog;
pub mod key;
pub mod list;
pub mod multi;
pub mod script;
pub mod set;
pub mod stream;
pub mod string;
pub mod zset;

use super::words::{Command, Words};

/// A family writes a few commands at a time: one, or several that belong together.
pub struct Family {
    pub name: &'static str,
    pub write: fn(&mut Words) -> Vec<Command>,
}

pub const ALL: &[Family] = &[
    zset::FAMILY,
    key::FAMILY,
    string::FAMILY,
    hash::FAMILY,
    list::FAMILY,
    set::FAMILY,
    multi::FAMILY,
    script::FAMILY,
    bitmap::FAMILY,
    geo::FAMILY,
    hyperloglog::FAMILY,
    stream::FAMILY,
    acl::FAMILY,
];
