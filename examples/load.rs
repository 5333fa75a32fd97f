//! A load generator for the measurements in docs/BENCHMARKS.md: mixed leaderboard requests over many connections.
//!
//!     load PORT CONNECTIONS DEPTH RATE SECONDS MEMBERS
//!
//! Nine of ten requests read (rank, score, top 10), one adds points. RATE is requests a second; 0 sends the next batch
//! of DEPTH requests on a connection as soon as the last one is answered. With a rate, batches have their time whether
//! the server keeps up or not, and a batch waits from that time on, so that a server that stands still is charged for
//! every request that came meanwhile (no coordinated omission). Prints one line: requests a second, and the 50th, 99th,
//! 99.9th percentile and the maximum of the waits in microseconds.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Batches made beforehand, so that making them costs nothing in between.
const BATCHES: usize = 512;

struct Batch {
    bytes: Vec<u8>,
    /// Lines of its replies.
    lines: usize,
}

struct Connection {
    stream: TcpStream,
    /// When each batch under way should have been sent, and the lines of its replies that are missing.
    waits: VecDeque<(Instant, usize)>,
}

/// Numbers of a xorshift generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn batch(chance: &mut Chance, depth: usize, members: u64) -> Batch {
    let mut batch = Batch {
        bytes: Vec::new(),
        lines: 0,
    };
    for _ in 0..depth {
        let player = format!("player:{:012}", chance.below(members));
        let (words, lines): (&[&str], usize) = match chance.below(10) {
            0 => (&["ZINCRBY", "board", "3", &player], 2),
            1..5 => (&["ZREVRANK", "board", &player], 1),
            5..8 => (&["ZSCORE", "board", &player], 2),
            _ => (&["ZREVRANGE", "board", "0", "9", "WITHSCORES"], 41),
        };
        batch.lines += lines;
        batch
            .bytes
            .extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            batch
                .bytes
                .extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        }
    }
    batch
}

impl Connection {
    fn send(&mut self, batch: &Batch, due: Instant) -> std::io::Result<()> {
        self.waits.push_back((due, batch.lines));
        let mut rest = &batch.bytes[..];
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(len) => rest = &rest[len..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes what has come; the waits of the batches that are answered now go to `done`.
    fn receive(&mut self, room: &mut [u8], done: &mut Vec<Duration>) -> std::io::Result<usize> {
        let mut answered = 0;
        while !self.waits.is_empty() {
            let len = match self.stream.read(room) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            let mut lines = room[..len].iter().filter(|&&byte| byte == b'\n').count();
            while let Some((due, missing)) = self.waits.front_mut() {
                if lines < *missing {
                    *missing -= lines;
                    break;
                }
                lines -= *missing;
                done.push(due.elapsed());
                answered += 1;
                self.waits.pop_front();
            }
            if len < room.len() {
                break;
            }
        }
        Ok(answered)
    }
}

fn main() -> std::io::Result<()> {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let [port, count, depth, rate, seconds, members] = numbers[..] else {
        eprintln!("usage: load PORT CONNECTIONS DEPTH RATE SECONDS MEMBERS");
        std::process::exit(1);
    };
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let batches: Vec<Batch> = (0..BATCHES)
        .map(|_| batch(&mut chance, depth as usize, members))
        .collect();
    let poller = polling(port as u16, count as usize)?;
    let (waits, took) = poller.run(
        &batches,
        depth as f64,
        rate as f64,
        Duration::from_secs(seconds),
    )?;
    report(waits, depth as f64, took);
    Ok(())
}

/// All connections and what tells which of them have something.
struct Poller {
    connections: Vec<Connection>,
    poll: mio::Poll,
}

fn polling(port: u16, count: usize) -> std::io::Result<Poller> {
    let poll = mio::Poll::new()?;
    let mut connections = Vec::with_capacity(count);
    for index in 0..count {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&stream);
        poll.registry().register(
            &mut mio::unix::SourceFd(&descriptor),
            mio::Token(index),
            mio::Interest::READABLE,
        )?;
        connections.push(Connection {
            stream,
            waits: VecDeque::new(),
        });
    }
    Ok(Poller { connections, poll })
}

impl Poller {
    fn run(
        mut self,
        batches: &[Batch],
        depth: f64,
        rate: f64,
        duration: Duration,
    ) -> std::io::Result<(Vec<Duration>, Duration)> {
        let mut events = mio::Events::with_capacity(1024);
        let mut room = vec![0; 1 << 18];
        let mut waits = Vec::with_capacity(1 << 20);
        let (mut sent, mut turn) = (0usize, 0usize);
        let start = Instant::now();
        if rate == 0.0 {
            for connection in &mut self.connections {
                connection.send(&batches[sent % BATCHES], Instant::now())?;
                sent += 1;
            }
        }
        while start.elapsed() < duration {
            let mut timeout = Some(Duration::from_millis(10));
            if rate > 0.0 {
                let due = |sent: usize| start + Duration::from_secs_f64(sent as f64 * depth / rate);
                while due(sent) <= Instant::now() {
                    let count = self.connections.len();
                    self.connections[turn % count].send(&batches[sent % BATCHES], due(sent))?;
                    (sent, turn) = (sent + 1, turn + 1);
                }
                // The kernel wakes no earlier than after some tens of microseconds: the next batch is waited for awake.
                timeout = Some(Duration::ZERO);
            }
            self.poll.poll(&mut events, timeout)?;
            for event in &events {
                let connection = &mut self.connections[event.token().0];
                let answered = connection.receive(&mut room, &mut waits)?;
                for _ in 0..if rate == 0.0 { answered } else { 0 } {
                    connection.send(&batches[sent % BATCHES], Instant::now())?;
                    sent += 1;
                }
            }
        }
        Ok((waits, start.elapsed()))
    }
}

fn report(mut waits: Vec<Duration>, depth: f64, took: Duration) {
    waits.sort_unstable();
    let at = |share: f64| {
        let index = ((waits.len() as f64 * share) as usize).min(waits.len().saturating_sub(1));
        waits.get(index).map_or(0, Duration::as_micros)
    };
    let rate = waits.len() as f64 * depth / took.as_secs_f64();
    println!(
        "{rate:.0} {} {} {} {}",
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}
