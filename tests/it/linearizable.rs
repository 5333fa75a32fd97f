//! Clients at once on several network threads: what they saw has to fit one order of their commands that keeps to
//! what was over before something else began.
//!
//! The check is the search of Wing and Gong: commands that may come next are tried in turn, and a set of done
//! commands with the state they leave is not tried twice.

use crate::harness::{Client, Random, Server, Value};
use std::collections::HashSet;
use std::sync::Barrier;
use std::time::{Duration, Instant};

const MEMBERS: [&str; 3] = ["a", "b", "c"];
const CLIENTS: usize = 5;
/// Commands of each client in one history; all of them have to fit the bits of a u64.
const COMMANDS: usize = 10;
const TIME_MAX: Duration = Duration::from_secs(12);

/// Scores of the members that the board holds.
type State = [Option<i64>; MEMBERS.len()];

#[derive(Clone, Debug)]
enum Command {
    /// ZINCRBY.
    Add(usize, i64),
    /// ZSCORE.
    Score(usize),
    /// ZRANGE of all with scores.
    All,
    /// Two ZINCRBY in one transaction.
    Move(usize, usize),
    /// A script that takes a point from one member and gives it to another if the first has any.
    Give(usize, usize),
    /// BZPOPMIN with a short timeout.
    Pop,
}

const GIVE: &str = "local have = redis.call('ZSCORE', KEYS[1], ARGV[1]) \
     if not have or tonumber(have) < 1 then return 'none' end \
     redis.call('ZINCRBY', KEYS[1], -1, ARGV[1]) \
     return redis.call('ZINCRBY', KEYS[1], 1, ARGV[2])";

impl Command {
    fn random(random: &mut Random) -> Self {
        let (one, other) = (random.below(MEMBERS.len()), random.below(MEMBERS.len()));
        match random.below(12) {
            0..3 => Command::Add(one, random.between(-2, 3)),
            3..5 => Command::Score(one),
            5..8 => Command::All,
            8 => Command::Move(one, other),
            9..11 => Command::Give(one, other),
            _ => Command::Pop,
        }
    }

    fn run(&self, client: &mut Client) -> String {
        let reply = match *self {
            Command::Add(member, by) => {
                client.call(["ZINCRBY", "board", &by.to_string(), MEMBERS[member]])
            }
            Command::Score(member) => client.call(["ZSCORE", "board", MEMBERS[member]]),
            Command::All => client.call(["ZRANGE", "board", "0", "-1", "WITHSCORES"]),
            Command::Move(from, to) => {
                client.send(["MULTI"]);
                client.send(["ZINCRBY", "board", "-1", MEMBERS[from]]);
                client.send(["ZINCRBY", "board", "1", MEMBERS[to]]);
                client.send(["EXEC"]);
                for _ in 0..3 {
                    client.read();
                }
                client.read()
            }
            Command::Give(from, to) => {
                client.call(["EVAL", GIVE, "1", "board", MEMBERS[from], MEMBERS[to]])
            }
            Command::Pop => client.call(["BZPOPMIN", "board", "0.02"]),
        };
        shown(&reply)
    }

    /// The reply that the command has in `state`, which it changes.
    fn expect(&self, state: &mut State) -> String {
        match *self {
            Command::Add(member, by) => add(state, member, by),
            Command::Score(member) => {
                state[member].map_or("nil".to_string(), |score| score.to_string())
            }
            Command::All => {
                let rows = ranked(state).into_iter();
                let rows = rows.map(|(score, member)| format!("{} {score}", MEMBERS[member]));
                rows.collect::<Vec<_>>().join(" ")
            }
            Command::Move(from, to) => {
                let first = add(state, from, -1);
                format!("{first} {}", add(state, to, 1))
            }
            Command::Give(from, to) => {
                if state[from].is_none_or(|score| score < 1) {
                    return "none".to_string();
                }
                add(state, from, -1);
                add(state, to, 1)
            }
            Command::Pop => match ranked(state).first() {
                Some(&(score, member)) => {
                    state[member] = None;
                    format!("board {} {score}", MEMBERS[member])
                }
                None => "nil".to_string(),
            },
        }
    }
}

/// What ZINCRBY does.
fn add(state: &mut State, member: usize, by: i64) -> String {
    let score = state[member].unwrap_or(0) + by;
    state[member] = Some(score);
    score.to_string()
}

fn ranked(state: &State) -> Vec<(i64, usize)> {
    let mut rows: Vec<(i64, usize)> = (0..MEMBERS.len())
        .filter_map(|member| Some((state[member]?, member)))
        .collect();
    rows.sort_unstable();
    rows
}

fn shown(reply: &Value) -> String {
    match reply {
        Value::NullBulk | Value::NullArray | Value::Null => "nil".to_string(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(" "),
        other => other.text(),
    }
}

/// A command that ran, with the reply that its client saw.
#[derive(Clone, Debug)]
struct Ran {
    command: Command,
    reply: String,
    began: Instant,
    ended: Instant,
}

/// Whether some order of the commands explains all replies, from an empty board on.
fn is_linearizable(history: &[Ran]) -> bool {
    fn search(history: &[Ran], done: u64, state: State, tried: &mut HashSet<(u64, State)>) -> bool {
        let left = || (0..history.len()).filter(|index| done >> index & 1 == 0);
        let Some(first_end) = left().map(|index| history[index].ended).min() else {
            return true;
        };
        if !tried.insert((done, state)) {
            return false;
        }
        left()
            .filter(|&index| history[index].began <= first_end)
            .any(|index| {
                let mut after = state;
                let reply = history[index].command.expect(&mut after);
                reply == history[index].reply && search(history, done | 1 << index, after, tried)
            })
    }
    search(history, 0, State::default(), &mut HashSet::new())
}

fn record(server: &Server, seed: u64) -> Vec<Ran> {
    let barrier = Barrier::new(CLIENTS);
    let mut history = Vec::new();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (barrier, mut client) = (&barrier, server.client());
                scope.spawn(move || {
                    let mut random = Random::new(seed * 31 + number as u64);
                    barrier.wait();
                    let run = |_| {
                        let command = Command::random(&mut random);
                        let began = Instant::now();
                        let reply = command.run(&mut client);
                        let ended = Instant::now();
                        Ran {
                            command,
                            reply,
                            began,
                            ended,
                        }
                    };
                    (0..COMMANDS).map(run).collect::<Vec<_>>()
                })
            })
            .collect();
        for client in clients {
            history.extend(client.join().expect("a client that ends"));
        }
    });
    history
}

#[test]
fn what_clients_on_several_threads_see_fits_one_order() {
    let server = Server::start_with(&["--io-threads", "4"]);
    let seed = Random::seed();
    let start = Instant::now();
    let mut histories = 0;
    while start.elapsed() < TIME_MAX && histories < 400 {
        assert_eq!(server.client().call(["FLUSHALL"]), Value::ok());
        let history = record(&server, seed + histories);
        assert!(
            is_linearizable(&history),
            "history {histories}: {history:#?}"
        );
        histories += 1;
    }
    assert!(histories > 0);
}

/// Commands of which each ends before the next begins.
fn one_after_the_other(commands: &[(Command, &str)]) -> Vec<Ran> {
    let start = Instant::now();
    let at = |step: usize| start + Duration::from_millis(step as u64);
    let steps = commands.iter().enumerate();
    let ran = steps.map(|(index, (command, reply))| Ran {
        command: command.clone(),
        reply: (*reply).to_string(),
        began: at(2 * index),
        ended: at(2 * index + 1),
    });
    ran.collect()
}

#[test]
fn the_check_refuses_what_no_order_explains() {
    let right = [
        (Command::Add(0, 2), "2"),
        (Command::Give(0, 1), "1"),
        (Command::All, "a 1 b 1"),
        (Command::Move(1, 1), "0 1"),
        (Command::Pop, "board a 1"),
        (Command::Score(0), "nil"),
    ];
    let history = one_after_the_other(&right);
    assert!(is_linearizable(&history));
    for index in 0..history.len() {
        let mut wrong = history.clone();
        wrong[index].reply.push('7');
        assert!(!is_linearizable(&wrong), "reply {index}");
    }
    // A read that misses what was over before it began is wrong, and right where the two met.
    let mut stale = one_after_the_other(&[(Command::Add(0, 2), "2"), (Command::Score(0), "nil")]);
    assert!(!is_linearizable(&stale));
    stale[1].began = stale[0].began;
    assert!(is_linearizable(&stale));
}
