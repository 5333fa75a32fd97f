//! Making room: keys that are given up when memory is over maxmemory, by the policy of the settings.
//!
//! As in Redis a victim is the best of a few random keys, not the best of all.

use super::Engine;
use super::notify::EventClass;
use super::stats::count;
use super::time::Moment;
use crate::settings::MaxmemoryPolicy;
use crate::store::keyspace::Db;
use std::sync::atomic::Ordering::Relaxed;

/// Keys that one round gives up before others get their turn.
const ROUND_KEYS_MAX: usize = 128;

/// Random keys that are looked at for each key of a sample, where only those with a deadline count.
const TRIES_FOR_A_DEADLINE: usize = 16;

impl Engine {
    /// Whether keys are to be given up now; renews the count of used memory.
    #[inline]
    pub fn wants_room(&self) -> bool {
        if self.settings.maxmemory == 0 {
            return false;
        }
        self.used_memory_bytes
            .store(self.outside.estimate_memory_bytes(), Relaxed);
        self.is_over_limit() && self.evicts()
    }

    fn is_over_limit(&self) -> bool {
        let max = self.settings.maxmemory;
        max > 0 && self.used_memory_bytes.load(Relaxed) > max
    }

    fn evicts(&self) -> bool {
        self.settings.maxmemory_policy != MaxmemoryPolicy::NoEviction
    }

    /// Whether commands that need memory are refused: it is over its limit, and no more is being given up.
    pub fn out_of_memory(&self) -> bool {
        self.is_over_limit() && !(self.is_making_room && self.evicts())
    }

    /// Gives up keys until memory is within its limit, nothing fits the policy, or the round is over.
    pub fn make_room(&mut self, now: Moment) {
        self.is_making_room = false;
        for _ in 0..ROUND_KEYS_MAX {
            if !self.wants_room() {
                return;
            }
            let Some((db, key)) = self.choose_victim(now) else {
                return;
            };
            self.evict(db, &key);
        }
        self.is_making_room = true;
    }

    fn evict(&mut self, db: usize, key: &[u8]) {
        let removed = self.db_mut(db).remove(key);
        if self.settings.lazyfree_lazy_eviction {
            self.discard(removed);
        } else {
            // What is freed elsewhere would not count in time, and more would be given up than needed.
            drop(removed);
        }
        count(&self.stats.evicted_keys, 1);
        let verb: &[u8] = if self.settings.lazyfree_lazy_eviction {
            b"UNLINK"
        } else {
            b"DEL"
        };
        self.effects.push_words(db, &[verb, key]);
        self.key_changed(db, key, None);
        self.blocking.signal_loss(db, key);
        self.notify(EventClass::EVICTED, "evicted", key, db);
    }

    /// The most dispensable of a few random keys of all databases.
    fn choose_victim(&mut self, now: Moment) -> Option<(usize, Box<[u8]>)> {
        let policy = self.settings.maxmemory_policy;
        let needs_deadline = matches!(
            policy,
            MaxmemoryPolicy::VolatileLru
                | MaxmemoryPolicy::VolatileLfu
                | MaxmemoryPolicy::VolatileRandom
                | MaxmemoryPolicy::VolatileTtl
        );
        let samples = self.settings.maxmemory_samples.max(1) as usize;
        let mut best: Option<(i64, usize, Box<[u8]>)> = None;
        for index in 0..self.store.len() {
            let Engine {
                store,
                random,
                settings,
                ..
            } = self;
            let Some(db) = store.db(index) else {
                continue;
            };
            let fitting = if needs_deadline {
                db.expires_len()
            } else {
                db.len()
            };
            if fitting == 0 {
                continue;
            }
            let tries = if needs_deadline {
                samples * TRIES_FOR_A_DEADLINE
            } else {
                samples
            };
            for _ in 0..tries {
                let Some(key) = db.random_key(|| random.next_u64()) else {
                    break;
                };
                if needs_deadline && db.deadline(key).is_none() {
                    continue;
                }
                let worth = dispensability(db, key, policy, settings.lfu_decay_time, now);
                if best.as_ref().is_none_or(|(most, ..)| worth > *most) {
                    best = Some((worth, index, key.into()));
                }
            }
        }
        best.map(|(_, db, key)| (db, key))
    }
}

/// How little a key would be missed; more is less.
fn dispensability(
    db: &Db,
    key: &[u8],
    policy: MaxmemoryPolicy,
    decay_minutes: u32,
    now: Moment,
) -> i64 {
    let clock = db.access(key).unwrap_or_default();
    match policy {
        MaxmemoryPolicy::AllkeysLru | MaxmemoryPolicy::VolatileLru => {
            clock.idle_seconds((now.unix_us / 1_000_000) as u64) as i64
        }
        MaxmemoryPolicy::AllkeysLfu | MaxmemoryPolicy::VolatileLfu => {
            -i64::from(clock.counter((now.unix_us / 60_000_000) as u64, decay_minutes))
        }
        MaxmemoryPolicy::VolatileTtl => -db.deadline(key).unwrap_or(i64::MAX),
        MaxmemoryPolicy::AllkeysRandom
        | MaxmemoryPolicy::VolatileRandom
        | MaxmemoryPolicy::NoEviction => 0,
    }
}
