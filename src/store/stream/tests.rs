//! The log of a stream against a plain list, over random operations.

use super::*;

fn below(state: &mut u64, bound: u64) -> u64 {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*state >> 33) % bound
}

type Model = Vec<(StreamId, Vec<Vec<u8>>)>;

fn check(log: &Log, model: &Model, start: StreamId, end: StreamId) {
    let expected: Vec<_> = model
        .iter()
        .filter(|(id, _)| *id >= start && *id <= end)
        .collect();
    let words = |entry: &Entry<'_>| -> Vec<Vec<u8>> {
        let fields = entry.fields();
        fields
            .flat_map(|(name, value)| [name.to_vec(), value.to_vec()])
            .collect()
    };
    let shown: Vec<_> = log
        .range(start, end)
        .map(|entry| (entry.id, words(&entry)))
        .collect();
    assert!(shown.iter().eq(expected.iter().copied()));
    let backward: Vec<StreamId> = log
        .range_backward(start, end)
        .map(|entry| entry.id)
        .collect();
    assert!(backward.iter().rev().eq(expected.iter().map(|(id, _)| id)));
}

#[test]
fn random_operations_match_a_list() {
    for seed in 1..6 {
        let mut state = seed;
        let mut log = Log::default();
        let mut model: Model = Vec::new();
        let limits = NodeLimits {
            bytes_max: 300,
            entries_max: 7,
        };
        for _ in 0..3000 {
            let pick = below(&mut state, 10);
            match pick {
                0..=5 => {
                    let mut id = log.last_id;
                    if below(&mut state, 2) == 0 {
                        id.ms += 1 + below(&mut state, 3);
                        id.seq = below(&mut state, 5);
                    } else {
                        id.seq += 1 + below(&mut state, 200);
                    }
                    let count = 1 + below(&mut state, 3);
                    let names: u64 = below(&mut state, 4);
                    let words: Vec<Vec<u8>> = (0..count)
                        .flat_map(|field| {
                            let value = vec![b'v'; below(&mut state, 40) as usize];
                            [format!("{}", field * (1 + names / 3)).into_bytes(), value]
                        })
                        .collect();
                    log.append(id, words.iter().map(Vec::as_slice), limits);
                    model.push((id, words));
                }
                6 | 7 if !model.is_empty() => {
                    let index = below(&mut state, model.len() as u64) as usize;
                    let (id, _) = model.remove(index);
                    assert!(log.contains(id));
                    assert!(log.remove(id));
                    assert!(!log.remove(id));
                }
                8 => {
                    let keep = model.len() as u64 - below(&mut state, 4).min(model.len() as u64);
                    let threshold = if below(&mut state, 2) == 0 {
                        Threshold::Len(keep)
                    } else {
                        let index = (model.len() as u64 - keep) as usize;
                        Threshold::MinId(model.get(index).map_or(StreamId::MIN, |(id, _)| *id))
                    };
                    let approximate = below(&mut state, 2) == 0;
                    let trim = Trim {
                        threshold,
                        approximate,
                        limit: 0,
                    };
                    let before = model.len();
                    let removed = log.trim(trim) as usize;
                    if !approximate && matches!(threshold, Threshold::Len(_)) {
                        assert_eq!(before - removed, keep as usize);
                    }
                    model.drain(..removed);
                }
                _ => {
                    let mut bound = || StreamId::new(below(&mut state, 2500), below(&mut state, 9));
                    let (start, end) = (bound(), bound());
                    check(&log, &model, start, end);
                }
            }
            assert_eq!(log.len(), model.len() as u64);
            let first = model.first().map_or(StreamId::MIN, |(id, _)| *id);
            assert_eq!(log.first_id(), first);
            assert_eq!(log.last_entry_id(), model.last().map(|(id, _)| *id));
        }
        check(&log, &model, StreamId::MIN, StreamId::MAX);
    }
}

#[test]
fn consumers_and_their_group_agree_on_what_is_pending() {
    let mut group = Group::default();
    let (ann, created) = group.find_or_create(b"ann", 1);
    assert!(created);
    let (bob, _) = group.find_or_create(b"bob", 1);
    let pending = |consumer| Pending {
        consumer,
        delivered_ms: 5,
        deliveries: 1,
    };
    for seq in 0..4 {
        group.set_pending(StreamId::new(1, seq), pending(ann));
    }
    group.set_pending(StreamId::new(1, 0), pending(bob));
    assert_eq!(group.consumer(ann).pending().len(), 3);
    assert!(group.acknowledge(StreamId::new(1, 1)));
    assert!(!group.acknowledge(StreamId::new(1, 1)));
    assert_eq!(group.remove_consumer(b"ann"), Some(2));
    assert_eq!(group.remove_consumer(b"ann"), None);
    assert_eq!(group.pending().len(), 1);
    assert_eq!(group.find_or_create(b"cid", 2), (ann, true));
    assert_eq!(group.consumers().len(), 2);
}

#[test]
fn ids_follow_each_other() {
    let top = StreamId::new(1, u64::MAX);
    assert_eq!(top.next(), Some(StreamId::new(2, 0)));
    assert_eq!(StreamId::new(2, 0).previous(), Some(top));
    assert_eq!(StreamId::MAX.next(), None);
    assert_eq!(StreamId::MIN.previous(), None);
    assert_eq!(top.to_string(), "1-18446744073709551615");
}

#[test]
fn a_consumer_may_take_the_place_of_one_that_went() {
    let mut group = Group::new(StreamId::MIN, None);
    let (first, _) = group.find_or_create(b"first", 1);
    group.find_or_create(b"second", 1);
    let entry = StreamId::new(1, 1);
    let pending = Pending {
        consumer: first,
        delivered_ms: 5,
        deliveries: 1,
    };
    group.set_pending(entry, pending);
    assert_eq!(group.remove_consumer(b"first"), Some(1));
    assert_eq!(group.remove_consumer(b"first"), None);
    let (third, is_new) = group.find_or_create(b"third", 2);
    assert!(is_new && third == first);
    assert!(group.pending().is_empty() && group.consumer(third).pending().is_empty());
    let (fourth, _) = group.find_or_create(b"fourth", 3);
    assert!(fourth != third);
    let names: Vec<_> = group.consumers().map(|one| one.name.to_vec()).collect();
    assert_eq!(
        names,
        [b"fourth".to_vec(), b"second".to_vec(), b"third".to_vec()]
    );
}
