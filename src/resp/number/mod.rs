//! Numbers as text, both ways, exactly as Redis reads and writes them.
//!
//! - [`integer`]: 64-bit integers.
//! - [`double`]: text to scores and range bounds.
//! - [`score`]: scores to text; the digits come from [`grisu`].
//! - [`long_double`]: the 80-bit numbers of INCRBYFLOAT.
//! - [`printf`]: `%.17g` and `%.14g`.

pub mod double;
pub mod grisu;
pub mod integer;
mod literal;
pub mod long_double;
pub mod printf;
mod rounding;
pub mod score;

pub use double::{parse_double, parse_range_double};
pub use integer::{Decimal, Packed, digit_count, parse_i64, parse_u64, write_i64, write_u64};
pub use long_double::LongDouble;
pub use printf::{write_g14, write_g17, write_general};
pub use score::{
    integral_score, write_human_double, write_score, write_script_number, write_shortest,
};

#[cfg(test)]
mod tests;
