//! The bytes on the wire: requests in pieces, pipelines, inline commands, and what is no request at all.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::harness::client::request;
use crate::harness::server::Real;
use crate::harness::{Server, Value};

/// Longest wait for the end of a connection.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// What is sent raw; every answer up to the end of the connection must be the real server's.
const RAW: &[&[u8]] = &[
    b"PING\r\n",
    b"PING\n",
    b"ping hello\r\n",
    b"\r\n\r\n\nPING\r\n",
    b"   PING   \r\n",
    b"SET a 'b c'\r\nGET a\r\n",
    b"SET \"a\\x00\\n\" \"\\\"\"\r\nGET \"a\\x00\\n\"\r\n",
    b"SET a \"unbalanced\r\nPING\r\n",
    b"SET a 'unbalanced\r\nPING\r\n",
    b"SET a \"b\"c\r\nPING\r\n",
    b"NOSUCH 'a b' c\r\nPING\r\n",
    b"*0\r\n*-1\r\n*-10\r\nPING\r\n",
    b"*1\r\n$4\r\nPING\r\n",
    b"*2\r\n$4\r\nPING\r\n$0\r\n\r\n",
    b"*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n",
    b"*abc\r\nPING\r\n",
    b"*1048577\r\n$4\r\n",
    b"*2147483648\r\n",
    b"*99999999999999999999\r\n",
    b"*1 \r\n$4\r\nPING\r\n",
    b"*+1\r\n$4\r\nPING\r\n",
    b"*01\r\n$4\r\nPING\r\n",
    b"*1\r\n:4\r\nPING\r\n",
    b"*1\r\nPING\r\n",
    b"*1\r\n\r\n",
    b"*1\r\n$-1\r\n",
    b"*1\r\n$abc\r\n",
    b"*1\r\n$\r\n",
    b"*1\r\n$536870913\r\n",
    b"*1\r\n$9999999999999999999\r\n",
    b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n",
    b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\nab",
    b"$4\r\nPING\r\n",
    b"+OK\r\n",
    b"-ERR\r\n:1\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nPING\r\n",
    b"Host: localhost\r\nPING\r\n",
    b"\x00\x01\x02\r\nPING\r\n",
    b"\xff\xfe\r\n",
    b"*2\r\n$3\r\nGET\r\n$3\r\n\r\n\r\r\nPING\r\n",
    b"QUIT\r\nPING\r\n",
    b"MULTI\r\nNOSUCH\r\nEXEC\r\nMULTI\r\nPING\r\n*1\r\n$x\r\n",
    b"HELLO 4\r\nHELLO x\r\nHELLO 3 SETNAME\r\nHELLO 3 AUTH a\r\nHELLO 3 BAD\r\nPING\r\n",
    b"CLIENT REPLY SKIP\r\nPING\r\nPING\r\nCLIENT REPLY OFF\r\nPING\r\nCLIENT REPLY ON\r\n",
];

/// Sends bytes, says that no more will come, and takes what comes until the server closes.
fn answer(port: u16, bytes: &[u8]) -> Vec<u8> {
    let mut stream =
        TcpStream::connect(("127.0.0.1", port)).expect("the server accepts connections");
    stream
        .set_read_timeout(Some(CLOSE_WAIT))
        .expect("a timeout can be set");
    // A server that has seen enough may close while we still send.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return answer,
            Ok(len) => answer.extend_from_slice(&piece[..len]),
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return answer,
            Err(_) => {
                answer.extend_from_slice(b"(and the connection stays open)");
                return answer;
            }
        }
    }
}

#[test]
fn raw_bytes_are_answered_as_by_the_real_server() {
    let Some(real) = Server::start_real(Real::Redis8) else {
        return;
    };
    let ours = Server::start();
    let long_inline = [&b"SET a "[..], &vec![b'x'; 70_000]].concat();
    let long_count = [&b"*"[..], &vec![b'1'; 70_000]].concat();
    let inputs = RAW
        .iter()
        .copied()
        .chain([long_inline.as_slice(), long_count.as_slice()]);
    let mut differences = Vec::new();
    for bytes in inputs {
        let expected = answer(real.port(), bytes);
        let got = answer(ours.port(), bytes);
        if expected != got {
            differences.push(format!(
                "{}\n  real {}\n  ours {}",
                bytes[..bytes.len().min(120)].escape_ascii(),
                expected.escape_ascii(),
                got.escape_ascii()
            ));
        }
    }
    assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
}

#[test]
fn a_request_may_be_split_at_any_byte() {
    let server = Server::start();
    let mut client = server.client();
    let bytes = [
        request(&["SET", "key\r\n", "a value\r\nwith lines"]),
        b"GET \"key\\r\\n\"\r\n".to_vec(),
        request(&["ZADD", "board", "1.5", "ann", "2", ""]),
        request(&["ZRANGE", "board", "0", "-1"]),
        request(&["DEL", "board"]),
    ]
    .concat();
    for at in 0..bytes.len() {
        client.send_bytes(&bytes[..at]);
        client.send_bytes(&bytes[at..]);
        assert_eq!(client.read(), Value::ok(), "split at {at}");
        assert_eq!(
            client.read(),
            Value::bulk("a value\r\nwith lines"),
            "split at {at}"
        );
        assert_eq!(client.read(), Value::Integer(2), "split at {at}");
        let members = Value::Array(vec![Value::bulk("ann"), Value::bulk("")]);
        assert_eq!(client.read(), members, "split at {at}");
        assert_eq!(client.read(), Value::Integer(1), "split at {at}");
    }
}

#[test]
fn a_deep_pipeline_is_answered_in_order() {
    const DEPTH: usize = 50_000;
    let server = Server::start();
    let mut client = server.client();
    let bytes: Vec<u8> = (0..DEPTH)
        .flat_map(|_| request(&["INCR", "count"]))
        .collect();
    let mut writer = client.stream().try_clone().expect("a socket can be shared");
    let sender = std::thread::spawn(move || writer.write_all(&bytes));
    for expected in 1..=DEPTH {
        assert_eq!(client.read(), Value::Integer(expected as i64));
    }
    sender
        .join()
        .expect("the sender ends")
        .expect("the server reads all");
}

#[test]
fn keys_and_members_may_hold_any_byte() {
    let server = Server::start();
    let mut client = server.client();
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(
        client.call([&b"ZADD"[..], &all, b"1", &all]),
        Value::Integer(1)
    );
    let members = Value::Array(vec![Value::Bulk(all.clone())]);
    assert_eq!(client.call([&b"ZRANGE"[..], &all, b"0", b"-1"]), members);
    assert_eq!(client.call(["KEYS", "*"]), members);
}

#[test]
fn a_large_value_comes_back_whole() {
    const LEN: usize = 32 << 20;
    let server = Server::start();
    let mut client = server.client();
    let value: Vec<u8> = (0..LEN).map(|index| (index % 251) as u8).collect();
    assert_eq!(client.call([&b"SET"[..], b"large", &value]), Value::ok());
    assert_eq!(client.call(["STRLEN", "large"]), Value::Integer(LEN as i64));
    assert!(
        client.call(["GET", "large"]) == Value::Bulk(value),
        "another value came back"
    );
}

#[test]
fn a_board_of_twenty_megabytes_comes_in_one_request() {
    const MEMBERS: usize = 400_000;
    let server = Server::start();
    let mut client = server.client();
    let mut bytes = format!("*{}\r\n$4\r\nZADD\r\n$5\r\nboard\r\n", 2 + 2 * MEMBERS).into_bytes();
    for member in 0..MEMBERS {
        let line = format!("$6\r\n{member:06}\r\n$24\r\nthe-player:{member:013}\r\n");
        bytes.extend_from_slice(line.as_bytes());
    }
    for piece in bytes.chunks(16 * 1024) {
        client.send_bytes(piece);
    }
    assert_eq!(client.read(), Value::Integer(MEMBERS as i64));
    assert_eq!(
        client.call(["ZCARD", "board"]),
        Value::Integer(MEMBERS as i64)
    );
}

#[test]
fn looking_whether_a_key_is_there_counts_and_leaves_its_age() {
    let server = Server::start_with(&["--maxmemory-policy", "allkeys-lfu"]);
    let mut client = server.client();
    client.call(["SET", "a", "b"]);
    let frequency = client.call(["OBJECT", "FREQ", "a"]);
    for _ in 0..50 {
        client.call(["EXISTS", "a"]);
        client.call(["TTL", "a"]);
        client.call(["TYPE", "a"]);
    }
    assert_eq!(client.call(["OBJECT", "FREQ", "a"]), frequency);
    let stats = client.call(["INFO", "stats"]).text();
    assert!(stats.contains("keyspace_hits:15"), "{stats}");
}

#[test]
fn a_client_that_wants_no_replies_gets_none_inside_a_transaction() {
    let server = Server::start();
    let mut client = server.client();
    client.call(["MULTI"]);
    client.call(["CLIENT", "REPLY", "OFF"]);
    client.call(["PING"]);
    client.call(["CLIENT", "REPLY", "ON"]);
    client.send(["EXEC"]);
    client.send(["ECHO", "behind"]);
    // Redis, too, announces three replies and sends one.
    let expected = b"*3\r\n+OK\r\n$6\r\nbehind\r\n";
    let mut bytes = [0; 21];
    let read = client.stream().read_exact(&mut bytes);
    read.expect("the replies arrive");
    assert_eq!(&bytes, expected);
}

#[test]
fn a_reader_too_slow_for_too_long_is_cut_off_although_nothing_more_is_sent() {
    let limit = "pubsub 0 100kb 1";
    let server = Server::start_with(&["--client-output-buffer-limit", limit]);
    let mut publisher = server.client();
    let mut subscriber = server.client();
    subscriber.call(["SUBSCRIBE", "channel"]);
    let text = "x".repeat(1 << 20);
    for _ in 0..16 {
        publisher.call(["PUBLISH", "channel", &text]);
    }
    let subscribers = |client: &mut crate::harness::client::Client| {
        let answer = client.call(["PUBSUB", "NUMSUB", "channel"]);
        answer.items()[1].text()
    };
    assert_eq!(subscribers(&mut publisher), "1");
    while subscribers(&mut publisher) != "0" {
        std::thread::yield_now();
    }
}

#[test]
fn a_client_that_was_told_goodbye_is_gone_for_clients_of_other_threads() {
    let server = Server::start_with(&["--io-threads", "3"]);
    let mut looker = server.client();
    for _ in 0..200 {
        let mut client = server.client();
        let id = client.call(["CLIENT", "ID"]).text();
        assert_eq!(client.call(["QUIT"]), Value::ok());
        let list = looker.call(["CLIENT", "LIST", "ID", &id]).text();
        assert_eq!(list, "");
    }
}
