//! A host with a handful of commands over maps, answering as a server would.

use std::collections::BTreeMap;

use crate::resp::{Args, Protocol, Reply};
use crate::script::{LogLevel, Replication, ScriptHost, Verdict};

pub enum Value {
    Text(Vec<u8>),
    List(Vec<Vec<u8>>),
    /// In the order of insertion, as small hashes answer.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    Board(BTreeMap<Vec<u8>, f64>),
    Set(BTreeMap<Vec<u8>, ()>),
}

#[derive(Default)]
pub struct FakeHost {
    pub data: BTreeMap<Vec<u8>, Value>,
    pub logged: Vec<(LogLevel, Vec<u8>)>,
    pub replication: Vec<Replication>,
    pub pauses: usize,
    /// The pause that is answered with `Kill`, and all after it.
    pub kill_at: Option<usize>,
    pub panic_on_call: bool,
    /// PING arms the host: every pause after it is answered with `Kill`.
    pub kill_after_ping: bool,
    pub was_pinged: bool,
}

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

impl ScriptHost for FakeHost {
    fn call(&mut self, args: Args<'_>, out: &mut Reply) {
        assert!(!self.panic_on_call, "the host was told to panic");
        let name = args.name().to_ascii_lowercase();
        let arity: i64 = match name.as_slice() {
            b"ping" => -1,
            b"get" | b"hgetall" | b"smembers" | b"echo" | b"exists" | b"incr" | b"select" => 2,
            b"set" | b"hset" | b"rpush" | b"sadd" | b"zadd" | b"mget" | b"blpop" | b"lpush" => -2,
            b"hget" | b"zscore" | b"zrevrank" => 3,
            b"lrange" | b"zincrby" => 4,
            b"zrange" | b"zrevrange" | b"zrevrangebyscore" => -4,
            b"multi" | b"eval" | b"subscribe" | b"debug" => {
                return out.error("ERR This Redis command is not allowed from script");
            }
            _ => return out.error("ERR Unknown Redis command called from script"),
        };
        let given = args.len() as i64;
        if (arity > 0 && given != arity) || given < arity.abs() {
            return out.error("ERR Wrong number of args calling Redis command from script");
        }
        self.dispatch(&name, args, out);
        self.data.retain(|_, value| match value {
            Value::Text(_) => true,
            Value::List(list) => !list.is_empty(),
            Value::Hash(hash) => !hash.is_empty(),
            Value::Board(board) => !board.is_empty(),
            Value::Set(set) => !set.is_empty(),
        });
    }

    fn log(&mut self, level: LogLevel, message: &[u8]) {
        self.logged.push((level, message.to_vec()));
    }

    fn acl_check(&mut self, args: Args<'_>) -> Option<bool> {
        matches!(args.name(), b"set" | b"get").then_some(true)
    }

    fn set_replication(&mut self, replication: Replication) {
        self.replication.push(replication);
    }

    fn pause_point(&mut self) -> Verdict {
        self.pauses += 1;
        let kills = self.kill_after_ping && self.was_pinged;
        if kills || self.kill_at.is_some_and(|at| self.pauses >= at) {
            Verdict::Kill
        } else {
            Verdict::Continue
        }
    }
}

impl FakeHost {
    fn dispatch(&mut self, name: &[u8], args: Args<'_>, out: &mut Reply) {
        match name {
            b"ping" => {
                self.was_pinged = true;
                out.simple("PONG");
            }
            b"select" => out.ok(),
            b"echo" => out.bulk(args.arg(1)),
            b"blpop" => out.null_array(),
            b"exists" => out.integer(i64::from(self.data.contains_key(args.arg(1)))),
            b"set" => self.set(args, out),
            b"get" | b"incr" => self.text_command(name, args, out),
            b"mget" => {
                out.array(args.len() - 1);
                for key in args.from(1).iter() {
                    match self.data.get(key) {
                        Some(Value::Text(text)) => out.bulk(text),
                        _ => out.null(),
                    }
                }
            }
            b"hset" | b"hget" | b"hgetall" => self.hash_command(name, args, out),
            b"rpush" | b"lpush" | b"lrange" => self.list_command(name, args, out),
            b"sadd" | b"smembers" => self.set_command(name, args, out),
            _ => self.board_command(name, args, out),
        }
    }

    fn set(&mut self, args: Args<'_>, out: &mut Reply) {
        if args.len() < 3 {
            return out.error("ERR Wrong number of args calling Redis command from script");
        }
        if args.len() > 3 {
            return out.error("ERR syntax error");
        }
        let value = Value::Text(args.arg(2).to_vec());
        self.data.insert(args.arg(1).to_vec(), value);
        out.ok();
    }

    fn text_command(&mut self, name: &[u8], args: Args<'_>, out: &mut Reply) {
        let entry = self.data.get_mut(args.arg(1));
        match (name, entry) {
            (b"get", None) => out.null(),
            (b"get", Some(Value::Text(text))) => out.bulk(text),
            (b"incr", None) => {
                self.data
                    .insert(args.arg(1).to_vec(), Value::Text(b"1".to_vec()));
                out.integer(1);
            }
            (b"incr", Some(Value::Text(text))) => match crate::resp::number::parse_i64(text) {
                Some(value) => {
                    *text = (value + 1).to_string().into_bytes();
                    out.integer(value + 1);
                }
                None => out.error("ERR value is not an integer or out of range"),
            },
            _ => out.error(WRONG_TYPE),
        }
    }

    fn hash_command(&mut self, name: &[u8], args: Args<'_>, out: &mut Reply) {
        let make = || Value::Hash(Vec::new());
        let Value::Hash(hash) = self.data.entry(args.arg(1).to_vec()).or_insert_with(make) else {
            return out.error(WRONG_TYPE);
        };
        let place = |hash: &[(Vec<u8>, Vec<u8>)], name: &[u8]| {
            hash.iter().position(|(field, _)| field == name)
        };
        match name {
            b"hset" => {
                let before = hash.len();
                for index in (2..args.len() - 1).step_by(2) {
                    let value = args.arg(index + 1).to_vec();
                    match place(hash, args.arg(index)) {
                        Some(at) => hash[at].1 = value,
                        None => hash.push((args.arg(index).to_vec(), value)),
                    }
                }
                out.integer((hash.len() - before) as i64);
            }
            b"hget" => match place(hash, args.arg(2)) {
                Some(at) => out.bulk(&hash[at].1),
                None => out.null(),
            },
            _ => {
                out.map(hash.len());
                for (field, value) in hash.iter() {
                    out.bulk(field);
                    out.bulk(value);
                }
            }
        }
    }

    fn list_command(&mut self, name: &[u8], args: Args<'_>, out: &mut Reply) {
        let make = || Value::List(Vec::new());
        let Value::List(list) = self.data.entry(args.arg(1).to_vec()).or_insert_with(make) else {
            return out.error(WRONG_TYPE);
        };
        if name == b"lrange" {
            out.array(list.len());
            list.iter().for_each(|element| out.bulk(element));
            return;
        }
        for element in args.from(2).iter() {
            let at = if name == b"rpush" { list.len() } else { 0 };
            list.insert(at, element.to_vec());
        }
        out.integer(list.len() as i64);
    }

    fn set_command(&mut self, name: &[u8], args: Args<'_>, out: &mut Reply) {
        let make = || Value::Set(BTreeMap::new());
        let Value::Set(set) = self.data.entry(args.arg(1).to_vec()).or_insert_with(make) else {
            return out.error(WRONG_TYPE);
        };
        let before = set.len();
        if name == b"sadd" {
            set.extend(args.from(2).iter().map(|member| (member.to_vec(), ())));
            return out.integer((set.len() - before) as i64);
        }
        out.set(set.len());
        set.keys().for_each(|member| out.bulk(member));
    }

    fn board_command(&mut self, name: &[u8], args: Args<'_>, out: &mut Reply) {
        let make = || Value::Board(BTreeMap::new());
        let Value::Board(board) = self.data.entry(args.arg(1).to_vec()).or_insert_with(make) else {
            return out.error(WRONG_TYPE);
        };
        let number = |text: &[u8]| crate::resp::number::parse_double(text).unwrap_or(0.0);
        let mut rows: Vec<(f64, Vec<u8>)> = board
            .iter()
            .map(|(member, score)| (*score, member.clone()))
            .collect();
        rows.sort_by(|a, b| a.partial_cmp(b).expect("scores are numbers"));
        match name {
            b"zadd" => {
                board.insert(args.arg(3).to_vec(), number(args.arg(2)));
                out.integer(1);
            }
            b"zincrby" => {
                let score = board.entry(args.arg(3).to_vec()).or_insert(0.0);
                *score += number(args.arg(2));
                out.score(*score);
            }
            b"zscore" => match board.get(args.arg(2)) {
                Some(score) => out.score(*score),
                None => out.null(),
            },
            b"zrevrank" => {
                match rows
                    .iter()
                    .rev()
                    .position(|(_, member)| member == args.arg(2))
                {
                    Some(rank) => out.integer(rank as i64),
                    None => out.null(),
                }
            }
            _ => {
                if name != b"zrange" {
                    rows.reverse();
                }
                if name == b"zrevrangebyscore" {
                    let (max, min) = (number(args.arg(2)), number(args.arg(3)));
                    rows.retain(|(score, _)| (min..=max).contains(score));
                    rows.truncate(1);
                }
                let with_scores = args
                    .iter()
                    .any(|arg| arg.eq_ignore_ascii_case(b"withscores"));
                write_rows(&rows, with_scores, out);
            }
        }
    }
}

fn write_rows(rows: &[(f64, Vec<u8>)], with_scores: bool, out: &mut Reply) {
    let pairs = with_scores && out.protocol() == Protocol::Resp3;
    out.array(if with_scores && !pairs {
        rows.len() * 2
    } else {
        rows.len()
    });
    for (score, member) in rows {
        if pairs {
            out.array(2);
        }
        out.bulk(member);
        if with_scores {
            out.score(*score);
        }
    }
}
