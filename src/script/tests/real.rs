//! The same scripts here and on redis-server 8.2.3, in RESP2 and RESP3: equal replies.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::eval_with;
use super::fake_host::FakeHost;
use crate::resp::parse::ReplyCursor;
use crate::resp::{OwnedArgs, Protocol};
use crate::script::Interpreter;

const SERVER: &str = "redis-server-8.2.3";

/// A real server on a socket of its own, stopped with the value.
pub struct RealServer {
    process: Child,
    stream: std::os::unix::net::UnixStream,
    _folder: tempfile::TempDir,
}

impl RealServer {
    /// `None`, and a word about it, where there is none to compare with.
    pub fn start() -> Option<Self> {
        let program = std::env::var_os("RANKD_REAL_SERVERS")
            .map(|folder| PathBuf::from(folder).join(SERVER))
            .filter(|program| program.exists());
        let Some(program) = program else {
            eprintln!("not compared: RANKD_REAL_SERVERS names no folder with {SERVER}");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("redis.sock");
        let mut process = Command::new(program)
            .args([
                "--port",
                "0",
                "--save",
                "",
                "--appendonly",
                "no",
                "--unixsocket",
            ])
            .arg(&socket)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = process.stdout.take().expect("its output");
        let lines = std::io::BufRead::lines(std::io::BufReader::new(output));
        lines
            .map_while(Result::ok)
            .find(|line| line.contains("Ready to accept connections"))
            .expect("the server is ready");
        let stream = std::os::unix::net::UnixStream::connect(&socket).expect("a connection");
        Some(Self {
            process,
            stream,
            _folder: folder,
        })
    }

    pub fn command(&mut self, args: &[&[u8]]) -> Vec<u8> {
        let mut request = Vec::new();
        OwnedArgs::from_slices(args).encode(&mut request);
        self.stream
            .write_all(&request)
            .expect("the request is taken");
        let mut reply = Vec::new();
        let mut part = vec![0; 1 << 16];
        loop {
            let len = self.stream.read(&mut part).expect("a reply");
            assert_ne!(len, 0, "the server went away");
            reply.extend_from_slice(&part[..len]);
            if reply.ends_with(b"\r\n") && ReplyCursor::new(&reply).skip_value().is_some() {
                return reply;
            }
        }
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Addresses of objects differ from run to run.
pub fn mask_addresses(reply: &[u8]) -> String {
    let text = String::from_utf8_lossy(reply);
    let mut masked = String::new();
    let mut rest = &*text;
    while let Some(at) = rest.find(": 0x") {
        masked.push_str(&rest[..at + 4]);
        rest = rest[at + 4..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    masked + rest
}

/// Compares every script of a file, parted by lines of four dashes.
fn compare_file(text: &str) {
    let Some(mut real) = RealServer::start() else {
        return;
    };
    let mut interpreter = Interpreter::default();
    let mut differences = Vec::new();
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let hello: &[u8] = if protocol == Protocol::Resp3 {
            b"3"
        } else {
            b"2"
        };
        real.command(&[b"hello", hello]);
        for script in text
            .split("\n----\n")
            .map(str::trim)
            .filter(|s| !s.is_empty())
        {
            real.command(&[b"flushall"]);
            // There a script's settings of cjson stay for the next script.
            real.command(&[b"script", b"flush"]);
            let wanted =
                real.command(&[b"eval", script.as_bytes(), b"2", b"k1", b"k2", b"a1", b"a2"]);
            let given = eval_with(
                &mut interpreter,
                &mut FakeHost::default(),
                script.as_bytes(),
                &[b"k1", b"k2"],
                &[b"a1", b"a2"],
                protocol,
            );
            let (wanted, given) = (mask_addresses(&wanted), mask_addresses(&given));
            if wanted != given {
                differences.push(format!(
                    "{script}\n  wanted {wanted:.600?}\n  given  {given:.600?}"
                ));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn language_and_sandbox() {
    compare_file(include_str!("scripts/language.lua"));
}

#[test]
fn libraries() {
    compare_file(include_str!("scripts/libraries.lua"));
}
