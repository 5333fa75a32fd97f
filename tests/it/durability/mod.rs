//! What is on the disk: files there and back, with real servers, through crashes and on disks that fail.

mod broken;
mod crash;
mod damage;
mod forms;
mod full_disk;
mod functions;
mod payloads;
mod programs;
mod replication;
mod streams;

use crate::harness::{Client, Server, Value};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait for a background job, far above any honest one.
const JOB_WAIT: Duration = Duration::from_secs(180);

/// Settings of a server without a log that writes snapshots only when told to.
const SNAPSHOT: &[&str] = &["--save", "", "--appendonly", "no"];

/// Settings of a server with a log.
const LOG: &[&str] = &["--save", "", "--appendonly", "yes"];

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

fn start(folder: &Path, settings: &[&str]) -> Server {
    Server::start_in(folder, settings)
        .unwrap_or_else(|output| panic!("rankd did not start:\n{output}"))
}

/// The value of a line of INFO.
fn info(client: &mut Client, section: &str, name: &str) -> String {
    let text = client.call(["INFO", section]).text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(|value| value.trim().to_string())
        .unwrap_or_else(|| panic!("no {name} in\n{text}"))
}

/// Waits until a line of INFO has a value.
fn wait_for(client: &mut Client, section: &str, name: &str, wanted: &str) {
    let started = Instant::now();
    while info(client, section, name) != wanted {
        assert!(started.elapsed() < JOB_WAIT, "{name} never was {wanted}");
        std::thread::yield_now();
    }
}

/// Rewrites the log and waits for its end.
fn rewrite(client: &mut Client) {
    let reply = client.call(["BGREWRITEAOF"]).text();
    assert!(
        reply.starts_with("Background append only file rewriting"),
        "{reply}"
    );
    wait_for(client, "persistence", "aof_rewrite_scheduled", "0");
    wait_for(client, "persistence", "aof_rewrite_in_progress", "0");
    assert_eq!(
        info(client, "persistence", "aof_last_bgrewrite_status"),
        "ok"
    );
}

fn digest(client: &mut Client) -> String {
    client.call(["DEBUG", "DIGEST"]).text()
}

/// The log's files whose names end so.
fn log_files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.join("appendonlydir")).expect("the log's folder");
    let mut found: Vec<PathBuf> = files
        .map(|file| file.expect("a file of the folder").path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    found.sort();
    found
}

/// Ends a server in order, so that what it keeps is on the disk.
fn shut_down(server: Server) {
    let mut client = server.client();
    client.send(["SHUTDOWN"]);
    assert!(client.is_closed());
    assert_eq!(server.wait().0, Some(0));
}

/// Writes values of every type, small and big, some with a deadline, in two databases.
fn fill(client: &mut Client) {
    for db in ["0", "9"] {
        assert_eq!(client.call(["SELECT", db]), Value::ok());
        client.line("SET text \"\\x00\\xff\\r\\n*3\"");
        client.line("SET number 12345");
        client.line("SET kept value PXAT 99999999999999");
        client.line("ZADD small 1 a 2.5 b -inf c inf d");
        client.line("HSET hash f v \"\\xfe\" w");
        client.line("SADD ints 1 2 3");
        client.line("RPUSH list a b c");
        for number in 0..700 {
            let number = number.to_string();
            client.call(["ZADD", "board", &format!("{number}.25"), &number]);
            client.call(["XADD", "feed", &format!("7-{number}1"), "n", &number]);
            client.call(["SADD", "set", &format!("member {number}")]);
            client.call(["HSET", "big", &number, &format!("value {number}")]);
            client.call(["RPUSH", "long", &number]);
        }
        client.line("XGROUP CREATE feed readers 0");
        client.line("XREADGROUP GROUP readers ann COUNT 150 STREAMS feed >");
        client.line("PEXPIREAT board 99999999999998");
    }
    assert_eq!(client.call(["SELECT", "0"]), Value::ok());
}
