//! Data: keyspace, values, expiry. Synchronous; time comes in as an argument.

pub mod glob;
pub mod hash;
pub mod keyspace;
pub mod list;
pub mod set;
pub mod slot;
pub mod sorted_set;
pub mod stream;
pub mod string;
pub mod value;
