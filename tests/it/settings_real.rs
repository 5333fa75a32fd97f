//! The settings against real servers: names, defaults, what CONFIG SET takes, and the texts of refusals.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};

use rankd::settings::{Access, Loader, Settings, cli};

use super::harness::server::Real;
use super::harness::{Client, Server};

/// What the harness gives to every real server, and so says nothing about defaults.
const GIVEN_BY_THE_HARNESS: &[&str] = &["port", "save", "dir", "enable-debug-command"];

/// Names that Redis 8 added after 7.2.
const NEWER: &[&str] = &[
    "cluster-compatibility-sample-ratio",
    "cluster-slot-stats-enabled",
    "hide-user-data-from-log",
    "max-new-connections-per-cycle",
    "max-new-tls-connections-per-cycle",
    "replica-full-sync-buffer-limit",
    "vset-force-single-threaded-execution",
];

/// Defaults that differ on purpose, each with the reason.
const OTHER_DEFAULTS: &[(&str, &str)] = &[
    ("bind", "rankd listens on the loopback until told otherwise"),
    ("aof-disable-auto-gc", "hidden since Redis 7.2"),
    ("io-threads", "as many as fit the machine"),
];

#[test]
fn every_name_of_redis_is_known_with_its_default() {
    for real in [Real::Redis7, Real::Redis8] {
        let Some(server) = Server::start_real(real) else {
            continue;
        };
        let theirs = config(&mut server.client());
        let ours: BTreeMap<String, String> = Settings::default()
            .config_get(&[b"*"])
            .into_iter()
            .map(|(name, value)| (text(&name), text(&value)))
            .collect();
        let mut differences = Vec::new();
        for (name, value) in &theirs {
            let expected = GIVEN_BY_THE_HARNESS.contains(&name.as_str())
                || NEWER.contains(&name.as_str())
                || OTHER_DEFAULTS.iter().any(|(other, _)| other == name);
            if !expected && ours.get(name) != Some(value) {
                differences.push(format!("{name}: {value:?}, ours {:?}", ours.get(name)));
            }
        }
        assert_eq!(differences, Vec::<String>::new(), "{real:?}");
        if real == Real::Redis8 {
            let only_ours: Vec<&String> = ours
                .keys()
                .filter(|name| !theirs.contains_key(*name))
                .collect();
            assert_eq!(only_ours, ["io-threads-do-reads"]);
        }
    }
}

/// Settings whose change needs something of the machine, or ends the connection.
const NOT_TRIED: &[&str] = &[
    "bind",
    "port",
    "maxclients",
    "maxmemory-clients",
    "oom-score-adj",
    "oom-score-adj-values",
    "locale-collate",
    "appendonly",
    "activedefrag",
    "requirepass",
    "bind-source-addr",
    // Redis raises it to 16kb when it is applied; it has no effect in rankd.
    "repl-backlog-size",
];

const VALUES: &[&str] = &[
    "",
    "x",
    "yes",
    "NO",
    "-1",
    "-2",
    "0",
    "1",
    "17",
    "5%",
    "1kb",
    "2MB",
    "3g",
    "01",
    "+1",
    " 1",
    "1 2",
    "1 2 3",
    "900 1 300 10",
    "900  1",
    "0 1",
    "1 -1",
    "+5 6",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "a/b",
    "a b",
    "KEA",
    "KgxEn$",
    "always",
    "LOCAL",
    "normal 1 2 3",
    "slave 1mb 1kb 3 pubsub 0 0 0",
    "master 0 0 0",
    "normal 1 2 x",
    "nosave",
    "now force",
    "save nosave",
    "50 99.9 99.999",
    "50 101",
    "50 x",
    "{title} {port}",
    "{nothing}",
    "9999",
    "allkeys-lfu",
    "warning",
];

#[test]
fn config_set_takes_and_refuses_what_redis_does() {
    let Some(server) = Server::start_real(Real::Redis8) else {
        return;
    };
    let mut client = server.client();
    let access = Access {
        protected_allowed: false,
        loading: false,
    };
    let mut settings = Settings::default();
    let mut differences = Vec::new();
    let names = config(&mut client);
    for name in names.keys().filter(|name| !name.starts_with("tls-")) {
        if NEWER.contains(&name.as_str()) || NOT_TRIED.contains(&name.as_str()) {
            continue;
        }
        let before = client.call(["CONFIG", "GET", name]).items()[1].text();
        if settings.set_from_inside(name, &before).is_err() && !before.is_empty() {
            differences.push(format!("{name}: {before:?} is refused"));
        }
        for value in VALUES {
            let theirs = client.call(["CONFIG", "SET", name, value]).text();
            let pair = (name.as_bytes(), value.as_bytes());
            let ours = match settings.config_set(&[pair], access, |_, _| Ok(())) {
                Ok(_) => "OK".to_string(),
                Err(error) => text(&error.wire_text()),
            };
            if theirs != ours {
                differences.push(format!("{name} {value:?}: {theirs}, ours {ours}"));
            }
            let theirs = client.call(["CONFIG", "GET", name]).items()[1].text();
            let ours = settings.get(name).unwrap_or_default();
            if theirs != ours && !GIVEN_BY_THE_HARNESS.contains(&name.as_str()) {
                differences.push(format!("{name} {value:?}: shows {theirs}, ours {ours}"));
            }
        }
        client.call(["CONFIG", "SET", name, &before]);
    }
    assert_eq!(differences, Vec::<String>::new());
}

#[test]
fn config_set_refuses_names_as_redis_does() {
    let Some(server) = Server::start_real(Real::Redis8) else {
        return;
    };
    let mut client = server.client();
    let mut settings = Settings::default();
    let access = Access {
        protected_allowed: false,
        loading: false,
    };
    for line in [
        "nothing 1",
        "maxmemory 1 nothing 2",
        "nothing 1 bind 127.0.0.1",
        "databases 1 nothing 2",
        "maxmemory 1 maxmemory 2",
        "maxmemory 1 MAXMEMORY 2",
        "zset-max-listpack-entries 1 zset-max-ziplist-entries 2",
        "zset-max-listpack-entries 1 zset-max-ziplist-entries x",
        "DIR /",
        "Databases 3",
        "MaxMemory x",
        "hz 20 maxmemory x",
        "hz 30 timeout 0",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let request: Vec<&str> = ["CONFIG", "SET"].into_iter().chain(words.clone()).collect();
        let theirs = client.call(&request).text();
        let pairs: Vec<(&[u8], &[u8])> = words
            .chunks(2)
            .map(|pair| (pair[0].as_bytes(), pair[1].as_bytes()))
            .collect();
        let ours = match settings.config_set(&pairs, access, |_, _| Ok(())) {
            Ok(_) => "OK".to_string(),
            Err(error) => text(&error.wire_text()),
        };
        assert_eq!(ours, theirs, "{line}");
        let theirs = client.call(["CONFIG", "GET", "hz"]).items()[1].text();
        assert_eq!(settings.get("hz"), Some(theirs), "{line}");
    }
}

#[test]
fn config_get_answers_as_redis_does() {
    let Some(server) = Server::start_real(Real::Redis8) else {
        return;
    };
    let mut client = server.client();
    let settings = Settings::default();
    for line in [
        "maxmemory",
        "MAXMEMORY",
        "maxm?mory*",
        "MAXMEM*",
        "*ziplist*",
        "nothing",
        "nothing*",
        "key-load-delay",
        "key-load*",
        "hz hz HZ h[z]",
        "h[z] HZ",
        "zset-max-ziplist-value zset-max-listpack-value",
        "hz\\",
    ] {
        let patterns: Vec<&str> = line.split(' ').collect();
        let request: Vec<&str> = ["CONFIG", "GET"]
            .into_iter()
            .chain(patterns.clone())
            .collect();
        let mut theirs: Vec<String> = pairs(&client.call(&request).items());
        let patterns: Vec<&[u8]> = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
        let mut ours: Vec<String> = settings
            .config_get(&patterns)
            .iter()
            .map(|(name, value)| format!("{} {}", text(name), text(value)))
            .collect();
        theirs.sort();
        ours.sort();
        assert_eq!(ours, theirs, "{line}");
    }
}

/// Lines that stop the start; what a real server says of them, ours says too.
const REFUSED_LINES: &[&str] = &[
    "nothing",
    "nothing 1 2",
    "port",
    "port 1 2",
    "port x",
    "port 70000",
    "maxmemory x",
    "save \"abc",
    "save 'abc",
    "save \"a\"b",
    "save 900",
    "save 900 x",
    "save 0 1",
    "appendonly maybe",
    "appendonly yes no",
    "appendfsync sometimes",
    "dbfilename a/b",
    "appendfilename \"\"",
    "appenddirname a/b",
    "dir /no/such/folder",
    "unixsocketperm 999",
    "unixsocketperm 1777",
    "client-output-buffer-limit normal 1 2",
    "client-output-buffer-limit nobody 1 2 3",
    "replicaof 127.0.0.1",
    "replicaof 127.0.0.1 x",
    "oom-score-adj-values 1 2",
    "notify-keyspace-events KX",
    "shutdown-on-sigterm save nosave",
    "latency-tracking-info-percentiles 200",
    "include",
    "include a b",
    "rename-command get",
    "user",
    "loadmodule",
    "sentinel monitor",
    "bind 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
    "TIMEOUT -1",
    "databases 0",
    "lua-replicate-commands yes no",
];

#[test]
fn refused_lines_are_explained_as_redis_does() {
    // Redis 8 keeps unknown names for modules that may come; Redis 7.2 does not yet.
    let Some(program) = Real::Redis7.program() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("redis.conf");
    for line in REFUSED_LINES {
        std::fs::write(&path, format!("# comment\n\n  {line}\t\n")).unwrap();
        let output = Command::new("timeout")
            .arg("20")
            .arg(&program)
            .arg(&path)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        let theirs = comparable(&text(&output.stderr));
        let error = Loader::default().file(&path).expect_err(line);
        let ours = comparable(&error.to_string());
        assert_eq!(ours, theirs, "{line}");
        assert!(error.to_string().contains("redis.conf"), "{error}");
    }
}

/// Argument lists that stop the start; `|` parts arguments, so that an argument may hold blanks.
const REFUSED_ARGUMENTS: &[&str] = &[
    "--port|x",
    "--port=7000",
    "--port",
    "--port|1|2",
    "--port|1|redis.conf",
    "-p|1",
    "--hz|5|--nothing",
    "--hz|5|--nothing|1",
    "--hz 5|--nothing|1",
    "--hz 5 6|--nothing|1",
    "--requirepass|--x|y",
    "--save|--hz|x",
    "--save|1",
    "--save|1 2|3",
    "--save 1 2|3",
    "--SAVE|--nothing",
    "--hz|5|-|x",
    "-x",
    "--|1",
    "--hz|\"",
    "--hz|a\"b\\c",
    "--hz \"5|6",
    "redis.conf|--nothing",
    "redis.conf|x",
    "redis.conf|--port|a|--hz|5",
    "redis.conf|--hz|5|-",
    "-|--nothing",
    "missing.conf",
    "missing.conf|--hz|5",
    "--include|missing.conf",
];

#[test]
fn refused_arguments_are_explained_as_redis_does() {
    let Some(program) = Real::Redis7.program() else {
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let folder = std::fs::canonicalize(temporary.path()).unwrap();
    std::fs::write(folder.join("redis.conf"), "# comment\nhz 10\n").unwrap();
    for line in REFUSED_ARGUMENTS {
        let args: Vec<&str> = line.split('|').collect();
        // The input refuses too, where it is read.
        let input = "timeout 5\ntimeout x\n";
        // An accepted list would start a server: then the bound ends it, and the code tells.
        let mut child = Command::new("timeout")
            .arg("20")
            .arg(&program)
            .args(&args)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A server that refuses its arguments may end without reading.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        let logged = text(&output.stdout);
        let fatal = logged
            .lines()
            .filter_map(|line| line.find("Fatal error").map(|at| &line[at..]));
        let theirs: Vec<String> = fatal
            .map(str::to_string)
            .chain(comparable(&text(&output.stderr)))
            .collect();
        let words = std::iter::once("rankd").chain(args).map(OsString::from);
        let refusal = cli::parse_in(words, &folder, &mut input.as_bytes()).expect_err(line);
        assert_eq!(comparable(&refusal.to_string()), theirs, "{line}");
    }
}

/// The message without the version, and without the name of the file, which only ours has.
fn comparable(message: &str) -> Vec<String> {
    message
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("***"))
        .map(|line| match line.find(" of /") {
            Some(end) => line[..end].to_string(),
            None => line.to_string(),
        })
        .collect()
}

fn config(client: &mut Client) -> BTreeMap<String, String> {
    let items = client.call(["CONFIG", "GET", "*"]).items();
    items
        .chunks(2)
        .map(|pair| (pair[0].text(), pair[1].text()))
        .collect()
}

fn pairs(items: &[super::harness::Value]) -> Vec<String> {
    items
        .chunks(2)
        .map(|pair| format!("{} {}", pair[0].text(), pair[1].text()))
        .collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
