//! Peers that follow the effect stream, and clients that wait until their writes are safe.

use super::{
    JOB_WAIT, LOG, SNAPSHOT, digest, fill, folder, info, rewrite, shut_down, start, wait_for,
};
use crate::harness::server::Real;
use crate::harness::{Client, Server, Value};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::Command;
use std::time::Instant;

/// The commands of a stream, one line each, up to one that is the last word.
fn commands_until(reader: &mut impl BufRead, last: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut header = String::new();
    let mut number = |reader: &mut dyn BufRead| {
        header.clear();
        reader.read_line(&mut header).expect("the stream goes on");
        header[1..].trim().parse::<usize>().expect("a length")
    };
    loop {
        let mut words = Vec::new();
        for _ in 0..number(reader) {
            let mut word = vec![0; number(reader) + 2];
            reader.read_exact(&mut word).expect("the stream goes on");
            words.push(String::from_utf8_lossy(&word[..word.len() - 2]).into_owned());
        }
        let line = words.join(" ");
        let ends = line.ends_with(last);
        // Pings and questions come by the clock.
        if line != "PING" && !line.starts_with("REPLCONF") {
            lines.push(line);
        }
        if ends {
            return lines;
        }
    }
}

/// A peer that follows, and what it reads behind the snapshot; the snapshot; the id that it was told.
fn follow(server: &Server) -> (Client, BufReader<TcpStream>, Vec<u8>, String) {
    let mut peer = server.client();
    peer.send(["PSYNC", "?", "-1"]);
    let stream = peer.stream().try_clone().expect("a second handle");
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect("an answer");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((words.len(), words[0]), (3, "+FULLRESYNC"), "{line}");
    let id = words[1].to_string();
    // Lines without anything only show that the link lives.
    while line.trim().is_empty() || line.starts_with('+') {
        line.clear();
        reader.read_line(&mut line).expect("a length");
    }
    let len: usize = line[1..].trim().parse().expect("a length");
    let mut snapshot = vec![0; len];
    reader.read_exact(&mut snapshot).expect("the snapshot");
    (peer, reader, snapshot, id)
}

#[test]
fn walks_remove_the_expired_keys_they_meet() {
    for threads in ["1", "2"] {
        let server =
            Server::start_with(&["--io-threads", threads, "--enable-debug-command", "yes"]);
        let mut client = server.client();
        client.line("DEBUG SET-ACTIVE-EXPIRE 0");
        let (_peer, mut reader, ..) = follow(&server);
        let mut expect = |client: &mut Client, walk: &[&str], effects: &[&str]| {
            client.line("MSET a 1 b 2");
            client.line("PEXPIRE a 1");
            client.line("PEXPIRE b 1");
            wait_until_over(client, 2);
            for line in walk {
                client.line(line);
            }
            client.line("SET mark end");
            let lines = commands_until(&mut reader, "mark end");
            let after = lines
                .iter()
                .rposition(|line| line.starts_with("PEXPIREAT b"));
            let mut seen = lines[after.expect("the deadline is logged") + 1..].to_vec();
            seen.pop();
            if !seen.contains(&"EXEC".to_string()) {
                seen.sort();
            }
            assert_eq!(seen, effects, "{walk:?} with {threads} threads");
            client.line("FLUSHALL");
        };
        expect(&mut client, &["RANDOMKEY"], &["DEL a", "DEL b"]);
        expect(&mut client, &["SCAN 0 TYPE hash"], &["DEL a", "DEL b"]);
        expect(&mut client, &["SCAN 0 MATCH b"], &["DEL b"]);
        let inside = ["MULTI", "SCAN 0 MATCH a", "INCR n", "EXEC"];
        expect(&mut client, &inside, &["MULTI", "DEL a", "INCR n", "EXEC"]);
        // Nothing is removed while writes are held back.
        let paused = [
            "CLIENT PAUSE 100000 WRITE",
            "SCAN 0",
            "GET a",
            "CLIENT UNPAUSE",
        ];
        expect(&mut client, &paused, &[]);
    }
}

/// Waits until `wait_ms` milliseconds of the server's clock are over.
fn wait_until_over(client: &mut Client, wait_ms: u64) {
    let mut now_us = || {
        let words = client.line("TIME").items();
        let number = |index: usize| words[index].text().parse::<u64>().expect("a number");
        number(0) * 1_000_000 + number(1)
    };
    let start_us = now_us();
    while now_us() <= start_us + wait_ms * 1_000 {}
}

#[test]
fn psync_gets_a_snapshot_and_the_stream_from_there_on() {
    let server = Server::start();
    let mut client = server.client();
    client.line("SET before 1");
    let (mut peer, mut reader, snapshot, id) = follow(&server);
    assert_eq!(id, info(&mut client, "replication", "master_replid"));
    assert!(snapshot.starts_with(b"REDIS0010"));
    client.line("SET after 2");
    client.line("SELECT 3");
    client.line("EVAL \"redis.call('SADD', 's', 'x') redis.call('INCR', 'n')\" 0");
    client.line("SET last end");
    assert_eq!(
        commands_until(&mut reader, "end"),
        [
            "SELECT 0",
            "SET after 2",
            "SELECT 3",
            "MULTI",
            "SADD s x",
            "INCR n",
            "EXEC",
            "SET last end"
        ]
    );
    let offset = info(&mut client, "replication", "master_repl_offset");
    peer.send(["REPLCONF", "ACK", &offset, "FACK", &offset]);
    wait_for(&mut client, "replication", "connected_slaves", "1");
    assert_eq!(client.line("WAIT 1 0"), Value::Integer(1));
    assert_eq!(
        client.line("WAITAOF 0 1 0"),
        Value::Array(vec![Value::Integer(0), Value::Integer(1)])
    );
    assert!(info(&mut client, "replication", "slave0").contains("state=online"));
    assert!(
        client
            .line("CLIENT LIST TYPE replica")
            .text()
            .contains("flags=S")
    );
    assert_eq!(client.line("CLIENT KILL TYPE replica"), Value::Integer(1));
    wait_for(&mut client, "replication", "connected_slaves", "0");
}

#[test]
fn writes_while_the_snapshot_is_made_come_behind_it() {
    if Real::Redis8.program().is_none() {
        return;
    }
    let server = Server::start_with(&["--enable-debug-command", "yes"]);
    let mut client = server.client();
    for number in 0..200 {
        let mut words = vec!["ZADD".to_string(), format!("board{}", number % 3)];
        for member in 0..500 {
            words.extend([member.to_string(), format!("m{}", number * 500 + member)]);
        }
        client.call(&words);
    }
    fill(&mut client);
    let folder = folder();
    let port = server.port().to_string();
    let settings = ["--save", "", "--replicaof", "127.0.0.1", &port];
    let replica =
        Server::start_real_in(Real::Redis8, folder.path(), &settings).expect("it was there before");
    let started = Instant::now();
    let mut number = 0;
    while !info(&mut client, "replication", "connected_slaves").eq("1")
        || !info(&mut client, "replication", "slave0").contains("state=online")
    {
        number += 1;
        client.call(["ZADD", "board1", &number.to_string(), &format!("m{number}")]);
        client.call(["ZREM", "board2", &format!("m{}", number * 7)]);
        assert!(started.elapsed() < JOB_WAIT, "the replica never was online");
    }
    client.line("SELECT 9");
    client.line("SET last 1");
    assert_eq!(client.line("WAIT 1 0"), Value::Integer(1));
    assert_eq!(digest(&mut replica.client()), digest(&mut client));
}

#[test]
fn redis_cli_fetches_snapshots() {
    if Command::new("redis-cli").arg("--version").output().is_err() {
        eprintln!("nothing to fetch with: there is no redis-cli");
        return;
    }
    let source = folder();
    let server = start(source.path(), SNAPSHOT);
    let mut client = server.client();
    fill(&mut client);
    let library = "#!lua name=lib\nredis.register_function('f', function() return 7 end)";
    client.call(["FUNCTION", "LOAD", library]);
    let wanted = digest(&mut client);
    for (option, keys) in [("--rdb", true), ("--functions-rdb", false)] {
        let folder = folder();
        let path = folder.path().join("dump.rdb");
        let status = Command::new("redis-cli")
            .args(["-p", &server.port().to_string(), option])
            .arg(&path)
            .output()
            .expect("redis-cli runs");
        assert!(status.status.success(), "{status:?}");
        assert!(fs::read(&path).expect("a file").starts_with(b"REDIS"));
        let copy = start(folder.path(), SNAPSHOT);
        let mut copy = copy.client();
        assert_eq!(copy.line("FCALL f 0"), Value::Integer(7));
        if keys {
            assert_eq!(digest(&mut copy), wanted);
        } else {
            assert_eq!(copy.line("DBSIZE"), Value::Integer(0));
        }
    }
}

#[test]
fn waitaof_answers_when_the_write_is_on_disk() {
    let folder = folder();
    let server = start(folder.path(), LOG);
    let mut client = server.client();
    let safe = |local| Value::Array(vec![Value::Integer(local), Value::Integer(0)]);
    for number in 0..3 {
        client.call(["SET", "k", &number.to_string()]);
        assert_eq!(client.line("WAITAOF 1 0 0"), safe(1));
    }
    // Without forces to disk it ends with its time.
    assert_eq!(client.line("CONFIG SET appendfsync no"), Value::ok());
    client.line("SET k 4");
    assert_eq!(client.line("WAITAOF 1 0 20"), safe(0));
    client.line("SET k 5");
    let mut other = server.client();
    other.line("SET k 6");
    other.send(["WAITAOF", "1", "0", "0"]);
    wait_for(&mut client, "clients", "blocked_clients", "1");
    assert_eq!(client.line("CONFIG SET appendfsync always"), Value::ok());
    client.line("SET k 7");
    assert_eq!(other.read(), safe(1));
    client.line("CONFIG SET appendfsync no");
    client.line("SET k 8");
    client.send(["WAITAOF", "1", "0", "0"]);
    wait_for(&mut other, "clients", "blocked_clients", "1");
    other.line("CONFIG SET appendonly no");
    assert_eq!(
        client.read().text(),
        "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."
    );
    shut_down(server);
}

#[test]
fn the_stream_keeps_its_id_and_offset_over_restarts_and_rewrites() {
    let folder = folder();
    let place = |client: &mut Client| {
        let id = info(client, "replication", "master_replid");
        (id, info(client, "replication", "master_repl_offset"))
    };
    let server = start(folder.path(), LOG);
    let mut client = server.client();
    client.line("SET a 1");
    client.line("EVAL \"redis.call('SET', 'b', '2') redis.call('SET', 'c', '3')\" 0");
    let first = place(&mut client);
    assert_ne!(first.1, "0");
    shut_down(server);

    let server = start(folder.path(), LOG);
    let mut client = server.client();
    assert_eq!(place(&mut client), first);
    // What was read is on the disk.
    assert_eq!(
        client.line("WAITAOF 1 0 1000"),
        Value::Array(vec![Value::Integer(1), Value::Integer(0)])
    );
    rewrite(&mut client);
    assert_eq!(place(&mut client), first);
    client.line("SET d 4");
    let second = place(&mut client);
    assert_eq!(second.0, first.0);
    assert_ne!(second.1, first.1);
    shut_down(server);
    let manifest = folder.path().join("appendonlydir/appendonly.aof.manifest");
    let manifest = fs::read_to_string(manifest).expect("a manifest");
    let start_of_increment = format!("startoffset {} replid {}", first.1, first.0);
    assert!(manifest.contains(&start_of_increment), "{manifest}");

    let server = start(folder.path(), LOG);
    let mut client = server.client();
    assert_eq!(place(&mut client), second);
    assert_eq!(client.call(["SAVE"]), Value::ok());
    shut_down(server);
    // A snapshot knows its place too.
    let server = start(folder.path(), SNAPSHOT);
    assert_eq!(place(&mut server.client()), second);
}
