//! Streams: entries with rising ids ([`Log`]) and the groups that read them ([`Group`]).
//!
//! Entries lie in nodes of about a hundred ([`node`]), found by the id of their first one.

mod group;
mod id;
mod log;
mod node;
#[cfg(test)]
mod tests;

pub use group::{Consumer, ConsumerId, Group, Pending};
pub use id::StreamId;
pub use log::{Log, Range, RangeBackward, Threshold, Trim};
pub use node::{Entry, Node, NodeLimits};
use std::collections::BTreeMap;

/// The groups of a stream by name.
pub type Groups = BTreeMap<Box<[u8]>, Group>;

/// A stream value.
#[derive(Clone, Default)]
pub struct Stream(Box<Parts>);

#[derive(Clone, Default)]
struct Parts {
    log: Log,
    groups: Groups,
}

impl Stream {
    pub fn log(&self) -> &Log {
        &self.0.log
    }

    pub fn log_mut(&mut self) -> &mut Log {
        &mut self.0.log
    }

    pub fn groups(&self) -> &Groups {
        &self.0.groups
    }

    pub fn groups_mut(&mut self) -> &mut Groups {
        &mut self.0.groups
    }

    /// Both parts, to read one while the other changes.
    pub fn parts_mut(&mut self) -> (&mut Log, &mut Groups) {
        (&mut self.0.log, &mut self.0.groups)
    }

    /// Whether no entry is held.
    pub fn is_empty(&self) -> bool {
        self.0.log.is_empty()
    }

    /// Bytes held on the heap. O(nodes and consumers).
    pub fn memory_usage(&self) -> usize {
        let groups = self.0.groups.iter();
        size_of::<Parts>()
            + self.0.log.heap_bytes()
            + groups
                .map(|(name, group)| name.len() + size_of::<Group>() + group.heap_bytes())
                .sum::<usize>()
    }

    /// Redis's name of the representation.
    pub fn encoding(&self) -> &'static str {
        "stream"
    }
}
