//! A sorted set value.

/// A sorted set value.
#[allow(clippy::box_collection)]
#[derive(Clone, Default)]
pub struct SortedSet(Box<std::collections::BTreeMap<Vec<u8>, f64>>);

impl SortedSet {
    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes held on the heap.
    pub fn memory_usage(&self) -> usize {
        size_of::<std::collections::BTreeMap<Vec<u8>, f64>>()
    }

    /// Redis's name of the representation.
    pub fn encoding(&self) -> &'static str {
        "listpack"
    }
}
