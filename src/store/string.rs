//! A string value.

/// A string value.
#[allow(clippy::box_collection)]
#[derive(Clone, Default)]
pub struct StringValue(Box<Vec<u8>>);

impl StringValue {
    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes held on the heap.
    pub fn memory_usage(&self) -> usize {
        size_of::<Vec<u8>>()
    }

    /// Redis's name of the representation.
    pub fn encoding(&self) -> &'static str {
        "raw"
    }
}
