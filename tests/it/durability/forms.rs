//! The log in its forms: a base of plain commands, remarks that tell the time, the way back into a running server.

use super::{LOG, digest, fill, folder, info, log_files, rewrite, shut_down, start, wait_for};
use crate::harness::server::Real;
use crate::harness::{Server, Value};
use std::fs;

#[test]
fn a_base_of_commands_is_read_here_and_by_real_servers() {
    let folder = folder();
    let server = start(folder.path(), LOG);
    let mut client = server.client();
    fill(&mut client);
    assert_eq!(
        client.line("CONFIG SET aof-use-rdb-preamble no aof-timestamp-enabled yes"),
        Value::ok()
    );
    rewrite(&mut client);
    client.line("ZADD board 5 late");
    let wanted = digest(&mut client);
    assert_eq!(client.line("DEBUG LOADAOF"), Value::ok());
    assert_eq!(digest(&mut client), wanted);
    shut_down(server);

    let base = fs::read(&log_files(folder.path(), ".base.aof")[0]).expect("a base");
    assert!(base.starts_with(b"#TS:"), "{}", base[..20].escape_ascii());
    assert!(!base.windows(5).any(|part| part == b"REDIS"));
    let increment = fs::read(&log_files(folder.path(), ".incr.aof")[0]).expect("an increment");
    assert!(increment.starts_with(b"#TS:"));

    let server = start(folder.path(), LOG);
    let mut client = server.client();
    assert_eq!(digest(&mut client), wanted);
    // Back to a snapshot in front.
    rewrite(&mut client);
    assert!(log_files(folder.path(), ".base.aof").is_empty());
    assert_eq!(digest(&mut client), wanted);
    client.line("CONFIG SET aof-use-rdb-preamble no");
    rewrite(&mut client);
    shut_down(server);
    for which in [Real::Redis7, Real::Redis8, Real::Valkey9] {
        if let Some(real) = Server::start_real_in(which, folder.path(), LOG) {
            assert_eq!(digest(&mut real.client()), wanted, "{which:?}");
        }
    }
}

#[test]
fn writes_during_a_rewrite_to_commands_are_in_it_or_behind_it() {
    let folder = folder();
    let settings = [LOG, &["--aof-use-rdb-preamble", "no"]].concat();
    let server = start(folder.path(), &settings);
    let mut client = server.client();
    // One board so big that it is written in pieces, with a deadline behind the last of them.
    for start in (0..60_000).step_by(1_000) {
        let mut words = vec!["ZADD".to_string(), "board".to_string()];
        for number in start..start + 1_000 {
            words.extend([number.to_string(), format!("member {number}")]);
        }
        client.call(&words);
    }
    client.line("PEXPIREAT board 99999999999998");
    client.call(["BGREWRITEAOF"]);
    for number in 0..2_000 {
        client.call(["ZINCRBY", "board", "7", &format!("member {}", number * 29)]);
        client.call(["ZREM", "board", &format!("member {}", number * 13)]);
    }
    wait_for(&mut client, "persistence", "aof_rewrite_in_progress", "0");
    let wanted = digest(&mut client);
    shut_down(server);
    let server = start(folder.path(), &settings);
    assert_eq!(digest(&mut server.client()), wanted);
}

#[test]
fn the_offset_of_the_stream_goes_on_past_remarks() {
    let folder = folder();
    let settings = [LOG, &["--aof-timestamp-enabled", "yes"]].concat();
    let server = start(folder.path(), &settings);
    let mut client = server.client();
    client.line("SET a 1");
    let offset = info(&mut client, "replication", "master_repl_offset");
    shut_down(server);
    let server = start(folder.path(), &settings);
    assert_eq!(
        info(&mut server.client(), "replication", "master_repl_offset"),
        offset
    );
}

#[test]
fn jobs_in_the_background_count_as_forks() {
    let folder = folder();
    let server = start(folder.path(), LOG);
    let mut client = server.client();
    assert_eq!(info(&mut client, "stats", "total_forks"), "0");
    rewrite(&mut client);
    assert_eq!(info(&mut client, "stats", "total_forks"), "1");
    client.call(["BGSAVE"]);
    wait_for(&mut client, "persistence", "rdb_bgsave_in_progress", "0");
    assert_eq!(info(&mut client, "stats", "total_forks"), "2");
}
