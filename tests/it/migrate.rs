//! Keys that move from one server to another.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::harness::server::Real;
use crate::harness::{Client, Server, Value};

fn migrate(client: &mut Client, port: u16, rest: &str) -> Value {
    client.line(&format!("MIGRATE 127.0.0.1 {port} {rest}"))
}

fn integer(number: i64) -> Value {
    Value::Integer(number)
}

#[test]
fn keys_of_all_types_move_with_their_deadlines() {
    let (source, target) = (Server::start(), Server::start());
    let (mut from, mut to) = (source.client(), target.client());
    from.line("ZADD board 1 a 2.5 b");
    from.line("RPUSH list x y");
    from.line("HSET hash f v");
    from.line("SET string v PX 100000");
    let port = target.port();
    let reply = migrate(
        &mut from,
        port,
        "\"\" 3 5000 KEYS board list nokey hash string",
    );
    assert_eq!(reply, Value::ok());
    assert_eq!(from.line("DBSIZE"), integer(0));
    to.line("SELECT 3");
    assert_eq!(to.line("DBSIZE"), integer(4));
    assert_eq!(to.line("ZSCORE board b").text(), "2.5");
    let ttl = to.line("PTTL string");
    assert!(matches!(ttl, Value::Integer(1..=100_000)), "{ttl:?}");
    assert_eq!(migrate(&mut from, port, "board 0 100").text(), "NOKEY");
    // Inside a transaction and a script it is done in one go.
    from.line("SET one 1");
    from.line("MULTI");
    migrate(&mut from, port, "one 0 5000");
    from.line("EXISTS one");
    assert_eq!(
        from.line("EXEC"),
        Value::Array(vec![Value::ok(), integer(0)])
    );
    from.line("SET two 2");
    let script = "return redis.call('MIGRATE', '127.0.0.1', ARGV[1], KEYS[1], 0, 5000, 'COPY')";
    let moved = from.call(["EVAL", script, "1", "two", &port.to_string()]);
    assert_eq!(moved, Value::ok());
    assert_eq!(from.line("EXISTS two"), integer(1));
}

#[test]
fn what_is_there_gives_way_only_to_replace() {
    let target = Server::start_with(&["--requirepass", "secret"]);
    let source = Server::start();
    let (mut from, mut to) = (source.client(), target.client());
    to.line("AUTH secret");
    to.line("SET k old");
    from.line("MSET k new free 1");
    let port = target.port();
    let login = "AUTH secret";
    let errors = [
        (String::new(), "NOAUTH Authentication required."),
        (
            "AUTH wrong".to_string(),
            "WRONGPASS invalid username-password pair or user is disabled.",
        ),
        (login.to_string(), "BUSYKEY Target key name already exists."),
    ];
    for (options, expected) in errors {
        assert_eq!(
            migrate(&mut from, port, &format!("k 0 5000 {options}")).text(),
            format!("ERR Target instance replied with error: {expected}")
        );
    }
    // What could be stored has moved.
    let rest = format!("\"\" 0 5000 {login} KEYS k free");
    assert!(migrate(&mut from, port, &rest).is_error());
    assert_eq!(from.line("EXISTS k free"), integer(1));
    let rest = "k 0 5000 COPY REPLACE AUTH2 default secret";
    assert_eq!(migrate(&mut from, port, rest), Value::ok());
    assert_eq!(to.line("GET k").text(), "new");
    assert_eq!(from.line("GET k").text(), "new");
    let wrong_db = migrate(&mut from, port, &format!("k 99 5000 {login}"));
    assert_eq!(
        wrong_db.text(),
        "ERR Target instance replied with error: ERR DB index is out of range"
    );
    // Passwords are for nobody else.
    from.line("CONFIG SET slowlog-log-slower-than 0");
    migrate(&mut from, port, &format!("k 0 5000 COPY REPLACE {login}"));
    let log = from.line("SLOWLOG GET 2").show();
    assert!(log.contains("redacted") && !log.contains("secret"), "{log}");
}

#[test]
fn servers_out_of_reach_are_told_of_as_by_redis() {
    let source = Server::start();
    let mut from = source.client();
    from.line("SET k v");
    let closed = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = closed.local_addr().expect("it is bound").port();
    drop(closed);
    assert_eq!(
        migrate(&mut from, port, "k 0 100").text(),
        "IOERR error or timeout writing to target instance"
    );
    // One that takes the connection and says nothing.
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = silent.local_addr().expect("it is bound").port();
    from.send(["MIGRATE", "127.0.0.1", &port.to_string(), "k", "0", "300"]);
    let mut other = source.client();
    // The engine is free meanwhile, and nothing but an answer ends the wait.
    while !other
        .line("INFO clients")
        .text()
        .contains("blocked_clients:1")
    {}
    assert_eq!(other.line("SET other 1"), Value::ok());
    let waits = other.line("CLIENT LIST").text();
    let line = waits.lines().find(|line| line.contains("cmd=migrate"));
    let id = line.and_then(|line| line.split(['=', ' ']).nth(1));
    let unblock = ["CLIENT", "UNBLOCK", id.expect("it is in the list")];
    assert_eq!(other.call(unblock), integer(0));
    assert_eq!(
        from.read().text(),
        "IOERR error or timeout reading from target instance"
    );
    assert_eq!(from.line("GET k").text(), "v");
}

/// Reads one request of a connection that plays the other server.
fn request(reader: &mut BufReader<TcpStream>) -> Vec<String> {
    let number = |reader: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        line[1..].trim().parse::<usize>().expect("a length")
    };
    let count = number(reader);
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; number(reader) + 2];
        reader.read_exact(&mut word).expect("a word");
        words.push(String::from_utf8_lossy(&word[..word.len() - 2]).into_owned());
    }
    words
}

#[test]
fn a_key_that_changes_on_its_way_is_sent_again() {
    let source = Server::start();
    let (mut from, mut other) = (source.client(), source.client());
    from.line("SET k 1");
    let target = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = target.local_addr().expect("it is bound").port().to_string();
    from.send(["MIGRATE", "127.0.0.1", &port, "k", "0", "10000"]);
    let mut seen = Vec::new();
    for round in 0..2 {
        let (mut stream, _) = target.accept().expect("it connects");
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        assert_eq!(request(&mut reader), ["SELECT", "0"]);
        seen.push(request(&mut reader));
        if round == 0 {
            assert_eq!(other.line("INCR k"), integer(2));
        }
        stream.write_all(b"+OK\r\n+OK\r\n").expect("it listens");
    }
    assert_eq!(from.read(), Value::ok());
    assert_eq!(other.line("EXISTS k"), integer(0));
    assert_ne!(seen[0][3], seen[1][3]);
    assert_eq!((seen[0].len(), seen[1].len()), (4, 5));
    assert_eq!(seen[1][4], "REPLACE");
}

#[test]
fn a_client_that_leaves_does_not_leave_keys_on_both_sides() {
    let source = Server::start();
    let (mut from, mut other) = (source.client(), source.client());
    from.line("SET k 1");
    let target = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = target.local_addr().expect("it is bound").port().to_string();
    from.send(["MIGRATE", "127.0.0.1", &port, "k", "0", "10000"]);
    let (mut stream, _) = target.accept().expect("it connects");
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    request(&mut reader);
    request(&mut reader);
    drop(from);
    while other.line("CLIENT LIST").text().lines().count() > 1 {}
    stream.write_all(b"+OK\r\n+OK\r\n").expect("it listens");
    while other.line("EXISTS k") == integer(1) {}
    assert_eq!(other.line("PING").text(), "PONG");
}

#[test]
fn redis_takes_our_keys_and_we_take_its() {
    let Some(real) = Server::start_real(Real::Redis7) else {
        return;
    };
    let ours = Server::start();
    let (mut theirs, mut here) = (real.client(), ours.client());
    here.line("ZADD board 1 a 2 b");
    assert_eq!(migrate(&mut here, real.port(), "board 0 5000"), Value::ok());
    assert_eq!(theirs.line("ZCARD board"), integer(2));
    assert_eq!(
        migrate(&mut theirs, ours.port(), "board 0 5000"),
        Value::ok()
    );
    assert_eq!(here.line("ZSCORE board b").text(), "2");
}
