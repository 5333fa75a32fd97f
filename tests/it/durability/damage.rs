//! Damaged logs: what a start makes of them here and in a real redis-server.
//!
//! Where both go on they have the same data. Where only one refuses it is ours: damage that is noticed here is not
//! passed over.

use super::{LOG, digest, folder, log_files, rewrite, shut_down, start};
use crate::harness::server::{Real, free_port};
use crate::harness::{Random, Server};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Damaged logs of a run; RANKD_FLIPS plays more.
const FLIPS: usize = 40;

const FIRST: &[&str] = &[
    "SET text value",
    "RPUSH list a bb 7",
    "SADD set x 12",
    "HSET hash f v",
    "ZADD board 1.5 m 2 n",
    "PEXPIREAT text 9900000000000",
];

const THEN: &[&str] = &[
    "SET k v",
    "EVAL \"redis.call('ZADD', 'board', '4', 'o') redis.call('INCR', 'number')\" 0",
    "SADD set yy",
    "XADD feed 5-1 f v",
    "EVAL \"redis.call('RPUSH', 'list', '1111') redis.call('DEL', 'hash')\" 0",
];

/// The data that a real server comes to; None when it refuses the files.
fn real_outcome(program: &Path, folder: &Path) -> Option<String> {
    loop {
        let port = free_port();
        let mut command = Command::new(program);
        command
            .args(["--port", &port.to_string(), "--enable-debug-command", "yes"])
            .args(LOG);
        match Server::spawn(command, folder, Some(port)) {
            Ok(server) => return Some(digest(&mut server.client())),
            Err(output) if output.contains("Address already in use") => {}
            Err(_) => return None,
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let target = to.join("appendonlydir");
    fs::create_dir(&target).expect("a new folder");
    for entry in fs::read_dir(from.join("appendonlydir")).expect("the log's folder") {
        let entry = entry.expect("a file");
        fs::copy(entry.path(), target.join(entry.file_name())).expect("room");
    }
}

#[test]
fn a_damaged_log_is_refused_or_read_as_by_a_real_server() {
    let Some(program) = Real::Redis8.program() else {
        return;
    };
    let original = folder();
    let settings = [LOG, &["--aof-use-rdb-preamble", "no"]].concat();
    let server = start(original.path(), &settings);
    let mut client = server.client();
    FIRST.iter().for_each(|line| drop(client.line(line)));
    rewrite(&mut client);
    THEN.iter().for_each(|line| drop(client.line(line)));
    shut_down(server);
    let seed = Random::seed();
    let mut random = Random::new(seed);
    let flips = std::env::var("RANKD_FLIPS")
        .ok()
        .map_or(FLIPS, |text| text.parse().expect("a number"));
    let mut outcomes = [0; 3];
    for number in 0..flips {
        let (ours, real) = (folder(), folder());
        copy(original.path(), ours.path());
        let ending = [".incr.aof", ".base.aof"][number % 2];
        let path = log_files(ours.path(), ending).remove(0);
        let mut bytes = fs::read(&path).expect("a file");
        let at = random.below(bytes.len());
        let what = if random.chance(10) {
            bytes.truncate(at);
            format!("RANKD_SEED={seed} {ending} cut at {at}")
        } else {
            let bit = random.below(8);
            bytes[at] ^= 1 << bit;
            format!(
                "RANKD_SEED={seed} {ending} bit {bit} of byte {at}: {}",
                bytes.escape_ascii()
            )
        };
        fs::write(&path, &bytes).expect("room");
        copy(ours.path(), real.path());
        let theirs = real_outcome(&program, real.path());
        match (Server::start_in(ours.path(), LOG), theirs) {
            (Ok(server), Some(theirs)) => {
                assert_eq!(digest(&mut server.client()), theirs, "{what}");
                outcomes[0] += 1;
            }
            (Ok(_), None) => panic!("read here and refused by Redis: {what}"),
            (Err(_), Some(_)) => outcomes[1] += 1,
            (Err(_), None) => outcomes[2] += 1,
        }
    }
    eprintln!("both read, ours refuses, both refuse: {outcomes:?}");
    assert!(outcomes[0] > 0 && outcomes[2] > 0, "{outcomes:?}");
}
