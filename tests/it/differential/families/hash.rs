//! Hashes.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family {
    name: "hash",
    write,
};

const TEMPLATES: &[&str] = &[
    "{ HSET | HMSET } $key ( $field $value )+",
    "{ HSET | HMSET } $key ( $field $value )+",
    "HSET $key $field $value $field",
    "{ HGET | HEXISTS | HSTRLEN } $key $field",
    "{ HDEL | HMGET } $key ( $field )+",
    "{ HGETALL | HKEYS | HVALS | HLEN } $key",
    "HINCRBY $key $field $int",
    "HINCRBYFLOAT $key $field $score",
    "HSETNX $key $field $value",
    "HRANDFIELD $key [ $small [ WITHVALUES ] ]",
    "HSCAN $key 0 [ COUNT 100000 ]",
];

fn write(words: &mut Words) -> Vec<Command> {
    vec![words.command(TEMPLATES)]
}
