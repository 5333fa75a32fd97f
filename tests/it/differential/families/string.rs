//! Strings.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family {
    name: "string",
    write,
};

const TEMPLATES: &[&str] = &[
    "SET $key $value %[ NX | XX | GET | KEEPTTL | EX $seconds | PX $seconds | EXAT 33177117420 | PXAT 33177117420000 ]",
    "SET $key $value",
    "{ GET | GETDEL | STRLEN | INCR | DECR } $key",
    "GETSET $key $value",
    "GETEX $key %[ PERSIST | EX $seconds | PX $seconds | EXAT 33177117420 | PXAT 33177117420000 ]",
    "{ MSET | MSETNX } ( $key $value )+",
    "MSET $key $value $key",
    "MGET ( $key )+",
    "SETNX $key $value",
    "{ SETEX | PSETEX } $key $seconds $value",
    "{ INCRBY | DECRBY } $key $int",
    "INCRBYFLOAT $key $score",
    "APPEND $key $value",
    "{ GETRANGE | SUBSTR } $key $int $int",
    "SETRANGE $key { $small | -1 | 4294967296 | x } $value",
    "LCS $key $key %[ LEN | IDX | MINMATCHLEN $int | WITHMATCHLEN ]",
];

fn write(words: &mut Words) -> Vec<Command> {
    vec![words.command(TEMPLATES)]
}
