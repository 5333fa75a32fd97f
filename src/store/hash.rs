//! A hash value.

/// A hash value.
#[allow(clippy::box_collection)]
#[derive(Clone, Default)]
pub struct Hash(Box<std::collections::BTreeMap<Vec<u8>, Vec<u8>>>);

impl Hash {
    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes held on the heap.
    pub fn memory_usage(&self) -> usize {
        size_of::<std::collections::BTreeMap<Vec<u8>, Vec<u8>>>()
    }

    /// Redis's name of the representation.
    pub fn encoding(&self) -> &'static str {
        "listpack"
    }
}
