//! Sets, and sets as inputs of sorted-set merges.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family { name: "set", write };

const TEMPLATES: &[&str] = &[
    "SADD $key ( { $member | $small } )+",
    "SADD $key ( { $member | $small } )+",
    "SREM $key ( $member )+",
    "{ SMEMBERS | SCARD } $key",
    "SISMEMBER $key $member",
    "SMISMEMBER $key ( $member )+",
    "SMOVE $key $key $member",
    "{ SUNION | SINTER | SDIFF } ( $key )+",
    "{ SUNIONSTORE | SINTERSTORE | SDIFFSTORE } $key ( $key )+",
    "SINTERCARD $keys [ LIMIT $int ]",
    "SRANDMEMBER $key [ $small | -3 | x ]",
    "SPOP $key { 0 | 1000 | -1 | x }",
    "SSCAN $key 0 [ COUNT 100000 | COUNT 0 | MATCH a* ]",
    "{ ZUNION | ZINTER } $keys %[ WEIGHTS $weights | AGGREGATE { SUM | MIN | MAX } | WITHSCORES ]",
    "{ ZUNIONSTORE | ZINTERSTORE } $key $keys %[ WEIGHTS $weights | AGGREGATE { SUM | MIN | MAX } ]",
    "ZDIFF $keys [ WITHSCORES ]",
    "ZINTERCARD $keys",
];

fn write(words: &mut Words) -> Vec<Command> {
    vec![words.command(TEMPLATES)]
}
