//! HyperLogLog, down to the bytes of the representation.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family {
    name: "hyperloglog",
    write,
};

const TEMPLATES: &[&str] = &[
    "PFADD $key ( $member )+",
    "PFADD $key ( $member )+",
    "PFADD $key ( $score )+",
    "PFADD $key",
    "PFCOUNT $key",
    "PFCOUNT ( $key )+",
    "PFMERGE $key ( $key )+",
    "PFMERGE $key",
    "PFDEBUG { DECODE | ENCODING | TODENSE | DECODING } $key",
    "PFDEBUG GETREG $key",
    "GET $key",
    "STRLEN $key",
    "OBJECT ENCODING $key",
    "DEL $key",
    "CONFIG SET hll-sparse-max-bytes { 0 | 40 | 100 | 3000 }",
];

/// What makes a representation corrupt.
const DAMAGE: &[&str] = &[
    "SET $key $value",
    "APPEND $key { a | \u{1} | $value }",
    "SETRANGE $key { 4 | 5 | 15 | 16 | 17 | 18 | 20 } { \u{1} | \u{0} | \u{7f} | A }",
];

fn write(words: &mut Words) -> Vec<Command> {
    if !words.random().chance(3) {
        return vec![words.command(TEMPLATES)];
    }
    // What Redis did before it met the damage stays, and here nothing does: so it is not built upon.
    let damage = words.command(DAMAGE);
    let with = |name: &str| vec![name.as_bytes().to_vec(), damage[1].clone()];
    let after = ["PFCOUNT", "STRLEN", "DEL"].map(with);
    [vec![damage], after.to_vec()].concat()
}
