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

fn run(name: &str, shape: Shape, bytes: usize) {
    let bytes = random_bytes(name, bytes);
    let mut choices = Choices::new(&bytes);
    let mut pair = Pair::new(shape);
    while !choices.is_empty() {
        pair.step(&mut choices);
        pair.check();
    }
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
