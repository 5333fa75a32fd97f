//! Durable bytes: snapshots in Redis's RDB format and the append-only log.
//!
//! Everything that touches files goes through [`disk::Disk`], so that tests can
//! let a disk fail or stop at any operation. Nothing here knows commands, sockets
//! or the engine.

pub mod aof;
pub mod check;
pub mod disk;
pub mod form;
pub mod load;
pub mod pieces;
pub mod rdb;
pub mod snapshot_file;
