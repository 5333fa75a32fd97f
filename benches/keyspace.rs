//! Bytes and nanoseconds of the keyspace with one-member boards.
//!
//! `cargo bench --bench keyspace -- 1000000 10000000` (numbers of keys). Times are CPU time
//! of the thread, so that other programs on the machine disturb them less.

use std::hint::black_box;
use std::time::Duration;

use rankd::store::keyspace::Db;
use rankd::store::sorted_set::{Score, SortedSet, Thresholds};
use rankd::store::value::{ValueMut, ValueRef, ValueType};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Operations that are timed together when the longest is looked for, because
/// reading the clock takes longer than one of them.
const TIMED_TOGETHER: u64 = 16;

const LOOKUPS: u64 = 2_000_000;

fn main() {
    let counts: Vec<u64> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    for count in if counts.is_empty() {
        vec![1_000_000]
    } else {
        counts
    } {
        measure(count);
    }
}

fn measure(count: u64) {
    println!("{count} keys");
    let start = resident();
    let mut db = Db::new(0x1234_5678_9ABC_DEF0u64);
    let mut key = Vec::new();
    let worst = fill(&mut db, count, &mut key);
    report("insert, longest of all (of sixteen)", worst, 1);
    let grown = resident() - start;
    let memory = db.memory();
    let boards: usize = db.iter().map(|entry| entry.value.memory_usage()).sum();
    println!(
        "  bytes a key: resident {:.1}, table {:.1}, records {:.1}, boards {:.1}",
        each(grown, count),
        each(memory.table_bytes, count),
        each(memory.entry_bytes, count),
        each(boards, count),
    );
    let mut chance = 1;
    timed("get and score", LOOKUPS, || {
        name_key(&mut key, random(&mut chance) % count);
        let Some(ValueRef::SortedSet(board)) = db.get(&key, 0) else {
            panic!("every key is there");
        };
        black_box(board.score(b"player:00000007"));
    });
    let mut keys = vec![Vec::new(); 16];
    timed("get and score of sixteen, prefetched", LOOKUPS / 16, || {
        for key in &mut keys {
            name_key(key, random(&mut chance) % count);
        }
        let named: [&[u8]; 16] = std::array::from_fn(|n| &keys[n][..]);
        db.prefetch(&named);
        for key in &keys {
            if let Some(ValueRef::SortedSet(board)) = db.get(key, 0) {
                black_box(board.score(b"player:00000007"));
            }
        }
    });
    timed("get only", LOOKUPS, || {
        name_key(&mut key, random(&mut chance) % count);
        black_box(db.get(&key, 0).is_some());
    });
    timed("get of an absent key", LOOKUPS, || {
        name_key(&mut key, count + random(&mut chance) % count);
        black_box(db.get(&key, 0).is_some());
    });
    timed("add points", LOOKUPS, || {
        name_key(&mut key, random(&mut chance) % count);
        let (value, _) = db.get_or_insert_with(&key, 0, || SortedSet::empty().into_value());
        if let ValueMut::SortedSet(board) = value {
            let score = (random(&mut chance) % 1000) as f64;
            set_score(board, score);
        }
    });
    timed("name a key (part of all above)", LOOKUPS, || {
        name_key(&mut key, random(&mut chance) % count);
        black_box(&key);
    });
    walk(&db, count);
    deadlines(&mut db, count, &mut key);
    let removed = Instant::now();
    let mut worst = Duration::ZERO;
    let mut one = Instant::now();
    for n in 0..count / 10 * 9 {
        name_key(&mut key, n);
        black_box(db.remove(&key).is_some());
        if n % TIMED_TOGETHER == 0 {
            worst = worst.max(one.elapsed());
            one = Instant::now();
        }
    }
    report("remove", removed.elapsed(), count / 10 * 9);
    report("remove, longest of all (of sixteen)", worst, 1);
    let rest = db.memory();
    println!(
        "  bytes that a tenth of the keys takes: {:.1} a key",
        each(rest.table_bytes + rest.entry_bytes, db.len() as u64)
    );
}

fn fill(db: &mut Db, count: u64, key: &mut Vec<u8>) -> Duration {
    let mut worst = Duration::ZERO;
    let start = Instant::now();
    let mut one = Instant::now();
    for n in 0..count {
        name_key(key, n);
        let (value, _) = db.get_or_insert_with(key, 0, || SortedSet::empty().into_value());
        if let ValueMut::SortedSet(board) = value {
            set_score(board, (n % 1000) as f64);
        }
        if n % TIMED_TOGETHER == 0 {
            worst = worst.max(one.elapsed());
            one = Instant::now();
        }
    }
    report("insert", start.elapsed(), count);
    worst
}

fn walk(db: &Db, count: u64) {
    let start = Instant::now();
    let mut cursor = 0;
    loop {
        cursor = db.scan(cursor, 10, |entry| {
            black_box(entry.key.len());
        });
        if cursor == 0 {
            break;
        }
    }
    report("scan by tens, a key", start.elapsed(), count);
}

fn deadlines(db: &mut Db, count: u64, key: &mut Vec<u8>) {
    let start = Instant::now();
    for n in 0..count {
        name_key(key, n);
        db.set_deadline(key, n as i64);
    }
    report("set a deadline", start.elapsed(), count);
    let memory = db.memory();
    println!(
        "  bytes a key with deadlines: table {:.1}, records {:.1}",
        each(memory.table_bytes, count),
        each(memory.entry_bytes, count),
    );
    let start = Instant::now();
    let (mut found, mut worst) = (0, Duration::ZERO);
    for now_ms in (0..(count / 100) as i64).step_by(100) {
        loop {
            let one = Instant::now();
            let due = db.next_expired(now_ms, 20);
            worst = worst.max(one.elapsed());
            for key in &due.keys {
                db.remove(key);
            }
            found += due.keys.len() as u64;
            if !due.more {
                break;
            }
        }
    }
    report(
        "find and remove an expired key",
        start.elapsed(),
        found.max(1),
    );
    report("find, longest of all", worst, 1);
    for n in 0..count {
        name_key(key, n);
        db.clear_deadline(key);
    }
}

/// CPU time of this thread.
struct Instant(Duration);

impl Instant {
    fn now() -> Self {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the time is written to a place of ours.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        Instant(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    fn elapsed(&self) -> Duration {
        Instant::now().0 - self.0
    }
}

fn set_score(board: &mut SortedSet, score: f64) {
    if let Some(score) = Score::new(score) {
        board.insert(b"player:00000007", score, Thresholds::default());
    }
}

fn name_key(key: &mut Vec<u8>, mut n: u64) {
    key.clear();
    key.extend_from_slice(b"board:00000000");
    for digit in key.iter_mut().rev().take(8) {
        *digit = b'0' + (n % 10) as u8;
        n /= 10;
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 20
}

fn timed(name: &str, times: u64, mut run: impl FnMut()) {
    let start = Instant::now();
    for _ in 0..times {
        run();
    }
    report(name, start.elapsed(), times);
}

fn report(name: &str, elapsed: Duration, times: u64) {
    println!(
        "  {name}: {:.0} ns",
        elapsed.as_nanos() as f64 / times as f64
    );
}

fn each(bytes: usize, count: u64) -> f64 {
    bytes as f64 / count as f64
}

/// Resident bytes of this process, as Linux tells them.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.unwrap_or(0usize) * 1024
}
