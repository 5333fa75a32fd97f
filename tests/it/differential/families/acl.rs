//! Users: random rules, what is shown of them, and what they allow, told beforehand and tried.

use super::{Family, bitmap, geo, hash, key, list, set, stream, string, zset};
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family { name: "acl", write };

const USERS: &[&str] = &["ann", "bob", "cid"];

/// Rules that need no room for a random part; some are wrong.
const RULES: &[&str] = &[
    "on",
    "OFF",
    "nopass",
    "resetpass",
    "sanitize-payload",
    "skip-sanitize-payload",
    "allkeys",
    "resetkeys",
    "allchannels",
    "ResetChannels",
    "allcommands",
    "nocommands",
    "clearselectors",
    "reset",
    "+@all",
    "-@all",
    "~*",
    "&*",
    "%R~*",
    "%W~*",
    "%RW~*",
    ">secret",
    ">other",
    "<secret",
    "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
    "!2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
    "!2bb8",
    "#2BB80D537B1DA3E38BD30361AA855686BDE0EACD7162FEF6A25FE97BF527A25B",
    "",
    "nosuchrule",
    "(",
    ")",
    "()",
    "(on)",
    "( ~k1* +get )",
    "+",
    "-",
    "+@",
    "%",
    "%~k",
    "%X~k",
    "%RR~k",
    "%R",
    "~",
    "&",
    "~a b",
    "&a\tb",
    "+config|get|x",
    "-config|get|x",
    "-select|0",
    "+config|",
    "+|get",
];

const CATEGORIES: &[&str] = &[
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
    "SortedSet",
    "nosuch",
];

const COMMANDS: &[&str] = &[
    "get",
    "SET",
    "zadd",
    "ZRange",
    "zrangestore",
    "zunionstore",
    "hset",
    "lpush",
    "sort",
    "eval",
    "config",
    "config|get",
    "Config|Set",
    "client",
    "client|id",
    "acl",
    "acl|whoami",
    "object",
    "object|encoding",
    "select|0",
    "select|1",
    "get|k1",
    "select",
    "publish",
    "subscribe",
    "psubscribe",
    "xadd",
    "xreadgroup",
    "multi",
    "exec",
    "ping",
    "auth",
    "nosuch",
    "config|nosuch",
];

const PATTERNS: &[&str] = &["*", "k*", "k1", "k[2-4]", "lex*", "c1", "c*", "nothing"];

/// Calls that differ in what they do with their keys and channels.
const CALLS: &[&str] = &[
    "PUBLISH { c1 | c2 | k1 | c* } x",
    "SPUBLISH { c1 | c2 } x",
    "SUBSCRIBE ( { c1 | c2 | c* } )+",
    "PSUBSCRIBE ( { c1 | c* | k* } )+",
    "SSUBSCRIBE ( { c1 | c2 } )+",
    "UNSUBSCRIBE ( { c1 | c2 } )+",
    "GET $key",
    "SET $key v [ GET | NX | GET NX ]",
    "GETSET $key v",
    "COPY $key $key",
    "SORT $key %[ BY { nosort | w* } | GET { # | w* } | STORE $key | LIMIT 0 1 ]",
    "SORT_RO $key %[ BY w* | GET # ]",
    "ZUNIONSTORE $key { 0 | 1 | 2 | x } $key $key",
    "ZUNION { 0 | 1 | 2 | 9 } $key $key",
    "EVAL return { 0 | 1 | 2 | 9 | x } $key $key",
    "FCALL f { 0 | 1 | x } $key",
    "XREAD [ COUNT 1 ] STREAMS $key $key 0 0",
    "XREAD STREAMS",
    "XREADGROUP GROUP g c STREAMS $key >",
    "GEORADIUS $key 1 1 1 m [ { STORE | STOREDIST } $key ]",
    "GEOSEARCHSTORE $key $key FROMLONLAT 1 1 BYRADIUS 1 m",
    "LMPOP { 0 | 1 | 2 } $key $key LEFT",
    "BLMOVE $key $key LEFT LEFT 0.01",
    "BITFIELD $key { GET u8 0 | SET u8 0 1 | GET u8 0 SET u8 0 1 | OVERFLOW SAT | GET u8 }",
    "BITFIELD_RO $key GET u8 0",
    "OBJECT { ENCODING | FREQ } $key",
    "MEMORY USAGE $key",
    "CONFIG { GET | SET } maxmemory",
    "SELECT { 0 | 1 }",
    "EXISTS ( $key )+",
    "WATCH ( $key )+",
    "TYPE $key",
    "AUTH x",
    "MULTI",
    "PFCOUNT ( $key )+",
    "PFMERGE $key $key",
    "RENAME $key $key",
    "HELLO 3",
    "RESET",
    "ACL WHOAMI",
    "ACL LIST",
    "NOSUCH x",
    "CONFIG NOSUCH",
    "GET",
];

const OTHER_FAMILIES: &[Family] = &[
    zset::FAMILY,
    string::FAMILY,
    hash::FAMILY,
    list::FAMILY,
    set::FAMILY,
    stream::FAMILY,
    geo::FAMILY,
    bitmap::FAMILY,
    key::FAMILY,
];

fn rule(words: &mut Words) -> String {
    let sign = words.random().pick(&["+", "-", "+"]).to_string();
    match words.random().below(10) {
        0 | 1 => words.random().pick(RULES).to_string(),
        2..=4 => sign + words.random().pick(COMMANDS),
        5 | 6 => format!("{sign}@{}", words.random().pick(CATEGORIES)),
        7 => format!("&{}", words.random().pick(PATTERNS)),
        _ => {
            let prefix = words
                .random()
                .pick(&["~", "%R~", "%W~", "%rW~"])
                .to_string();
            prefix + words.random().pick(PATTERNS)
        }
    }
}

/// A few rules, some of them in a selector, which may be cut into words.
fn rules(words: &mut Words, out: &mut Command) {
    for _ in 0..1 + words.random().below(5) {
        if words.random().chance(15) {
            let inner: Vec<String> = (0..words.random().below(4)).map(|_| rule(words)).collect();
            let selector = format!("({})", inner.join(" "));
            if words.random().chance(50) {
                out.push(selector.into_bytes());
            } else {
                out.extend(selector.split(' ').map(|word| word.as_bytes().to_vec()));
            }
        } else {
            out.push(rule(words).into_bytes());
        }
    }
}

/// A call that a user may or may not be allowed.
fn call(words: &mut Words) -> Command {
    if words.random().chance(50) {
        return words.command(CALLS);
    }
    let family = words.random().below(OTHER_FAMILIES.len());
    (OTHER_FAMILIES[family].write)(words).swap_remove(0)
}

fn command(start: &[&str]) -> Command {
    start.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// A call made as a user. What changes the connection stays out, and what shows or changes how values are held.
fn tried(words: &mut Words, user: &str) -> Vec<Command> {
    const KEPT_OUT: [&[u8]; 11] = [
        b"SORT_RO",
        b"MEMORY",
        b"SUBSCRIBE",
        b"PSUBSCRIBE",
        b"SSUBSCRIBE",
        b"UNSUBSCRIBE",
        b"MULTI",
        b"HELLO",
        b"RESET",
        b"SELECT",
        b"WATCH",
    ];
    let call = call(words);
    let name = call[0].to_ascii_uppercase();
    if KEPT_OUT.contains(&name.as_slice()) {
        return Vec::new();
    }
    vec![
        command(&["ACL", "SETUSER", user, "on", "nopass"]),
        command(&["AUTH", user, "x"]),
        call,
        command(&["AUTH", "default", "x"]),
    ]
}

fn write(words: &mut Words) -> Vec<Command> {
    let user = words.random().pick(USERS).to_string();
    match words.random().below(12) {
        0 => vec![command(&["ACL", "GETUSER", &user])],
        1 => vec![command(&["ACL", "LIST"])],
        2 => vec![words.command(&[
            "ACL USERS",
            "ACL WHOAMI",
            "ACL DELUSER bob",
            "ACL DELUSER cid nosuch",
            "ACL DELUSER default",
            "ACL GETUSER nosuch",
            "ACL CAT",
            "ACL CAT nosuch",
            "ACL LOG",
            "ACL LOG { 0 | 1 | -1 | 100 | x | RESET }",
            "ACL GENPASS { 0 | -1 | 4097 | x }",
            "ACL NOSUCH",
            "ACL SAVE",
            "ACL LOAD",
            "AUTH wrong",
            "AUTH default x",
        ])],
        3 => vec![
            words.command(&["AUTH { ann | bob | cid } { secret | other | wrong }"]),
            command(&["ACL", "WHOAMI"]),
            command(&["AUTH", "default", "x"]),
        ],
        4..=6 => {
            let mut setuser = command(&["ACL", "SETUSER", &user]);
            rules(words, &mut setuser);
            vec![setuser]
        }
        7 | 8 => tried(words, &user),
        _ => {
            let mut dry_run = command(&["ACL", "DRYRUN", &user]);
            dry_run.extend(call(words));
            vec![dry_run]
        }
    }
}
