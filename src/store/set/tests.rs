//! Sets against a BTreeSet, and the encodings at their thresholds.

use std::collections::BTreeSet;

use super::*;

const LIMITS: SetLimits = SetLimits {
    intset_entries: 8,
    listpack_entries: 16,
    listpack_value_len: 20,
};

fn below(state: &mut u64, bound: usize) -> usize {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*state >> 33) as usize % bound
}

fn set_of(members: &[&str]) -> Set {
    let mut set = Set::new();
    for member in members {
        set.insert(member.as_bytes(), LIMITS);
    }
    set
}

fn members_of(set: &Set) -> Vec<String> {
    set.iter()
        .map(|m| String::from_utf8(m.to_vec()).unwrap())
        .collect()
}

#[test]
fn random_edits_match_a_btree_set() {
    for seed in 1..40u64 {
        let mut state = seed;
        let mut set = Set::new();
        let mut model: BTreeSet<Vec<u8>> = BTreeSet::new();
        let numbers = [6, 8, 12, 500][seed as usize % 4];
        let with_text = seed % 3 != 0;
        for _ in 0..2000 {
            let number = below(&mut state, numbers) as i64;
            let member = match below(&mut state, 50) {
                0 if with_text => format!("text{number}").into_bytes(),
                1 => (number << 20).to_string().into_bytes(),
                2 => (-number << 40).to_string().into_bytes(),
                _ => number.to_string().into_bytes(),
            };
            if below(&mut state, 10) < 5 {
                assert_eq!(
                    set.insert(&member, LIMITS),
                    model.insert(member),
                    "seed {seed}"
                );
            } else {
                assert_eq!(set.remove(&member), model.remove(&member), "seed {seed}");
            }
            assert_eq!(set.len(), model.len());
            if set.encoding() != "hashtable" {
                let all: BTreeSet<Vec<u8>> = set.iter().map(|m| m.to_vec()).collect();
                assert_eq!(all, model, "seed {seed}");
            }
        }
        let copy = set.clone();
        drop(set);
        let all: BTreeSet<Vec<u8>> = copy.iter().map(|m| m.to_vec()).collect();
        assert_eq!(all, model);
        assert!(model.iter().all(|member| copy.contains(member)));
        assert!(copy.memory_usage() > 0);
    }
    assert_eq!(size_of::<Set>(), 8);
}

#[test]
fn integers_are_kept_sorted_and_other_members_in_order() {
    let mut set = set_of(&["5", "-70000", "3", "9000000000"]);
    assert_eq!(set.encoding(), "intset");
    assert_eq!(members_of(&set), ["-70000", "3", "5", "9000000000"]);
    assert!(set.insert(b"x", LIMITS));
    assert!(set.insert(b"1", LIMITS));
    assert_eq!(set.encoding(), "listpack");
    assert_eq!(
        members_of(&set),
        ["-70000", "3", "5", "9000000000", "x", "1"]
    );
    assert!(set.remove(b"3"));
    assert!(!set.contains(b"3"));
    assert!(set.contains(b"9000000000"));
}

#[test]
fn thresholds_are_those_of_redis() {
    let numbers: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let texts: Vec<String> = (0..20).map(|n| format!("t{n}")).collect();
    let first = |all: &[String], n: usize| {
        set_of(&all[..n].iter().map(String::as_str).collect::<Vec<_>>()).encoding()
    };
    assert_eq!(first(&numbers, 8), "intset");
    assert_eq!(first(&numbers, 9), "hashtable");
    assert_eq!(first(&texts, 16), "listpack");
    assert_eq!(first(&texts, 17), "hashtable");
    assert_eq!(set_of(&["123456789012345678901"]).encoding(), "hashtable");
    assert_eq!(
        set_of(&["-1234567890123456789", "a"]).encoding(),
        "listpack"
    );
}

#[test]
fn the_count_of_a_command_decides_beforehand() {
    let prepared = |first: &str, count| {
        let mut set = Set::new();
        set.prepare(first.as_bytes(), count, LIMITS);
        set.encoding()
    };
    assert_eq!(prepared("1", 8), "intset");
    assert_eq!(prepared("1", 9), "listpack");
    assert_eq!(prepared("1", 17), "hashtable");
    assert_eq!(prepared("a", 16), "listpack");
    assert_eq!(prepared("a", 17), "hashtable");
    let mut set = set_of(&["1"]);
    set.prepare(b"2", 9, LIMITS);
    assert_eq!(set.encoding(), "hashtable");
    assert_eq!(members_of(&set), ["1"]);
}

#[test]
fn integers_come_together_again_on_request() {
    let mut set = set_of(&["1", "x", "3"]);
    set.make_ints_if_possible(LIMITS);
    assert_eq!(set.encoding(), "listpack");
    set.remove(b"x");
    set.make_ints_if_possible(LIMITS);
    assert_eq!(set.encoding(), "intset");
    assert_eq!(members_of(&set), ["1", "3"]);
}

#[test]
fn scans_and_random_draws_meet_every_member() {
    for (members, text) in [(7, ""), (12, "t"), (300, "t")] {
        let mut set = Set::new();
        for member in 0..members {
            set.insert(format!("{text}{member}").as_bytes(), LIMITS);
        }
        let mut met = BTreeSet::new();
        let mut cursor = 0;
        loop {
            cursor = set.scan(cursor, 10, |member| {
                met.insert(member.to_vec());
            });
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(met.len(), members);
        let mut state = 5;
        let mut drawn = BTreeSet::new();
        for _ in 0..members * 20 {
            let member = set
                .random(&mut |n| below(&mut state, n))
                .expect("not empty");
            drawn.insert(member.to_vec());
        }
        assert_eq!(drawn.len(), members);
    }
}
