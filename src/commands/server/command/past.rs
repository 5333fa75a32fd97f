//! What became of commands after their first version: what was added, and what should be used instead.
//!
//! Up to Redis 7.2, in the words in which COMMAND DOCS tells clients. The tables are in the order of the full names.

/// The past of one command.
pub struct Past {
    /// Since which version, and what to use instead.
    pub deprecated: Option<(&'static str, &'static str)>,
    /// Only servers send it.
    pub internal: bool,
    /// The command, the version, and what it changed; the oldest first.
    pub history: &'static [(&'static str, &'static str, &'static str)],
}

/// The past of the command with that full name. O(log(entries)).
pub fn of(full_name: &str) -> Past {
    let start = HISTORY.partition_point(|(name, ..)| *name < full_name);
    let len = HISTORY[start..].partition_point(|(name, ..)| *name == full_name);
    let deprecated = DEPRECATED.binary_search_by_key(&full_name, |(name, ..)| name);
    Past {
        deprecated: deprecated
            .ok()
            .map(|at| (DEPRECATED[at].1, DEPRECATED[at].2)),
        internal: INTERNAL.contains(&full_name),
        history: &HISTORY[start..start + len],
    }
}

const INTERNAL: &[&str] = &[
    "debug",
    "pfdebug",
    "pfselftest",
    "replconf",
    "restore-asking",
];

const DEPRECATED: &[(&str, &str, &str)] = &[
    (
        "brpoplpush",
        "6.2.0",
        "`BLMOVE` with the `RIGHT` and `LEFT` arguments",
    ),
    ("cluster|slaves", "5.0.0", "`CLUSTER REPLICAS`"),
    ("cluster|slots", "7.0.0", "`CLUSTER SHARDS`"),
    (
        "georadius",
        "6.2.0",
        "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
    ),
    (
        "georadius_ro",
        "6.2.0",
        "`GEOSEARCH` with the `BYRADIUS` argument",
    ),
    (
        "georadiusbymember",
        "6.2.0",
        "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
    ),
    (
        "georadiusbymember_ro",
        "6.2.0",
        "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments",
    ),
    ("getset", "6.2.0", "`SET` with the `!GET` argument"),
    ("hmset", "4.0.0", "`HSET` with multiple field-value pairs"),
    ("psetex", "2.6.12", "`SET` with the `PX` argument"),
    ("quit", "7.2.0", "just closing the connection"),
    (
        "rpoplpush",
        "6.2.0",
        "`LMOVE` with the `RIGHT` and `LEFT` arguments",
    ),
    ("setex", "2.6.12", "`SET` with the `EX` argument"),
    ("setnx", "2.6.12", "`SET` with the `NX` argument"),
    ("slaveof", "5.0.0", "`REPLICAOF`"),
    ("substr", "2.0.0", "`GETRANGE`"),
    ("zrangebylex", "6.2.0", "`ZRANGE` with the `BYLEX` argument"),
    (
        "zrangebyscore",
        "6.2.0",
        "`ZRANGE` with the `BYSCORE` argument",
    ),
    ("zrevrange", "6.2.0", "`ZRANGE` with the `REV` argument"),
    (
        "zrevrangebylex",
        "6.2.0",
        "`ZRANGE` with the `REV` and `BYLEX` arguments",
    ),
    (
        "zrevrangebyscore",
        "6.2.0",
        "`ZRANGE` with the `REV` and `BYSCORE` arguments",
    ),
];

const HISTORY: &[(&str, &str, &str)] = &[
    ("acl|getuser", "6.2.0", "Added Pub/Sub channel patterns."),
    (
        "acl|getuser",
        "7.0.0",
        "Added selectors and changed the format of key and channel patterns from a list to their rule representation.",
    ),
    (
        "acl|log",
        "7.2.0",
        "Added entry ID, timestamp created, and timestamp last updated.",
    ),
    ("acl|setuser", "6.2.0", "Added Pub/Sub channel patterns."),
    (
        "acl|setuser",
        "7.0.0",
        "Added selectors and key based permissions.",
    ),
    ("auth", "6.0.0", "Added ACL style (username and password)."),
    ("bgsave", "3.2.2", "Added the `SCHEDULE` option."),
    ("bitcount", "7.0.0", "Added the `BYTE|BIT` option."),
    ("bitpos", "7.0.0", "Added the `BYTE|BIT` option."),
    (
        "blpop",
        "6.0.0",
        "`timeout` is interpreted as a double instead of an integer.",
    ),
    (
        "brpop",
        "6.0.0",
        "`timeout` is interpreted as a double instead of an integer.",
    ),
    (
        "brpoplpush",
        "6.0.0",
        "`timeout` is interpreted as a double instead of an integer.",
    ),
    (
        "bzpopmax",
        "6.0.0",
        "`timeout` is interpreted as a double instead of an integer.",
    ),
    (
        "bzpopmin",
        "6.0.0",
        "`timeout` is interpreted as a double instead of an integer.",
    ),
    ("client|kill", "2.8.12", "Added new filter format."),
    ("client|kill", "2.8.12", "`ID` option."),
    (
        "client|kill",
        "3.2.0",
        "Added `master` type in for `TYPE` option.",
    ),
    (
        "client|kill",
        "5.0.0",
        "Replaced `slave` `TYPE` with `replica`. `slave` still supported for backward compatibility.",
    ),
    ("client|kill", "6.2.0", "`LADDR` option."),
    ("client|list", "2.8.12", "Added unique client `id` field."),
    ("client|list", "5.0.0", "Added optional `TYPE` filter."),
    ("client|list", "6.0.0", "Added `user` field."),
    (
        "client|list",
        "6.2.0",
        "Added `argv-mem`, `tot-mem`, `laddr` and `redir` fields and the optional `ID` filter.",
    ),
    (
        "client|list",
        "7.0.0",
        "Added `resp`, `multi-mem`, `rbs` and `rbp` fields.",
    ),
    ("client|list", "7.0.3", "Added `ssub` field."),
    (
        "client|list",
        "7.2.0",
        "Added `lib-name` and `lib-ver` fields.",
    ),
    (
        "client|pause",
        "6.2.0",
        "`CLIENT PAUSE WRITE` mode added along with the `mode` option.",
    ),
    (
        "cluster|meet",
        "4.0.0",
        "Added the optional `cluster_bus_port` argument.",
    ),
    ("cluster|slots", "4.0.0", "Added node IDs."),
    (
        "cluster|slots",
        "7.0.0",
        "Added additional networking metadata field.",
    ),
    (
        "command|info",
        "7.0.0",
        "Allowed to be called with no argument to get info on all commands.",
    ),
    (
        "config|get",
        "7.0.0",
        "Added the ability to pass multiple pattern parameters in one call",
    ),
    (
        "config|set",
        "7.0.0",
        "Added the ability to set multiple parameters in one call.",
    ),
    ("exists", "3.0.3", "Accepts multiple `key` arguments."),
    (
        "expire",
        "7.0.0",
        "Added options: `NX`, `XX`, `GT` and `LT`.",
    ),
    (
        "expireat",
        "7.0.0",
        "Added options: `NX`, `XX`, `GT` and `LT`.",
    ),
    (
        "flushall",
        "4.0.0",
        "Added the `ASYNC` flushing mode modifier.",
    ),
    (
        "flushall",
        "6.2.0",
        "Added the `SYNC` flushing mode modifier.",
    ),
    (
        "flushdb",
        "4.0.0",
        "Added the `ASYNC` flushing mode modifier.",
    ),
    (
        "flushdb",
        "6.2.0",
        "Added the `SYNC` flushing mode modifier.",
    ),
    ("geoadd", "6.2.0", "Added the `CH`, `NX` and `XX` options."),
    ("georadius", "6.2.0", "Added the `ANY` option for `COUNT`."),
    (
        "georadius",
        "7.0.0",
        "Added support for uppercase unit names.",
    ),
    (
        "georadius_ro",
        "6.2.0",
        "Added the `ANY` option for `COUNT`.",
    ),
    (
        "georadius_ro",
        "7.0.0",
        "Added support for uppercase unit names.",
    ),
    (
        "georadiusbymember",
        "6.2.0",
        "Added the `ANY` option for `COUNT`.",
    ),
    (
        "georadiusbymember",
        "7.0.0",
        "Added support for uppercase unit names.",
    ),
    (
        "georadiusbymember_ro",
        "6.2.0",
        "Added the `ANY` option for `COUNT`.",
    ),
    (
        "georadiusbymember_ro",
        "7.0.0",
        "Added support for uppercase unit names.",
    ),
    (
        "geosearch",
        "7.0.0",
        "Added support for uppercase unit names.",
    ),
    (
        "geosearchstore",
        "7.0.0",
        "Added support for uppercase unit names.",
    ),
    ("hdel", "2.4.0", "Accepts multiple `field` arguments."),
    (
        "hello",
        "6.2.0",
        "`protover` made optional; when called without arguments the command reports the current connection's context.",
    ),
    (
        "hset",
        "4.0.0",
        "Accepts multiple `field` and `value` arguments.",
    ),
    (
        "info",
        "7.0.0",
        "Added support for taking multiple section arguments.",
    ),
    ("lpop", "6.2.0", "Added the `count` argument."),
    ("lpush", "2.4.0", "Accepts multiple `element` arguments."),
    ("lpushx", "4.0.0", "Accepts multiple `element` arguments."),
    (
        "migrate",
        "3.0.0",
        "Added the `COPY` and `REPLACE` options.",
    ),
    ("migrate", "3.0.6", "Added the `KEYS` option."),
    ("migrate", "4.0.7", "Added the `AUTH` option."),
    ("migrate", "6.0.0", "Added the `AUTH2` option."),
    (
        "pexpire",
        "7.0.0",
        "Added options: `NX`, `XX`, `GT` and `LT`.",
    ),
    (
        "pexpireat",
        "7.0.0",
        "Added options: `NX`, `XX`, `GT` and `LT`.",
    ),
    ("pttl", "2.8.0", "Added the -2 reply."),
    (
        "renamenx",
        "3.2.0",
        "The command no longer returns an error when source and destination names are the same.",
    ),
    ("restore", "3.0.0", "Added the `REPLACE` modifier."),
    ("restore", "5.0.0", "Added the `ABSTTL` modifier."),
    (
        "restore",
        "5.0.0",
        "Added the `IDLETIME` and `FREQ` options.",
    ),
    ("restore-asking", "3.0.0", "Added the `REPLACE` modifier."),
    ("restore-asking", "5.0.0", "Added the `ABSTTL` modifier."),
    (
        "restore-asking",
        "5.0.0",
        "Added the `IDLETIME` and `FREQ` options.",
    ),
    ("rpop", "6.2.0", "Added the `count` argument."),
    ("rpush", "2.4.0", "Accepts multiple `element` arguments."),
    ("rpushx", "4.0.0", "Accepts multiple `element` arguments."),
    ("sadd", "2.4.0", "Accepts multiple `member` arguments."),
    ("scan", "6.0.0", "Added the `TYPE` subcommand."),
    (
        "script|flush",
        "6.2.0",
        "Added the `ASYNC` and `SYNC` flushing mode modifiers.",
    ),
    (
        "set",
        "2.6.12",
        "Added the `EX`, `PX`, `NX` and `XX` options.",
    ),
    ("set", "6.0.0", "Added the `KEEPTTL` option."),
    ("set", "6.2.0", "Added the `GET`, `EXAT` and `PXAT` option."),
    (
        "set",
        "7.0.0",
        "Allowed the `NX` and `GET` options to be used together.",
    ),
    (
        "shutdown",
        "7.0.0",
        "Added the `NOW`, `FORCE` and `ABORT` modifiers.",
    ),
    (
        "slowlog|get",
        "4.0.0",
        "Added client IP address, port and name to the reply.",
    ),
    ("spop", "3.2.0", "Added the `count` argument."),
    (
        "srandmember",
        "2.6.0",
        "Added the optional `count` argument.",
    ),
    ("srem", "2.4.0", "Accepts multiple `member` arguments."),
    ("ttl", "2.8.0", "Added the -2 reply."),
    (
        "xadd",
        "6.2.0",
        "Added the `NOMKSTREAM` option, `MINID` trimming strategy and the `LIMIT` option.",
    ),
    (
        "xadd",
        "7.0.0",
        "Added support for the `<ms>-*` explicit ID form.",
    ),
    (
        "xautoclaim",
        "7.0.0",
        "Added an element to the reply array, containing deleted entries the command cleared from the PEL",
    ),
    (
        "xgroup|create",
        "7.0.0",
        "Added the `entries_read` named argument.",
    ),
    (
        "xgroup|setid",
        "7.0.0",
        "Added the optional `entries_read` argument.",
    ),
    (
        "xinfo|consumers",
        "7.2.0",
        "Added the `inactive` field, and changed the meaning of `idle`.",
    ),
    (
        "xinfo|groups",
        "7.0.0",
        "Added the `entries-read` and `lag` fields",
    ),
    ("xinfo|stream", "6.0.0", "Added the `FULL` modifier."),
    (
        "xinfo|stream",
        "7.0.0",
        "Added the `max-deleted-entry-id`, `entries-added`, `recorded-first-entry-id`, `entries-read` and `lag` fields",
    ),
    (
        "xinfo|stream",
        "7.2.0",
        "Added the `active-time` field, and changed the meaning of `seen-time`.",
    ),
    (
        "xpending",
        "6.2.0",
        "Added the `IDLE` option and exclusive range intervals.",
    ),
    ("xrange", "6.2.0", "Added exclusive ranges."),
    ("xrevrange", "6.2.0", "Added exclusive ranges."),
    (
        "xsetid",
        "7.0.0",
        "Added the `entries_added` and `max_deleted_entry_id` arguments.",
    ),
    (
        "xtrim",
        "6.2.0",
        "Added the `MINID` trimming strategy and the `LIMIT` option.",
    ),
    ("zadd", "2.4.0", "Accepts multiple elements."),
    (
        "zadd",
        "3.0.2",
        "Added the `XX`, `NX`, `CH` and `INCR` options.",
    ),
    ("zadd", "6.2.0", "Added the `GT` and `LT` options."),
    (
        "zrange",
        "6.2.0",
        "Added the `REV`, `BYSCORE`, `BYLEX` and `LIMIT` options.",
    ),
    ("zrangebyscore", "2.0.0", "Added the `WITHSCORES` modifier."),
    ("zrank", "7.2.0", "Added the optional `WITHSCORE` argument."),
    ("zrem", "2.4.0", "Accepts multiple elements."),
    (
        "zrevrangebyscore",
        "2.1.6",
        "`min` and `max` can be exclusive.",
    ),
    (
        "zrevrank",
        "7.2.0",
        "Added the optional `WITHSCORE` argument.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_in_order() {
        assert!(HISTORY.is_sorted_by_key(|(name, ..)| name));
        assert!(DEPRECATED.is_sorted_by_key(|(name, ..)| name));
        assert_eq!(of("zadd").history.len(), 3);
        assert_eq!(
            of("substr").deprecated.map(|(since, _)| since),
            Some("2.0.0")
        );
        assert!(of("debug").internal && of("get").history.is_empty());
    }
}
