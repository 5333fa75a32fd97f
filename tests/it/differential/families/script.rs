//! Scripts: what Lua makes of arguments and replies, and the errors it raises.

use super::{Family, zset};
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family {
    name: "script",
    write,
};

/// A script and the template of what follows its text.
const SCRIPTS: &[(&str, &str)] = &[
    (
        "return redis.pcall('ZADD', KEYS[1], ARGV[1], ARGV[2])",
        "1 $key $score $member",
    ),
    (
        "local s = redis.call('ZSCORE', KEYS[1], ARGV[1]) return s and tostring(tonumber(s) * 1.1) or 'none'",
        "1 $key $member",
    ),
    (
        "local t = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES') return {#t, t[1], {t[2]}}",
        "1 $key",
    ),
    (
        "redis.call('ZADD', KEYS[1], ARGV[1] * 1.1, 'n') return redis.call('ZSCORE', KEYS[1], 'n')",
        "1 $key $score",
    ),
    (
        "local n = 0 for i = 1, #ARGV do n = n + redis.call('ZADD', KEYS[1], i, ARGV[i]) end return n",
        "1 $key ( $member )+",
    ),
    ("return {1, 2.9, -2.9, 'x', false, true, {}, nil, 3}", "0"),
    ("return {ok = ARGV[1]}", "0 $member"),
    ("return {err = ARGV[1]}", "0 { plain | 'MY error' }"),
    ("return redis.error_reply(ARGV[1])", "0 $member"),
    ("return redis.status_reply(ARGV[1])", "0 $small"),
    ("return tostring(0.1 + ARGV[1])", "0 $score"),
    ("return tonumber(ARGV[1])", "0 $score"),
    (
        "return cjson.encode({ARGV[1], tonumber(ARGV[2]), true})",
        "0 $member $score",
    ),
    ("return cjson.encode({score = tonumber(ARGV[1])})", "0 $int"),
    (
        "local t = cjson.decode('[1, 2.5, \"x\", null, {\"a\": [true]}]') return {t[1], t[2], t[3], t[4] == cjson.null, t[5].a[1]}",
        "0",
    ),
    ("return redis.sha1hex(ARGV[1])", "0 $member"),
    ("return nosuch", "0"),
    ("nosuch = 1", "0"),
    ("return #", "0"),
    ("return redis.call('NOSUCH')", "0"),
    ("return redis.call('GET')", "0"),
    ("return redis.call()", "0"),
    ("local t = redis.pcall('GET') return t.err", "0"),
    (
        "local ok, e = pcall(redis.call, 'ZADD', KEYS[1], 'x', 'm') return {tostring(ok), type(e), e}",
        "1 $key",
    ),
    ("error('boom')", "0"),
    ("error({err = 'MY boom'})", "0"),
    (
        "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('INCRBY', KEYS[1], 5)",
        "1 $key $int",
    ),
    (
        "redis.setresp(3) return redis.call('ZSCORE', KEYS[1], ARGV[1])",
        "1 $key $member",
    ),
    (
        "redis.setresp(3) return redis.call('HGETALL', KEYS[1])",
        "1 none",
    ),
    (
        "return redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2], 'BYSCORE')",
        "1 $key $bound $bound",
    ),
    ("return {KEYS[1], KEYS[2], ARGV[1]}", "$keys $member"),
    (
        "return string.format('%s %.3f %d', ARGV[1], tonumber(ARGV[2]) or 0, 3)",
        "0 $member $score",
    ),
    (
        "return {math.floor(ARGV[1]), 7 % 3, -7 % 3, 2 ^ 10}",
        "0 $small",
    ),
];

/// A script that only passes a command on.
pub const PASS_ON: &str = "return redis.call(unpack(ARGV))";

fn write(words: &mut Words) -> Vec<Command> {
    let name = if words.random().chance(10) {
        "EVAL_RO"
    } else {
        "EVAL"
    };
    let (text, rest) = if words.random().chance(30) {
        let passed: Vec<Command> = (zset::FAMILY.write)(words);
        let blocking = passed[0]
            .first()
            .is_some_and(|name| name.to_ascii_uppercase().starts_with(b"BZ"));
        if blocking {
            (PASS_ON, vec![b"0".to_vec(), b"PING".to_vec()])
        } else {
            (
                PASS_ON,
                [
                    vec![b"0".to_vec()],
                    passed.into_iter().next().unwrap_or_default(),
                ]
                .concat(),
            )
        }
    } else {
        let index = words.random().below(SCRIPTS.len());
        let (text, template) = SCRIPTS[index];
        (text, words.command(&[template]))
    };
    vec![
        [
            vec![name.as_bytes().to_vec(), text.as_bytes().to_vec()],
            rest,
        ]
        .concat(),
    ]
}
