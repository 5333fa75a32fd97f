//! Many clients, most of them silent and some of them bad: what they took comes back when they leave.
//!
//! The long form, with thousands of connections for minutes, is scripts/soak.sh.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::harness::client::request;
use crate::harness::{Client, Random, Server, Value};

const SILENT: usize = 300;
const ROUNDS: usize = 60;
const LARGE_LEN: usize = 200_000;

/// Longest wait for memory and files to come back.
const BACK_WAIT: Duration = Duration::from_secs(60);

/// What may be more than before: room that the allocator and the tables keep.
const USED_BYTES_MORE: u64 = 4 << 20;

fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(("127.0.0.1", server.port())).expect("the server accepts connections")
}

/// Sends and takes no notice of being cut off.
fn send(mut stream: &TcpStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
}

fn come_and_go(server: &Server, random: &mut Random) {
    let stream = connect(server);
    if random.below(4) > 0 {
        send(&stream, &request(&["ZINCRBY", "board", "1", "ann"]));
    }
}

fn close_one_half(server: &Server, _random: &mut Random) {
    let mut stream = connect(server);
    send(&stream, &request(&["PING"]).repeat(50));
    stream
        .shutdown(Shutdown::Write)
        .expect("a half can be closed");
    let mut answer = Vec::new();
    stream
        .read_to_end(&mut answer)
        .expect("the server answers and closes");
    assert_eq!(answer, b"+PONG\r\n".repeat(50));
}

fn ask_and_read_nothing(server: &Server, _random: &mut Random) {
    send(&connect(server), &request(&["GET", "large"]).repeat(20));
}

fn leave_in_the_middle(server: &Server, random: &mut Random) {
    let whole = request(&["SET", "key", &"x".repeat(5_000)]);
    send(&connect(server), &whole[..random.below(whole.len())]);
}

fn announce_and_send_nothing(server: &Server, random: &mut Random) {
    let claims: [&[u8]; 3] = [
        b"*1000000000\r\n",
        b"*2\r\n$4\r\nECHO\r\n$500000000\r\n",
        b"*x\r\n",
    ];
    send(&connect(server), claims[random.below(claims.len())]);
}

fn listen_and_leave(server: &Server, random: &mut Random) {
    let words: [&[&str]; 5] = [
        &["SUBSCRIBE", "news"],
        &["PSUBSCRIBE", "n*"],
        &["BZPOPMIN", "nothing", "0"],
        &["WATCH", "board"],
        &["MONITOR"],
    ];
    send(&connect(server), &request(words[random.below(words.len())]));
}

fn tell(server: &Server, _random: &mut Random) {
    let mut client = server.client();
    let told = client.call(["PUBLISH", "news", &"x".repeat(10_000)]);
    assert!(matches!(told, Value::Integer(_)), "{}", told.show());
}

type Behaviour = fn(&Server, &mut Random);
const BAD: [Behaviour; 7] = [
    come_and_go,
    close_one_half,
    ask_and_read_nothing,
    leave_in_the_middle,
    announce_and_send_nothing,
    listen_and_leave,
    tell,
];

fn used_bytes(client: &mut Client) -> u64 {
    let text = client.call(["INFO", "memory"]).text();
    let digits = text
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    digits
        .and_then(|digits| digits.trim().parse().ok())
        .expect("INFO tells the memory")
}

fn open_files(server: &Server) -> usize {
    let folder = format!("/proc/{}/fd", server.pid());
    std::fs::read_dir(folder)
        .expect("Linux tells the files")
        .count()
}

#[test]
fn silent_and_bad_clients_leave_nothing_behind() {
    let server = Server::start();
    let mut control = server.client();
    control.call(["SET", "large", &"x".repeat(LARGE_LEN)]);
    control.call(["ZADD", "board", "1", "ann"]);
    let before = (open_files(&server), used_bytes(&mut control));
    let mut silent: Vec<Client> = (0..SILENT).map(|_| server.client()).collect();
    let seed = Random::seed();
    std::thread::scope(|scope| {
        for (index, behave) in BAD.into_iter().enumerate() {
            let server = &server;
            scope.spawn(move || {
                let mut random = Random::new(seed + index as u64);
                (0..ROUNDS).for_each(|_| behave(server, &mut random));
            });
        }
        for _ in 0..ROUNDS {
            assert_eq!(control.call(["PING"]).text(), "PONG");
        }
    });
    for client in &mut silent {
        assert_eq!(client.call(["PING"]).text(), "PONG");
    }
    drop(silent);
    let started = Instant::now();
    loop {
        let now = (open_files(&server), used_bytes(&mut control));
        if now.0 <= before.0 && now.1 <= before.1 + USED_BYTES_MORE {
            break;
        }
        assert!(started.elapsed() < BACK_WAIT, "{now:?}, before {before:?}");
        std::thread::yield_now();
    }
    let clients = control.call(["INFO", "clients"]).text();
    assert!(clients.contains("connected_clients:1\r\n"), "{clients}");
    assert!(clients.contains("blocked_clients:0\r\n"), "{clients}");
}
