//! What MONITOR shows, in which order, and what it hides.

use crate::harness::Server;
use crate::harness::client::Client;

/// Plays the commands and gives what MONITOR shows of them, without times and addresses.
fn shown(commands: &[&[&str]]) -> Vec<String> {
    let server = Server::start();
    let mut monitor = server.client();
    monitor.call(["MONITOR"]);
    let mut client: Client = server.client();
    for command in commands {
        client.call(*command);
    }
    client.call(["ECHO", "end"]);
    let mut lines = Vec::new();
    loop {
        let line = monitor.read().text();
        let (place, words) = line.split_once("] ").expect("a line of MONITOR");
        if words == r#""ECHO" "end""# {
            return lines;
        }
        let source = place.rsplit_once('[').expect("a place").1;
        let source = source.replace(|c: char| c.is_ascii_digit() || c == '.', "");
        lines.push(format!("{}{words}", source.trim_start()));
    }
}

#[test]
fn exec_stands_behind_its_commands() {
    let seen = shown(&[&["MULTI"], &["SET", "a", "b"], &["GET", "a"], &["EXEC"]]);
    let expected = [
        r#":"MULTI""#,
        r#":"SET" "a" "b""#,
        r#":"GET" "a""#,
        r#":"EXEC""#,
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_script_stands_before_what_it_calls() {
    let seen = shown(&[&["EVAL", "return redis.call('get', 'a')", "0"]]);
    let expected = [
        r#":"EVAL" "return redis.call('get', 'a')" "0""#,
        r#"lua"get" "a""#,
    ];
    assert_eq!(seen, expected);
}

#[test]
fn passwords_are_hidden() {
    let seen = shown(&[
        &["AUTH", "default", "secret"],
        &["HELLO", "2", "AUTH", "default", "secret", "SETNAME", "me"],
        &["CONFIG", "GET", "port"],
    ]);
    let expected = [
        r#":"AUTH" "(redacted)" "(redacted)""#,
        r#":"HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "me""#,
    ];
    assert_eq!(seen, expected);
}

#[test]
fn the_slow_log_hides_passwords_too() {
    let server = Server::start();
    let mut client = server.client();
    client.call(["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    client.call(["CONFIG", "SET", "masterauth", "secret"]);
    let log = format!("{:?}", client.call(["SLOWLOG", "GET"]));
    assert!(
        log.contains("masterauth") && !log.contains("secret"),
        "{log}"
    );
}
