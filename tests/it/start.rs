//! How the server is started and stopped, as people and programs that start redis-server do it.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::harness::server::rankd_program;
use crate::harness::{Server, Value};

/// Longest time until the server tells the service manager.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Runs the program to its end.
fn run(args: &[&str]) -> Output {
    Command::new(rankd_program())
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

/// What a run that must fail says.
fn refusal(args: &[&str]) -> String {
    let output = run(args);
    assert!(!output.status.success(), "{args:?} started");
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn signal(server: &Server, name: &str) {
    let status = Command::new("kill")
        .args([name, &server.pid().to_string()])
        .status()
        .expect("kill runs");
    assert!(status.success());
}

fn setting(server: &Server, name: &str) -> String {
    server
        .client()
        .call(["CONFIG", "GET", name])
        .items()
        .get(1)
        .map(Value::text)
        .unwrap_or_default()
}

#[test]
fn the_lines_that_harnesses_wait_for_come_in_order() {
    let server = Server::start();
    let (pid, port) = (server.pid(), server.port());
    signal(&server, "-TERM");
    let (code, output) = server.wait();
    assert_eq!(code, Some(0), "{output}");
    let at = |text: &str| {
        output
            .find(text)
            .unwrap_or_else(|| panic!("no {text:?} in\n{output}"))
    };
    let process = at(&format!(" PID: {pid}"));
    let initialized = at("Server initialized");
    let ready = at("Ready to accept connections");
    assert!(process < initialized && initialized < ready, "{output}");
    assert!(
        output[ready..]
            .lines()
            .next()
            .is_some_and(|line| line.contains(&format!("127.0.0.1:{port}"))),
        "{output}"
    );
}

#[test]
fn sigint_and_shutdown_end_it_in_order() {
    let server = Server::start();
    signal(&server, "-INT");
    assert_eq!(server.wait().0, Some(0));
    let server = Server::start();
    let mut client = server.client();
    client.send(["SHUTDOWN", "NOSAVE"]);
    assert!(client.is_closed());
    assert_eq!(server.wait().0, Some(0));
}

#[test]
fn every_server_on_port_0_gets_its_own_port() {
    let servers: Vec<Server> = (0..4).map(|_| Server::start()).collect();
    let mut ports: Vec<u16> = servers.iter().map(Server::port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), servers.len());
    for server in &servers {
        assert_eq!(
            server.client().call(["PING"]),
            Value::Simple(b"PONG".to_vec())
        );
    }
}

#[test]
fn files_and_words_set_the_same_settings_and_words_win() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let redis_conf = folder.path().join("redis.conf");
    let toml = folder.path().join("config.toml");
    fs::write(
        &redis_conf,
        "# a comment\nmaxclients 100\nslowlog-max-len 5\nsave \"\"\nport 0\n",
    )
    .expect("written");
    fs::write(
        &toml,
        "# a comment\nmaxclients = 100\nslowlog-max-len = 5\nsave = \"\"\nport = 0\n",
    )
    .expect("written");
    for file in [&redis_conf, &toml] {
        let server = Server::start_by(&[&file.to_string_lossy(), "--slowlog-max-len", "7"]);
        assert_eq!(setting(&server, "maxclients"), "100", "{}", file.display());
        assert_eq!(
            setting(&server, "slowlog-max-len"),
            "7",
            "{}",
            file.display()
        );
        assert_eq!(setting(&server, "save"), "", "{}", file.display());
    }
}

#[test]
fn a_setting_of_redis_that_means_nothing_here_is_accepted_with_a_warning() {
    let server = Server::start_with(&["--activerehashing", "no"]);
    signal(&server, "-TERM");
    let (code, output) = server.wait();
    assert_eq!(code, Some(0));
    assert!(
        output.contains("activerehashing"),
        "no warning in\n{output}"
    );
}

#[test]
fn an_unknown_setting_is_refused_with_its_file_and_line() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let cases = [
        ("redis.conf", "port 0\n\nnosuch-setting 3\n", "3"),
        ("config.toml", "port = 0\nnosuch-setting = 3\n", "2"),
    ];
    for (name, text, line) in cases {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        let said = refusal(&[&path.to_string_lossy()]);
        assert!(said.contains(&format!("at line {line}")), "{said}");
        assert!(
            said.contains(name) && said.contains("nosuch-setting"),
            "{said}"
        );
    }
    assert!(refusal(&["--nosuch-setting", "3"]).contains("nosuch-setting"));
    assert!(refusal(&["--port", "x"]).contains("port"));
    assert!(refusal(&["--port", "65536"]).contains("port"));
    assert!(refusal(&["/nosuch/redis.conf"]).contains("/nosuch/redis.conf"));
}

#[test]
fn a_taken_port_is_an_error_that_names_it() {
    let server = Server::start();
    let port = server.port().to_string();
    assert!(refusal(&["--port", &port, "--save", ""]).contains(&port));
}

#[test]
fn version_and_help_say_what_this_is() {
    let version = run(&["--version"]);
    assert!(version.status.success());
    assert!(String::from_utf8_lossy(&version.stdout).contains(env!("CARGO_PKG_VERSION")));
    let help = run(&["--help"]);
    assert!(help.status.success());
    assert!(String::from_utf8_lossy(&help.stdout).contains("--port"));
}

#[test]
fn a_unix_socket_takes_clients_and_goes_with_the_server() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("rankd.sock");
    let server = Server::start_with(&[
        "--unixsocket",
        &path.to_string_lossy(),
        "--unixsocketperm",
        "700",
    ]);
    let mut socket = UnixStream::connect(&path).expect("the socket accepts connections");
    socket.write_all(b"PING\r\n").expect("sent");
    let mut reply = [0; 7];
    socket.read_exact(&mut reply).expect("answered");
    assert_eq!(&reply, b"+PONG\r\n");
    let info = server.client().call(["INFO", "server"]).text();
    let tcp = format!(
        "listener0:name=tcp,bind=127.0.0.1,bind=-::1,port={}",
        server.port()
    );
    let unix = format!("listener1:name=unix,bind={}", path.display());
    assert!(info.contains(&format!("{tcp}\r\n{unix}\r\n")), "{info}");
    signal(&server, "-TERM");
    assert_eq!(server.wait().0, Some(0));
    assert!(!path.exists());
}

#[test]
fn systemd_is_told_when_the_server_is_ready_and_when_it_ends() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket can be made");
    manager
        .set_read_timeout(Some(ANSWER_MAX))
        .expect("a socket can wait");
    let told = || {
        let mut text = [0; 1000];
        let len = manager.recv(&mut text).expect("the server tells");
        String::from_utf8_lossy(&text[..len]).into_owned()
    };
    let mut command = Command::new(rankd_program());
    command.env("NOTIFY_SOCKET", &path);
    command.args(["--port", "0", "--save", "", "--supervised", "systemd"]);
    let server = Server::spawn(command, folder.path(), None).expect("the server starts");
    assert!(told().contains("READY=1\n"));
    let info = server.client().call(["INFO", "server"]).text();
    assert!(
        info.contains("\r\nprocess_supervised:systemd\r\n"),
        "{info}"
    );
    signal(&server, "-TERM");
    assert_eq!(told(), "STOPPING=1\n");
    assert_eq!(server.wait().0, Some(0));
}

#[test]
fn hangup_opens_the_log_file_anew() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (log, old) = (folder.path().join("log"), folder.path().join("log.1"));
    let server = Server::start_logging_to(&log);
    fs::rename(&log, &old).expect("the log can be moved away");
    signal(&server, "-HUP");
    let mut client = server.client();
    while !log.exists() {
        client.call(["PING"]);
    }
    signal(&server, "-TERM");
    assert_eq!(server.wait().0, Some(0));
    let (before, after) = (
        fs::read_to_string(&old).expect("read"),
        fs::read_to_string(&log).expect("read"),
    );
    assert!(before.contains("Ready to accept connections"), "{before}");
    assert!(
        !after.is_empty() && !after.contains("Ready to accept connections"),
        "{after}"
    );
}

#[test]
fn a_password_guards_everything_but_the_way_in() {
    let server = Server::start_with(&["--requirepass", "secret"]);
    let mut client = server.client();
    let refused = Value::Error(b"NOAUTH Authentication required.".to_vec());
    assert_eq!(client.call(["PING"]), refused);
    assert_eq!(client.call(["GET", "a"]), refused);
    let wrong = "WRONGPASS invalid username-password pair or user is disabled.";
    assert_eq!(client.call(["AUTH", "wrong"]).text(), wrong);
    assert_eq!(client.call(["AUTH", "secret"]), Value::ok());
    assert_eq!(client.call(["PING"]).text(), "PONG");
    assert!(matches!(
        server
            .client()
            .call(["HELLO", "3", "AUTH", "default", "secret"]),
        Value::Map(_)
    ));
}

#[test]
fn the_title_of_the_process_follows_its_template() {
    let server = Server::start();
    let title = || {
        let file = format!("/proc/{}/cmdline", server.pid());
        let bytes = fs::read(file).expect("the process has a title");
        String::from_utf8_lossy(&bytes)
            .trim_end_matches('\0')
            .to_string()
    };
    let port = server.port();
    assert!(
        title().ends_with(&format!("rankd 127.0.0.1:{port}")),
        "{}",
        title()
    );
    let mut client = server.client();
    // Longer than the arguments: it runs on into the memory of the environment.
    let long = "x".repeat(300);
    let template = format!("BOARDS {{port}} {{tls-port}} {{server-mode}} {long} ");
    let set = client.call(["CONFIG", "SET", "proc-title-template", &template]);
    assert_eq!(set, Value::ok());
    assert_eq!(title(), format!("BOARDS {port} 0  {long}"));
    let set = client.call(["CONFIG", "SET", "proc-title-template", "{port}"]);
    assert_eq!(set, Value::ok());
    assert_eq!(title(), port.to_string());
}
