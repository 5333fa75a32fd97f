//! Sessions written down as redis-cli prints them, and the player that checks a server against them.
//!
//! ```text
//! # A comment; blank lines separate.
//! > ZADD board 3 ann 5 bob
//! (integer) 2
//! b> BZPOPMIN queue 0 &
//! > ZADD queue 1 job
//! (integer) 1
//! b> wait
//! 1) "queue"
//! 2) "job"
//! 3) "1"
//! ```
//!
//! - `> ` (or redis-cli's own `127.0.0.1:6379> `) starts a command of the first client, `b> ` one of a client named b.
//! - The lines up to the next blank line or command are the reply, exactly; one line `~ pattern` is a reply where
//!   `*` stands for anything.
//! - A command that ends in ` &` is sent only, and the player goes on when the server counts it as blocked; `wait`
//!   reads a reply that is owed.
//! - A word `@name.lua` is the text of that file beside the session.
//! - `$ redis-cli --eval FILE key ... , arg ...` is EVAL with a file, as the shell would call it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::client::Client;
use super::value::Value;

/// Longest wait for the server to count a client as blocked.
const BLOCKED_WAIT: Duration = Duration::from_secs(10);

pub struct Step {
    pub line: usize,
    pub client: String,
    pub command: String,
    pub expected: String,
}

/// The commands of a session with the replies they must get.
pub fn parse(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        if let Some((client, command)) = prompt(line) {
            let command = command.trim().to_string();
            steps.push(Step {
                line: index + 1,
                client,
                command,
                expected: String::new(),
            });
            open = true;
        } else if line.trim().is_empty() || (!open && line.starts_with('#')) {
            open = false;
        } else if let Some(step) = steps.last_mut().filter(|_| open) {
            if !step.expected.is_empty() {
                step.expected.push('\n');
            }
            step.expected.push_str(line);
        }
    }
    steps
}

/// The client and command of a line that starts with a prompt.
fn prompt(line: &str) -> Option<(String, String)> {
    if let Some(shell) = line.strip_prefix("$ redis-cli ") {
        return Some((String::new(), shell_command(shell)));
    }
    let (name, command) = line.split_once("> ")?;
    let name = if name == "127.0.0.1:6379" { "" } else { name };
    name.bytes()
        .all(|byte| byte.is_ascii_lowercase())
        .then(|| (name.to_string(), command.to_string()))
}

/// `--eval FILE key ... , arg ...` as the EVAL that redis-cli makes of it; other words as they are.
fn shell_command(words: &str) -> String {
    let Some(rest) = words.strip_prefix("--eval ") else {
        return words.to_string();
    };
    let (file, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let (keys, args) = rest.split_once(", ").unwrap_or((rest, ""));
    format!(
        "EVAL @{file} {} {keys} {args}",
        keys.split_whitespace().count()
    )
}

/// How a command reaches the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Plain,
    /// Each command alone in MULTI and EXEC.
    Transaction,
    /// Each command from a script that passes it on.
    Script,
}

/// A script that sends its arguments as a command.
const PASS_ON: &str = "return redis.call(unpack(ARGV))";

/// Plays a session and returns what differs, one text a step.
pub fn play(text: &str, folder: &Path, port: u16, way: Way) -> Vec<String> {
    let mut clients: BTreeMap<String, Client> = BTreeMap::new();
    let mut blocked = 0;
    let mut differences = Vec::new();
    for step in parse(text) {
        let client = clients
            .entry(step.client.clone())
            .or_insert_with(|| Client::connect(port));
        if let Some(command) = step.command.strip_suffix(" &") {
            client.send(words(command, folder));
            blocked += 1;
            wait_for_blocked(port, blocked);
            continue;
        }
        let got = if step.command == "wait" {
            blocked = usize::saturating_sub(blocked, 1);
            client.try_read()
        } else {
            call(client, words(&step.command, folder), way)
        };
        let got = match got {
            Ok(reply) => reply.show(),
            Err(e) => {
                // What follows would only wait as long again.
                differences.push(format!(
                    "line {}: {}: no reply: {e}",
                    step.line, step.command
                ));
                break;
            }
        };
        let agrees = match way {
            Way::Script => in_script_agrees(&step.expected, &got),
            _ => matches(&step.expected, &got),
        };
        if !agrees {
            differences.push(format!(
                "line {}: {}\n  expected {}\n  got      {got}",
                step.line, step.command, step.expected
            ));
        }
    }
    differences
}

fn call(client: &mut Client, words: Vec<Vec<u8>>, way: Way) -> io::Result<Value> {
    match way {
        Way::Plain => client.send(words),
        Way::Script => {
            let script = [&b"EVAL"[..], PASS_ON.as_bytes(), b"0"].map(<[u8]>::to_vec);
            client.send([script.to_vec(), words].concat());
        }
        Way::Transaction => {
            client.call(["MULTI"]);
            client.send(words);
            let queued = client.try_read()?;
            if queued.is_error() {
                client.call(["DISCARD"]);
                return Ok(queued);
            }
            return Ok(match client.call(["EXEC"]) {
                Value::Array(mut replies) if replies.len() == 1 => replies.remove(0),
                other => other,
            });
        }
    }
    client.try_read()
}

/// Whether a reply that went through a script says the same: an error gets a word about the script behind it, and
/// too few arguments are told in other words.
fn in_script_agrees(expected: &str, got: &str) -> bool {
    let (got, _) = got.split_once(" script: ").unwrap_or((got, ""));
    let too_few = expected.starts_with("(error) ERR wrong number of arguments")
        && got == "(error) ERR Wrong number of args calling Redis command from script";
    too_few || matches(expected, got)
}

fn words(command: &str, folder: &Path) -> Vec<Vec<u8>> {
    let words = split(command).unwrap_or_else(|| panic!("unbalanced quotes in {command}"));
    words
        .into_iter()
        .map(|word| script_text(&word, folder).unwrap_or(word))
        .collect()
}

fn script_text(word: &[u8], folder: &Path) -> Option<Vec<u8>> {
    let name = std::str::from_utf8(word).ok()?.strip_prefix('@')?;
    let path = folder.join(name);
    name.ends_with(".lua")
        .then(|| std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// Asks until the server counts this many blocked clients; each question is a round trip, so nothing sleeps.
fn wait_for_blocked(port: u16, count: usize) {
    let wanted = format!("blocked_clients:{count}\r");
    let deadline = Instant::now() + BLOCKED_WAIT;
    let mut control = Client::connect(port);
    while !control.call(["INFO", "clients"]).text().contains(&wanted) {
        assert!(
            Instant::now() < deadline,
            "the server never counted {count} blocked clients"
        );
    }
}

fn matches(expected: &str, got: &str) -> bool {
    match expected.strip_prefix("~ ") {
        Some(pattern) => glob(pattern, got),
        None => expected == got,
    }
}

/// Whether the text is the pattern with `*` standing for anything.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Splits a line as redis-cli does: words, "..." with escapes, '...'. None if a quote is left open.
pub fn split(line: &str) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start().as_bytes();
    while !rest.is_empty() {
        let mut word = Vec::new();
        while let Some((&byte, after)) = rest.split_first() {
            rest = match byte {
                b'"' => double_quoted(after, &mut word)?,
                b'\'' => {
                    let end = after.iter().position(|&byte| byte == b'\'')?;
                    word.extend_from_slice(&after[..end]);
                    &after[end + 1..]
                }
                byte if byte.is_ascii_whitespace() => break,
                byte => {
                    word.push(byte);
                    after
                }
            };
        }
        words.push(word);
        rest = rest.trim_ascii_start();
    }
    Some(words)
}

/// Takes the text up to the closing quote; what follows it.
fn double_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (&byte, after) = rest.split_first()?;
        match byte {
            b'"' => return Some(after),
            b'\\' => {
                let (&escape, after) = after.split_first()?;
                rest = after;
                match escape {
                    b'x' => {
                        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
                        word.push(u8::from_str_radix(digits, 16).ok()?);
                        rest = &rest[2..];
                    }
                    b'n' => word.push(b'\n'),
                    b'r' => word.push(b'\r'),
                    b't' => word.push(b'\t'),
                    b'a' => word.push(7),
                    b'b' => word.push(8),
                    other => word.push(other),
                }
            }
            byte => {
                word.push(byte);
                rest = after;
            }
        }
    }
}

#[test]
fn a_session_is_split_as_redis_cli_splits() {
    let words = split(r#"SET "a\x00b\n" 'c "d' e"f g""#).expect("balanced");
    assert_eq!(words, [&b"SET"[..], b"a\0b\n", b"c \"d", b"ef g"]);
    assert_eq!(split("\"open"), None);
}

#[test]
fn steps_carry_their_client_and_reply() {
    let steps = parse(
        "# note\n> PING\nPONG\nb> wait\n1) \"x\"\n2) \"y\"\n\n127.0.0.1:6379> GET a\n(nil)\n$ redis-cli --eval f.lua k1 k2 , v\n~ a*c\n",
    );
    let seen: Vec<_> = steps
        .iter()
        .map(|step| {
            (
                step.client.as_str(),
                step.command.as_str(),
                step.expected.as_str(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("", "PING", "PONG"),
            ("b", "wait", "1) \"x\"\n2) \"y\""),
            ("", "GET a", "(nil)"),
            ("", "EVAL @f.lua 2 k1 k2  v", "~ a*c"),
        ]
    );
    assert!(matches("~ a*c*", "abcd") && !matches("~ a*c", "abcd") && matches("abcd", "abcd"));
}

#[test]
fn replies_are_shown_as_redis_cli_shows_them() {
    let inner = Value::Array(vec![Value::bulk("a\"b"), Value::Integer(2)]);
    let reply = Value::Array(vec![Value::Null, inner, Value::Error(b"ERR no".to_vec())]);
    assert_eq!(
        reply.show(),
        "1) (nil)\n2) 1) \"a\\\"b\"\n   2) (integer) 2\n3) (error) ERR no"
    );
}
