//! Whole connections without sockets, for tests and fuzzing: bytes in, bytes out, several clients of one engine.
//!
//! A program is bytes that tell what the clients do: send commands, or anything else, in pieces of any length; read or
//! not; leave. Whatever they do, nothing panics or hangs, what comes back is replies, buffers keep to their bounds,
//! and nothing of a client that left stays behind.

use super::Shared;
use super::connection::{self, Addresses};
use super::listen::Listeners;
use super::start::{build, command_table};
use crate::engine::table::CommandTable;
use crate::limits;
use crate::resp::parse::ReplyCursor;
use crate::settings::{Loader, Settings};
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::watch;
use tokio::task::{JoinHandle, LocalSet, yield_now};

/// Clients of one program.
const CLIENTS: usize = 4;

/// Steps of a program that are taken.
const STEPS_MAX: usize = 400;

/// Rounds without a byte in either direction after which nothing more is expected.
const QUIET_ROUNDS: usize = 8;

/// Bytes that a client takes at the end.
const TAKEN_MAX: usize = 64 << 20;

/// Longest wait for a connection to end when its client has gone.
const END_WAIT: Duration = Duration::from_secs(20);

/// No command may reach out of the process; small limits are met more often.
const SETTINGS: &str = "bind \"\"\nsave \"\"\nproto-max-bulk-len 1mb\nclient-query-buffer-limit 1mb\n\
    client-output-buffer-limit normal 4mb 1mb 1 replica 1mb 0 0 pubsub 64kb 0 0\n";
const TAKEN_AWAY: &[&str] = &[
    "acl",
    "bgrewriteaof",
    "bgsave",
    "config",
    "debug",
    "failover",
    "migrate",
    "module",
    "psync",
    "replicaof",
    "save",
    "shutdown",
    "slaveof",
    "sync",
];

/// What commands are given besides what the program brings itself.
const WORDS: &[&str] = &[
    "a",
    "b",
    "c",
    "board",
    "0",
    "1",
    "-1",
    "2",
    "10",
    "1.5",
    "(1",
    "inf",
    "-inf",
    "[a",
    "+",
    "-",
    "$",
    "*",
    ">",
    "0-1",
    "",
    "px",
    "ex",
    "nx",
    "xx",
    "gt",
    "lt",
    "ch",
    "incr",
    "get",
    "withscores",
    "limit",
    "rev",
    "byscore",
    "bylex",
    "count",
    "match",
    "store",
    "streams",
    "block",
    "group",
    "mkstream",
    "weights",
    "aggregate",
    "sum",
    "on",
    "off",
    "skip",
    "yes",
    "no",
    "left",
    "right",
    "before",
    "m",
    "km",
    "fromlonlat",
    "byradius",
    "asc",
    "u8",
    "set",
    "3",
    "setname",
    "id",
    "type",
    "normal",
    "pubsub",
    "channel",
    "maxlen",
    "~",
    "=",
    "return 1",
    "return redis.call('ZINCRBY', KEYS[1], 1, 'a')",
    "return redis.pcall('GET')",
    "error('x')",
];

fn settings() -> Settings {
    let mut text = SETTINGS.to_string();
    for name in TAKEN_AWAY {
        text.push_str(&format!("rename-command {name} \"\"\n"));
    }
    let mut loader = Loader::default();
    let read = loader.lines(text.as_bytes(), 1);
    read.expect("the settings are ours");
    loader.finish(Path::new("/")).0
}

fn table() -> &'static CommandTable {
    static TABLE: OnceLock<&'static CommandTable> = OnceLock::new();
    TABLE.get_or_init(|| command_table(&settings()).expect("the names are those of commands"))
}

/// The program's bytes, one after the other; zeros when they are used up.
struct Program<'a>(&'a [u8]);

impl<'a> Program<'a> {
    fn byte(&mut self) -> usize {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(first)
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A request for one of the commands, with nearly as many words as it takes.
    fn request(&mut self, out: &mut Vec<u8>) {
        let count = table().iter().count();
        let which = (self.byte() << 8 | self.byte()) % count;
        let Some(command) = table().iter().nth(which) else {
            return;
        };
        let mut words: Vec<Vec<u8>> = command
            .full_name
            .split('|')
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let shape = self.byte();
        let least = command.spec.arity.unsigned_abs() as usize;
        let wanted = match shape % 8 {
            0 => least.saturating_sub(1),
            1..5 => least,
            more => least + more - 4,
        };
        while words.len() < wanted {
            let pick = self.byte();
            words.push(if pick == 255 {
                let len = self.byte();
                self.bytes(len).to_vec()
            } else {
                WORDS[pick % WORDS.len()].as_bytes().to_vec()
            });
        }
        out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            out.extend_from_slice(&word);
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// One end of a connection, and the task that serves the other.
struct Peer {
    stream: DuplexStream,
    served: JoinHandle<()>,
    to_send: Vec<u8>,
    sent: usize,
    received: Vec<u8>,
    /// Says how much of what was received is a claim that may stay open (CLIENT REPLY inside a transaction).
    may_miss_replies: bool,
}

impl Peer {
    fn connect(shared: &Arc<Shared>, pipe_len: usize) -> Self {
        let (stream, other) = duplex(pipe_len);
        shared.connections.fetch_add(1, Relaxed);
        let addresses = Addresses {
            peer: "127.0.0.1:1".to_string(),
            local: "127.0.0.1:2".to_string(),
            file_descriptor: 0,
            unix_socket: false,
        };
        let served = tokio::task::spawn_local(connection::serve(other, shared.clone(), addresses));
        Self {
            stream,
            served,
            to_send: Vec::new(),
            sent: 0,
            received: Vec::new(),
            may_miss_replies: false,
        }
    }

    /// Sends at most `len` bytes of what is to be sent; how many went.
    fn send(&mut self, len: usize) -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        let piece = &self.to_send[..len.min(self.to_send.len())];
        if piece.is_empty() {
            return 0;
        }
        match Pin::new(&mut self.stream).poll_write(&mut cx, piece) {
            Poll::Ready(Ok(count)) => {
                self.sent += count;
                self.to_send.drain(..count);
                count
            }
            // The server has closed its side.
            Poll::Ready(Err(_)) => {
                self.to_send.clear();
                0
            }
            Poll::Pending => 0,
        }
    }

    /// Takes what has come; how many bytes.
    fn receive(&mut self) -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        let mut room = [0; 4096];
        let mut piece = ReadBuf::new(&mut room);
        match Pin::new(&mut self.stream).poll_read(&mut cx, &mut piece) {
            Poll::Ready(Ok(())) => {
                self.received.extend_from_slice(piece.filled());
                piece.filled().len()
            }
            _ => 0,
        }
    }

    fn send_no_more(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        // A pipe closes at once.
        let _ = Pin::new(&mut self.stream).poll_shutdown(&mut cx);
        self.to_send.clear();
    }

    fn queue(&mut self, bytes: &[u8]) {
        let shown = String::from_utf8_lossy(bytes).to_ascii_lowercase();
        self.may_miss_replies |= shown.contains("reply");
        self.to_send.extend_from_slice(bytes);
    }

    /// What came is whole replies, of which the last may be cut off with the connection.
    fn check_received(&self) {
        let mut cursor = ReplyCursor::new(&self.received);
        loop {
            let before = cursor.rest();
            if before.is_empty() {
                return;
            }
            if cursor.skip_value().is_none() {
                let rest = cursor.rest();
                assert!(
                    self.may_miss_replies || self.received.len() >= TAKEN_MAX || is_cut_off(rest),
                    "no reply: {}",
                    rest[..rest.len().min(200)].escape_ascii()
                );
                return;
            }
        }
    }
}

/// Whether bytes could be the beginning of a reply.
fn is_cut_off(bytes: &[u8]) -> bool {
    let Some(line_len) = bytes.windows(2).position(|pair| pair == b"\r\n") else {
        return bytes
            .first()
            .is_none_or(|kind| b"+-:$*_%~>|,#(=!".contains(kind));
    };
    let len = std::str::from_utf8(&bytes[1..line_len])
        .ok()
        .and_then(|text| text.parse::<usize>().ok());
    matches!(bytes[0], b'$' | b'=') && len.is_some_and(|len| bytes.len() < line_len + 2 + len + 2)
}

/// The most that the buffers of a client may take, for what it sent.
fn check_buffers(shared: &Shared, peers: &[Peer]) {
    let sent: usize = peers.iter().map(|peer| peer.sent).sum();
    for client in shared.clients.all() {
        let usage = client.mailbox.usage();
        let input = usage.query_bytes + usage.query_free_bytes;
        let most = 4 * sent + 4 * limits::READ_LEN + limits::INPUT_KEPT_MAX;
        assert!(input <= most, "{input} bytes of input for {sent} sent");
    }
}

/// Plays a program.
pub fn play(program: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime can be made");
    LocalSet::new().block_on(&runtime, play_on_runtime(Program(program)));
}

async fn play_on_runtime(mut program: Program<'_>) {
    let settings = settings();
    let (opened, _new) = unbounded_channel();
    let listeners = Listeners::open(&settings, opened).expect("nothing is listened on");
    let (shutdown, _told) = watch::channel(None);
    let threads = 1 + program.byte() % 2;
    let title = super::title::ProcessTitle::default();
    let shared =
        build(settings, table(), title, listeners, threads, shutdown).expect("parts can be made");
    let shared = Arc::new(shared);
    let pipe_len = 1 + program.byte() * program.byte();
    let mut peers: Vec<Peer> = (0..CLIENTS)
        .map(|_| Peer::connect(&shared, pipe_len))
        .collect();
    let mut gone = Vec::new();
    for _ in 0..STEPS_MAX {
        if program.0.is_empty() {
            break;
        }
        let step = program.byte();
        let peer = &mut peers[step % CLIENTS];
        match step / CLIENTS % 16 {
            0..8 => {
                let mut request = Vec::new();
                program.request(&mut request);
                peer.queue(&request);
            }
            8 => {
                let len = program.byte();
                peer.queue(program.bytes(len));
            }
            9 => {
                peer.send(program.byte());
            }
            10 | 11 => while peer.send(usize::MAX) > 0 {},
            12 => while peer.receive() > 0 {},
            13 => peer.send_no_more(),
            14 => {
                let left = std::mem::replace(peer, Peer::connect(&shared, pipe_len));
                drop(left.stream);
                gone.push(left.served);
            }
            _ => (0..program.byte() % 8).for_each(|_| {
                peer.receive();
            }),
        }
        for _ in 0..2 {
            yield_now().await;
        }
    }
    let mut quiet = 0;
    while quiet < QUIET_ROUNDS {
        quiet += 1;
        for peer in &mut peers {
            let moved = peer.send(usize::MAX)
                + if peer.received.len() < TAKEN_MAX {
                    peer.receive()
                } else {
                    0
                };
            if moved > 0 {
                quiet = 0;
            }
        }
        yield_now().await;
    }
    check_buffers(&shared, &peers);
    for peer in peers {
        peer.check_received();
        drop(peer.stream);
        gone.push(peer.served);
    }
    for served in gone {
        let ended = tokio::time::timeout(END_WAIT, served).await;
        ended
            .expect("a connection ends with its client")
            .expect("a connection does not panic");
    }
    check_nothing_stays(&shared);
}

fn check_nothing_stays(shared: &Shared) {
    assert_eq!(shared.connections.load(Relaxed), 0);
    assert!(shared.clients.is_empty());
    let engine = shared.read_patiently();
    assert!(engine.blocking.is_empty());
    assert_eq!(engine.watched_key_count(), 0);
    assert!(engine.monitors.is_empty());
    for space in [
        crate::engine::pubsub::ChannelSpace::Plain,
        crate::engine::pubsub::ChannelSpace::Shard,
    ] {
        assert_eq!(engine.pubsub.channel_count(space), 0);
    }
    assert_eq!(engine.pubsub.pattern_count(), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::Random;

    /// Programs that a plain test run plays.
    const PROGRAMS: u64 = 300;

    #[test]
    fn clients_that_do_anything_do_no_harm() {
        let seed = std::env::var("RANKD_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok())
            .unwrap_or_else(|| std::process::id().into());
        eprintln!("RANKD_SEED={seed}");
        let mut random = Random::new(seed);
        for round in 0..PROGRAMS {
            eprintln!("round {round}");
            let len = 50 + random.next_u64() % 1500;
            let program: Vec<u8> = (0..len).map(|_| random.next_u64() as u8).collect();
            play(&program);
        }
    }

    #[test]
    fn what_is_no_reply_is_seen() {
        for bytes in [&b"hello"[..], b"$3\r\nabcde", b":x\r\n", b"*1\r\nx"] {
            let mut cursor = ReplyCursor::new(bytes);
            assert!(cursor.skip_value().is_none());
            assert!(!is_cut_off(cursor.rest()), "{}", bytes.escape_ascii());
        }
        for bytes in [&b"$3\r\nab"[..], b"*2\r\n:1\r\n", b"+O", b"$"] {
            let mut cursor = ReplyCursor::new(bytes);
            assert!(cursor.skip_value().is_none());
            assert!(is_cut_off(cursor.rest()), "{}", bytes.escape_ascii());
        }
    }
}
