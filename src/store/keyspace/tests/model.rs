//! Random operations on the keyspace and on a plain map at once.

use std::collections::{BTreeMap, HashMap};

use super::*;

#[derive(Clone, Debug, PartialEq)]
struct Modelled {
    value: i64,
    deadline: Option<i64>,
}

impl Modelled {
    fn is_expired(&self, now_ms: i64) -> bool {
        self.deadline.is_some_and(|deadline| now_ms > deadline)
    }
}

#[derive(Default)]
struct Model(HashMap<Vec<u8>, Modelled>);

impl Model {
    fn live(&self, key: &[u8], now_ms: i64) -> Option<&Modelled> {
        self.0.get(key).filter(|item| !item.is_expired(now_ms))
    }

    fn assert_same(&self, db: &Db, now_ms: i64) {
        db.check();
        assert_eq!(db.len(), self.0.len());
        let seen: BTreeMap<Vec<u8>, Modelled> = db
            .iter()
            .map(|entry| {
                assert_eq!(entry.is_expired(now_ms), db.is_expired(entry.key, now_ms));
                let item = Modelled {
                    value: read(entry.value),
                    deadline: entry.deadline,
                };
                (entry.key.to_vec(), item)
            })
            .collect();
        assert_eq!(seen.len(), self.0.len());
        for (key, item) in &self.0 {
            assert_eq!(seen.get(key), Some(item));
            let live = self.live(key, now_ms).map(|item| item.value);
            assert_eq!(db.get(key, now_ms).map(read), live);
        }
        let expires = self.0.values().filter(|item| item.deadline.is_some());
        assert_eq!(db.expires_len(), expires.count());
    }
}

/// One random operation on both; `keys` says over how many keys.
fn step(db: &mut Db, model: &mut Model, random: &mut Random, keys: u64, now_ms: i64) {
    let key = key_of_any_length(random.below(keys));
    let n = random.below(1 << 40) as i64;
    let deadline = now_ms + random.below(200) as i64 - 20;
    let known = model.0.get(&key).cloned();
    match random.below(12) {
        0..=2 => {
            let old = db.insert(&key, number(n)).map(|old| read(old.as_ref()));
            let item = Modelled {
                value: n,
                deadline: None,
            };
            assert_eq!(old, model.0.insert(key, item).map(|item| item.value));
        }
        3 => {
            let old = db.replace_keeping_deadline(&key, number(n));
            assert_eq!(old.is_some(), known.is_some());
            let deadline = known.and_then(|item| item.deadline);
            model.0.insert(key, Modelled { value: n, deadline });
        }
        4 => {
            let (value, created) = db.get_or_insert_with(&key, now_ms, || number(n));
            let live = known.filter(|item| !item.is_expired(now_ms));
            assert_eq!(created, live.is_none());
            let expected = live.unwrap_or(Modelled {
                value: n,
                deadline: None,
            });
            assert_eq!(read(value.as_ref()), expected.value);
            model.0.insert(key, expected);
        }
        5 => {
            let found = db.get_mut(&key, now_ms);
            assert_eq!(found.is_some(), model.live(&key, now_ms).is_some());
            if let Some(ValueMut::String(text)) = found {
                *text = StringValue::from_int(i64::MAX - n);
                model.0.get_mut(&key).unwrap().value = n;
            }
        }
        6..=7 => {
            let taken = db.take(&key).map(|(value, deadline)| Modelled {
                value: read(value.as_ref()),
                deadline,
            });
            assert_eq!(taken, model.0.remove(&key));
        }
        8..=9 => {
            assert_eq!(db.set_deadline(&key, deadline), known.is_some());
            if let Some(item) = model.0.get_mut(&key) {
                item.deadline = Some(deadline);
            }
        }
        10 => {
            let had = known.is_some_and(|item| item.deadline.is_some());
            assert_eq!(db.clear_deadline(&key), had);
            if let Some(item) = model.0.get_mut(&key) {
                item.deadline = None;
            }
        }
        _ => {
            assert_eq!(
                db.deadline(&key),
                known.as_ref().and_then(|item| item.deadline)
            );
            assert_eq!(
                db.contains(&key, now_ms),
                model.live(&key, now_ms).is_some()
            );
            assert_eq!(db.entry(&key).is_some(), known.is_some());
        }
    }
}

#[test]
fn random_operations_agree_with_a_model() {
    let mut random = Random::new();
    let sizes = [(3, 30), (40, 20), (700, 5), (20_000, 1)];
    for (keys, rounds) in sizes.into_iter().take(if cfg!(miri) { 2 } else { 4 }) {
        for _ in 0..if cfg!(miri) { 2 } else { rounds } {
            let mut db = Db::new(random.next());
            let mut model = Model::default();
            for at in 0..keys * 6 {
                step(&mut db, &mut model, &mut random, keys, at as i64);
                if keys < 50 && !cfg!(miri) || at % (keys * 2) == 0 {
                    model.assert_same(&db, at as i64);
                }
            }
            model.assert_same(&db, 0);
        }
    }
}
