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

/// The group of a stream in full: its consumers' times, and what is pending with the times of delivery.
fn group_in_full(client: &mut Client) -> (Vec<(String, i64, i64)>, String) {
    let field = |items: &[Value], name: &str| {
        let at = items.iter().position(|item| item.text() == name);
        items[at.unwrap_or_else(|| panic!("no {name} in {items:?}")) + 1].clone()
    };
    let number = |value: Value| match value {
        Value::Integer(number) => number,
        other => panic!("{other:?}"),
    };
    let stream = client.line("XINFO STREAM feed FULL").items();
    let group = field(&stream, "groups").items()[0].items();
    let pending = field(&group, "pending").show();
    let consumers = field(&group, "consumers").items();
    let consumers = consumers.iter().map(|consumer| {
        let facts = consumer.items();
        (
            field(&facts, "name").text(),
            number(field(&facts, "seen-time")),
            number(field(&facts, "active-time")),
        )
    });
    (consumers.collect(), pending)
}

/// Two consumers, of whom one was only seen.
fn make_group(client: &mut Client) {
    client.line("XADD feed 1-1 f v");
    client.line("XADD feed 1-2 f v");
    client.line("XGROUP CREATE feed g 0");
    client.line("XREADGROUP GROUP g ann COUNT 1 STREAMS feed >");
    client.line("XGROUP CREATECONSUMER feed g idle");
    client.line("XCLAIM feed g ann 0 1-1 TIME 1700000000000 RETRYCOUNT 7");
    client.line("XREADGROUP GROUP g bob COUNT 1 STREAMS feed >");
}

#[test]
fn a_snapshot_keeps_when_entries_were_delivered_and_consumers_seen() {
    let folder = folder();
    let server = start(folder.path(), SNAPSHOT);
    let mut client = server.client();
    make_group(&mut client);
    let (consumers, pending) = group_in_full(&mut client);
    assert_eq!(consumers[2], ("idle".to_string(), consumers[2].1, -1));
    // The layout has one time for a consumer.
    let kept: Vec<_> = consumers
        .into_iter()
        .map(|(name, seen, _)| (name, seen, seen))
        .collect();
    assert_eq!(client.call(["SAVE"]), Value::ok());
    drop(server);
    let server = start(folder.path(), SNAPSHOT);
    assert_eq!(
        group_in_full(&mut server.client()),
        (kept.clone(), pending.clone())
    );
    drop(server);
    if let Some(real) = Server::start_real_in(Real::Redis8, folder.path(), SNAPSHOT) {
        assert_eq!(group_in_full(&mut real.client()), (kept, pending));
    }
}

#[test]
fn a_log_keeps_when_entries_were_delivered_and_consumers_are_seen_when_it_is_read() {
    let folder = folder();
    let server = start(folder.path(), LOG);
    let mut client = server.client();
    make_group(&mut client);
    let (consumers, pending) = group_in_full(&mut client);
    shut_down(server);
    for real in [false, true] {
        let server = if real {
            match Server::start_real_in(Real::Redis8, folder.path(), LOG) {
                Some(server) => server,
                None => continue,
            }
        } else {
            start(folder.path(), LOG)
        };
        let (found, still_pending) = group_in_full(&mut server.client());
        assert_eq!(still_pending, pending, "real {real}");
        let hour_ms = 3_600_000;
        for (was, is) in consumers.iter().zip(&found) {
            assert_eq!(was.0, is.0);
            assert!(
                (was.1..was.1 + hour_ms).contains(&is.1),
                "real {real}: {is:?}"
            );
        }
        let active: Vec<bool> = found.iter().map(|(.., active)| *active > 0).collect();
        assert_eq!(active.len(), 3);
        assert!(!active[2], "real {real}: {found:?}");
        shut_down(server);
    }
}
