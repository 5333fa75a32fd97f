//! Sets: the everyday commands, and sets as inputs of sorted-set merges.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family { name: "set", write };

const TEMPLATES: &[&str] = &[
    "SADD $key ( { $member | $small } )+",
    "SADD $key ( { $member | $small } )+",
    "SREM $key ( $member )+",
    "{ SMEMBERS | SCARD } $key",
    "SISMEMBER $key $member",
    "{ ZUNION | ZINTER } $keys %[ WEIGHTS $weights | AGGREGATE { SUM | MIN | MAX } | WITHSCORES ]",
    "{ ZUNIONSTORE | ZINTERSTORE } $key $keys %[ WEIGHTS $weights | AGGREGATE { SUM | MIN | MAX } ]",
    "ZDIFF $keys [ WITHSCORES ]",
    "ZINTERCARD $keys",
];

fn write(words: &mut Words) -> Vec<Command> {
    vec![words.command(TEMPLATES)]
}
