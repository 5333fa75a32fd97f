//! The keyspace against a plain model, and what it promises about walks, growth, time
//! and hostile keys.

mod model;

use std::collections::{BTreeSet, HashMap};

use super::access::mixed;
use super::*;
use crate::limits::KEY_INLINE_LEN_MAX;
use crate::store::hash::Hash;
use crate::store::list::List;
use crate::store::slot::slot;
use crate::store::string::StringValue;
use crate::store::value::{Type, Value, ValueMut, ValueRef, ValueType};

struct Random(u64);

impl Random {
    /// The seed is printed when a test fails; RANKD_SEED sets it.
    fn new() -> Self {
        let seed = std::env::var("RANKD_SEED")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(20_261_101);
        eprintln!("RANKD_SEED={seed}");
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mixed(self.0)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Large numbers, so that each value owns heap memory that a mistake would free twice.
fn number(n: i64) -> Value {
    StringValue::from_int(i64::MAX - n).into_value()
}

fn read(value: ValueRef<'_>) -> i64 {
    let text = StringValue::from_ref(value).expect("a string");
    i64::MAX - text.as_int().expect("a number")
}

fn key(n: u64) -> Vec<u8> {
    format!("board:{n:08}").into_bytes()
}

/// A key whose length depends on its number, over both sides of each length limit.
fn key_of_any_length(n: u64) -> Vec<u8> {
    let lengths = [
        0,
        1,
        6,
        7,
        8,
        13,
        14,
        15,
        16,
        22,
        23,
        KEY_INLINE_LEN_MAX - 1,
        KEY_INLINE_LEN_MAX,
        KEY_INLINE_LEN_MAX + 1,
        300,
        5000,
    ];
    let mut key = n.to_string().into_bytes();
    key.resize(
        lengths[(n % lengths.len() as u64) as usize].max(key.len()),
        b'.',
    );
    key
}

fn filled(count: u64) -> Db {
    let mut db = Db::new(7u64);
    for n in 0..count {
        assert!(db.insert(&key(n), number(n as i64)).is_none());
    }
    db
}

#[test]
fn grows_and_shrinks_key_by_key() {
    let count = if cfg!(miri) { 300 } else { 30_000 };
    let mut db = Db::new(1u64);
    for n in 0..count {
        db.insert(&key(n), number(n as i64));
        if n.is_power_of_two() || n % 5000 == 0 {
            db.check();
        }
    }
    db.check();
    let full = db.memory();
    for n in 0..count {
        assert_eq!(db.get(&key(n), 0).map(read), Some(n as i64));
    }
    for n in 0..count {
        assert_eq!(db.remove(&key(n)).map(|v| read(v.as_ref())), Some(n as i64));
        if n % 2000 == 0 {
            db.check();
        }
    }
    db.check();
    assert!(db.is_empty());
    let empty = db.memory();
    assert!(empty.entry_bytes <= 1024, "{empty:?}");
    assert!(
        cfg!(miri) || empty.table_bytes < full.table_bytes / 10,
        "{empty:?}"
    );
}

#[test]
fn a_key_costs_little_at_any_size() {
    let mut db = Db::new(3u64);
    for n in 0..200_000u64 {
        db.insert(&key(n), number(0));
        if n > 20_000 && n % 1000 == 0 {
            let memory = db.memory();
            let bytes = memory.table_bytes + memory.entry_bytes;
            assert!(bytes < 41 * db.len(), "{} at {n}", bytes / db.len());
        }
    }
}

#[test]
fn what_is_removed_gives_its_memory_back() {
    let mut db = filled(100_000);
    let full = db.memory();
    for n in 0..90_000 {
        db.remove(&key(n));
    }
    db.check();
    let rest = db.memory();
    assert!(
        rest.entry_bytes < full.entry_bytes / 4,
        "{rest:?} of {full:?}"
    );
    assert!(
        rest.table_bytes < full.table_bytes / 4,
        "{rest:?} of {full:?}"
    );
}

#[test]
fn steady_churn_does_not_grow() {
    let mut random = Random::new();
    let mut db = filled(20_000);
    let before = db.memory().entry_bytes;
    for n in 20_000..300_000u64 {
        let mut old = None;
        while old.is_none() {
            old = db.random_key(|| random.next()).map(<[u8]>::to_vec);
        }
        db.remove(&old.unwrap());
        db.insert(&key(n), number(1));
        db.set_deadline(&key(n), 5);
        db.clear_deadline(&key(n));
    }
    assert_eq!(db.len(), 20_000);
    db.check();
    let after = db.memory().entry_bytes;
    assert!(after < before * 3 / 2, "{before} to {after}");
}

#[test]
fn scan_shows_once_what_stays_and_at_most_once_what_does_not() {
    let mut random = Random::new();
    for count in [0u64, 1, 9, 100, 3000, 10_000] {
        for grow in [true, false] {
            let mut db = filled(count);
            let mut shown: HashMap<Vec<u8>, usize> = HashMap::new();
            let mut new = count;
            let (mut cursor, mut calls) = (0, 0);
            loop {
                cursor = db.scan(cursor, 10, |entry| {
                    *shown.entry(entry.key.to_vec()).or_default() += 1;
                });
                calls += 1;
                if cursor == 0 {
                    break;
                }
                assert!(cursor < POSITIONS_END);
                // Keys with even numbers stay; odd ones go, and new ones come and go.
                for _ in 0..40 {
                    let n = random.below(count / 2) * 2 + 1;
                    if grow {
                        db.insert(&key(new * 2 + 1), number(0));
                        new += 1;
                    } else {
                        db.remove(&key(n));
                        db.remove(&key(new));
                        new = random.below(count) * 2 + 1;
                        db.insert(&key(new), number(0));
                    }
                }
            }
            let most_keys = count.max(new);
            assert!(calls <= most_keys / 4 + 3, "{calls} calls for {count}");
            assert!(shown.values().all(|&times| times == 1));
            for n in (0..count).step_by(2) {
                assert!(shown.contains_key(&key(n)), "{n} of {count}");
            }
        }
    }
}

#[test]
fn a_scan_call_shows_about_what_was_asked_for() {
    let db = filled(50_000);
    for count in [1, 10, 100, 1000] {
        let (mut cursor, mut shown, mut calls) = (0, 0, 0);
        loop {
            let before = shown;
            cursor = db.scan(cursor, count, |_| shown += 1);
            assert!(shown - before < count + 40);
            calls += 1;
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(shown, 50_000);
        assert!(calls <= 50_000 / count + 1);
    }
    let mut shown = 0;
    assert_eq!(db.scan(u64::MAX, 10, |_| shown += 1), 0);
    assert_eq!(db.scan(POSITIONS_END, 10, |_| shown += 1), 0);
    assert_eq!(shown, 0);
}

#[test]
fn walks_go_by_position() {
    let db = filled(5000);
    let cursor = db.scan(0, 2000, |entry| {
        assert!(db.position(entry.key) < POSITIONS_END)
    });
    let mut shown = BTreeSet::new();
    db.scan(0, 2000, |entry| {
        shown.insert(entry.key.to_vec());
    });
    for n in 0..5000 {
        let before = db.position(&key(n)) < cursor;
        assert_eq!(shown.contains(&key(n)), before);
    }
}

#[test]
fn a_key_is_absent_once_its_deadline_has_passed() {
    let mut db = filled(1);
    assert!(!db.set_deadline(b"absent", 100));
    assert!(db.set_deadline(&key(0), 100));
    assert_eq!(db.expires_len(), 1);
    assert!(db.contains(&key(0), 100));
    assert!(!db.contains(&key(0), 101));
    assert!(db.get_mut(&key(0), 101).is_none());
    assert!(db.is_expired(&key(0), 101));
    assert_eq!(db.deadline(&key(0)), Some(100));
    let (value, created) = db.get_or_insert_with(&key(0), 101, || number(5));
    assert!(created);
    assert_eq!(read(value.as_ref()), 5);
    assert_eq!((db.expires_len(), db.deadline(&key(0))), (0, None));

    for deadline in [i64::MAX, i64::MIN + 1, 0, -1] {
        assert!(db.set_deadline(&key(0), deadline));
        assert_eq!(db.deadline(&key(0)), Some(deadline));
    }
    // The least time of all stands for none inside, so it is moved by a millisecond.
    assert!(db.set_deadline(&key(0), i64::MIN));
    assert_eq!(db.deadline(&key(0)), Some(i64::MIN + 1));
    assert_eq!(db.expires_len(), 1);
    db.check();
}

#[test]
fn expired_keys_are_found_without_the_others() {
    let mut random = Random::new();
    let mut db = filled(50_000);
    let mut due = BTreeSet::new();
    for n in 0..50_000 {
        let deadline = random.below(1_000_000) as i64;
        db.set_deadline(&key(n), deadline);
        // Most deadlines are moved on, so that the bounds are out of date.
        if n % 3 != 0 {
            db.set_deadline(&key(n), 2_000_000);
        } else if deadline < 100_000 {
            due.insert(key(n));
        }
    }
    assert!(db.earliest_deadline().unwrap() < 1000);
    let mut found = BTreeSet::new();
    let mut calls = 0;
    loop {
        let batch = db.next_expired(100_000, 20);
        assert!(batch.keys.len() <= 20);
        for key in batch.keys {
            assert!(db.remove(&key).is_some());
            assert!(found.insert(key));
        }
        calls += 1;
        if !batch.more {
            break;
        }
    }
    assert_eq!(found, due);
    assert!(calls < 400, "{calls}");
    assert!(db.next_expired(100_000, 20).keys.is_empty());
    assert!(db.earliest_deadline().unwrap() >= 100_000);
    db.check();

    // Keys that the caller leaves are found again.
    let first = db.next_expired(3_000_000, 7).keys;
    assert_eq!(first.len(), 7);
    let more = db.next_expired(3_000_000, 100_000);
    assert!(first.iter().all(|key| more.keys.contains(key)));
}

#[test]
fn access_clocks_stay_with_their_keys() {
    let mut db = Db::new(11u64);
    db.set_write_touch(Touch::Lru { now_seconds: 500 });
    for n in 0..10_000 {
        db.insert(&key(n), number(0));
    }
    assert_eq!(db.access(&key(77)), Some(AccessClock::lru(500)));
    for n in 0..10_000 {
        assert!(db.set_access(&key(n), AccessClock::from_bits(n as u32 * 1001)));
    }
    for n in 10_000..40_000 {
        db.insert(&key(n), number(0));
    }
    for n in 20_000..40_000 {
        db.remove(&key(n));
    }
    for n in 0..10_000 {
        let clock = AccessClock::from_bits(n as u32 * 1001);
        assert_eq!(db.access(&key(n)), Some(clock));
    }
    let touch = Touch::Lru { now_seconds: 900 };
    assert!(db.get(&key(5), 0).is_some());
    assert_eq!(db.access(&key(5)), Some(AccessClock::from_bits(5005)));
    assert!(db.get_touch(&key(5), 0, touch).is_some());
    assert_eq!(db.access(&key(5)), Some(AccessClock::lru(900)));
    assert!(db.touch(&key(6), 0, touch));
    assert_eq!(
        db.entry(&key(6)).map(|entry| entry.access),
        Some(AccessClock::lru(900))
    );
    assert!(db.get_mut(&key(7), 0).is_some());
    assert_eq!(db.access(&key(7)), Some(AccessClock::lru(500)));
    assert!(!db.touch(b"absent", 0, touch));
    assert!(!db.set_access(b"absent", AccessClock::default()));
}

#[test]
fn random_keys_are_spread_fairly() {
    let mut random = Random::new();
    assert_eq!(Db::new(1u64).random_key(|| 5), None);
    let db = filled(5000);
    let mut times: HashMap<&[u8], u32> = HashMap::new();
    for _ in 0..100_000 {
        let key = db.random_key(|| random.next()).unwrap();
        *times.entry(key).or_default() += 1;
    }
    // Twenty times each on the average.
    assert!(times.len() > 4950, "{}", times.len());
    assert!(times.values().all(|&times| times < 80));
    let one = filled(1);
    assert_eq!(one.random_key(|| 99), Some(&key(0)[..]));
}

#[test]
fn types_may_change_in_place() {
    let mut db = filled(100);
    assert!(db.insert(&key(3), List::empty().into_value()).is_some());
    assert_eq!(
        db.get(&key(3), 0).map(|value| value.kind()),
        Some(Type::List)
    );
    let old = db.replace_keeping_deadline(&key(3), Hash::empty().into_value());
    assert_eq!(old.map(|value| value.kind()), Some(Type::List));
    assert_eq!(
        db.get(&key(3), 0).map(|value| value.kind()),
        Some(Type::Hash)
    );
    db.check();
}

#[test]
fn prefetching_changes_nothing() {
    let db = filled(100);
    let keys: Vec<Vec<u8>> = (50..150).map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    db.prefetch(&keys);
    db.prefetch(&[]);
    Db::new(1u64).prefetch(&keys);
    for (key, n) in keys.iter().zip(50..150) {
        assert_eq!(db.get(key, 0).map(read), (n < 100).then_some(n));
    }
}

#[test]
fn clear_hands_out_what_was_there() {
    let mut db = filled(3000);
    db.count_slots();
    let position = db.position(b"a");
    let old = db.clear();
    assert_eq!((old.len(), db.len()), (3000, 0));
    assert_eq!(db.position(b"a"), position);
    assert_eq!(db.slot_len(slot(&key(1))), 0);
    assert!(old.contains(&key(1), 0));
}

#[test]
fn keys_are_counted_by_slot() {
    let mut db = filled(1000);
    db.insert(b"{x}1", number(0));
    db.insert(b"{x}2", number(0));
    let wanted = slot(b"x");
    let walked = db.slot_len(wanted);
    assert!(walked >= 2);
    db.count_slots();
    assert_eq!(db.slot_len(wanted), walked);
    db.insert(b"{x}3", number(0));
    db.insert(b"{x}3", number(0));
    assert_eq!(db.slot_len(wanted), walked + 1);
    db.remove(b"{x}1");
    db.remove(b"{x}1");
    assert_eq!(db.slot_len(wanted), walked);
    assert_eq!(db.slot_keys(wanted, 1000).len(), walked);
    assert_eq!(db.slot_keys(wanted, 1).len(), 1);
}

/// Keys whose hashes begin with the same eight bits, found by trying.
fn colliding_keys(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let db = Db::new(seed);
    let shift = 48 - 8;
    let wanted = db.position(b"board") >> shift;
    (0..)
        .map(key)
        .filter(|key| db.position(key) >> shift == wanted)
        .take(count)
        .collect()
}

#[test]
fn keys_that_collide_under_a_known_seed_are_only_slow() {
    let count = 9000;
    let keys = colliding_keys(5, count);
    let mut db = Db::new(5u64);
    for (n, key) in keys.iter().enumerate() {
        db.insert(key, number(n as i64));
        db.set_deadline(key, n as i64);
    }
    db.check();
    let memory = db.memory();
    assert!(
        memory.table_bytes + memory.entry_bytes < 60 * count,
        "{memory:?}"
    );
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(db.get(key, 0).map(read), Some(n as i64));
    }
    let (mut cursor, mut shown) = (0, 0);
    while shown == 0 || cursor != 0 {
        cursor = db.scan(cursor, 100, |_| shown += 1);
    }
    assert_eq!(shown, count);
    let mut random = Random::new();
    assert!(db.random_key(|| random.next()).is_some());
    let due = db.next_expired(4000, count).keys;
    assert_eq!(due.len(), 4000);
    for key in &due {
        assert!(db.remove(key).is_some());
    }
    db.check();
    for key in &keys {
        db.remove(key);
    }
    assert!(db.is_empty());
    db.check();
}

#[test]
fn keys_that_collide_under_one_seed_do_not_under_another() {
    let keys = colliding_keys(5, 3000);
    let mut db = Db::new(6u64);
    for key in &keys {
        db.insert(key, number(0));
    }
    let halves = keys
        .iter()
        .filter(|key| db.position(key) < POSITIONS_END / 2);
    let lower = halves.count();
    assert!((1300..1700).contains(&lower), "{lower}");
    db.check();
}

#[test]
fn databases_are_exchanged_and_cleared() {
    let mut store = Store::new(16, 9u64);
    store[0].insert(b"a", number(1));
    store[1].insert(b"b", number(2));
    assert!(store.swap(0, 1));
    assert!(!store.swap(0, 16));
    assert!(store[0].contains(b"b", 0) && store[1].contains(b"a", 0));
    let (from, to) = store.two_mut(0, 1).unwrap();
    let (value, _) = from.take(b"b").unwrap();
    to.insert(b"b", value);
    assert!(store.two_mut(3, 3).is_none() && store.two_mut(0, 16).is_none());
    assert_eq!((store.len(), store.keys_len(), store[1].len()), (16, 2, 2));
    assert_ne!(store[0].position(b"a"), store[1].position(b"a"));
    let old = store.clear();
    assert_eq!(old.iter().map(Db::len).sum::<usize>(), 2);
    assert_eq!(store.keys_len(), 0);
}
