//! What one client may cost the others: how many there may be, how long they may stay silent, and how much they may
//! send or leave unread.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::harness::client::request;
use crate::harness::server::Real;
use crate::harness::{Client, Server, Value};

/// A value of a line of INFO.
fn info(client: &mut Client, name: &str) -> String {
    let text = client.call(["INFO", "everything"]).text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("INFO has no {name}"))
        .trim()
        .to_string()
}

fn number(client: &mut Client, name: &str) -> u64 {
    info(client, name).parse().expect("a number")
}

/// Longest wait for what has to happen: far above any honest one.
const WAIT: Duration = Duration::from_secs(60);

/// Asks until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < WAIT, "never: {what}");
        std::thread::yield_now();
    }
}

/// Asks until a line of INFO has a value.
fn wait_for(client: &mut Client, name: &str, wanted: &str) {
    until(&format!("{name}:{wanted}"), || info(client, name) == wanted);
}

fn set(client: &mut Client, name: &str, value: &str) {
    assert_eq!(client.call(["CONFIG", "SET", name, value]), Value::ok());
}

#[test]
fn clients_beyond_maxclients_are_told_so_also_when_it_is_lowered() {
    const REFUSAL: &str = "ERR max number of clients reached";
    let server = Server::start_with(&["--maxclients", "2"]);
    let mut first = server.client();
    let mut second = server.client();
    assert_eq!(first.call(["PING"]).text(), "PONG");
    assert_eq!(second.call(["PING"]).text(), "PONG");
    let mut refused = server.client();
    assert_eq!(refused.read(), Value::Error(REFUSAL.into()));
    assert!(refused.is_closed());
    set(&mut first, "maxclients", "3");
    assert_eq!(server.client().call(["PING"]).text(), "PONG");
    wait_for(&mut first, "connected_clients", "2");
    // Who is there stays.
    set(&mut first, "maxclients", "1");
    assert_eq!(second.call(["PING"]).text(), "PONG");
    assert_eq!(server.client().read(), Value::Error(REFUSAL.into()));
    assert_eq!(number(&mut first, "rejected_connections"), 2);
}

/// Most files that the system would let this process, and its children, have open.
fn files_max() -> u64 {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("Linux tells the limits");
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let hard = line.and_then(|line| line.split_whitespace().nth(1));
    hard.and_then(|text| text.parse().ok())
        .expect("files have a limit")
}

#[test]
fn more_clients_than_the_system_has_files_for_are_refused() {
    let wanted = (files_max() + 1000).to_string();
    let refusal = |server: &Server| {
        let mut client = server.client();
        let answer = client.call(["CONFIG", "SET", "maxclients", &wanted]);
        (answer, client.call(["CONFIG", "GET", "maxclients"]))
    };
    let ours = refusal(&Server::start());
    assert!(ours.0.is_error(), "{}", ours.0.show());
    if let Some(real) = Server::start_real(Real::Redis8) {
        assert_eq!(ours, refusal(&real));
    }
    let few = Server::start_with(&["--maxclients", &wanted]);
    let allowed = few.client().call(["CONFIG", "GET", "maxclients"]);
    assert_ne!(allowed.items()[1].text(), wanted);
}

#[test]
fn silent_clients_go_after_the_timeout_unless_they_wait_for_something() {
    let server = Server::start();
    let mut admin = server.client();
    let mut silent = server.client();
    let mut waiting = server.client();
    let mut subscriber = server.client();
    silent.call(["PING"]);
    waiting.send(["BLPOP", "list", "0"]);
    subscriber.call(["SUBSCRIBE", "channel"]);
    wait_for(&mut admin, "blocked_clients", "1");
    set(&mut admin, "timeout", "1");
    // Whoever asks is not silent.
    wait_for(&mut admin, "connected_clients", "3");
    assert!(silent.is_closed());
    admin.call(["RPUSH", "list", "a"]);
    assert_eq!(waiting.read().items().len(), 2);
    admin.call(["PUBLISH", "channel", "text"]);
    assert_eq!(subscriber.read().items().len(), 3);
}

/// Whether the system probes the peer of the server's end of a connection: what /proc tells of its timer.
fn is_probed(server: &Server, client: &Client) -> bool {
    const KEEPALIVE_TIMER: &str = "02:";
    let peer = client
        .stream()
        .local_addr()
        .expect("a connection has an address");
    let end = |port: u16| format!(":{port:04X}");
    let sockets = std::fs::read_to_string("/proc/net/tcp").expect("Linux tells of its sockets");
    let line = sockets.lines().find(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[1].ends_with(&end(server.port())) && fields[2].ends_with(&end(peer.port()))
    });
    let line = line.expect("the connection is there");
    let timer = line
        .split_whitespace()
        .nth(5)
        .expect("a line tells the timer");
    timer.starts_with(KEEPALIVE_TIMER)
}

#[test]
fn the_system_probes_silent_peers_if_tcp_keepalive_says_so() {
    let server = Server::start();
    let mut first = server.client();
    first.call(["PING"]);
    assert!(is_probed(&server, &first));
    set(&mut first, "tcp-keepalive", "0");
    let mut second = server.client();
    second.call(["PING"]);
    assert!(!is_probed(&server, &second));
}

#[test]
fn the_largest_clients_go_when_all_take_too_much_and_those_that_may_not_be_evicted_stay() {
    let server = Server::start();
    let mut admin = server.client();
    assert_eq!(admin.call(["CLIENT", "NO-EVICT", "ON"]), Value::ok());
    let mut kept = server.client();
    kept.call(["CLIENT", "NO-EVICT", "ON"]);
    let mut small = server.client();
    let mut large = server.client();
    // Begun and not finished: it lies in the buffer.
    let begin = |client: &mut Client, len: usize| {
        client.send_bytes(format!("*2\r\n$4\r\nECHO\r\n${len}\r\n").as_bytes());
        client.send_bytes(&vec![b'x'; len]);
    };
    small.call(["PING"]);
    begin(&mut kept, 3_000_000);
    begin(&mut large, 5_000_000);
    until("all is sent", || {
        number(&mut admin, "mem_clients_normal") > 8_000_000
    });
    assert_eq!(number(&mut admin, "evicted_clients"), 0);
    set(&mut admin, "maxmemory-clients", "6mb");
    wait_for(&mut admin, "evicted_clients", "1");
    assert!(large.is_closed());
    assert_eq!(small.call(["PING"]).text(), "PONG");
    kept.send_bytes(b"\r\n");
    assert_eq!(kept.read().text().len(), 3_000_000);
}

/// The value that is asked for again and again by who does not read.
const LARGE_LEN: usize = 1 << 20;

fn store_large(client: &mut Client) {
    let large = vec![b'x'; LARGE_LEN];
    assert_eq!(client.call([&b"SET"[..], b"large", &large]), Value::ok());
}

/// Reads to the end of the connection; how many bytes there were.
fn drain(mut stream: &TcpStream) -> usize {
    let mut piece = vec![0; 1 << 16];
    let mut total = 0;
    while let Ok(len @ 1..) = stream.read(&mut piece) {
        total += len;
    }
    total
}

#[test]
fn a_client_over_the_hard_limit_is_cut_off_and_its_memory_returns() {
    const ASKED: usize = 100;
    let server = Server::start_with(&["--client-output-buffer-limit", "normal 8mb 0 0"]);
    let mut admin = server.client();
    store_large(&mut admin);
    let before = number(&mut admin, "used_memory");
    let mut slow = server.client();
    slow.send_bytes(&request(&["GET", "large"]).repeat(ASKED));
    wait_for(&mut admin, "client_output_buffer_limit_disconnections", "1");
    wait_for(&mut admin, "connected_clients", "1");
    assert!(drain(slow.stream()) < ASKED * LARGE_LEN);
    until("the memory is back", || {
        number(&mut admin, "used_memory") < before + 1_000_000
    });
    let peak = number(&mut admin, "used_memory_peak");
    assert!(peak < before + 40_000_000, "{peak} bytes at the peak");
}

#[test]
fn a_client_over_the_soft_limit_has_its_seconds() {
    let server = Server::start_with(&["--client-output-buffer-limit", "normal 0 100kb 1"]);
    let mut admin = server.client();
    store_large(&mut admin);
    let mut reader = server.client();
    let mut slow = server.client();
    for client in [&mut reader, &mut slow] {
        client.send_bytes(&request(&["GET", "large"]).repeat(32));
    }
    // Who reads in time stays.
    for _ in 0..32 {
        assert_eq!(reader.read().text().len(), LARGE_LEN);
    }
    wait_for(&mut admin, "client_output_buffer_limit_disconnections", "1");
    assert!(drain(slow.stream()) < 32 * LARGE_LEN);
    assert_eq!(reader.call(["PING"]).text(), "PONG");
}

#[test]
fn a_subscriber_that_does_not_read_is_cut_off_at_its_own_limit() {
    let limits = "normal 0 0 0 pubsub 4mb 0 0";
    let server = Server::start_with(&["--client-output-buffer-limit", limits]);
    let mut publisher = server.client();
    let mut subscriber = server.client();
    subscriber.call(["SUBSCRIBE", "channel"]);
    let text = "x".repeat(LARGE_LEN);
    until("nobody listens", || {
        publisher.call(["PUBLISH", "channel", &text]) == Value::Integer(0)
    });
    assert!(drain(subscriber.stream()) > 0);
    let cut = number(&mut publisher, "client_output_buffer_limit_disconnections");
    assert_eq!(cut, 1);
    assert!(number(&mut publisher, "used_memory_peak") < 40_000_000);
}

#[test]
fn a_replica_that_does_not_read_is_cut_off_at_its_own_limit() {
    let limits = "normal 0 0 0 replica 4mb 0 0";
    let server = Server::start_with(&["--client-output-buffer-limit", limits]);
    let mut writer = server.client();
    let mut replica = server.client();
    replica.send(["PSYNC", "?", "-1"]);
    wait_for(&mut writer, "connected_slaves", "1");
    let text = "x".repeat(LARGE_LEN);
    until("nobody follows", || {
        writer.call(["SET", "key", &text]);
        info(&mut writer, "connected_slaves") == "0"
    });
    assert!(drain(replica.stream()) > 0);
    let cut = number(&mut writer, "client_output_buffer_limit_disconnections");
    assert_eq!(cut, 1);
    assert!(number(&mut writer, "used_memory_peak") < 60_000_000);
}

#[test]
fn a_monitor_that_does_not_read_is_cut_off() {
    let server = Server::start_with(&["--client-output-buffer-limit", "normal 4mb 0 0"]);
    let mut client = server.client();
    let mut monitor = server.client();
    assert_eq!(monitor.call(["MONITOR"]), Value::ok());
    let text = "x".repeat(LARGE_LEN);
    until("nobody watches", || {
        client.call(["ECHO", &text]);
        info(&mut client, "connected_clients") == "1"
    });
    assert!(drain(monitor.stream()) > 0);
    assert!(number(&mut client, "used_memory_peak") < 40_000_000);
}

#[test]
fn a_request_over_the_query_limit_ends_its_connection() {
    let server = Server::start_with(&["--client-query-buffer-limit", "1mb"]);
    let mut admin = server.client();
    let mut client = server.client();
    let whole = vec![b'x'; 900_000];
    assert_eq!(
        client.call([&b"ECHO"[..], &whole]).text().len(),
        whole.len()
    );
    client.send_bytes(b"*3\r\n$4\r\nECHO\r\n$900000\r\n");
    client.send_bytes(&whole);
    client.send_bytes(b"\r\n$900000\r\n");
    // The server may close before it has all.
    let mut stream = client.stream();
    let _ = std::io::Write::write_all(&mut stream, &whole);
    wait_for(&mut admin, "client_query_buffer_limit_disconnections", "1");
    wait_for(&mut admin, "connected_clients", "1");
    assert_eq!(drain(client.stream()), 0);
}

#[test]
fn arguments_over_proto_max_bulk_len_are_refused_on_open_connections_too() {
    const REFUSAL: &str = "ERR Protocol error: invalid bulk length";
    let server = Server::start();
    let mut admin = server.client();
    let mut open = server.client();
    let allowed = vec![b'x'; 1 << 20];
    assert_eq!(open.call(["PING"]).text(), "PONG");
    set(&mut admin, "proto-max-bulk-len", "1mb");
    for mut client in [open, server.client()] {
        assert_eq!(
            client.call([&b"ECHO"[..], &allowed]).text().len(),
            allowed.len()
        );
        client.send_bytes(b"*2\r\n$4\r\nECHO\r\n$1048577\r\n");
        assert_eq!(client.read(), Value::Error(REFUSAL.into()));
        assert!(client.is_closed());
    }
}

#[test]
fn nothing_is_reserved_for_what_clients_announce() {
    const CONNECTIONS: usize = 50;
    let server = Server::start();
    let mut admin = server.client();
    let before = number(&mut admin, "used_memory");
    for announced in [
        &b"*1000000000\r\n"[..],
        b"*2\r\n$4\r\nECHO\r\n$536870912\r\n",
        b"*2147483647\r\n$3\r\nDEL\r\n$1\r\n",
        b"*3\r\n$3\r\nSET\r\n$536870912\r\nabc",
    ] {
        let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| server.client()).collect();
        clients
            .iter_mut()
            .for_each(|client| client.send_bytes(announced));
        let has_all = format!(" qbuf={} ", announced.len());
        until("all is sent", || {
            let list = admin.call(["CLIENT", "LIST"]).text();
            let silent = list.lines().filter(|line| line.contains(" cmd=NULL "));
            silent.filter(|line| line.contains(&has_all)).count() == CONNECTIONS
        });
        let used = number(&mut admin, "used_memory").saturating_sub(before);
        let each = used / CONNECTIONS as u64;
        assert!(
            each < 40_000,
            "{each} bytes for {}",
            announced.escape_ascii()
        );
        drop(clients);
        wait_for(&mut admin, "connected_clients", "1");
    }
}

#[test]
fn a_script_is_ended_by_a_client_of_the_same_thread() {
    let settings = ["--busy-reply-threshold", "10", "--io-threads", "1"];
    let server = Server::start_with(&settings);
    let (mut runner, mut killer) = (server.client(), server.client());
    killer.call(["PING"]);
    runner.send(["EVAL", "while true do end", "0"]);
    until("it is busy", || killer.call(["PING"]).is_error());
    let busy = killer.call(["PING"]).text();
    assert!(busy.starts_with("BUSY "), "{busy}");
    assert_eq!(killer.call(["SCRIPT", "KILL"]), Value::ok());
    assert!(runner.read().is_error());
    assert_eq!(killer.call(["PING"]).text(), "PONG");
}
