//! The entries of a stream in order of their ids, and what is known about those that are gone.

use super::id::StreamId;
use super::node::{Entry, NODE_BYTES_MAX, Node, NodeEntries, NodeLimits};
use std::collections::{BTreeMap, btree_map};

/// The entries of a stream; see [`Stream`](super::Stream).
///
/// Invariants: no node is without entries; nodes and entries are in order; `len` is the number
/// of all entries; no entry is above `last_id`.
#[derive(Clone, Default)]
pub struct Log {
    /// Nodes by the id of their first entry (which may be removed by now).
    nodes: BTreeMap<StreamId, Node>,
    len: u64,
    /// The greatest id that was ever added or set.
    pub last_id: StreamId,
    /// The greatest id that XDEL removed.
    pub max_deleted_id: StreamId,
    /// Entries that were ever added.
    pub entries_added: u64,
}

/// What trimming leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// So many entries.
    Len(u64),
    /// Entries from that id on.
    MinId(StreamId),
}

/// How much trimming may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    pub threshold: Threshold,
    /// Only whole nodes go.
    pub approximate: bool,
    /// Most entries that go, 0 without a limit.
    pub limit: u64,
}

impl Log {
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The id of the first entry; zero if there is none.
    pub fn first_id(&self) -> StreamId {
        self.range(StreamId::MIN, StreamId::MAX)
            .next()
            .map_or(StreamId::MIN, |entry| entry.id)
    }

    /// The id of the last entry that is there.
    pub fn last_entry_id(&self) -> Option<StreamId> {
        self.range_backward(StreamId::MIN, StreamId::MAX)
            .next()
            .map(|entry| entry.id)
    }

    /// Whether words of so many bytes in all may be one entry.
    pub fn may_hold(bytes: usize) -> bool {
        bytes <= NODE_BYTES_MAX
    }

    /// Adds an entry; `words` are names and values in turns. `id` is above [`Log::last_id`].
    pub fn append<'a>(
        &mut self,
        id: StreamId,
        words: impl Iterator<Item = &'a [u8]> + Clone,
        limits: NodeLimits,
    ) {
        debug_assert!(id > self.last_id || self.last_id.is_zero());
        let added = words.clone().map(<[u8]>::len).sum();
        let fits = match self.nodes.last_key_value() {
            Some((_, node)) => !node.is_full_for(added, limits),
            None => false,
        };
        if !fits {
            self.nodes.insert(id, Node::new(words.clone()));
        }
        let mut last = self.nodes.last_entry().expect("there is a node now");
        let first = *last.key();
        last.get_mut().push(first, id, words);
        self.len += 1;
        self.entries_added = self.entries_added.saturating_add(1);
        self.last_id = id;
    }

    /// The node that may hold an id.
    fn node_for(&self, id: StreamId) -> Option<(StreamId, &Node)> {
        let (&first, node) = self.nodes.range(..=id).next_back()?;
        Some((first, node))
    }

    pub fn get(&self, id: StreamId) -> Option<Entry<'_>> {
        let (first, node) = self.node_for(id)?;
        node.entries(first)
            .find(|entry| entry.id >= id)
            .filter(|entry| entry.id == id)
    }

    pub fn contains(&self, id: StreamId) -> bool {
        self.get(id).is_some()
    }

    /// Removes an entry and remembers the greatest such id; whether it was there.
    pub fn remove(&mut self, id: StreamId) -> bool {
        let Some((&first, node)) = self.nodes.range_mut(..=id).next_back() else {
            return false;
        };
        if !node.remove(first, id) {
            return false;
        }
        if node.live() == 0 {
            self.nodes.remove(&first);
        }
        self.len -= 1;
        self.max_deleted_id = self.max_deleted_id.max(id);
        true
    }

    /// Entries with ids from `start` to `end`, both included.
    pub fn range(&self, start: StreamId, end: StreamId) -> Range<'_> {
        let from = self.node_for(start).map_or(start, |(first, _)| first);
        let nodes = if from <= end {
            Some(self.nodes.range(from..=end))
        } else {
            None
        };
        Range {
            nodes,
            entries: None,
            start,
            end,
        }
    }

    /// The same from the end on.
    pub fn range_backward(&self, start: StreamId, end: StreamId) -> RangeBackward<'_> {
        let from = self.node_for(start).map_or(start, |(first, _)| first);
        let nodes = if from <= end {
            Some(self.nodes.range(from..=end))
        } else {
            None
        };
        RangeBackward {
            nodes,
            entries: Vec::new(),
            start,
            end,
        }
    }

    /// Removes entries from the front; how many.
    pub fn trim(&mut self, trim: Trim) -> u64 {
        let mut removed = 0;
        while let Some(mut first_node) = self.nodes.first_entry() {
            if matches!(trim.threshold, Threshold::Len(len) if self.len <= len) {
                break;
            }
            let first = *first_node.key();
            let node = first_node.get_mut();
            let entries = node.live();
            if trim.limit > 0 && removed + entries > trim.limit {
                break;
            }
            let goes = match trim.threshold {
                Threshold::Len(len) => self.len - entries >= len,
                Threshold::MinId(id) => node.last_added < id,
            };
            if goes {
                first_node.remove();
                self.len -= entries;
                removed += entries;
                continue;
            }
            if trim.approximate {
                break;
            }
            let len = self.len;
            let gone = node.remove_front(first, |id, count| match trim.threshold {
                Threshold::Len(max) => len - count > max,
                Threshold::MinId(min) => id < min,
            });
            if node.live() == 0 {
                first_node.remove();
            }
            self.len -= gone;
            removed += gone;
            break;
        }
        removed
    }

    /// Whether entries that XDEL removed lie from `start` on.
    pub fn has_gaps_from(&self, start: StreamId) -> bool {
        !self.is_empty()
            && !self.max_deleted_id.is_zero()
            && self.first_id() <= self.max_deleted_id
            && start <= self.max_deleted_id
    }

    /// How many entries were added up to `id`, if that can be told.
    pub fn count_up_to(&self, id: StreamId) -> Option<u64> {
        if self.entries_added == 0 {
            return Some(0);
        }
        if self.is_empty() && id <= self.last_id {
            return Some(self.entries_added);
        }
        if !id.is_zero() && id < self.max_deleted_id {
            return None;
        }
        if id >= self.last_id {
            return (id == self.last_id).then_some(self.entries_added);
        }
        let first_id = self.first_id();
        if self.max_deleted_id.is_zero() || self.max_deleted_id < first_id {
            let before = self.entries_added.saturating_sub(self.len);
            if id < first_id {
                return Some(before);
            }
            if id == first_id {
                return Some(before + 1);
            }
        }
        None
    }

    /// The nodes in order, each with its id.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (StreamId, &Node)> {
        self.nodes.iter().map(|(&first, node)| (first, node))
    }

    /// Adds a node behind the others; false if it does not lie behind them or holds no entry. Its entries rise from
    /// `first` on.
    pub fn push_node(&mut self, first: StreamId, node: Node) -> bool {
        let behind = match self.nodes.last_key_value() {
            Some((_, last)) => last.last_added < first,
            None => true,
        };
        if !behind || node.live() == 0 {
            return false;
        }
        self.len += node.live();
        self.nodes.insert(first, node);
        true
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Number of nodes of the radix tree in which Redis keeps such nodes. O(nodes).
    pub fn tree_node_count(&self) -> usize {
        let keys: Vec<[u8; 16]> = self
            .nodes
            .keys()
            .map(|id| (u128::from(id.ms) << 64 | u128::from(id.seq)).to_be_bytes())
            .collect();
        if keys.is_empty() {
            1
        } else {
            tree_nodes(&keys, 0)
        }
    }

    pub fn heap_bytes(&self) -> usize {
        let nodes: usize = self.nodes.values().map(Node::heap_bytes).sum();
        nodes + self.nodes.len() * (size_of::<Node>() + size_of::<StreamId>())
    }
}

/// Nodes of a radix tree that merges what has one way on, for sorted keys that are equal up to `depth`.
fn tree_nodes(keys: &[[u8; 16]], depth: usize) -> usize {
    let (first, last) = (keys[0], keys[keys.len() - 1]);
    let shared = (depth..16).take_while(|&at| first[at] == last[at]).count();
    let below = depth + shared;
    let merged = usize::from(shared > 0);
    if below == 16 {
        return merged + 1;
    }
    let branches = keys.chunk_by(|a, b| a[below] == b[below]);
    merged
        + 1
        + branches
            .map(|keys| tree_nodes(keys, below + 1))
            .sum::<usize>()
}

/// Entries of a range in order.
pub struct Range<'a> {
    nodes: Option<btree_map::Range<'a, StreamId, Node>>,
    entries: Option<NodeEntries<'a>>,
    start: StreamId,
    end: StreamId,
}

impl<'a> Iterator for Range<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            if let Some(entries) = &mut self.entries {
                let start = self.start;
                if let Some(entry) = entries.find(|entry| entry.id >= start) {
                    return (entry.id <= self.end).then_some(entry);
                }
            }
            let (&first, node) = self.nodes.as_mut()?.next()?;
            self.entries = Some(node.entries(first));
        }
    }
}

/// Entries of a range from the last one on.
pub struct RangeBackward<'a> {
    nodes: Option<btree_map::Range<'a, StreamId, Node>>,
    /// What is left of the node at hand.
    entries: Vec<Entry<'a>>,
    start: StreamId,
    end: StreamId,
}

impl<'a> Iterator for RangeBackward<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            if let Some(entry) = self.entries.pop() {
                return Some(entry);
            }
            let (&first, node) = self.nodes.as_mut()?.next_back()?;
            let inside = |entry: &Entry<'_>| entry.id >= self.start && entry.id <= self.end;
            self.entries = node.entries(first).filter(inside).collect();
        }
    }
}
