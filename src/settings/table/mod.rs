//! Every setting once. Files, CONFIG, config.toml and docs/SETTINGS.md follow from it.
//!
//! To add a setting, add a row to a section; give it `.used(...)` and a field when the
//! server reads it. Names, bounds and defaults are those of Redis 7.2; rows that
//! differ on purpose say so in their text.

mod access;
mod durability;
mod memory;
mod network;
mod operation;
mod replication;
mod tls;

use super::spec::Spec;

/// Settings that belong together, under a heading in config.toml and the docs.
pub struct Section {
    pub title: &'static str,
    pub rows: &'static [Spec],
}

/// All settings in the order of config.toml.
pub const SECTIONS: &[Section] = &[
    network::NETWORK,
    network::CLIENTS,
    operation::GENERAL,
    access::ACCESS,
    memory::MEMORY,
    memory::EXPIRY,
    memory::ENCODINGS,
    operation::WATCHING,
    operation::SCRIPTS,
    durability::SNAPSHOTS,
    durability::LOG,
    replication::REPLICATION,
    replication::CLUSTER,
    tls::TLS,
    operation::PROCESS,
    operation::TESTING,
];

/// Names that Redis still reads from a file and throws away.
pub const RETIRED: &[&str] = &[
    "list-max-ziplist-entries",
    "list-max-ziplist-value",
    "lua-replicate-commands",
];

/// All rows, in the order of the sections.
pub fn rows() -> impl Iterator<Item = &'static Spec> {
    SECTIONS.iter().flat_map(|section| section.rows)
}
