//! Bits of strings.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family {
    name: "bitmap",
    write,
};

const TEMPLATES: &[&str] = &[
    "SET $key $value",
    "APPEND $key $value",
    "SETBIT $key $offset { 0 | 1 | 1 | 1 | 2 | $int }",
    "SETBIT $key $offset 1",
    "GETBIT $key $offset",
    "BITCOUNT $key [ $int $int [ BIT | BYTE | BITS ] ]",
    "BITCOUNT $key { $int | x $int | $int x }",
    "BITPOS $key { 0 | 1 } [ $int [ $int [ BIT | BYTE | BITS ] ] ]",
    "BITPOS $key { 2 | x | -1 } [ $int ]",
    "BITOP { AND | OR | XOR } $key ( $key )+",
    "BITOP NOT $key $key [ $key ]",
    "BITOP { NAND | and } $key $key",
    "BITFIELD $key ( GET $bitfield | SET $bitfield $int | INCRBY $bitfield $int | OVERFLOW { WRAP | SAT | FAIL } )+",
    "BITFIELD $key ( GET $bitfield | SET $bitfield $int | INCRBY $bitfield $int | OVERFLOW { WRAP | SAT | FAIL } )+",
    "BITFIELD $key { OVERFLOW X | GET u8 | SET $bitfield | INCRBY $bitfield x | GETS $bitfield }",
    "BITFIELD_RO $key ( GET $bitfield )+",
    "BITFIELD_RO $key GET $bitfield { SET $bitfield 1 | OVERFLOW SAT }",
    "BITFIELD $key",
    "STRLEN $key",
    "OBJECT ENCODING $key",
    "DEL $key",
];

fn write(words: &mut Words) -> Vec<Command> {
    vec![words.command(TEMPLATES)]
}
