//! Times of the board alone: nanoseconds of CPU an operation and resident bytes a member.
//!
//! `cargo bench --bench board [-- SIZE...]`; sizes default to 1k, 100k, 1M and 10M
//! members. Members are `player:` and 12 digits in random order, scores random
//! integers below a million. Every operation is on random members, one after the
//! other, so the figures are latencies rather than throughput. Each load runs in a
//! process of its own, so that none reuses what another has freed.

use rankd::store::sorted_set::merge::{self, Aggregate, Input};
use rankd::store::sorted_set::{Score, ScoreRange, SortedSet, Thresholds};
use std::hint::black_box;
use std::ops::Bound;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const THRESHOLDS: Thresholds = Thresholds {
    max_entries: 128,
    max_value: 64,
};
const MEMBER_LEN: usize = 19;
const OPERATIONS: usize = 500_000;

/// CPU time of this thread so far, which other programs on the machine do not lengthen.
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time` only.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

/// Members, one behind the other.
struct Members(Vec<u8>);

impl Members {
    fn new(numbers: impl Iterator<Item = usize>) -> Members {
        let mut bytes = Vec::new();
        for mut number in numbers {
            let start = bytes.len();
            bytes.extend_from_slice(b"player:000000000000");
            let mut at = start + MEMBER_LEN;
            while number > 0 {
                at -= 1;
                bytes[at] = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        Members(bytes)
    }

    fn shuffled(count: usize) -> Members {
        let mut random = Random(1);
        let mut numbers: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            numbers.swap(at, random.below(at + 1));
        }
        Members::new(numbers.into_iter())
    }

    fn random(below: usize, seed: u64) -> Members {
        let mut random = Random(seed);
        Members::new((0..OPERATIONS).map(|_| random.below(below)))
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.chunks_exact(MEMBER_LEN)
    }
}

unsafe extern "C" {
    fn _rjem_mallctl(
        name: *const std::ffi::c_char,
        old: *mut std::ffi::c_void,
        old_len: *mut usize,
        new: *mut std::ffi::c_void,
        new_len: usize,
    ) -> std::ffi::c_int;
}

/// Resident memory once the allocator has returned free pages, as it does after seconds.
fn resident_bytes() -> usize {
    let null = std::ptr::null_mut();
    // SAFETY: 4096 stands for all arenas, and purging takes no arguments.
    unsafe {
        _rjem_mallctl(
            c"arena.4096.purge".as_ptr(),
            null,
            std::ptr::null_mut(),
            null,
            0,
        )
    };
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = pages
        .split(' ')
        .nth(1)
        .and_then(|field| field.parse().ok())
        .unwrap_or(0);
    pages * 4096
}

fn integer(random: &mut Random) -> Score {
    Score::from(random.below(1_000_000) as i32)
}

fn fraction(random: &mut Random) -> Score {
    let unit = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
    Score::new(unit * 1e6).unwrap_or_default()
}

fn load(members: &Members, mut score: impl FnMut() -> Score) -> (SortedSet, f64, Duration, f64) {
    let before = resident_bytes();
    let mut board = SortedSet::new();
    let (mut count, mut worst, start) = (0, Duration::ZERO, cpu_time());
    for group in members.0.chunks(MEMBER_LEN * 16) {
        let group_start = cpu_time();
        for member in group.chunks_exact(MEMBER_LEN) {
            board.insert(member, score(), THRESHOLDS);
            count += 1;
        }
        worst = worst.max(cpu_time() - group_start);
    }
    let each = (cpu_time() - start).as_nanos() as f64 / f64::from(count);
    let bytes = (resident_bytes() as f64 - before as f64) / f64::from(count);
    (board, each, worst, bytes)
}

fn time<'m>(name: &str, members: impl Iterator<Item = &'m [u8]>, mut operation: impl FnMut(&[u8])) {
    let start = cpu_time();
    let mut count = 0;
    for member in members {
        operation(member);
        count += 1;
    }
    println!(
        "  {name:24} {:8.1} ns",
        (cpu_time() - start).as_nanos() as f64 / f64::from(count)
    );
}

fn operations(board: &mut SortedSet, size: usize) {
    let members = Members::random(size, 7);
    let mut random = Random(9);
    time("score", members.iter(), |member| {
        black_box(board.score(member));
    });
    time("rank", members.iter(), |member| {
        black_box(board.rank(member));
    });
    time("add 7 points", members.iter(), |member| {
        let add = |old: Option<Score>| old.and_then(|old| old.checked_add(7.0));
        black_box(board.update_with(member, THRESHOLDS, add));
    });
    time("set if greater", members.iter(), |member| {
        let new = integer(&mut random);
        let decide = |old: Option<Score>| old.is_none_or(|old| new > old).then_some(new);
        black_box(board.update_with(member, THRESHOLDS, decide));
    });
    time("set to a random score", members.iter(), |member| {
        board.insert(member, integer(&mut random), THRESHOLDS);
    });
    time("page of 10 by rank", members.iter(), |_| {
        let first = random.below(size);
        black_box(
            board
                .range(first..first + 10)
                .fold(0, |sum, (member, _)| sum + usize::from(member[18])),
        );
    });
    time("page of 10 from the top", members.iter(), |_| {
        black_box(
            board
                .range(size - 10..size)
                .rev()
                .fold(0, |sum, (member, _)| sum + usize::from(member[18])),
        );
    });
    time("count of a score range", members.iter(), |_| {
        let range = ScoreRange {
            min: Bound::Excluded(integer(&mut random)),
            max: Bound::Unbounded,
        };
        black_box(board.rank_range_by_score(&range));
    });
    let start = cpu_time();
    black_box(
        board
            .iter()
            .fold(0, |sum, (member, _)| sum + usize::from(member[18])),
    );
    println!(
        "  {:24} {:8.1} ns",
        "walk, each",
        (cpu_time() - start).as_nanos() as f64 / size as f64
    );
    time("remove and add", members.iter(), |member| {
        if let Some(score) = board.remove(member) {
            board.insert(member, score, THRESHOLDS);
        }
    });
}

/// Bytes a member after an ascending load and two random new scores for each.
fn churn(size: usize) {
    let members = Members::shuffled(size);
    let mut ascending = 0;
    let (mut board, each, _, bytes) = load(&members, || {
        ascending += 1;
        Score::from(ascending)
    });
    let told = board.memory_usage() as f64 / size as f64;
    println!(
        "  ascending load           {each:8.1} ns, {bytes:.1} bytes a member resident, {told:.1} told"
    );
    let before = resident_bytes();
    let mut random = Random(3);
    for _ in 0..2 {
        for member in members.iter() {
            board.insert(member, integer(&mut random), THRESHOLDS);
        }
    }
    let bytes = bytes + (resident_bytes() as f64 - before as f64) / size as f64;
    let told = board.memory_usage() as f64 / size as f64;
    println!("  after rescoring twice    {bytes:.1} bytes a member resident, {told:.1} told");
}

fn merges(size: usize) {
    let mut random = Random(5);
    let boards: Vec<SortedSet> = (0..3)
        .map(|_| {
            let mut board = SortedSet::new();
            while board.len() < size {
                let members = Members::new(std::iter::once(random.below(2 * size)));
                board.insert(
                    &members.0,
                    Score::from(random.below(100_000) as i32),
                    THRESHOLDS,
                );
            }
            board
        })
        .collect();
    let inputs: Vec<Input<'_>> = boards.iter().map(Input::board).collect();
    for (name, merge) in [
        (
            "union of 3",
            (&|| merge::union(&inputs, Aggregate::Sum).to_board(THRESHOLDS))
                as &dyn Fn() -> SortedSet,
        ),
        ("intersection of 3", &|| {
            merge::intersect(&inputs, Aggregate::Sum).to_board(THRESHOLDS)
        }),
        ("difference of 3", &|| {
            merge::diff(&inputs).to_board(THRESHOLDS)
        }),
    ] {
        let start = cpu_time();
        let merged = black_box(merge());
        println!(
            "  {name:24} {:8.1} ms, {} members",
            (cpu_time() - start).as_secs_f64() * 1e3,
            merged.len()
        );
    }
}

fn run(phase: &str, size: usize) {
    let members = Members::shuffled(size);
    let mut random = Random(2);
    match phase {
        "integers" => {
            println!("{size} members");
            let (mut board, each, worst, bytes) = load(&members, || integer(&mut random));
            let told = board.memory_usage() as f64 / size as f64;
            println!("  insert                   {each:8.1} ns, longest 16 {worst:?}");
            println!("  bytes a member           {bytes:8.1} resident, {told:.1} told");
            operations(&mut board, size);
            let before = board.memory_usage();
            for (number, member) in members.iter().enumerate() {
                if number % 10 != 0 {
                    board.remove(member);
                }
            }
            let left = board.memory_usage() as f64 * 100.0 / before as f64;
            println!("  memory told after removing 90%: {left:.1}%");
        }
        "fractions" => {
            let (_, each, _, bytes) = load(&members, || fraction(&mut random));
            println!("  fractional scores        {each:8.1} ns, {bytes:.1} bytes a member");
        }
        "churn" => churn(size),
        _ => merges(size),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, phase, size, ..] = &arguments[..]
        && let ("integers" | "fractions" | "churn" | "merges", Ok(size)) =
            (phase.as_str(), size.parse())
    {
        return run(phase, size);
    }
    let mut sizes: Vec<usize> = arguments
        .iter()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    if sizes.is_empty() {
        sizes = vec![1_000, 100_000, 1_000_000, 10_000_000];
    }
    for size in sizes {
        for phase in ["integers", "fractions", "churn", "merges"] {
            if phase == "merges" && size > 1_000_000 {
                continue;
            }
            let own = std::env::current_exe().expect("the benchmark has a path");
            let status = std::process::Command::new(own)
                .args([phase, &size.to_string()])
                .status();
            assert!(
                status.is_ok_and(|status| status.success()),
                "{phase} of {size} members ended early"
            );
        }
    }
}
