//! The same random commands to a real redis-server 8.2.3 and to ours, every reply and the data compared.
//!
//! Each test prints its seed (RANKD_SEED plays it again) and stops at a number of steps or seconds
//! (RANKD_DIFFERENTIAL_SECONDS gives more).  Without a real server (scripts/fetch.sh) there is nothing to compare
//! with, and the tests say so.  What differs on purpose is in `known` and in docs/DIFFERENCES.md.

mod compare;
pub mod families;
mod known;
mod tracking;
mod waiting;
pub mod words;

use std::time::{Duration, Instant};

use crate::harness::server::Real;
use crate::harness::{Client, Random, Server, Value, value};
use families::Family;
use words::{Command, Words};

const STEPS_MAX: usize = 6_000;
const SECONDS_MAX: u64 = 12;

/// Steps between two readings of all data.
const STEPS_BETWEEN_STATES: usize = 300;

/// Steps after which both start from an empty memory again.
const STEPS_BETWEEN_FLUSHES: usize = 2_000;

/// Differences after which a run has told enough.
const DIFFERENCES_MAX: usize = 8;

struct Comparison {
    real: Client,
    ours: Client,
    /// The commands of the open transaction, in the order of EXEC's replies.
    queued: Option<Vec<Command>>,
    history: Vec<Command>,
    differences: Vec<String>,
    /// Our server did not answer: what would follow means nothing.
    lost: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Resp2,
    Resp3,
}

fn connect(server: &Server, protocol: Protocol) -> Client {
    match protocol {
        Protocol::Resp2 => server.client(),
        Protocol::Resp3 => server.client().with_resp3(),
    }
}

fn run(names: &[&str], protocol: Protocol) {
    let Some(real) = Server::start_real(Real::Redis8) else {
        return;
    };
    let ours = Server::start();
    let mut comparison = Comparison {
        real: connect(&real, protocol),
        ours: connect(&ours, protocol),
        queued: None,
        history: Vec::new(),
        differences: Vec::new(),
        lost: false,
    };
    let seed = Random::seed();
    let seconds = std::env::var("RANKD_DIFFERENTIAL_SECONDS")
        .ok()
        .map(|text| text.parse().expect("a number of seconds"));
    let steps_max = if seconds.is_some() {
        usize::MAX
    } else {
        STEPS_MAX
    };
    let deadline = Instant::now() + Duration::from_secs(seconds.unwrap_or(SECONDS_MAX));
    let chosen: Vec<&Family> = families::ALL
        .iter()
        .filter(|family| names.contains(&family.name))
        .collect();
    assert_eq!(
        chosen.len(),
        names.len(),
        "a family of {names:?} does not exist"
    );
    let mut words = Words::new(seed);
    let mut steps = 0;
    while steps < steps_max
        && Instant::now() < deadline
        && comparison.differences.len() < DIFFERENCES_MAX
        && !comparison.lost
    {
        let family = words.random().below(chosen.len());
        for command in (chosen[family].write)(&mut words) {
            comparison.send(&command);
        }
        steps += 1;
        if steps % STEPS_BETWEEN_STATES == 0 {
            comparison.compare_state();
        }
        if steps % STEPS_BETWEEN_FLUSHES == 0 {
            comparison.send(&vec![b"FLUSHALL".to_vec()]);
        }
    }
    if !comparison.lost {
        comparison.compare_state();
    }
    eprintln!("{steps} steps of {names:?}");
    let differences = comparison.differences;
    assert!(
        differences.is_empty(),
        "RANKD_SEED={seed} {names:?}:\n{}\n",
        differences.join("\n")
    );
}

impl Comparison {
    fn send(&mut self, command: &Command) {
        if self.lost {
            return;
        }
        let real = self.real.call(command);
        self.ours.send(command);
        let ours = self.ours.try_read().unwrap_or_else(|e| {
            self.lost = true;
            Value::Error(format!("(no reply: {e})").into_bytes())
        });
        self.history.push(command.clone());
        let agreed = match &mut self.queued {
            Some(queued) if command[0].eq_ignore_ascii_case(b"EXEC") => {
                let queued = std::mem::take(queued);
                exec_agrees(&queued, &real, &ours)
            }
            _ => compare::agree(command, &real, &ours) || known::differs(command, &real, &ours),
        };
        self.follow_transaction(command, &real);
        if !agreed {
            self.report(command, &real, &ours);
        }
    }

    /// Keeps track of what is queued, from what the real server said.
    fn follow_transaction(&mut self, command: &Command, real: &Value) {
        let name = command[0].to_ascii_uppercase();
        match name.as_slice() {
            b"MULTI" if !real.is_error() => self.queued = Some(Vec::new()),
            b"EXEC" | b"DISCARD" => self.queued = None,
            _ => {
                if let Some(queued) = self.queued.as_mut().filter(|_| !real.is_error()) {
                    queued.push(command.clone());
                }
            }
        }
    }

    fn report(&mut self, command: &Command, real: &Value, ours: &Value) {
        let names: Vec<&Vec<u8>> = command[1..].iter().filter(|word| is_key(word)).collect();
        let related = self
            .history
            .iter()
            .rev()
            .skip(1)
            .filter(|old| old.iter().any(|word| names.contains(&word)));
        let mut earlier: Vec<String> = related
            .take(6)
            .map(|old| format!("    after {}", show(old)))
            .collect();
        earlier.reverse();
        self.differences.push(format!(
            "{}\n{}\n    real {}\n    ours {}",
            show(command),
            earlier.join("\n"),
            cut(&format!("{real:?}")),
            cut(&format!("{ours:?}")),
        ));
    }

    /// Reads all data back from both.
    fn compare_state(&mut self) {
        let mut keys = self.real.call(["KEYS", "*"]).items();
        keys.sort();
        let mut our_keys = self.ours.call(["KEYS", "*"]).items();
        our_keys.sort();
        if keys != our_keys {
            self.differences
                .push(format!("the keys differ: real {keys:?} ours {our_keys:?}"));
            return;
        }
        for key in keys.iter().map(Value::text) {
            let kind = self.real.call(["TYPE", &key]).text();
            let read = match kind.as_str() {
                "zset" => format!("ZRANGE {key} 0 -1 WITHSCORES"),
                "string" => format!("GET {key}"),
                "hash" => format!("HGETALL {key}"),
                "list" => format!("LRANGE {key} 0 -1"),
                "set" => format!("SMEMBERS {key}"),
                "stream" => format!("XINFO STREAM {key} FULL COUNT 0"),
                other => panic!("no way to read a {other}"),
            };
            for question in [
                read,
                format!("TYPE {key}"),
                format!("OBJECT ENCODING {key}"),
                format!("TTL {key}"),
            ] {
                self.send(
                    &question
                        .split(' ')
                        .map(|word| word.as_bytes().to_vec())
                        .collect(),
                );
            }
        }
    }
}

fn exec_agrees(queued: &[Command], real: &Value, ours: &Value) -> bool {
    match (real, ours) {
        (Value::Array(real), Value::Array(ours)) => {
            real.len() == ours.len()
                && queued.len() == real.len()
                && queued
                    .iter()
                    .zip(real.iter().zip(ours))
                    .all(|(command, (real, ours))| {
                        compare::agree(command, real, ours) || known::differs(command, real, ours)
                    })
        }
        _ => real == ours,
    }
}

pub fn is_key(word: &[u8]) -> bool {
    (word.len() == 2 && word[0] == b'k' && word[1].is_ascii_digit()) || word.starts_with(b"lex")
}

fn show(command: &Command) -> String {
    let words: Vec<String> = command.iter().map(|word| value::quote(word)).collect();
    cut(&words.join(" "))
}

/// The head of a long text: a report of a thousand members helps nobody.
fn cut(text: &str) -> String {
    match text.char_indices().nth(600) {
        Some((at, _)) => format!("{}... ({} bytes)", &text[..at], text.len()),
        None => text.to_string(),
    }
}

#[test]
fn sorted_sets_answer_as_the_real_server() {
    run(&["zset"], Protocol::Resp2);
}

#[test]
fn sorted_sets_answer_as_the_real_server_in_resp3() {
    run(&["zset"], Protocol::Resp3);
}

#[test]
fn keys_of_all_types_answer_as_the_real_server() {
    run(
        &["key", "zset", "string", "hash", "list", "set"],
        Protocol::Resp2,
    );
}

#[test]
fn strings_and_hashes_answer_as_the_real_server() {
    run(&["string", "hash", "key"], Protocol::Resp2);
}

#[test]
fn sets_and_lists_answer_as_the_real_server() {
    run(&["set", "list", "zset"], Protocol::Resp2);
}

#[test]
fn bitmaps_answer_as_the_real_server() {
    run(&["bitmap"], Protocol::Resp2);
}

#[test]
fn positions_answer_as_the_real_server() {
    run(&["geo"], Protocol::Resp2);
}

#[test]
fn estimates_answer_as_the_real_server() {
    run(&["hyperloglog"], Protocol::Resp2);
}

#[test]
fn streams_answer_as_the_real_server() {
    run(&["stream"], Protocol::Resp2);
}

#[test]
fn streams_and_more_answer_as_the_real_server_in_resp3() {
    run(&["stream", "geo", "bitmap", "key"], Protocol::Resp3);
}

#[test]
fn users_answer_as_the_real_server() {
    run(&["acl"], Protocol::Resp2);
}

#[test]
fn users_answer_as_the_real_server_in_resp3() {
    run(&["acl", "string"], Protocol::Resp3);
}

#[test]
fn transactions_answer_as_the_real_server() {
    run(&["multi", "zset"], Protocol::Resp2);
}

#[test]
fn scripts_answer_as_the_real_server() {
    run(&["script", "zset", "string"], Protocol::Resp2);
}

#[test]
fn everything_answers_as_the_real_server_in_resp3() {
    run(
        &[
            "zset", "key", "string", "hash", "list", "set", "multi", "script",
        ],
        Protocol::Resp3,
    );
}
