//! Keys past their deadline go when a command names them, on one network thread and on several.

use std::thread;
use std::time::Duration;

use crate::harness::{Server, Value};

/// Commands that read a key.
const READERS: &[&str] = &[
    "GET k",
    "MGET k other",
    "EXISTS k",
    "TTL k",
    "TYPE k",
    "STRLEN k",
    "ZRANGE k 0 -1",
    "OBJECT ENCODING k",
    "TOUCH k",
    "ZUNION 2 other k",
    "SORT_RO k",
];

/// Twice the precision of deadlines.
const PAST: Duration = Duration::from_millis(3);

fn read_after_the_deadline(threads: &str) {
    let server = Server::start_with(&["--io-threads", threads]);
    let mut client = server.client();
    client.line("DEBUG SET-ACTIVE-EXPIRE 0");
    for command in READERS {
        client.line("PSETEX k 1 v");
        thread::sleep(PAST);
        assert_eq!(client.line("DBSIZE"), Value::Integer(1), "{command}");
        client.line(command);
        assert_eq!(
            client.line("DBSIZE"),
            Value::Integer(0),
            "{command} with {threads} threads"
        );
    }
    let stats = client.line("INFO stats").text();
    assert!(!stats.contains("\r\nexpired_keys:0\r\n"), "{stats}");
}

#[test]
fn a_reader_removes_the_expired_keys_that_it_names() {
    read_after_the_deadline("1");
}

#[test]
fn a_reader_among_others_removes_the_expired_keys_that_it_names() {
    read_after_the_deadline("3");
}
