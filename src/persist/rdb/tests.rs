//! The format against itself: every value comes back, every broken byte is refused.

use super::snapshot::{Clocks, Head};
use super::{Limits, dump};
use crate::persist::disk::Disk;
use crate::persist::disk::memory::{MemoryDisk, Survival, Trouble};
use crate::persist::form::Form;
use crate::persist::load::{self, Intake};
use crate::persist::snapshot_file::{self, SnapshotStyle};
use crate::resp::number::write_shortest;
use crate::settings::Settings;
use crate::store::digest::Digest;
use crate::store::hash::Hash;
use crate::store::keyspace::Store;
use crate::store::list::{End, List};
use crate::store::set::Set;
use crate::store::sorted_set::{Score, SortedSet};
use crate::store::stream::{Group, NodeLimits, Pending, Stream, StreamId};
use crate::store::string::StringValue;
use crate::store::value::{Value, ValueType};
use std::path::Path;
use std::sync::Arc;

fn limits() -> Limits {
    Limits::from(&Settings::default())
}

const STYLE: SnapshotStyle = SnapshotStyle {
    form: Form::Snapshot,
    compress: true,
    checksum: true,
    clocks: Clocks::None,
    incremental_sync: true,
};

const INTAKE: Intake = Intake {
    now_ms: 1_000_000,
    drop_expired: true,
    counts_accesses: false,
    replace: false,
};

/// Values of every type, around every threshold and with awkward bytes.
fn values() -> Vec<Value> {
    let limits = limits();
    let mut values = Vec::new();
    let texts: [&[u8]; 12] = [
        b"",
        b"a",
        b"-128",
        b"127",
        b"-32768",
        b"2147483647",
        b"2147483648",
        b"9223372036854775807",
        b"007",
        b"\x00\xff\r\n",
        &[b'x'; 20],
        &[b'y'; 20_000],
    ];
    for text in texts {
        values.push(StringValue::new(text).into_value());
    }
    values.push(StringValue::text(b"12").into_value());
    for count in [1usize, 2, 64, 127, 128, 129, 200, 511, 512, 513, 3000] {
        let mut list = List::new();
        let mut ints = Set::new();
        let mut set = Set::new();
        let mut hash = Hash::new();
        let mut board = SortedSet::new();
        for index in 0..count {
            let text = format!("element-{index}-{}", "z".repeat(index % 70));
            let number = (index as i64 - 5) * 37_000_000_000;
            list.push(End::Back, text.as_bytes(), limits.list);
            ints.insert(number.to_string().as_bytes(), limits.set);
            set.insert(text.as_bytes(), limits.set);
            hash.set(text.as_bytes(), number.to_string().as_bytes(), limits.hash);
            let score = match index {
                0 => f64::NEG_INFINITY,
                1 => f64::INFINITY,
                _ => (index as f64 - 7.0) / 3.0,
            };
            board.insert(
                text.as_bytes(),
                Score::new(score).expect("a number"),
                limits.board,
            );
        }
        values.extend([
            list.into_value(),
            ints.into_value(),
            set.into_value(),
            hash.into_value(),
            board.into_value(),
        ]);
    }
    values
}

/// Streams around the bounds of their nodes, with removed entries and groups.
fn streams() -> Vec<Stream> {
    let limits = NodeLimits {
        bytes_max: 4096,
        entries_max: 10,
    };
    let mut streams = Vec::new();
    for count in [0u64, 1, 9, 10, 11, 200] {
        let mut stream = Stream::default();
        for number in 0..count {
            let text = format!("value-{number}-{}", "z".repeat(number as usize % 70));
            let other = format!("field-{}", number % 7);
            let words: [&[u8]; 6] = [
                b"a",
                text.as_bytes(),
                if number % 3 == 0 {
                    other.as_bytes()
                } else {
                    b"b"
                },
                b"-123456789012",
                b"",
                b"17",
            ];
            let id = StreamId::new(
                5 + number / 4,
                if number < 4 { 100 + number } else { number % 4 },
            );
            stream.log_mut().append(id, words.into_iter(), limits);
        }
        let ids: Vec<StreamId> = stream
            .log()
            .range(StreamId::MIN, StreamId::MAX)
            .map(|entry| entry.id)
            .collect();
        for id in ids.iter().filter(|id| id.seq == 2) {
            assert!(stream.log_mut().remove(*id));
        }
        let mut group = Group::new(ids.last().copied().unwrap_or_default(), None);
        let (one, _) = group.find_or_create(b"one", 77);
        group.find_or_create(b"two", 78);
        for (number, id) in ids.iter().enumerate() {
            let pending = Pending {
                consumer: one,
                delivered_ms: 1000 + number as i64,
                deliveries: 1 + number as u64 * 1000,
            };
            group.set_pending(*id, pending);
        }
        stream.groups_mut().insert(b"g"[..].into(), group);
        stream
            .groups_mut()
            .insert(b""[..].into(), Group::new(StreamId::MAX, Some(3)));
        streams.push(stream);
    }
    streams
}

/// All that a stream's payload keeps, as text.
fn told(stream: &Stream) -> String {
    let log = stream.log();
    let mut text = format!(
        "{} {} {} {} {}\n",
        log.len(),
        log.last_id,
        log.max_deleted_id,
        log.entries_added,
        log.node_count()
    );
    for entry in log.range(StreamId::MIN, StreamId::MAX) {
        let fields: Vec<_> = entry.fields().collect();
        text += &format!("{} {fields:?}\n", entry.id);
    }
    for (name, group) in stream.groups() {
        let consumers: Vec<_> = group
            .consumers()
            .map(|consumer| (&consumer.name, consumer.seen_ms, consumer.pending()))
            .collect();
        let pending: Vec<_> = group
            .pending()
            .iter()
            .map(|(id, one)| (id, one.delivered_ms, one.deliveries))
            .collect();
        text += &format!(
            "{name:?} {} {:?} {consumers:?} {pending:?}\n",
            group.last_id, group.entries_read
        );
    }
    text
}

#[test]
fn every_stream_comes_back_from_its_payload() {
    for stream in streams() {
        let before = told(&stream);
        let payload = dump::encode(stream.into_value().as_ref(), true);
        match dump::decode(&payload, &limits()).expect("what we wrote") {
            Value::Stream(back) => assert_eq!(told(&back), before),
            other => panic!("a {}", other.encoding()),
        }
    }
}

#[test]
fn a_broken_stream_is_refused_or_whole_and_never_a_panic() {
    for stream in streams()
        .into_iter()
        .filter(|stream| stream.log().len() < 11)
    {
        let payload = dump::encode(stream.into_value().as_ref(), false);
        for at in 0..payload.len() - 10 {
            for flip in [1u8, 0x10, 0x80, 0xff] {
                let mut broken = payload.clone();
                broken[at] ^= flip;
                if let Ok(Value::Stream(back)) = dump::decode(&broken, &limits()) {
                    // What was taken can be walked and written again.
                    assert!(!told(&back).is_empty());
                    let again = dump::encode(back.into_value().as_ref(), false);
                    assert!(dump::decode(&again, &limits()).is_ok());
                }
                let mut cut = payload[..at].to_vec();
                cut.extend_from_slice(&payload[payload.len() - 10..]);
                assert!(dump::decode(&cut, &limits()).is_err(), "cut at {at}");
            }
        }
    }
}

fn digest_of(value: &Value) -> Digest {
    Digest::of_value(value.as_ref(), false, write_shortest)
}

#[test]
fn every_value_comes_back_from_its_payload_in_its_encoding() {
    for value in values() {
        for compress in [false, true] {
            let payload = dump::encode(value.as_ref(), compress);
            assert!(dump::is_whole(&payload));
            let back = dump::decode(&payload, &limits()).expect("what we wrote");
            assert_eq!(digest_of(&back), digest_of(&value));
            // Text that spells a number becomes one, as in Redis.
            let is_text = matches!(&value, Value::String(_));
            assert!(is_text || back.encoding() == value.encoding());
        }
    }
}

#[test]
fn no_payload_with_a_broken_byte_is_taken_for_whole() {
    let values = values();
    for value in values.iter().filter(|value| value.memory_usage() < 2_000) {
        let payload = dump::encode(value.as_ref(), true);
        for at in 0..payload.len() {
            let mut broken = payload.clone();
            broken[at] ^= 0x10;
            assert!(!dump::is_whole(&broken), "byte {at}");
            // Even without the checksum nothing may panic.
            let _ = dump::decode(&broken, &limits());
            assert!(!dump::is_whole(&payload[..at]), "cut at {at}");
            let _ = dump::decode(&payload[..at], &limits());
        }
    }
}

/// A small store with several databases, deadlines and a key with awkward bytes.
fn store() -> Store {
    let mut store = Store::new(4, 7u128);
    for (index, value) in values().into_iter().enumerate() {
        if value.memory_usage() > 300 {
            continue;
        }
        let key = [format!("key-{index}").as_bytes(), b"\x00\xfe"].concat();
        store[index % 3].insert(&key, value);
        if index % 4 == 0 {
            store[index % 3].set_deadline(&key, 2_000_000 + index as i64);
        }
    }
    store
}

fn write(disk: &MemoryDisk, store: &Store, style: SnapshotStyle) -> std::io::Result<u64> {
    let head = Head {
        unix_s: 1,
        replication_id: "0123456789012345678901234567890123456789".to_string(),
        offset: 77,
        ..Head::default()
    };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    snapshot_file::write_all(
        disk,
        Path::new("dump.rdb"),
        Path::new("temp.rdb"),
        style,
        &head,
        store,
    )
}

fn read(bytes: &[u8]) -> Result<(Store, load::Facts), load::LoadFault> {
    let mut store = Store::new(4, 9u128);
    let (_, facts) = load::read_all(bytes, limits(), &mut store, INTAKE)?;
    Ok((store, facts))
}

#[test]
fn a_snapshot_comes_back_with_its_facts() {
    let disk = MemoryDisk::default();
    let store = store();
    let len = write(&disk, &store, STYLE).expect("a disk that works");
    let bytes = disk.bytes(Path::new("dump.rdb")).expect("the file");
    assert_eq!(bytes.len() as u64, len);
    assert!(bytes.starts_with(b"REDIS0010"));
    let (back, facts) = read(&bytes).expect("what we wrote");
    assert_eq!(
        Digest::of_store(&back, write_shortest),
        Digest::of_store(&store, write_shortest)
    );
    assert_eq!(facts.offset, Some(77));
    assert!(facts.replication_id.is_some());
    for (db, original) in back.iter().zip(store.iter()) {
        for entry in original.iter() {
            assert_eq!(db.deadline(entry.key), entry.deadline);
        }
    }
}

#[test]
fn no_snapshot_with_a_broken_or_missing_byte_is_read_as_whole() {
    let disk = MemoryDisk::default();
    write(&disk, &store(), STYLE).expect("a disk that works");
    let bytes = disk.bytes(Path::new("dump.rdb")).expect("the file");
    for at in 0..bytes.len() {
        assert!(read(&bytes[..at]).is_err(), "cut at {at}");
        for bit in [0x01, 0x80] {
            let mut broken = bytes.clone();
            broken[at] ^= bit;
            // Version 11 and 12 are read too, and the checksum is over the version.
            assert!(read(&broken).is_err(), "byte {at} bit {bit}");
        }
    }
}

#[test]
fn a_broken_byte_of_a_snapshot_without_checksum_never_ends_the_reader() {
    let disk = MemoryDisk::default();
    let mut store = store();
    for (index, stream) in streams().into_iter().take(3).enumerate() {
        store[3].insert(format!("feed{index}").as_bytes(), stream.into_value());
    }
    let style = SnapshotStyle {
        checksum: false,
        ..STYLE
    };
    write(&disk, &store, style).expect("a disk that works");
    let bytes = disk.bytes(Path::new("dump.rdb")).expect("the file");
    assert!(bytes.ends_with(&[0; 8]));
    let whole = Digest::of_store(&read(&bytes).expect("a whole file").0, write_shortest);
    let (mut read_anew, mut refused) = (0, 0);
    for at in 0..bytes.len() {
        // Only zeros behind the end of the data may be missing unnoticed, and they are not: they are the checksum.
        assert!(read(&bytes[..at]).is_err(), "cut at {at}");
        for bit in [at % 8, (at + 3) % 8] {
            let mut broken = bytes.clone();
            broken[at] ^= 1 << bit;
            match read(&broken) {
                Ok((back, _)) => {
                    read_anew += usize::from(Digest::of_store(&back, write_shortest) != whole);
                    let held: usize = back.iter().flat_map(|db| db.iter()).count();
                    assert!(held <= bytes.len(), "byte {at} bit {bit}");
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 500 && read_anew > 500, "{refused} {read_anew}");
}

#[test]
fn a_snapshot_is_old_or_new_whatever_operation_the_disk_stops_at() {
    let before = store();
    let mut after = store();
    after[0].insert(b"one more", StringValue::new(b"1").into_value());
    let digests = [
        Digest::of_store(&before, write_shortest),
        Digest::of_store(&after, write_shortest),
    ];
    let mut crashes = 0;
    for at in 0.. {
        let disk = MemoryDisk::default();
        write(&disk, &before, STYLE).expect("a disk that works");
        disk.trouble_at(at, Trouble::Crash);
        let written = write(&disk, &after, STYLE);
        for survival in [Survival::Nothing, Survival::Half, Survival::All] {
            let found = disk.after_crash(survival);
            let bytes = found.bytes(Path::new("dump.rdb")).expect("old or new");
            let digest = Digest::of_store(&read(&bytes).expect("a whole file").0, write_shortest);
            assert!(digests.contains(&digest));
            if written.is_ok() {
                assert_eq!(digest, digests[1]);
            }
        }
        if !disk.has_crashed() {
            break;
        }
        crashes += 1;
    }
    assert!(crashes >= 5);
}

#[test]
fn a_snapshot_that_fails_leaves_the_old_one_and_nothing_aside() {
    let before = store();
    for at in 0.. {
        let disk = MemoryDisk::default();
        write(&disk, &before, STYLE).expect("a disk that works");
        let old = disk.bytes(Path::new("dump.rdb"));
        disk.trouble_at(at, Trouble::Fault);
        let mut after = store();
        after[1].insert(b"one more", StringValue::new(b"1").into_value());
        let written = write(&disk, &after, STYLE);
        if written.is_ok() {
            assert!(at >= 4);
            break;
        }
        assert!(disk.bytes(Path::new("temp.rdb")).is_none());
        let now = disk.bytes(Path::new("dump.rdb"));
        assert!(now.is_some());
        // Only the sync of the folder comes after the new file is in place.
        let (back, _) = read(&now.expect("a file")).expect("a whole file");
        let digest = Digest::of_store(&back, write_shortest);
        assert!(
            digest == Digest::of_store(&before, write_shortest)
                || digest == Digest::of_store(&after, write_shortest),
            "old length {:?}",
            old.map(|bytes| bytes.len())
        );
    }
}

#[test]
fn what_is_expired_is_left_out_unless_a_log_follows() {
    let mut store = Store::new(1, 3u128);
    store[0].insert(b"gone", StringValue::new(b"1").into_value());
    store[0].set_deadline(b"gone", 999_999);
    let disk = MemoryDisk::default();
    write(&disk, &store, STYLE).expect("a disk that works");
    let bytes = disk.bytes(Path::new("dump.rdb")).expect("the file");
    for (drop_expired, loaded) in [(true, 0), (false, 1)] {
        let mut back = Store::new(1, 3u128);
        let intake = Intake {
            drop_expired,
            ..INTAKE
        };
        let (taken, _) =
            load::read_all(&bytes[..], limits(), &mut back, intake).expect("a whole file");
        assert_eq!((taken.loaded, taken.expired), (loaded, 1 - loaded));
    }
}

#[test]
fn foreign_things_are_named() {
    let cases: [(&[u8], &str); 4] = [
        (b"REDIS0013\xff", "RDB format version 0013"),
        (
            b"REDIS0012\x18\x01a",
            "hash with deadlines of fields (type 24)",
        ),
        (b"REDIS0012\x07\x01a", "a module's type (type 7)"),
        (
            b"REDIS0010\xf6\x01a",
            "Pre-release function format not supported.",
        ),
    ];
    for (bytes, name) in cases {
        let error = read(bytes).err().expect("nothing we have").to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn a_short_file_cannot_ask_for_much_memory() {
    // Each announces 2^40 of something and holds nothing.
    let huge = b"\x81\x00\x00\x01\x00\x00\x00\x00\x00";
    for kind in [
        0u8, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    ] {
        let mut bytes = b"REDIS0011".to_vec();
        bytes.push(kind);
        bytes.extend(b"\x01k");
        bytes.extend(huge);
        assert!(read(&bytes).is_err(), "type {kind}");
    }
}
