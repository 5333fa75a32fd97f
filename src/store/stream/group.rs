//! Consumer groups: who was given which entries and has not acknowledged them.

use super::id::StreamId;
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

/// A consumer within its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsumerId(u32);

/// An entry that was delivered and not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    pub consumer: ConsumerId,
    /// Unix milliseconds.
    pub delivered_ms: i64,
    pub deliveries: u64,
}

impl Pending {
    /// Most deliveries that are counted: what a RETRYCOUNT can say.
    pub const DELIVERIES_MAX: u64 = i64::MAX as u64;
}

#[derive(Clone, Debug)]
pub struct Consumer {
    pub name: Box<[u8]>,
    /// Unix milliseconds of the last attempt.
    pub seen_ms: i64,
    /// Unix milliseconds of the last attempt that got an entry.
    pub active_ms: Option<i64>,
    pending: BTreeSet<StreamId>,
}

impl Consumer {
    /// Ids of the entries that this consumer has not acknowledged.
    pub fn pending(&self) -> &BTreeSet<StreamId> {
        &self.pending
    }
}

/// A consumer group.
///
/// Invariant: an id is pending for a consumer if and only if the group has it pending for that
/// consumer.
#[derive(Clone, Debug, Default)]
pub struct Group {
    pub last_id: StreamId,
    /// How many entries of the stream were delivered, if known.
    pub entries_read: Option<u64>,
    pending: BTreeMap<StreamId, Pending>,
    names: BTreeMap<Box<[u8]>, ConsumerId>,
    /// By id; None is free to be taken.
    consumers: Vec<Option<Consumer>>,
    /// Ids that are free to be taken.
    vacant: Vec<u32>,
}

impl Group {
    pub fn new(last_id: StreamId, entries_read: Option<u64>) -> Self {
        Self {
            last_id,
            entries_read,
            ..Self::default()
        }
    }

    /// All entries that are not acknowledged, in order.
    pub fn pending(&self) -> &BTreeMap<StreamId, Pending> {
        &self.pending
    }

    /// The consumers in the order of their names.
    pub fn consumers(&self) -> impl ExactSizeIterator<Item = &Consumer> {
        self.names.values().map(|&id| self.consumer(id))
    }

    pub fn find(&self, name: &[u8]) -> Option<ConsumerId> {
        self.names.get(name).copied()
    }

    pub fn consumer(&self, id: ConsumerId) -> &Consumer {
        self.consumers[id.0 as usize]
            .as_ref()
            .expect("ids are given to consumers that exist")
    }

    pub fn consumer_mut(&mut self, id: ConsumerId) -> &mut Consumer {
        self.consumers[id.0 as usize]
            .as_mut()
            .expect("ids are given to consumers that exist")
    }

    /// The consumer of that name, made if it is new; and whether it is.
    pub fn find_or_create(&mut self, name: &[u8], now_ms: i64) -> (ConsumerId, bool) {
        let slot = match self.names.entry(name.into()) {
            Slot::Occupied(found) => return (*found.get(), false),
            Slot::Vacant(slot) => slot,
        };
        let consumer = Consumer {
            name: name.into(),
            seen_ms: now_ms,
            active_ms: None,
            pending: BTreeSet::new(),
        };
        let index = match self.vacant.pop() {
            Some(index) => index,
            None => {
                self.consumers.push(None);
                self.consumers.len() as u32 - 1
            }
        };
        self.consumers[index as usize] = Some(consumer);
        let id = ConsumerId(index);
        slot.insert(id);
        (id, true)
    }

    /// Removes a consumer with what it has pending; how many entries that were.
    pub fn remove_consumer(&mut self, name: &[u8]) -> Option<usize> {
        let id = self.names.remove(name)?;
        let consumer = self.consumers[id.0 as usize].take()?;
        self.vacant.push(id.0);
        for entry in &consumer.pending {
            self.pending.remove(entry);
        }
        Some(consumer.pending.len())
    }

    /// Notes that an entry is pending, whoever had it before.
    pub fn set_pending(&mut self, entry: StreamId, pending: Pending) {
        if let Some(old) = self.pending.insert(entry, pending)
            && old.consumer != pending.consumer
        {
            self.consumer_mut(old.consumer).pending.remove(&entry);
        }
        self.consumer_mut(pending.consumer).pending.insert(entry);
    }

    /// The entry is no longer pending; whether it was.
    pub fn acknowledge(&mut self, entry: StreamId) -> bool {
        match self.pending.remove(&entry) {
            Some(old) => self.consumer_mut(old.consumer).pending.remove(&entry),
            None => false,
        }
    }

    pub fn heap_bytes(&self) -> usize {
        let names: usize = self.consumers().map(|one| 2 * one.name.len()).sum();
        names
            + self.pending.len() * (size_of::<Pending>() + 2 * size_of::<StreamId>())
            + self.consumers.len() * (size_of::<Consumer>() + size_of::<Box<[u8]>>())
    }
}
