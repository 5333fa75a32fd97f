//! Payloads in every layout that Redis wrote for our types, whole and damaged, restored here and in a real server.
//!
//! The layouts are built by hand, since no server of today writes the old ones. A damaged payload has a checksum that
//! is right again, so that the layout alone can tell: what is taken has to be what a real server takes, and nothing
//! may hang or end the server.

use crate::harness::server::Real;
use crate::harness::{Client, Random, Server, Value};

/// Damaged payloads of each layout; RANKD_FLIPS plays more.
const FLIPS: usize = 120;

/// The version in the payloads: the first with all of the layouts.
const VERSION: u16 = 11;

fn len(len: usize) -> Vec<u8> {
    match len {
        0..64 => vec![len as u8],
        _ => vec![0x40 | (len >> 8) as u8, len as u8],
    }
}

fn string(text: &[u8]) -> Vec<u8> {
    [len(text.len()), text.to_vec()].concat()
}

fn strings(texts: &[&str]) -> Vec<u8> {
    texts
        .iter()
        .flat_map(|text| string(text.as_bytes()))
        .collect()
}

fn listpack(elements: &[&str]) -> Vec<u8> {
    let mut out = vec![0; 6];
    for element in elements {
        let mut entry = match element.parse::<i64>() {
            Ok(number @ 0..128) => vec![number as u8],
            Ok(number @ -4096..4096) => vec![0xc0 | (number >> 8) as u8 & 0x1f, number as u8],
            Ok(number) if i16::try_from(number).is_ok() => {
                [&[0xf1][..], &(number as i16).to_le_bytes()].concat()
            }
            Ok(number) if i32::try_from(number).is_ok() => {
                [&[0xf3][..], &(number as i32).to_le_bytes()].concat()
            }
            Ok(number) => [&[0xf4][..], &number.to_le_bytes()].concat(),
            Err(_) if element.len() < 64 => {
                [&[0x80 | element.len() as u8][..], element.as_bytes()].concat()
            }
            Err(_) => [
                &[0xe0 | (element.len() >> 8) as u8, element.len() as u8][..],
                element.as_bytes(),
            ]
            .concat(),
        };
        let entry_len = entry.len();
        match entry_len {
            0..128 => entry.push(entry_len as u8),
            _ => entry.extend([(entry_len >> 7) as u8, entry_len as u8 & 0x7f | 0x80]),
        }
        out.extend(entry);
    }
    out.push(0xff);
    let total = out.len() as u32;
    out[..4].copy_from_slice(&total.to_le_bytes());
    out[4..6].copy_from_slice(&(elements.len() as u16).to_le_bytes());
    out
}

fn ziplist(elements: &[&str]) -> Vec<u8> {
    let mut out = vec![0; 10];
    let (mut last, mut previous_len) = (10, 0);
    for element in elements {
        last = out.len();
        match previous_len {
            0..254 => out.push(previous_len as u8),
            _ => out.extend([&[0xfe][..], &(previous_len as u32).to_le_bytes()].concat()),
        }
        out.extend(match element.parse::<i64>() {
            Ok(number @ 0..=12) => vec![0xf1 + number as u8],
            Ok(number) if i8::try_from(number).is_ok() => vec![0xfe, number as u8],
            Ok(number) if i16::try_from(number).is_ok() => {
                [&[0xc0][..], &(number as i16).to_le_bytes()].concat()
            }
            Ok(number @ -0x80_0000..0x80_0000) => {
                [&[0xf0][..], &number.to_le_bytes()[..3]].concat()
            }
            Ok(number) if i32::try_from(number).is_ok() => {
                [&[0xd0][..], &(number as i32).to_le_bytes()].concat()
            }
            Ok(number) => [&[0xe0][..], &number.to_le_bytes()].concat(),
            Err(_) if element.len() < 64 => [&[element.len() as u8], element.as_bytes()].concat(),
            Err(_) => [
                &[0x40 | (element.len() >> 8) as u8, element.len() as u8][..],
                element.as_bytes(),
            ]
            .concat(),
        });
        previous_len = out.len() - last;
    }
    out.push(0xff);
    let total = out.len() as u32;
    out[..4].copy_from_slice(&total.to_le_bytes());
    out[4..8].copy_from_slice(&(last as u32).to_le_bytes());
    out[8..10].copy_from_slice(&(elements.len() as u16).to_le_bytes());
    out
}

fn zipmap(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut out = vec![pairs.len() as u8];
    for (field, value) in pairs {
        out.push(field.len() as u8);
        out.extend(field.as_bytes());
        // One free byte behind the value.
        out.extend([value.len() as u8, 1]);
        out.extend(value.as_bytes());
        out.push(0);
    }
    out.push(0xff);
    out
}

fn intset(size: u32, numbers: &[i64]) -> Vec<u8> {
    let mut out = [size.to_le_bytes(), (numbers.len() as u32).to_le_bytes()].concat();
    for number in numbers {
        out.extend(&number.to_le_bytes()[..size as usize]);
    }
    out
}

/// Sixteen bytes of an id.
fn id(ms: u64, seq: u64) -> Vec<u8> {
    [ms.to_be_bytes(), seq.to_be_bytes()].concat()
}

/// A stream of three entries, one of which is removed, and a group with an entry that is pending.
fn stream(kind: u8) -> Vec<u8> {
    let node = listpack(&[
        "2", "1", "2", "f", "g", "0", "2", "0", "0", "v", "12", "5", "3", "0", "1", "x", "y", "5",
        "0", "3", "0", "1", "h", "-70000", "6",
    ]);
    let mut out = [len(1), string(&id(5, 1)), string(&node)].concat();
    // Number of entries, last id.
    out.extend([2, 8, 1]);
    if kind >= 19 {
        // First id, greatest removed id, entries ever added.
        out.extend([5, 1, 5, 2, 4]);
    }
    // One group: name, last id.
    out.extend([1, 1, b'g', 8, 1]);
    if kind >= 19 {
        // Entries read.
        out.push(4);
    }
    let time_ms = 1_700_000_000_000u64.to_le_bytes();
    out.push(1);
    out.extend([&id(5, 1)[..], &time_ms, &[3]].concat());
    out.push(2);
    for (name, pending) in [("ann", 1u8), ("bob", 0)] {
        out.extend(string(name.as_bytes()));
        out.extend(time_ms);
        if kind >= 21 {
            out.extend(time_ms);
        }
        out.push(pending);
        if pending > 0 {
            out.extend(id(5, 1));
        }
    }
    out
}

/// Every layout by its number, with a value in it.
fn samples() -> Vec<(u8, &'static str, Vec<u8>)> {
    let long = "z".repeat(200);
    let texts = [
        "a",
        "12",
        "-1",
        "70000",
        "-8000000",
        "5000000000",
        long.as_str(),
        "",
    ];
    let pairs = [
        "one",
        "1.5",
        "two",
        "-2",
        "three",
        "300000",
        "four",
        "inf",
        "five",
        "17179869184",
    ];
    let scores = [1.5f64, -2.0, f64::INFINITY];
    let binary_board = ["m", "n", "o"]
        .iter()
        .zip(scores)
        .flat_map(|(member, score)| {
            [string(member.as_bytes()), score.to_le_bytes().to_vec()].concat()
        });
    vec![
        (0, "text", string(long.as_bytes())),
        (0, "small number", vec![0xc0, 0x85]),
        (0, "number", vec![0xc2, 1, 2, 3, 4]),
        (
            0,
            "compressed text",
            vec![0xc3, 5, 0x40, 100, 0x00, b'a', 0xe0, 90, 0x00],
        ),
        (1, "list", [len(8), strings(&texts)].concat()),
        (2, "set", [len(8), strings(&texts)].concat()),
        (
            3,
            "board of texts",
            [
                &len(4)[..],
                &[1, b'm', 3, b'1', b'.', b'5'],
                &[1, b'n', 254],
                &[1, b'o', 255],
                &[1, b'p', 2, b'-', b'7'],
            ]
            .concat(),
        ),
        (4, "hash", [len(4), strings(&texts)].concat()),
        (5, "board", [len(3), binary_board.collect()].concat()),
        (
            9,
            "zipmap",
            string(&zipmap(&[("f", "v"), ("number", "12"), ("empty", "")])),
        ),
        (10, "list as ziplist", string(&ziplist(&texts))),
        (11, "intset of 2", string(&intset(2, &[-5, 1, 300]))),
        (
            11,
            "intset of 4",
            string(&intset(4, &[-70_000, 1, 300_000])),
        ),
        (
            11,
            "intset of 8",
            string(&intset(8, &[i64::MIN, 1, 5_000_000_000])),
        ),
        (12, "board as ziplist", string(&ziplist(&pairs))),
        (13, "hash as ziplist", string(&ziplist(&texts))),
        (
            14,
            "quicklist of ziplists",
            [
                len(2),
                string(&ziplist(&texts)),
                string(&ziplist(&["x", "7"])),
            ]
            .concat(),
        ),
        (15, "stream of Redis 5", stream(15)),
        (16, "hash as listpack", string(&listpack(&texts))),
        (
            17,
            "board as listpack",
            string(&listpack(&[
                "two", "-2", "one", "1.5", "three", "300000", "four", "inf",
            ])),
        ),
        (
            18,
            "quicklist of listpacks",
            [
                len(3),
                vec![2],
                string(&listpack(&texts)),
                vec![1],
                string(b"plain"),
                vec![2],
                string(&listpack(&["9"])),
            ]
            .concat(),
        ),
        (19, "stream of Redis 7.0", stream(19)),
        (20, "set as listpack", string(&listpack(&texts))),
        (21, "stream of Redis 7.2", stream(21)),
    ]
}

fn payload(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = [&[kind], body, &VERSION.to_le_bytes()[..]].concat();
    let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Redis, &out);
    out.extend(sum.to_le_bytes());
    out
}

fn restore(client: &mut Client, key: &str, payload: &[u8]) -> Value {
    client.call([b"RESTORE", key.as_bytes(), b"0", payload, b"REPLACE"])
}

fn digest(client: &mut Client, key: &str) -> String {
    client.call(["DEBUG", "DIGEST-VALUE", key]).show()
}

/// What a client sees of a key, but for its encoding: Redis keeps a flat layout flat although a value in it is long.
fn seen(client: &mut Client, key: &str) -> Vec<String> {
    let mut seen = vec![digest(client, key)];
    for question in ["TYPE", "XPENDING", "XINFO GROUPS"] {
        let mut words: Vec<&str> = question.split(' ').collect();
        words.push(key);
        if question == "XPENDING" {
            words.push("g");
        }
        // The lag follows from counts that damage can put at odds with the entries.
        let shown = client.call(&words).show();
        seen.extend(shown.split("\"lag\"").next().map(str::to_string));
    }
    seen
}

fn real() -> Option<Server> {
    let server = Server::start_real(Real::Redis8)?;
    let reply = server.client().line("CONFIG SET sanitize-dump-payload yes");
    assert_eq!(reply, Value::ok());
    Some(server)
}

#[test]
fn every_layout_is_restored_as_by_a_real_server() {
    let ours = Server::start_with(&["--enable-debug-command", "yes"]);
    let mut ours = ours.client();
    let real_server = real();
    for (kind, name, body) in samples() {
        let payload = payload(kind, &body);
        assert_eq!(restore(&mut ours, "k", &payload), Value::ok(), "{name}");
        let mine = seen(&mut ours, "k");
        if let Some(server) = &real_server {
            let mut real = server.client();
            assert_eq!(restore(&mut real, "k", &payload), Value::ok(), "{name}");
            assert_eq!(mine, seen(&mut real, "k"), "{name}");
        }
        // What we write of it says the same.
        let Value::Bulk(again) = ours.call(["DUMP", "k"]) else {
            panic!("{name} has no payload");
        };
        assert_eq!(restore(&mut ours, "k", &again), Value::ok(), "{name}");
        assert_eq!(seen(&mut ours, "k"), mine, "{name}");
    }
}

#[test]
fn layouts_that_we_have_not_are_refused() {
    let ours = Server::start();
    let mut ours = ours.client();
    let refused = Value::Error(b"ERR Bad data format".to_vec());
    for kind in [6, 7, 8, 22, 23, 24, 25, 26, 100, 244, 255] {
        let payload = payload(kind, &string(&listpack(&["f", "v", "0"])));
        assert_eq!(restore(&mut ours, "k", &payload), refused, "type {kind}");
    }
    assert_eq!(ours.call(["EXISTS", "k"]), Value::Integer(0));
}

/// A body with one to three changes.
fn damaged(body: &[u8], random: &mut Random) -> Vec<u8> {
    let mut body = body.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(body.len().max(1));
        match random.below(8) {
            0 => body.truncate(at),
            1 => body.insert(at.min(body.len()), random.below(256) as u8),
            choice => {
                if let Some(byte) = body.get_mut(at) {
                    *byte = match choice {
                        2 => random.below(256) as u8,
                        3 => *random.pick(&[&0x00u8, &0x7f, &0x80, &0x81, &0xff, &0xfe, &0xc3]),
                        _ => *byte ^ 1 << random.below(8),
                    };
                }
            }
        }
    }
    body
}

#[test]
fn damaged_layouts_are_refused_or_restored_as_by_a_real_server() {
    let ours = Server::start_with(&["--enable-debug-command", "yes"]);
    let mut ours = ours.client();
    let real_server = real();
    let mut real = real_server.as_ref().map(Server::client);
    let seed = Random::seed();
    let mut random = Random::new(seed);
    let flips = std::env::var("RANKD_FLIPS")
        .ok()
        .map_or(FLIPS, |text| text.parse().expect("a number"));
    let (mut taken, mut refused, mut differences) = (0, 0, Vec::new());
    for (kind, name, body) in samples() {
        for _ in 0..flips {
            let payload = payload(kind, &damaged(&body, &mut random));
            let what = format!("RANKD_SEED={seed} {name}: {}", payload.escape_ascii());
            ours.send(["DEL", "k"]);
            ours.send([b"RESTORE", &b"k"[..], b"0", &payload]);
            ours.read();
            let reply = ours
                .try_read()
                .unwrap_or_else(|why| panic!("{what}: {why}"));
            let theirs = real.as_mut().map(|real| {
                real.call(["DEL", "k"]);
                restore(real, "k", &payload)
            });
            if reply.is_error() {
                refused += 1;
                assert_eq!(reply.text(), "ERR Bad data format", "{what}");
                continue;
            }
            taken += 1;
            let mine = seen(&mut ours, "k");
            let Value::Bulk(again) = ours.call(["DUMP", "k"]) else {
                panic!("{what}: no payload");
            };
            assert_eq!(restore(&mut ours, "again", &again), Value::ok(), "{what}");
            assert_eq!(digest(&mut ours, "again"), mine[0], "{what}");
            if let (Some(real), Some(theirs)) = (real.as_mut(), theirs) {
                let theirs = if theirs.is_error() {
                    vec![theirs.text()]
                } else {
                    seen(real, "k")
                };
                if theirs != mine {
                    differences.push(format!("{what}\n  ours {mine:?}\n  real {theirs:?}"));
                }
            }
        }
    }
    let count = differences.len();
    differences.truncate(10);
    assert!(count == 0, "{count}:\n{}", differences.join("\n"));
    assert!(taken > 0 && refused > taken, "{taken} {refused}");
}
