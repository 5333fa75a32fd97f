//! A stream value.

/// Fields and their values in order.
type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// A stream value.
#[derive(Clone, Default)]
#[allow(clippy::box_collection)]
pub struct Stream(Box<std::collections::BTreeMap<(u64, u64), Fields>>);

impl Stream {
    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries in order: milliseconds and sequence number, and fields with values.
    pub fn iter(&self) -> impl Iterator<Item = ((u64, u64), impl Iterator<Item = (&[u8], &[u8])>)> {
        self.0.iter().map(|(id, fields)| {
            let fields = fields.iter().map(|(field, value)| (&field[..], &value[..]));
            (*id, fields)
        })
    }

    /// Bytes held on the heap.
    pub fn memory_usage(&self) -> usize {
        size_of::<std::collections::BTreeMap<(u64, u64), Fields>>()
    }

    /// Redis's name of the representation.
    pub fn encoding(&self) -> &'static str {
        "stream"
    }
}
