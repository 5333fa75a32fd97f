//! Random programs of writes: what they left is what a restart reads from the log, here and in a real redis-server.
//!
//! Many programs share one log, each with keys of its own, and the log is rewritten between some of them. Settings
//! stay as they are; keys with a short time to live are made to stay before anything is compared. The sign of zero is
//! not compared: only boards in their big encoding keep it.

use super::{LOG, folder, rewrite, shut_down, start};
use crate::differential::families::{self, Family};
use crate::differential::is_key;
use crate::differential::words::{Command, Words};
use crate::harness::server::Real;
use crate::harness::{Client, Random, Server, Value};
use std::collections::BTreeMap;
use std::time::Instant;

/// Programs of a run; RANKD_PROGRAMS plays more or fewer.
const PROGRAMS: usize = 1_000;

/// Steps of a program: commands, transactions, scripts.
const STEPS: usize = 25;

/// Programs between two rewrites of the log.
const PROGRAMS_BETWEEN_REWRITES: usize = 270;

/// Databases that programs use.
const DATABASES: usize = 3;

/// What the families of the differential tests lack: time, chance and what happens later.
const MORE: &[&str] = &[
    "XADD $key * $member $value",
    "XADD $key MAXLEN ~ 3 * $member $value",
    "SPOP $key [ $small ]",
    "SADD $key ( $member )+",
    "SET $key $value EX 1000",
    "EXPIRE $key 1000 [ NX | GT ]",
    "SET { short1 | short2 | short3 } $value PX { 1 | 5 | 20 }",
    "PEXPIRE { short1 | short2 | short3 } { 3 | 10 }",
    "APPEND { short1 | short2 | short3 } $value",
    "INCR { short1 | short2 | short3 }",
    "ZPOPMAX $key $small",
    "COPY $key $key DB { 0 | 1 | 2 } REPLACE",
    "MOVE $key { 0 | 1 | 2 }",
    "SELECT { 0 | 1 | 2 }",
    "SWAPDB { 0 | 1 | 2 } { 0 | 1 | 2 }",
    "SORT $key ALPHA STORE $key",
    "FCALL note 2 $key $key $value",
    "FUNCTION DELETE lib",
];

/// Scripts of two keys and a value, in which time and chance take part.
const SCRIPTS: &[&str] = &[
    "local t = redis.call('TIME') return redis.call('SET', KEYS[1], t[1] .. t[2])",
    "redis.call('SET', KEYS[1], math.random(1000)) return redis.call('EXPIRE', KEYS[1], 1000)",
    "for _, one in ipairs(redis.call('SPOP', KEYS[1], 2)) do redis.call('RPUSH', KEYS[2], one) end",
    "local one = redis.call('SRANDMEMBER', KEYS[1]) if one then redis.call('SREM', KEYS[1], one) end",
    "for _, one in ipairs(redis.call('ZRANDMEMBER', KEYS[1], 2)) do redis.call('ZINCRBY', KEYS[1], 0.1, one) end",
    "local one = redis.call('HRANDFIELD', KEYS[1]) if one then redis.call('HDEL', KEYS[1], one) end",
    "redis.pcall('LPUSH', KEYS[1], ARGV[1]) redis.pcall('INCR', KEYS[2]) redis.pcall('HINCRBYFLOAT', KEYS[1], 'f', 0.1)",
    "redis.call('XADD', KEYS[1], '*', 'at', redis.call('TIME')[2]) redis.call('XTRIM', KEYS[1], 'MAXLEN', 5)",
    "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], 1, 2, 3) redis.call('LPUSH', KEYS[1]) return 1",
    "redis.call('SET', KEYS[1], ARGV[1], 'EX', 1000) redis.call('RENAME', KEYS[1], KEYS[2]) error('the end')",
];

const LIBRARY: &str = "#!lua name=lib\n\
    redis.register_function('note', function(keys, args)\n\
    local t = redis.call('TIME')\n\
    redis.call('APPEND', keys[1], t[2])\n\
    redis.call('RPUSH', keys[2], math.random(100), args[1])\n\
    return 1 end)";

/// A command that waits for a key, and what ends the wait.
const WAITS: &[(&str, &[&str])] = &[
    (
        "BLPOP wait 0",
        &["RPUSH wait a b", "EVAL redis.call('LPUSH','wait','x') 0"],
    ),
    ("BRPOP wait 0", &["LPUSH wait a b"]),
    ("BLMOVE wait got LEFT RIGHT 0", &["RPUSH wait c d e"]),
    ("BRPOPLPUSH wait got 0", &["RPUSH wait c"]),
    ("BLMPOP 0 1 wait RIGHT COUNT 2", &["RPUSH wait 1 2 3"]),
    ("BZPOPMIN wait 0", &["ZADD wait 1 a 2 b"]),
    ("BZPOPMAX wait 0", &["ZADD wait 1 a"]),
    ("BZMPOP 0 1 wait MIN COUNT 5", &["ZADD wait 1 a 2 b"]),
    (
        "XREADGROUP GROUP g ann BLOCK 0 STREAMS feed >",
        &["XADD feed * f v"],
    ),
];

/// The steps of one program.
struct Author {
    words: Words,
    families: Vec<&'static Family>,
}

impl Author {
    fn step(&mut self) -> Vec<Command> {
        match self.words.random().below(10) {
            0..=2 => vec![self.words.command(MORE)],
            3 => {
                let script = self.words.random().pick(SCRIPTS).as_bytes().to_vec();
                let rest = self.words.command(&["2 $key $key $value"]);
                vec![[vec![b"EVAL".to_vec(), script], rest].concat()]
            }
            4 if self.words.random().chance(20) => {
                let words = ["FUNCTION", "LOAD", "REPLACE", LIBRARY];
                vec![words.map(|word| word.as_bytes().to_vec()).to_vec()]
            }
            _ => {
                let index = self.words.random().below(self.families.len());
                (self.families[index].write)(&mut self.words)
            }
        }
    }
}

/// Whether a command says nothing of data, or would leave little of what earlier programs wrote.
fn is_left_out(command: &Command) -> bool {
    let name = command[0].to_ascii_uppercase();
    matches!(name.as_slice(), b"CONFIG" | b"FLUSHDB" | b"FLUSHALL")
}

fn play(client: &mut Client, program: usize, author: &mut Author) {
    for _ in 0..STEPS {
        let mut commands = author.step();
        commands.retain(|command| !is_left_out(command));
        for command in &mut commands {
            for word in command.iter_mut().filter(|word| is_key(word)) {
                word.splice(..0, format!("{program}:").into_bytes());
            }
            client.send(&*command);
        }
        commands.iter().for_each(|_| drop(client.read()));
    }
    client.call(["DISCARD"]);
}

/// Lets one client wait for a key that another one then makes.
fn wait_and_serve(client: &mut Client, waiting: &mut Client, random: &mut Random) {
    let (wait, ends) = WAITS[random.below(WAITS.len())];
    client.line("DEL wait");
    client.line("XGROUP CREATE feed g $ MKSTREAM");
    let id = waiting.call(["CLIENT", "ID"]).text();
    waiting.send(wait.split(' ').collect::<Vec<_>>());
    let started = Instant::now();
    loop {
        let list = client.call(["CLIENT", "LIST", "ID", &id]).text();
        if list.contains("flags=b") {
            break;
        }
        assert!(started.elapsed() < super::JOB_WAIT, "{wait}: {list}");
    }
    let end = random.pick(ends);
    let reply = client.call(end.split(' ').collect::<Vec<_>>());
    assert!(!reply.is_error(), "{end}: {reply:?}");
    let served = waiting.read();
    assert!(!served.is_error(), "{wait}: {served:?}");
}

/// Lets no key be near its deadline, which might be gone in the one and still there in the other.
fn settle(client: &mut Client) {
    let keep = "for _, key in ipairs(redis.call('KEYS', '*')) do \
        if redis.call('PTTL', key) < 100000 then redis.call('PERSIST', key) end end \
        return redis.call('DBSIZE') - #redis.call('KEYS', '*')";
    let started = Instant::now();
    for db in 0..DATABASES {
        client.call(["SELECT", &db.to_string()]);
        while client.call(["EVAL", keep, "0"]) != Value::Integer(0) {
            assert!(started.elapsed() < super::JOB_WAIT, "expired keys stay");
        }
    }
    client.call(["SELECT", "0"]);
}

/// All that a log has to keep, in a form that two servers can be compared in.
fn picture(client: &mut Client) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let libraries = client.line("FUNCTION LIST WITHCODE");
    facts.insert("libraries".to_string(), libraries.show());
    for db in 0..DATABASES {
        client.call(["SELECT", &db.to_string()]);
        let keys: Vec<Vec<u8>> = client
            .call(["KEYS", "*"])
            .items()
            .into_iter()
            .map(|key| match key {
                Value::Bulk(key) => key,
                other => panic!("{other:?}"),
            })
            .collect();
        for key in &keys {
            let questions: [&[&[u8]]; 3] = [
                &[b"TYPE", key],
                &[b"PEXPIRETIME", key],
                &[b"DEBUG", b"DIGEST-VALUE", key],
            ];
            questions.iter().for_each(|words| client.send(words));
        }
        for key in &keys {
            let [kind, deadline, digest] = [client.read(), client.read(), client.read()];
            let digest = digest.show();
            let text = format!("{} {} {digest}", kind.text(), deadline.text());
            facts.insert(format!("{db} {}", key.escape_ascii()), text);
        }
        for key in keys {
            let name = format!("{db} {}", key.escape_ascii());
            if facts[&name].starts_with("zset") {
                let words: [&[u8]; 5] = [b"ZRANGE", &key, b"0", b"-1", b"WITHSCORES"];
                let board = client.call(words);
                facts.insert(name, board.show().replace("\"-0\"", "\"0\""));
            } else if facts[&name].starts_with("stream") {
                let words: [&[u8]; 6] = [b"XINFO", b"STREAM", &key, b"FULL", b"COUNT", b"0"];
                facts.insert(format!("{name} in full"), full(&client.call(words)));
            }
        }
    }
    client.call(["SELECT", "0"]);
    facts
}

/// A stream in full, but for what only one server counts: nodes of a tree, and when a consumer was seen.
fn full(reply: &Value) -> String {
    let items = reply.items();
    let is_named = items.len().is_multiple_of(2) && matches!(&items.first(), Some(Value::Bulk(_)));
    if !is_named || items.is_empty() {
        let shown: Vec<String> = match reply {
            Value::Array(items) => items.iter().map(full).collect(),
            other => vec![other.show()],
        };
        return format!("[{}]", shown.join(" "));
    }
    let mut text = String::new();
    for pair in items.chunks(2) {
        let name = pair[0].text();
        if !name.starts_with("radix") && !["seen-time", "active-time"].contains(&&*name) {
            text += &format!("{name}={} ", full(&pair[1]));
        }
    }
    text
}

fn differences(wanted: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> Vec<String> {
    let names = wanted
        .keys()
        .chain(found.keys().filter(|name| !wanted.contains_key(*name)));
    names
        .filter(|name| wanted.get(*name) != found.get(*name))
        .map(|name| {
            format!(
                "{name}\n  wanted {:?}\n  found  {:?}",
                wanted.get(name),
                found.get(name)
            )
        })
        .take(12)
        .collect()
}

#[test]
fn what_random_programs_leave_is_read_from_the_log_here_and_by_a_real_server() {
    let seed = Random::seed();
    let programs = std::env::var("RANKD_PROGRAMS")
        .ok()
        .map_or(PROGRAMS, |text| text.parse().expect("a number of programs"));
    let folder = folder();
    let settings = [LOG, &["--appendfsync", "no"]].concat();
    let server = start(folder.path(), &settings);
    let (mut client, mut waiting) = (server.client(), server.client());
    let mut random = Random::new(seed);
    let mut author = Author {
        words: Words::new(seed),
        families: families::ALL.iter().collect(),
    };
    for program in 0..programs {
        play(&mut client, program, &mut author);
        if program % 25 == 0 {
            client.call(["SELECT", "0"]);
            wait_and_serve(&mut client, &mut waiting, &mut random);
        }
        if program % PROGRAMS_BETWEEN_REWRITES == PROGRAMS_BETWEEN_REWRITES - 1 {
            let preamble = ["yes", "no"][program / PROGRAMS_BETWEEN_REWRITES % 2];
            client.call(["CONFIG", "SET", "aof-use-rdb-preamble", preamble]);
            rewrite(&mut client);
        }
    }
    settle(&mut client);
    let wanted = picture(&mut client);
    assert!(wanted.len() > programs, "{} facts", wanted.len());
    shut_down(server);
    let server = start(folder.path(), &settings);
    let found = picture(&mut server.client());
    let wrong = differences(&wanted, &found);
    assert!(
        wrong.is_empty(),
        "RANKD_SEED={seed} here:\n{}",
        wrong.join("\n")
    );
    shut_down(server);
    if let Some(real) = Server::start_real_in(Real::Redis8, folder.path(), &settings) {
        let found = picture(&mut real.client());
        let wrong = differences(&wanted, &found);
        assert!(
            wrong.is_empty(),
            "RANKD_SEED={seed} real:\n{}",
            wrong.join("\n")
        );
    }
}
