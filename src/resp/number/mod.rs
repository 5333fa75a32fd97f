//! Numbers as text, both ways, exactly as Redis reads and writes them.
//!
//! - [`integer`]: 64-bit integers.
//! - [`score`]: the text of a score; its digits come from [`grisu`].

pub mod grisu;
pub mod integer;
pub mod score;

pub use integer::{Decimal, digit_count, parse_i64, parse_u64, write_i64, write_u64};
pub use score::write_score;
