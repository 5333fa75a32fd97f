//! Streams in files: ours are read by real servers and theirs here, with groups and what is pending.

use super::{LOG, SNAPSHOT, digest, folder, rewrite, shut_down, start};
use crate::harness::server::Real;
use crate::harness::{Client, Server, Value};

const KEYS: [&str; 5] = ["small", "big", "trimmed", "empty", "other"];

/// Streams of one and of many nodes, with removed entries, groups and consumers.
fn make(client: &mut Client) {
    client.line("XADD small 1-1 f v");
    for number in 0..450 {
        let id = format!("{}-{}", 1000 + number / 5, number % 5);
        let value = "z".repeat(number % 90);
        match number % 4 {
            0 => client.call(["XADD", "big", &id, "n", &number.to_string()]),
            1 => client.call(["XADD", "big", &id, "n", "-70000", "text", &value]),
            _ => client.call([
                "XADD",
                "big",
                &id,
                "text",
                &value,
                "n",
                "9223372036854775807",
            ]),
        };
        client.call(["XADD", "trimmed", &id, "f", &value]);
        client.call(["XADD", "other", &id, "", ""]);
        if number % 7 == 0 {
            client.call(["XDEL", "big", &id]);
        }
    }
    client.line("XTRIM trimmed MAXLEN = 123");
    client.line("XTRIM other MINID ~ 1050");
    client.line("XDEL big 1089-4");
    client.line("XGROUP CREATE big first 0");
    client.line("XGROUP CREATE big second $ ENTRIESREAD 17");
    client.line("XGROUP CREATECONSUMER big first idle");
    client.line("XREADGROUP GROUP first ann COUNT 140 STREAMS big >");
    client.line("XREADGROUP GROUP first bob COUNT 70 STREAMS big >");
    client.line("XACK big first 1000-1 1000-2 1020-3");
    client.line("XCLAIM big first bob 0 1001-1 1001-2 RETRYCOUNT 5000");
    client.line("XGROUP CREATE empty g $ MKSTREAM");
    client.line("XSETID small 99-9 ENTRIESADDED 44 MAXDELETEDID 50-1");
}

/// What clients see of the streams, but for how long ago things were.
fn told(client: &mut Client) -> Vec<String> {
    let mut told = vec![digest(client)];
    for key in KEYS {
        for command in ["XRANGE", "XREVRANGE"] {
            let (from, to) = if command == "XRANGE" {
                ("-", "+")
            } else {
                ("+", "-")
            };
            told.push(client.call([command, key, from, to]).show());
        }
        told.push(client.call(["XINFO", "GROUPS", key]).show());
        let full = client.call(["XINFO", "STREAM", key]).items();
        // The nodes of a tree that only Redis has are counted anew where it loads one.
        let facts = full
            .chunks(2)
            .filter(|fact| !fact[0].text().starts_with("radix"));
        told.extend(facts.map(|fact| format!("{} {}", fact[0].show(), fact[1].show())));
        for group in ["first", "second", "g"] {
            let pending = client.call(["XPENDING", key, group, "-", "+", "1000"]);
            if pending.is_error() {
                continue;
            }
            for entry in pending.items() {
                let [id, consumer, _, deliveries] = entry.items().try_into().expect("four facts");
                told.push([id, consumer, deliveries].map(|fact| fact.show()).join(" "));
            }
        }
    }
    told
}

#[test]
fn a_snapshot_of_streams_is_read_here_and_by_real_servers() {
    let folder = folder();
    let server = start(folder.path(), SNAPSHOT);
    let mut client = server.client();
    make(&mut client);
    let wanted = told(&mut client);
    assert!(wanted.len() > 200, "{wanted:?}");
    assert_eq!(client.line("DEBUG RELOAD"), Value::ok());
    assert_eq!(told(&mut client), wanted);
    assert_eq!(client.call(["SAVE"]), Value::ok());
    drop(server);
    let server = start(folder.path(), SNAPSHOT);
    assert_eq!(told(&mut server.client()), wanted);
    drop(server);
    for which in [Real::Redis7, Real::Redis8, Real::Valkey9] {
        if let Some(real) = Server::start_real_in(which, folder.path(), SNAPSHOT) {
            let mut client = real.client();
            assert_eq!(told(&mut client), wanted, "{which:?}");
            // What is taken in turn by DUMP and RESTORE says the same.
            for key in KEYS {
                let payload = client.call(["DUMP", key]);
                let Value::Bulk(payload) = payload else {
                    panic!("{payload:?}")
                };
                let server = Server::start();
                let mut ours = server.client();
                let words: [&[u8]; 4] = [b"RESTORE", key.as_bytes(), b"0", &payload];
                assert_eq!(ours.call(words), Value::ok());
                let range = |client: &mut Client| client.call(["XRANGE", key, "-", "+"]).show();
                assert_eq!(range(&mut ours), range(&mut client), "{which:?} {key}");
            }
        }
    }
}

#[test]
fn a_snapshot_of_streams_by_real_servers_is_read_here() {
    for which in [Real::Redis7, Real::Redis8, Real::Valkey9] {
        let folder = folder();
        let Some(real) = Server::start_real_in(which, folder.path(), SNAPSHOT) else {
            continue;
        };
        let mut client = real.client();
        make(&mut client);
        let wanted = told(&mut client);
        assert_eq!(client.call(["SAVE"]), Value::ok());
        drop(client);
        drop(real);
        let server = start(folder.path(), SNAPSHOT);
        assert_eq!(told(&mut server.client()), wanted, "{which:?}");
    }
}

#[test]
fn the_log_keeps_streams_through_rewrites_in_both_forms() {
    for preamble in ["yes", "no"] {
        let folder = folder();
        let settings = [LOG, &["--aof-use-rdb-preamble", preamble]].concat();
        let server = start(folder.path(), &settings);
        let mut client = server.client();
        make(&mut client);
        rewrite(&mut client);
        client.line("XADD big 5000-1 late entry");
        client.line("XREADGROUP GROUP first ann COUNT 1 STREAMS big >");
        client.line("XAUTOCLAIM big first bob 0 0 COUNT 3");
        let wanted = told(&mut client);
        shut_down(server);
        let server = start(folder.path(), &settings);
        assert_eq!(told(&mut server.client()), wanted, "preamble {preamble}");
        shut_down(server);
        for which in [Real::Redis7, Real::Redis8, Real::Valkey9] {
            if let Some(real) = Server::start_real_in(which, folder.path(), LOG) {
                assert_eq!(told(&mut real.client()), wanted, "{which:?}");
            }
        }
    }
}
