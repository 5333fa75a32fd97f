//! Settings that the running server has to follow with its sockets and files.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::harness::client::Client;
use crate::harness::server::rankd_program;
use crate::harness::{Server, Value};

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

#[test]
fn the_port_follows_config_set_and_open_connections_stay() {
    let server = Server::start();
    let mut client = server.client();
    let port = free_port().to_string();
    assert_eq!(client.call(["CONFIG", "SET", "port", &port]), Value::ok());
    let mut new = Client::connect(port.parse().expect("a port"));
    assert_eq!(new.call(["PING"]).text(), "PONG");
    assert_eq!(client.call(["PING"]).text(), "PONG");
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_err());
    let info = client.call(["INFO", "server"]).text();
    assert!(info.contains(&format!("tcp_port:{port}\r\n")), "{info}");
}

#[test]
fn a_port_that_is_taken_leaves_all_settings_as_they_were() {
    let server = Server::start();
    let mut client = server.client();
    let other = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let taken = other.local_addr().expect("it has an address").port();
    let set = ["CONFIG", "SET", "hz", "20", "port", &taken.to_string()];
    assert_eq!(
        client.call(set).text(),
        "ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. Check server \
         logs."
    );
    assert_eq!(client.call(["CONFIG", "GET", "hz"]).items()[1].text(), "10");
    assert_eq!(server.client().call(["PING"]).text(), "PONG");
}

#[test]
fn an_address_of_nobody_is_refused_and_the_old_one_stays() {
    let server = Server::start();
    let mut client = server.client();
    assert_eq!(
        client.call(["CONFIG", "SET", "bind", "999.1.1.1"]).text(),
        "ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses."
    );
    assert_eq!(server.client().call(["PING"]).text(), "PONG");
    let all = client.call(["CONFIG", "SET", "bind", "*"]);
    assert_eq!(all, Value::ok());
    assert_eq!(server.client().call(["PING"]).text(), "PONG");
    let loopback = client.call(["CONFIG", "SET", "bind", "127.0.0.1"]);
    assert_eq!(loopback, Value::ok());
    assert_eq!(server.client().call(["PING"]).text(), "PONG");
}

#[test]
fn a_rewritten_file_keeps_all_save_points() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("redis.conf");
    fs::write(&file, "port 0\nsave 100 200\n").expect("written");
    let path = file.to_string_lossy().into_owned();
    let server = Server::start_by(&[&path]);
    let mut client = server.client();
    let points = "3600 1 300 100 60 10000";
    assert_eq!(client.call(["CONFIG", "SET", "save", points]), Value::ok());
    assert_eq!(client.call(["CONFIG", "REWRITE"]), Value::ok());
    let text = fs::read_to_string(&file).expect("read");
    for line in ["save 3600 1\n", "save 300 100\n", "save 60 10000\n"] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
}

#[test]
fn a_server_in_the_background_lets_its_caller_go_on() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (port, pidfile) = (free_port(), folder.path().join("pid"));
    let started = Command::new(rankd_program())
        .args(["--daemonize", "yes", "--save", "", "--port"])
        .arg(port.to_string())
        .arg("--pidfile")
        .arg(&pidfile)
        .arg("--dir")
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    assert!(started.status.success(), "{started:?}");
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::yield_now();
    }
    let mut client = Client::connect(port);
    let info = client.call(["INFO", "server"]).text();
    let pid = fs::read_to_string(&pidfile).expect("read");
    assert!(
        info.contains(&format!("process_id:{}", pid.trim())),
        "{info}"
    );
    client.send(["SHUTDOWN", "NOSAVE"]);
    assert!(client.is_closed());
}
