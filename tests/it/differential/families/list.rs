//! Lists.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family {
    name: "list",
    write,
};

const TEMPLATES: &[&str] = &[
    "{ LPUSH | RPUSH } $key ( $value )+",
    "{ LPUSH | RPUSH } $key ( $value )+",
    "{ LPUSHX | RPUSHX } $key ( $value )+",
    "{ LPOP | RPOP } $key [ $int ]",
    "LRANGE $key $int $int",
    "LTRIM $key $int $int",
    "LLEN $key",
    "LINDEX $key $int",
    "LSET $key $int $member",
    "LINSERT $key { BEFORE | AFTER | BESIDE } $member $value",
    "LREM $key $int $member",
    "LPOS $key $member %[ RANK $int | COUNT $int | MAXLEN $int ]",
    "LMOVE $key $key { LEFT | RIGHT } { LEFT | RIGHT | UP }",
    "RPOPLPUSH $key $key",
    "LMPOP $keys { LEFT | RIGHT } [ COUNT $int ]",
    "{ BLPOP | BRPOP } $key $key $timeout",
    "BLMOVE $key $key { LEFT | RIGHT } { LEFT | RIGHT } $timeout",
    "BRPOPLPUSH $key $key $timeout",
    "BLMPOP $timeout $keys { LEFT | RIGHT } [ COUNT $int ]",
];

fn write(words: &mut Words) -> Vec<Command> {
    vec![words.command(TEMPLATES)]
}
