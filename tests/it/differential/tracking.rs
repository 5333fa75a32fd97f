//! Client-side caching beside the real server: the same commands of several connections to both, and what each
//! connection is told of keys that changed compared in its order.
//!
//! FLUSHALL comes in transactions only: alone, 8.2.3 answers it after it told its own connection.

use std::time::{Duration, Instant};

use super::{SECONDS_MAX, STEPS_MAX, cut};
use crate::harness::server::Real;
use crate::harness::{Client, Random, Server, Value};

const KEYS: &[&str] = &["a:1", "a:2", "a:3", "b:1", "b:2", "c"];

/// One connection in both servers.
struct Pair {
    real: Client,
    ours: Client,
    ids: (String, String),
    /// Whether messages may come between replies.
    is_resp3: bool,
}

struct Comparison {
    pairs: Vec<Pair>,
    history: Vec<String>,
    differences: Vec<String>,
}

fn open(real: &Server, ours: &Server, is_resp3: bool) -> Pair {
    let open = |server: &Server| {
        let mut client = server.client();
        if is_resp3 {
            client = client.with_resp3();
        }
        let id = client.call(["CLIENT", "ID"]).text();
        (client, id)
    };
    let ((real, real_id), (ours, our_id)) = (open(real), open(ours));
    Pair {
        real,
        ours,
        ids: (real_id, our_id),
        is_resp3,
    }
}

/// Connections that talk, and one of each protocol that only listens.
fn connect(real: &Server, ours: &Server) -> Vec<Pair> {
    let protocols = [true, true, false, false, true].into_iter();
    let mut pairs: Vec<Pair> = protocols
        .map(|is_resp3| open(real, ours, is_resp3))
        .collect();
    let Pair { real, ours, .. } = &mut pairs[TALKERS];
    for client in [real, ours] {
        client.call(["SUBSCRIBE", "__redis__:invalidate"]);
    }
    pairs
}

/// Connections that send random commands; the others only listen.
const TALKERS: usize = 3;

/// A word that stands for the id of a connection, which the servers number on their own.
fn id_word(index: usize) -> String {
    format!("@{index}")
}

fn random_tracking(random: &mut Random) -> String {
    if random.chance(25) {
        return "CLIENT TRACKING OFF".to_string();
    }
    let mut line = "CLIENT TRACKING ON".to_string();
    for (option, percent) in [("BCAST", 30), ("NOLOOP", 35), ("OPTIN", 15), ("OPTOUT", 15)] {
        if random.chance(percent) {
            line.push_str(&format!(" {option}"));
        }
    }
    if line.contains("BCAST") && random.chance(60) {
        let prefix = random.pick(&["a:", "b:", "a:1", "c", "zz", ""]);
        line.push_str(&format!(
            " PREFIX {}",
            if prefix.is_empty() { "\"\"" } else { prefix }
        ));
    }
    if random.chance(35) {
        let target = random.below(TALKERS + 2);
        line.push_str(&format!(" REDIRECT {}", id_word(target)));
    }
    line
}

fn random_line(random: &mut Random) -> String {
    let key = random.pick(KEYS);
    let other = random.pick(KEYS);
    match random.below(27) {
        0..6 => format!("GET {key}"),
        6 => format!("MGET {key} {other} {key}"),
        7 => format!("EXISTS {key} {other}"),
        8 => format!("TYPE {key}"),
        9..13 => format!("SET {key} {}", random.below(100)),
        13 => format!("DEL {key} {other}"),
        14 => format!("RENAME {key} {other}"),
        15 => format!("EXPIRE {key} 1000"),
        16 => format!("SETNX {key} 1"),
        17 => format!("MSET {key} 1 {other} 2"),
        18 => format!(
            "EVAL \"redis.call('get', KEYS[1]); return redis.call('set', KEYS[2], 1)\" 2 {key} {other}"
        ),
        19 => format!("EVAL_RO \"return redis.call('exists', KEYS[1])\" 1 {key}"),
        20 => "CLIENT CACHING YES".to_string(),
        21 => "CLIENT CACHING NO".to_string(),
        22 => "CLIENT TRACKINGINFO".to_string(),
        23 => "CLIENT GETREDIR".to_string(),
        24 => format!("GETEX {key} PERSIST"),
        _ => random_tracking(random),
    }
}

/// The lines that one connection sends in one piece.
fn random_lines(random: &mut Random) -> Vec<String> {
    let count = 1 + random.below(3);
    let mut lines: Vec<String> = (0..count).map(|_| random_line(random)).collect();
    let names_connection = |line: &String| line.contains("INFO") || line.contains("GETREDIR");
    if random.chance(20) && !lines.iter().any(names_connection) {
        if random.chance(15) {
            lines.push("FLUSHALL".to_string());
        }
        lines.insert(0, "MULTI".to_string());
        lines.push("EXEC".to_string());
    }
    lines
}

impl Comparison {
    /// Sends lines over one connection and compares what comes up to the reply of the last, messages included.
    fn send(&mut self, index: usize, lines: &[String]) {
        let split = |line: &str, at: fn(&Pair) -> &str| {
            let mut words = crate::harness::session::split(line).expect("the quotes are balanced");
            for word in &mut words {
                if let Some(target) = word.strip_prefix(b"@".as_slice()) {
                    let target: usize = String::from_utf8_lossy(target).parse().expect("an index");
                    *word = at(&self.pairs[target]).as_bytes().to_vec();
                }
            }
            words
        };
        let all = |at: fn(&Pair) -> &str| -> Vec<u8> {
            let words = lines.iter().map(|line| split(line, at));
            words
                .flat_map(|words| crate::harness::client::request(&words))
                .collect()
        };
        let (to_real, to_ours) = (all(|pair| &pair.ids.0), all(|pair| &pair.ids.1));
        self.history
            .push(format!("    {index}> {}", lines.join(" / ")));
        self.pairs[index].real.send_bytes(&to_real);
        self.pairs[index].ours.send_bytes(&to_ours);
        for line in lines {
            self.compare_reply(index, line);
        }
        // What others are told is on its way before a later command of theirs is answered.
        for index in 0..self.pairs.len() {
            self.pairs[index].real.send(["PING"]);
            self.pairs[index].ours.send(["PING"]);
            self.compare_reply(index, "PING");
        }
    }

    /// The last listener leaves, and another comes in its place.
    fn reconnect(&mut self, real: &Server, ours: &Server) {
        self.history
            .push("    (the last listener reconnects)".to_string());
        let mut leaving = self.pairs.pop().expect("there are listeners");
        for client in [&mut leaving.real, &mut leaving.ours] {
            assert_eq!(client.call(["QUIT"]), Value::ok());
            assert!(client.is_closed());
        }
        self.pairs.push(open(real, ours, true));
    }

    /// Compares one reply and the messages before it.
    fn compare_reply(&mut self, index: usize, line: &str) {
        let pair = &mut self.pairs[index];
        let is_resp3 = pair.is_resp3;
        let read = |client: &mut Client| {
            let mut values = Vec::new();
            loop {
                let value = client.read();
                let is_last = match &value {
                    Value::Push(_) => false,
                    Value::Array(items) if !is_resp3 => !is_message(items),
                    _ => true,
                };
                values.push(plain(line, value));
                if is_last {
                    return values;
                }
            }
        };
        let real = read(&mut pair.real);
        let ours = read(&mut pair.ours);
        if real != ours {
            let from = self.history.len().saturating_sub(14);
            self.differences.push(format!(
                "{}\n  {index}> {line}\n    real {}\n    ours {}",
                self.history[from..].join("\n"),
                cut(&format!("{real:?}")),
                cut(&format!("{ours:?}"))
            ));
        }
    }
}

/// A reply or message with what the servers may say in their own way made alike: the numbers of connections, of which
/// only the sign stays, and no value in the form of the wrong protocol, which 8.2.3 sends through redirections.
fn plain(line: &str, value: Value) -> Value {
    let names_connections = line.starts_with("CLIENT");
    let part = |value: Value, is_message: bool| match value {
        Value::Integer(id) if names_connections || is_message => Value::Integer(id.signum()),
        Value::NullBulk if is_message => Value::Null,
        other => other,
    };
    match value {
        Value::Integer(_) => part(value, false),
        Value::Map(pairs) => {
            let pairs = pairs.into_iter();
            Value::Map(
                pairs
                    .map(|(name, value)| (name, part(value, false)))
                    .collect(),
            )
        }
        Value::Push(items) => Value::Push(items.into_iter().map(|item| part(item, true)).collect()),
        Value::Array(items) => {
            let is_message = is_message(&items);
            Value::Array(
                items
                    .into_iter()
                    .map(|item| part(item, is_message))
                    .collect(),
            )
        }
        other => other,
    }
}

fn is_message(items: &[Value]) -> bool {
    items.first() == Some(&Value::bulk("message"))
}

#[test]
fn invalidations_come_as_from_the_real_server() {
    let Some(real) = Server::start_real(Real::Redis8) else {
        return;
    };
    let ours = Server::start();
    let seed = Random::seed();
    let mut random = Random::new(seed);
    let mut comparison = Comparison {
        pairs: connect(&real, &ours),
        history: Vec::new(),
        differences: Vec::new(),
    };
    let deadline = Instant::now() + Duration::from_secs(SECONDS_MAX);
    let mut steps = 0;
    while steps < STEPS_MAX && Instant::now() < deadline && comparison.differences.is_empty() {
        if random.chance(2) {
            comparison.reconnect(&real, &ours);
        }
        let lines = random_lines(&mut random);
        comparison.send(random.below(TALKERS), &lines);
        steps += 1;
    }
    eprintln!("{steps} steps");
    let differences = comparison.differences;
    assert!(
        differences.is_empty(),
        "RANKD_SEED={seed}:\n{}\n",
        differences.join("\n")
    );
}
