//! Keys of any type: their life, names and deadlines.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family { name: "key", write };

const TEMPLATES: &[&str] = &[
    "{ DEL | UNLINK | EXISTS | TOUCH } ( $key )+",
    "TYPE $key",
    "{ RENAME | RENAMENX } $key $key",
    "COPY $key $key %[ REPLACE | DB { 0 | 1 | 99 | x } ]",
    "MOVE $key { 0 | 1 | 99 | x }",
    "{ EXPIRE | PEXPIRE } $key $seconds [ NX | XX | GT | LT | NX XX | GT LT | BAD ]",
    "EXPIREAT $key { 33177117420 | 1 | -1 | abc } [ NX | XX | GT | LT ]",
    "PEXPIREAT $key { 33177117420000 | 1 | -1 | abc } [ NX | XX | GT | LT ]",
    "{ TTL | PTTL | EXPIRETIME | PEXPIRETIME | PERSIST } $key",
    "OBJECT { ENCODING | REFCOUNT | FREQ } $key",
    "KEYS $pattern",
    "SCAN 0 COUNT 100000 %[ MATCH $pattern | TYPE { zset | string | hash | list | set | nosuch } ]",
    "DBSIZE",
    "RANDOMKEY",
    "SET $key $value",
    "ZADD $key ( $score $member )+",
];

fn write(words: &mut Words) -> Vec<Command> {
    if words.random().chance(1) {
        return vec![words.command(&[
            "SWAPDB { 0 | 1 } { 0 | 1 | 99 | x }",
            "FLUSHDB [ SYNC | ASYNC | BAD ]",
        ])];
    }
    vec![words.command(TEMPLATES)]
}
