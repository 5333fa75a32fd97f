//! A disk without room under a running server: what clients are told, and how it goes on when there is room again.
//!
//! The disk is made full by a limit on the size of files that is lifted later.

use super::{JOB_WAIT, digest, folder, info, start, wait_for};
use crate::harness::server::rankd_program;
use crate::harness::{Client, Server, Value};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A server whose files may not be longer than so many KiB.
fn start_limited(folder: &Path, kib: u32, settings: &[&str]) -> Server {
    let mut command = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -S -f {kib}; exec \"$0\" \"$@\"");
    command
        .args(["-c", &script])
        .arg(rankd_program())
        .args(["--port", "0", "--enable-debug-command", "yes"])
        .args(settings);
    Server::spawn(command, folder, None)
        .unwrap_or_else(|output| panic!("rankd did not start:\n{output}"))
}

/// Gives the disk room.
fn lift(server: &Server) {
    let status = Command::new("prlimit")
        .args(["--pid", &server.pid().to_string(), "--fsize=unlimited:"])
        .status()
        .expect("prlimit runs");
    assert!(status.success());
}

/// Writes until a write is refused; the refusal, and how many were acknowledged.
fn write_until_refused(client: &mut Client) -> (String, usize) {
    let started = Instant::now();
    let text = "x".repeat(1_000);
    for number in 0.. {
        assert!(started.elapsed() < JOB_WAIT, "no write was refused");
        let reply = client.call(["SET", &format!("key{number}"), &text]);
        if reply.is_error() {
            return (reply.text(), number);
        }
    }
    unreachable!("the loop has no end")
}

/// Tries a write until it is taken.
fn write_again(client: &mut Client) {
    let started = Instant::now();
    while client.line("SET again 1") != Value::ok() {
        assert!(started.elapsed() < JOB_WAIT, "writes stay refused");
        std::thread::yield_now();
    }
}

#[test]
fn a_log_without_room_refuses_writes_and_recovers() {
    let folder = folder();
    let settings = [
        "--save",
        "",
        "--appendonly",
        "yes",
        "--auto-aof-rewrite-percentage",
        "0",
    ];
    let server = start_limited(folder.path(), 64, &settings);
    let mut client = server.client();
    let (refusal, _) = write_until_refused(&mut client);
    assert_eq!(
        refusal,
        "MISCONF Errors writing to the AOF file: File too large"
    );
    assert_eq!(client.line("PING").text(), refusal);
    assert_eq!(client.line("STRLEN key0"), Value::Integer(1_000));
    assert_eq!(
        info(&mut client, "persistence", "aof_last_write_status"),
        "err"
    );
    lift(&server);
    write_again(&mut client);
    assert_eq!(
        info(&mut client, "persistence", "aof_last_write_status"),
        "ok"
    );
    assert_eq!(client.line("WAITAOF 1 0 0").items()[0], Value::Integer(1));
    let wanted = digest(&mut client);
    drop(server);
    let server = start(folder.path(), &settings);
    assert_eq!(digest(&mut server.client()), wanted);
}

#[test]
fn with_fsync_always_a_log_without_room_ends_the_server_before_the_reply() {
    let folder = folder();
    let settings = [
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
    ];
    let server = start_limited(folder.path(), 64, &settings);
    let mut client = server.client();
    let text = "x".repeat(1_000);
    let mut acknowledged = 0;
    loop {
        client.send(["SET", &format!("key{acknowledged}"), &text]);
        match client.try_read() {
            Ok(reply) => assert_eq!(reply, Value::ok()),
            Err(_) => break,
        }
        acknowledged += 1;
    }
    let (code, output) = server.wait();
    assert_eq!(code, Some(1), "{output}");
    assert!(
        output.contains("Can't recover from AOF write error"),
        "{output}"
    );
    let server = start(folder.path(), &settings);
    assert_eq!(server.client().line("DBSIZE"), Value::Integer(acknowledged));
}

#[test]
fn a_snapshot_without_room_refuses_writes_and_recovers() {
    let folder = folder();
    let settings = [
        "--save",
        "3600 1000000",
        "--appendonly",
        "no",
        "--rdbcompression",
        "no",
    ];
    let server = start_limited(folder.path(), 64, &settings);
    let mut client = server.client();
    for number in 0..100 {
        client.call(["SET", &format!("key{number}"), &"x".repeat(1_000)]);
    }
    assert_eq!(client.call(["SAVE"]).text(), "ERR");
    client.call(["BGSAVE"]);
    wait_for(&mut client, "persistence", "rdb_last_bgsave_status", "err");
    let refusal = client.line("SET a 1").text();
    assert!(
        refusal.starts_with("MISCONF Redis is configured to save RDB snapshots"),
        "{refusal}"
    );
    assert_eq!(client.line("STRLEN key0"), Value::Integer(1_000));
    assert_eq!(
        client.line("CONFIG SET stop-writes-on-bgsave-error no"),
        Value::ok()
    );
    write_again(&mut client);
    assert_eq!(
        client.line("CONFIG SET stop-writes-on-bgsave-error yes"),
        Value::ok()
    );
    lift(&server);
    client.call(["BGSAVE"]);
    wait_for(&mut client, "persistence", "rdb_last_bgsave_status", "ok");
    write_again(&mut client);
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 1, "only the snapshot stays");
}
