//! Snapshots and the log of a running server: when they are written and read.

pub mod load;
pub mod snapshots;
