//! Files that are torn or broken, and the tools that look at them.

use super::{LOG, SNAPSHOT, digest, fill, folder, log_files, rewrite, shut_down, start};
use crate::harness::server::rankd_program;
use crate::harness::{Server, Value};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs `rankd check` with an answer to what it asks; whether all is whole, and what it says.
fn check(words: &[&str], path: &Path, answer: &str) -> (bool, String) {
    let mut child = Command::new(rankd_program())
        .arg("check")
        .args(words)
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rankd runs");
    let mut input = child.stdin.take().expect("stdin is piped");
    // It may have ended without a question.
    let _ = input.write_all(answer.as_bytes());
    drop(input);
    let output = child.wait_with_output().expect("rankd ends");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// A folder with a snapshot and a log of some data, and its digest.
fn files() -> (tempfile::TempDir, String) {
    let folder = folder();
    let server = start(folder.path(), LOG);
    let mut client = server.client();
    fill(&mut client);
    let library = "#!lua name=lib\nredis.register_function('f', function() return 7 end)";
    client.call(["FUNCTION", "LOAD", library]);
    rewrite(&mut client);
    client.line("SET after 1");
    client.line("EVAL \"redis.call('SET', 'x', '1') redis.call('SET', 'y', '2')\" 0");
    let wanted = digest(&mut client);
    assert_eq!(client.call(["SAVE"]), Value::ok());
    shut_down(server);
    (folder, wanted)
}

#[test]
fn whole_files_are_whole_for_our_tool_and_those_of_redis() {
    let (folder, _) = files();
    let snapshot = folder.path().join("dump.rdb");
    let manifest = folder.path().join("appendonlydir/appendonly.aof.manifest");
    for path in [&snapshot, &folder.path().join("appendonlydir"), &manifest] {
        let (whole, text) = check(&[], path, "");
        assert!(whole, "{text}");
        assert!(text.contains("1 libraries of functions"), "{text}");
    }
    for (tool, path) in [
        ("redis-check-rdb", &snapshot),
        ("redis-check-aof", &manifest),
    ] {
        let Ok(output) = Command::new(tool).arg(path).output() else {
            eprintln!("nothing to compare with: there is no {tool}");
            continue;
        };
        assert!(output.status.success(), "{tool}: {output:?}");
    }
}

#[test]
fn a_torn_log_is_cut_after_asking() {
    let (folder, wanted) = files();
    let increment = log_files(folder.path(), ".incr.aof").remove(0);
    let whole_len = fs::metadata(&increment).expect("a file").len();
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(&increment)
        .expect("a file");
    file.write_all(b"*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nz\r\n")
        .expect("room");
    let torn_len = fs::metadata(&increment).expect("a file").len();
    let (whole, text) = check(&[], folder.path().join("appendonlydir").as_path(), "");
    assert!(!whole && text.contains("check --fix"), "{text}");
    let (whole, text) = check(&["--fix"], &increment, "n\n");
    assert!(!whole && text.contains("Nothing was changed"), "{text}");
    assert_eq!(fs::metadata(&increment).expect("a file").len(), torn_len);
    let strict = [LOG, &["--aof-load-truncated", "no"]].concat();
    let refused = Server::start_in(folder.path(), &strict)
        .err()
        .expect("it does not start");
    assert!(refused.contains("Unexpected end of file"), "{refused}");
    assert_eq!(fs::metadata(&increment).expect("a file").len(), torn_len);
    let (whole, text) = check(&["--fix"], &folder.path().join("appendonlydir"), "y\n");
    assert!(whole, "{text}");
    assert_eq!(fs::metadata(&increment).expect("a file").len(), whole_len);
    let server = start(folder.path(), &strict);
    assert_eq!(digest(&mut server.client()), wanted);
}

#[test]
fn a_torn_log_is_cut_at_the_start_when_the_settings_allow_it() {
    let (folder, wanted) = files();
    let increment = log_files(folder.path(), ".incr.aof").remove(0);
    let whole = fs::read(&increment).expect("a file");
    fs::write(
        &increment,
        [&whole[..], b"*2\r\n$3\r\nDEL\r\n$5\r\naf"].concat(),
    )
    .expect("room");
    let server = start(folder.path(), LOG);
    assert_eq!(digest(&mut server.client()), wanted);
    assert_eq!(fs::read(&increment).expect("a file"), whole);
}

#[test]
fn it_never_starts_over_what_it_cannot_read() {
    let breaks: [(&str, &[&str], fn(&mut Vec<u8>)); 5] = [
        ("dump.rdb", SNAPSHOT, |bytes| {
            bytes.truncate(bytes.len() / 2)
        }),
        ("dump.rdb", SNAPSHOT, |bytes| bytes[0] = b'X'),
        ("dump.rdb", SNAPSHOT, |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0xff;
        }),
        (".base.rdb", LOG, |bytes| bytes.truncate(bytes.len() - 3)),
        (".incr.aof", LOG, |bytes| bytes[3] = b'?'),
    ];
    for (index, (name, settings, damage)) in breaks.into_iter().enumerate() {
        let (folder, _) = files();
        let path = if name == "dump.rdb" {
            folder.path().join(name)
        } else {
            log_files(folder.path(), name).remove(0)
        };
        let mut bytes = fs::read(&path).expect("a file");
        damage(&mut bytes);
        fs::write(&path, &bytes).expect("room");
        let output = Server::start_in(folder.path(), settings)
            .err()
            .unwrap_or_else(|| panic!("it started over damage {index}"));
        assert!(output.to_ascii_lowercase().contains("offset"), "{output}");
        assert_eq!(fs::read(&path).expect("a file"), bytes, "damage {index}");
        let (whole, text) = check(&[], &path, "");
        assert!(!whole && text.contains("at offset"), "{text}");
    }
    let (folder, _) = files();
    fs::remove_file(log_files(folder.path(), ".incr.aof").remove(0)).expect("a file");
    let output = Server::start_in(folder.path(), LOG)
        .err()
        .expect("it does not start");
    assert!(output.contains("No such file or directory"), "{output}");
}

#[test]
fn clients_are_told_to_wait_while_files_are_read() {
    let (folder, _) = files();
    let socket = folder.path().join("socket");
    let mut child = Command::new(rankd_program())
        .args(["--port", "0", "--key-load-delay", "100000", "--unixsocket"])
        .arg(&socket)
        .args(SNAPSHOT)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("rankd runs");
    let mut stream = loop {
        if let Ok(stream) = UnixStream::connect(&socket) {
            break stream;
        }
        assert!(child.try_wait().expect("a child can be asked").is_none());
        std::thread::yield_now();
    };
    stream
        .write_all(b"GET text\r\nINFO persistence\r\n")
        .expect("it reads");
    let mut answer = String::new();
    while !answer.contains("loading_eta_seconds") {
        let mut bytes = [0; 4096];
        let len = stream.read(&mut bytes).expect("it answers");
        assert!(len > 0, "{answer}");
        answer.push_str(&String::from_utf8_lossy(&bytes[..len]));
    }
    // The rest of the test needs no data.
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(
        answer.starts_with("-LOADING Redis is loading the dataset in memory\r\n"),
        "{answer}"
    );
    assert!(answer.contains("loading:1\r\n"), "{answer}");
}
