//! Lists against a deque, and the encodings at their thresholds.

use std::collections::VecDeque;

use super::*;

fn below(state: &mut u64, bound: usize) -> usize {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*state >> 33) as usize % bound
}

fn value(state: &mut u64, len_max: usize) -> Vec<u8> {
    match below(state, 3) {
        0 => below(state, 5).to_string().into_bytes(),
        1 => (below(state, 1 << 20) as i64 - (1 << 19))
            .to_string()
            .into_bytes(),
        _ => vec![b'a' + below(state, 3) as u8; below(state, len_max + 1)],
    }
}

fn all(list: &List) -> VecDeque<Vec<u8>> {
    list.iter().map(<[u8]>::to_vec).collect()
}

fn edit(list: &mut List, model: &mut VecDeque<Vec<u8>>, state: &mut u64, growing: bool) {
    let limits = ListLimits {
        listpack_size: [-1, 4, 16, 1][below(state, 40) % 4],
    };
    let limits = if below(state, 10) > 0 {
        ListLimits { listpack_size: -1 }
    } else {
        limits
    };
    let len = model.len();
    let index = below(state, len + 3);
    let long = [20, 20, 300, 5000][below(state, 4)];
    let new = value(state, long);
    match below(state, if growing { 14 } else { 20 }) {
        0..=2 => {
            list.push(End::Front, &new, limits);
            model.push_front(new);
        }
        3..=5 => {
            let more = vec![new; below(state, 20)];
            list.extend(End::Back, more.iter().map(Vec::as_slice), limits);
            model.extend(more);
        }
        6..=9 => {
            let after = below(state, 2) == 1;
            assert_eq!(list.insert(index, after, &new, limits), index < len);
            if index < len {
                model.insert(index + usize::from(after), new);
            }
        }
        10 | 11 => {
            assert_eq!(list.replace(index, &new, limits), index < len);
            if index < len {
                model[index] = new;
            }
        }
        12 => {
            let end = [End::Front, End::Back][below(state, 2)];
            let max = below(state, 4);
            let mut expected = 0;
            while expected < max {
                let mut places = model.iter();
                let place = match end {
                    End::Front => places.position(|v| *v == new),
                    End::Back => places.rposition(|v| *v == new),
                };
                let Some(place) = place else { break };
                model.remove(place);
                expected += 1;
            }
            assert_eq!(list.remove_matching(&new, max, end, limits), expected);
        }
        13..=16 => {
            let end = [End::Front, End::Back][below(state, 2)];
            let front = match end {
                End::Front => model.pop_front(),
                End::Back => model.pop_back(),
            };
            assert_eq!(list.peek(end), front.as_deref());
            list.drop_end(end, 1, limits);
        }
        _ => {
            let count = below(state, 60);
            let start = index.min(len);
            let end = (start + count).min(len);
            list.remove_range(index, count, limits);
            model.drain(start..end);
        }
    }
}

#[test]
fn random_edits_match_a_deque() {
    for seed in 1..25u64 {
        let mut state = seed;
        let mut list = List::new();
        let mut model = VecDeque::new();
        for step in 0..1500 {
            edit(&mut list, &mut model, &mut state, step % 500 < 250);
            assert_eq!(list.len(), model.len(), "seed {seed} step {step}");
            let index = below(&mut state, model.len() + 1);
            assert_eq!(list.get(index), model.get(index).map(Vec::as_slice));
            if step % 20 == 0 {
                list.check();
                assert_eq!(all(&list), model, "seed {seed} step {step}");
                let back: Vec<&[u8]> = list.range_back(index, 10).collect();
                let expected: Vec<&[u8]> = match model.len() {
                    len if index < len => model
                        .range(..=index)
                        .rev()
                        .take(10)
                        .map(Vec::as_slice)
                        .collect(),
                    _ => Vec::new(),
                };
                assert_eq!(back, expected);
            }
        }
        assert_eq!(all(&list.clone()), model);
        assert!(list.memory_usage() > 0);
    }
    assert_eq!(size_of::<List>(), 8);
}

fn filled(count: usize, len: usize, limits: ListLimits) -> List {
    let mut list = List::new();
    for _ in 0..count {
        list.push(End::Back, &vec![b'x'; len], limits);
    }
    list
}

#[test]
fn by_count_the_encoding_changes_at_the_limit_and_back_at_half() {
    let limits = ListLimits { listpack_size: 8 };
    let mut list = filled(8, 3, limits);
    assert_eq!(list.encoding(), "listpack");
    list.push(End::Front, b"y", limits);
    assert_eq!(list.encoding(), "quicklist");
    // The ninth element has a chunk of its own until it goes.
    list.drop_end(End::Back, 3, limits);
    assert_eq!((list.len(), list.encoding()), (6, "quicklist"));
    list.drop_end(End::Front, 1, limits);
    assert_eq!((list.len(), list.encoding()), (5, "quicklist"));
    list.drop_end(End::Front, 1, limits);
    assert_eq!((list.len(), list.encoding()), (4, "listpack"));
}

#[test]
fn by_size_the_encoding_changes_at_the_limit_and_back_at_half() {
    let limits = ListLimits { listpack_size: -1 };
    // Elements of 100 bytes take 103 in a listpack, and 100 are reckoned for a new one.
    let mut list = filled(39, 100, limits);
    assert_eq!(list.encoding(), "listpack");
    list.push(End::Back, &[b'x'; 100], limits);
    assert_eq!(list.encoding(), "quicklist");
    list.drop_end(End::Front, 20, limits);
    assert_eq!((list.len(), list.encoding()), (20, "quicklist"));
    list.drop_end(End::Back, 1, limits);
    assert_eq!((list.len(), list.encoding()), (19, "listpack"));
    let alone = filled(1, 5000, limits);
    assert_eq!(alone.encoding(), "quicklist");
}

#[test]
fn one_command_of_many_tiny_elements_stays_a_listpack() {
    let limits = ListLimits { listpack_size: -2 };
    let mut list = List::new();
    list.extend(End::Back, std::iter::repeat_n(&b""[..], 100_000), limits);
    assert_eq!(list.encoding(), "listpack");
    list.check();
    list.drop_end(End::Back, 1, limits);
    assert_eq!((list.len(), list.encoding()), (99_999, "listpack"));
    list.push(End::Back, b"", limits);
    assert_eq!((list.len(), list.encoding()), (100_000, "quicklist"));
    list.check();
}

#[test]
fn collected_lists_are_small_when_one_chunk_holds_them() {
    let limits = ListLimits { listpack_size: 128 };
    let list_of = |n: usize| List::collect(std::iter::repeat_n(&b"ab"[..], n), limits);
    assert_eq!(
        (list_of(128).encoding(), list_of(128).len()),
        ("listpack", 128)
    );
    assert_eq!(
        (list_of(129).encoding(), list_of(129).len()),
        ("quicklist", 129)
    );
}
