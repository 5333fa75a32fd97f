//! Several clients that wait for keys, beside the real server: who is served, with what, and in which order.
//!
//! One client changes keys, alone, in transactions and in scripts; the others wait. After each step both servers must
//! have the same clients waiting and must have answered the others alike. Which of them wait is asked of the server,
//! so that no time has to pass.

use std::time::{Duration, Instant};

use super::{Protocol, SECONDS_MAX, connect, show};
use crate::differential::words::{Command, Words};
use crate::harness::server::Real;
use crate::harness::{Client, Random, Server, Value};

const STEPS_MAX: usize = 1_500;
const WAITERS: usize = 5;

/// Steps after which all data goes.
const STEPS_BETWEEN_FLUSHES: usize = 60;

/// Longest time until a command that was sent is seen to wait or is answered.
const ARRIVAL_SECONDS_MAX: u64 = 15;

const WAITS: &[&str] = &[
    "{ BLPOP | BRPOP } $common $common 0",
    "{ BLPOP | BRPOP } $common $common $common 0",
    "BLMOVE $common $common { LEFT | RIGHT } { LEFT | RIGHT } 0",
    "BRPOPLPUSH $common $common 0",
    "BLMPOP 0 2 $common $common { LEFT | RIGHT } COUNT { 1 | 2 | 3 }",
    "{ BZPOPMIN | BZPOPMAX } $common $common 0",
    "BZMPOP 0 2 $common $common { MIN | MAX } COUNT { 1 | 2 }",
    "XREAD BLOCK 0 STREAMS $common $",
    "XREAD COUNT 1 BLOCK 0 STREAMS $common $common $ 5",
    "XREADGROUP GROUP { g | h } { x | y } BLOCK 0 STREAMS $common >",
    "XREADGROUP GROUP g x NOACK BLOCK 0 STREAMS $common $common > >",
];

/// Waits that end by themselves.
const SHORT_WAITS: &[&str] = &[
    "BLPOP nothing 0.001",
    "BLMOVE nothing $common LEFT LEFT 0.001",
    "BZMPOP 0.001 1 nothing MIN",
    "XREAD BLOCK 1 STREAMS nothing $",
];

/// The real server looks at the keys of a swapped database in the order of a hash table with a seed of its own; so who is
/// served first is told only where one client waits or one key comes.
const SWAP: &str = "SWAPDB 0 1";

/// Percentage of the steps that swap databases, where it can be told who is served.
const SWAPS: usize = 8;

const CHANGES: &[&str] = &[
    "{ LPUSH | RPUSH } $common $plain",
    "{ LPUSH | RPUSH } $common $plain $plain $plain",
    "{ LPUSH | RPUSH } $common $plain $plain",
    "ZADD $common 1 $plain 2 $plain",
    "ZADD $common NX 1 $plain",
    "ZINCRBY $common 1 $plain",
    "GEOADD $common 1 1 $plain",
    "XADD $common $newid f $plain",
    "XADD $common $newid f $plain",
    "XADD $common $newid f $plain",
    "XGROUP CREATE $common { g | h } { 0 | $ } MKSTREAM",
    "XGROUP DESTROY $common { g | h }",
    "XGROUP SETID $common { g | h } 0",
    "XTRIM $common MAXLEN 0",
    "{ DEL | UNLINK } $common $common",
    "SET $common x",
    "SADD $common 1",
    "GETDEL $common",
    "RENAME $common $common",
    "COPY $common $common REPLACE",
    "MOVE $common 1",
    "EXPIRE $common -1",
    "PEXPIREAT $common 1",
    "LMOVE $common $common LEFT RIGHT",
    "LPOP $common",
    "LINSERT $common BEFORE $plain $plain",
    "LTRIM $common 1 0",
    "SORT $common ALPHA STORE new",
    "ZRANGESTORE new $common 0 -1",
    "RENAME new $common",
    "FLUSHDB",
];

/// One server with the client that changes and those that wait.
struct Side {
    main: Client,
    waiters: Vec<Client>,
    ids: Vec<String>,
}

impl Side {
    fn new(server: &Server, protocol: Protocol) -> Side {
        let mut waiters: Vec<Client> = (0..WAITERS).map(|_| connect(server, protocol)).collect();
        let ids = waiters
            .iter_mut()
            .map(|client| client.call(["CLIENT", "ID"]).text())
            .collect();
        Side {
            main: connect(server, protocol),
            waiters,
            ids,
        }
    }

    fn is_waiting(&mut self, nth: usize) -> bool {
        let line = self.main.call(["CLIENT", "LIST", "ID", &self.ids[nth]]);
        let line = line.text();
        let flags = line.split(" flags=").nth(1).expect("the client is listed");
        flags.split(' ').next().is_some_and(|f| f.contains('b'))
    }

    /// Sends a command that may wait; its reply if it does not.
    fn start(&mut self, nth: usize, command: &Command) -> Option<Value> {
        self.waiters[nth].send(command);
        let give_up = Instant::now() + Duration::from_secs(ARRIVAL_SECONDS_MAX);
        loop {
            if self.is_answered(nth) {
                return Some(self.waiters[nth].read());
            }
            if self.is_waiting(nth) {
                return None;
            }
            assert!(Instant::now() < give_up, "{} is lost", show(command));
        }
    }

    /// Number of keys in the database that is swapped in.
    fn keys_aside(&mut self) -> i64 {
        self.main.call(["SELECT", "1"]);
        let keys = self.main.call(["DBSIZE"]);
        self.main.call(["SELECT", "0"]);
        match keys {
            Value::Integer(keys) => keys,
            other => panic!("DBSIZE said {other:?}"),
        }
    }

    fn is_answered(&self, nth: usize) -> bool {
        let stream = self.waiters[nth].stream();
        stream.set_nonblocking(true).expect("a socket can be asked");
        let answered = stream.peek(&mut [0]).is_ok_and(|len| len > 0);
        stream.set_nonblocking(false).expect("a socket can wait");
        answered
    }

    /// Replies of those that waited and wait no more.
    fn served(&mut self, waiting: &[bool]) -> Vec<Option<Value>> {
        let mut served = Vec::new();
        for (nth, _) in waiting.iter().enumerate() {
            let ended = waiting[nth] && !self.is_waiting(nth);
            served.push(ended.then(|| self.waiters[nth].read()));
        }
        served
    }

    /// Runs commands as one: alone, as a transaction or as a script.
    fn change(&mut self, commands: &[Command], way: Way) -> Vec<Value> {
        match way {
            Way::Alone => commands.iter().map(|c| self.main.call(c)).collect(),
            Way::Transaction => {
                let mut replies = vec![self.main.call(["MULTI"])];
                replies.extend(commands.iter().map(|c| self.main.call(c)));
                replies.push(self.main.call(["EXEC"]));
                replies
            }
            Way::Script => {
                let mut script = String::from("local replies = {}\n");
                for command in commands {
                    let words: Vec<String> = command
                        .iter()
                        .map(|word| format!("'{}'", String::from_utf8_lossy(word)))
                        .collect();
                    script.push_str(&format!(
                        "local reply = redis.pcall({})\n\
                         if type(reply) == 'table' and reply.err then reply = reply.err end\n\
                         replies[#replies + 1] = reply\n",
                        words.join(", ")
                    ));
                }
                script.push_str("return replies");
                vec![self.main.call(["EVAL", &script, "0"])]
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Alone,
    Transaction,
    Script,
}

fn compare(protocol: Protocol) {
    let Some(real) = Server::start_real(Real::Redis8) else {
        return;
    };
    let ours = Server::start();
    let mut sides = [Side::new(&real, protocol), Side::new(&ours, protocol)];
    let seed = Random::seed();
    let mut words = Words::new(seed);
    let mut waiting = [false; WAITERS];
    let mut history: Vec<String> = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(SECONDS_MAX);
    let mut steps = 0;
    while steps < STEPS_MAX && Instant::now() < deadline {
        steps += 1;
        let free: Vec<usize> = (0..WAITERS).filter(|&nth| !waiting[nth]).collect();
        if !free.is_empty() && words.random().chance(45) {
            let nth = free[words.random().below(free.len())];
            let is_short = words.random().chance(5);
            let wait = words.command(if is_short { SHORT_WAITS } else { WAITS });
            history.push(format!("client {nth}: {}", show(&wait)));
            let mut replies = sides.each_mut().map(|side| side.start(nth, &wait));
            if is_short {
                for (side, reply) in sides.iter_mut().zip(&mut replies) {
                    *reply = reply.take().or_else(|| Some(side.waiters[nth].read()));
                }
            }
            check(seed, &history, &replies[0], &replies[1]);
            waiting[nth] = replies[0].is_none();
            continue;
        }
        let mut changes: Vec<Command> = (0..1 + words.random().below(4))
            .map(|_| words.command(CHANGES))
            .collect();
        let waits = waiting.iter().filter(|&&waits| waits).count();
        if words.random().chance(SWAPS) && (waits <= 1 || sides[0].keys_aside() <= 1) {
            changes.insert(0, words.command(&[SWAP]));
        }
        let (changes, way) = match words.random().below(5) {
            0 | 1 => (vec![changes[0].clone()], Way::Alone),
            2 if steps % STEPS_BETWEEN_FLUSHES < WAITERS => {
                (vec![vec![b"FLUSHALL".to_vec()]], Way::Alone)
            }
            2 => (changes, Way::Alone),
            3 => (changes, Way::Transaction),
            _ => (changes, Way::Script),
        };
        let shown: Vec<String> = changes.iter().map(show).collect();
        history.push(format!("{way:?}: {}", shown.join("; ")));
        let [replies, our_replies] = sides.each_mut().map(|side| side.change(&changes, way));
        check(seed, &history, &replies, &our_replies);
        let [served, our_served] = sides.each_mut().map(|side| side.served(&waiting));
        check(seed, &history, &served, &our_served);
        for (nth, reply) in served.iter().enumerate() {
            waiting[nth] &= reply.is_none();
        }
    }
    eprintln!("{steps} steps with {WAITERS} waiting clients");
    assert!(steps > WAITERS, "the machine is too slow to compare");
}

fn check<T: PartialEq + std::fmt::Debug>(seed: u64, history: &[String], real: &T, ours: &T) {
    let recent = &history[history.len().saturating_sub(25)..];
    assert!(
        real == ours,
        "RANKD_SEED={seed}\n{}\n    real {real:?}\n    ours {ours:?}",
        recent.join("\n")
    );
}

#[test]
fn clients_that_wait_are_served_as_by_the_real_server() {
    compare(Protocol::Resp2);
}

#[test]
fn clients_that_wait_are_served_as_by_the_real_server_in_resp3() {
    compare(Protocol::Resp3);
}
