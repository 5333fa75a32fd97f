//! Keys past their deadline go when a command names them, on one network thread and on several.

use crate::harness::{Client, Server, Value};

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

/// Waits until a deadline has passed by the clock of the server, which is asked without naming the key.
fn pass(client: &mut Client, deadline_ms: i64) {
    let now_ms = |client: &mut Client| {
        let time = client.line("TIME").items();
        let number = |at: usize| time[at].text().parse::<i64>().expect("a number");
        number(0) * 1_000 + number(1) / 1_000
    };
    while now_ms(client) <= deadline_ms {}
}

fn read_after_the_deadline(threads: &str) {
    let server = Server::start_with(&["--io-threads", threads]);
    let mut client = server.client();
    client.line("DEBUG SET-ACTIVE-EXPIRE 0");
    for command in READERS {
        client.line("PSETEX k 20 v");
        let Value::Integer(deadline_ms) = client.line("PEXPIRETIME k") else {
            panic!("the key has a deadline");
        };
        pass(&mut client, deadline_ms);
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
