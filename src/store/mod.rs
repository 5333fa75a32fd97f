//! Data: keyspace, values, expiry. Synchronous; time comes in as an argument.
//!
//! A value of each type is one word: [`string`], [`hash`], [`set`], [`list`],
//! [`sorted_set`], [`stream`]. The first four stand on a few parts of their own: flat
//! buffers and thin strings ([`block`], [`thin`], [`packed`]), the word that holds a
//! small or a big form ([`compact`]), and a hash table that never stalls ([`table`]).

pub mod block;
pub mod compact;
pub mod decimal;
pub mod digest;
pub mod glob;
pub mod hash;
pub mod heap;
pub mod hyperloglog;
pub mod keyspace;
pub mod list;
pub mod packed;
pub mod set;
pub mod slot;
pub mod sorted_set;
pub mod stream;
pub mod string;
pub mod table;
pub mod thin;
pub mod value;
pub mod watch;
