//! Boards against the model.

use super::model::{Choices, Pair, Shape};
use super::*;

/// Bytes from a seed that is printed, and that `RANKD_SEED` sets.
fn random_bytes(name: &str, len: usize) -> Vec<u8> {
    let seed = std::env::var("RANKD_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| {
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_nanos() as u64
        });
    println!("{name}: RANKD_SEED={seed}");
    let mut state = seed;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = state;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend_from_slice(&(value ^ value >> 31).to_le_bytes());
    }
    bytes
}

/// How much of a long test is left under Miri, which is some hundred times slower.
const MIRI_SHARE: usize = if cfg!(miri) { 40 } else { 1 };

fn run(name: &str, shape: Shape, bytes: usize) {
    let bytes = random_bytes(name, bytes / MIRI_SHARE);
    let mut choices = Choices::new(&bytes);
    let mut pair = Pair::new(shape);
    for step in 0.. {
        if choices.is_empty() {
            break;
        }
        pair.step(&mut choices);
        // The whole of a long board now and then, of a short one always.
        if step % (1 + pair.model.len() / 32) == 0 {
            pair.check();
        }
    }
    pair.check();
}

const SMALL: Thresholds = Thresholds {
    max_entries: 128,
    max_value: 64,
};
const ALWAYS_BIG: Thresholds = Thresholds {
    max_entries: 0,
    max_value: 0,
};
const NEVER_BIG: Thresholds = Thresholds {
    max_entries: usize::MAX,
    max_value: usize::MAX,
};

#[test]
fn a_board_is_one_word() {
    assert_eq!(size_of::<SortedSet>(), size_of::<usize>());
    assert_eq!(SortedSet::new().memory_usage(), 0);
}

#[test]
fn one_member_takes_32_bytes_and_a_hundred_take_18_each() {
    let mut board = SortedSet::new();
    board.insert(b"player:00000000", Score::from(100_000), SMALL);
    assert_eq!(board.memory_usage(), 32);
    for number in 1..100 {
        board.insert(
            format!("player:{number:08}").as_bytes(),
            Score::from(number * 37 % 1000),
            SMALL,
        );
    }
    assert_eq!(board.memory_usage(), 1792);
}

#[test]
fn small_board_agrees_with_model() {
    let shape = Shape {
        members: 150,
        scores: 50,
        long: None,
        thresholds: NEVER_BIG,
    };
    run("small", shape, 60_000);
    let long = Shape {
        members: 60,
        scores: 1000,
        long: Some((5, 300)),
        thresholds: NEVER_BIG,
    };
    run("small, long members", long, 30_000);
}

#[test]
fn thresholds_are_crossed_as_the_model_does() {
    for max_entries in [0, 1, 2, 16, 128] {
        for max_value in [0, 1, 19, 64] {
            let thresholds = Thresholds {
                max_entries,
                max_value,
            };
            run(
                "thresholds",
                Shape {
                    members: 160,
                    scores: 20,
                    long: Some((50, 65)),
                    thresholds,
                },
                6_000,
            );
        }
    }
}

#[test]
fn big_board_agrees_with_model() {
    let shape = Shape {
        members: 1500,
        scores: 3000,
        long: None,
        thresholds: ALWAYS_BIG,
    };
    run("big", shape, 60_000);
    run("big, few scores", Shape { scores: 3, ..shape }, 40_000);
    run("big, one score", Shape { scores: 1, ..shape }, 40_000);
    run(
        "big, long members",
        Shape {
            long: Some((3, 300)),
            ..shape
        },
        40_000,
    );
}

#[test]
fn a_board_that_outgrew_keeps_its_members() {
    let thresholds = Thresholds::default();
    let mut board = SortedSet::new();
    board.outgrow();
    assert!(board.is_empty());
    for number in 0..20 {
        board.insert(&[number; 3], Score::from(i32::from(number)), thresholds);
    }
    let copy = board.clone();
    for _ in 0..2 {
        board.outgrow();
        board.check();
        assert_eq!(board.encoding(), Encoding::Skiplist);
        assert_eq!(board, copy);
    }
}

/// Sets back the hash of the thread when a test ends.
struct Flood;

impl Flood {
    fn with_mask(mask: u64) -> Flood {
        super::index::flood::set_mask(mask);
        Flood
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        super::index::flood::set_mask(u64::MAX);
    }
}

#[test]
fn colliding_members_agree_with_model() {
    let shape = Shape {
        members: 400,
        scores: 30,
        long: None,
        thresholds: ALWAYS_BIG,
    };
    for mask in [0, 0xff, 0xff << 56, 3 << 62, 0xffff_ffff, 1] {
        let _flood = Flood::with_mask(mask);
        run("colliding", shape, 15_000);
    }
}

#[test]
fn memory_is_given_back_when_a_board_shrinks() {
    let name = |number: u32| format!("player:{number:012}");
    let count = 20_000 / MIRI_SHARE as u32;
    let mut board = SortedSet::new();
    for number in 0..count {
        let score = Score::from((number.wrapping_mul(2_654_435_761) >> 8) as i32);
        board.insert(name(number).as_bytes(), score, SMALL);
    }
    let full = board.memory_usage();
    for number in (0..count).filter(|number| number % 10 != 3) {
        assert!(board.remove(name(number).as_bytes()).is_some());
        if number % 1000 == 0 {
            board.check();
        }
    }
    board.check();
    assert_eq!(board.len(), count as usize / 10);
    assert!(
        cfg!(miri) || board.memory_usage() < full / 4,
        "{} of {full}",
        board.memory_usage()
    );
}

#[test]
fn patterns_of_insertion_agree_with_a_sort() {
    let count = 3000 / MIRI_SHARE as i32;
    let patterns: [(&str, fn(i32) -> f64); 7] = [
        ("ascending", |n| f64::from(n)),
        ("descending", |n| f64::from(-n)),
        ("equal", |_| 7.0),
        ("alternating", |n| {
            if n % 2 == 0 {
                f64::from(n)
            } else {
                f64::from(-n)
            }
        }),
        ("exponential", |n| {
            2f64.powi(n % 2000 - 1000) * if n % 3 == 0 { -1.0 } else { 1.0 }
        }),
        ("outward from infinities", |n| {
            [f64::INFINITY, f64::NEG_INFINITY, f64::from(n)][n as usize % 3]
        }),
        ("next doubles", |n| {
            f64::from_bits(1.0f64.to_bits() + n as u64 * 37 % 1000)
        }),
    ];
    for (name, score_of) in patterns {
        let mut board = SortedSet::new();
        let mut expected = Vec::new();
        for number in 0..count {
            let score = Score::new(score_of(number)).unwrap();
            let member = format!("{:05}", number as u32 * 7919 % 100_003).into_bytes();
            board.insert(&member, score, ALWAYS_BIG);
            expected.push((score, member));
            if number % 500 == 0 {
                board.check();
            }
        }
        board.check();
        expected.sort();
        assert!(
            board
                .iter()
                .eq(expected.iter().map(|(score, member)| (&**member, *score))),
            "{name}"
        );
        for (rank, (score, member)) in expected.iter().enumerate() {
            assert_eq!(board.rank(member), Some((rank, *score)), "{name}");
        }
    }
}

#[test]
fn a_member_of_many_bytes_is_kept_apart() {
    const LONG: usize = (3 << 20) / MIRI_SHARE;
    let long = vec![0xffu8; LONG];
    let mut board = SortedSet::new();
    for number in 0..300 {
        board.insert(format!("{number}").as_bytes(), Score::from(number), SMALL);
    }
    let before = board.memory_usage();
    assert_eq!(board.insert(&long, Score::from(150), SMALL), None);
    assert!(board.memory_usage() >= before + LONG);
    assert_eq!(board.rank(&long), Some((151, Score::from(150))));
    let copy = board.clone();
    assert_eq!(board.remove(&long), Some(Score::from(150)));
    assert!(board.memory_usage() < before + 1000);
    copy.check();
    assert_eq!(copy.at(151), Some((&*long, Score::from(150))));
}

#[test]
fn asking_for_memory_ahead_changes_nothing() {
    let names: Vec<Vec<u8>> = (0..5000 / MIRI_SHARE as u32)
        .map(|n| n.to_be_bytes().to_vec())
        .collect();
    let mut members: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    members.extend([b"".as_slice(), b"absent", &[0xff; 300]]);
    let mut board = SortedSet::new();
    board.prefetch_members(&members);
    for thresholds in [Thresholds::default(), ALWAYS_BIG] {
        for (number, name) in names.iter().take(names.len() / 2).enumerate() {
            board.insert(name, Score::from(number as i32), thresholds);
            if number == 1 {
                board.prefetch_members(&members);
            }
        }
        let before = board.clone();
        board.prefetch_members(&members);
        board.check();
        assert_eq!(board, before);
    }
}
