//! Bytes behind one pointer: the length lives in the heap block.
//!
//! A `Box<[u8]>` is two words; tables of millions of small strings want one.
//! The block holds a length of one byte (below 128) or four, then the bytes.
//! The bytes may be changed in place, the length never changes.
//!
//! This module is one of the few with `unsafe`. It keeps these invariants:
//! - the pointer is to a live block of the global allocator, aligned to 8, made
//!   with the layout that [`layout`] gives for its length;
//! - the header and all `len` bytes behind it are initialised;
//! - the block has one owner.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::slice;

use super::heap::class_size;
use super::packed::{LENGTH_MAX, length_size, read_length, write_length};

/// Alignment of every block, so that owners may tag the low three bits.
const ALIGN: usize = 8;

/// An owned byte string in one word. `Option<ThinBytes>` is one word too.
#[repr(transparent)]
pub struct ThinBytes {
    block: NonNull<u8>,
}

// SAFETY: the block is owned, not shared, and holds plain bytes.
unsafe impl Send for ThinBytes {}
// SAFETY: a shared reference only reads the bytes.
unsafe impl Sync for ThinBytes {}

fn layout(len: usize) -> Layout {
    let size = (length_size(len) + len).max(ALIGN);
    Layout::from_size_align(size, ALIGN).expect("a length below 2^31 makes a valid layout")
}

impl ThinBytes {
    /// The concatenation of `parts`, at most [`LENGTH_MAX`] bytes in all.
    pub fn concat(parts: &[&[u8]]) -> Self {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        assert!(len <= LENGTH_MAX, "callers bound the length");
        let layout = layout(len);
        // SAFETY: the layout's size is at least ALIGN.
        let raw = unsafe { alloc(layout) };
        let Some(block) = NonNull::new(raw) else {
            handle_alloc_error(layout)
        };
        let header = length_size(len);
        let mut header_bytes = [0; 4];
        write_length(&mut header_bytes, len);
        // SAFETY: the block holds header + len bytes; the parts are disjoint from it
        // and their lengths sum to len.
        unsafe {
            raw.copy_from_nonoverlapping(header_bytes.as_ptr(), header);
            let mut at = raw.add(header);
            for part in parts {
                at.copy_from_nonoverlapping(part.as_ptr(), part.len());
                at = at.add(part.len());
            }
        }
        ThinBytes { block }
    }

    /// Where the bytes begin behind the header, and how many they are.
    fn extent(&self) -> (usize, usize) {
        // SAFETY: the first byte is always initialised, and when it marks a long
        // header four bytes are.
        let header = unsafe {
            let size = if *self.block.as_ref() < 0x80 { 1 } else { 4 };
            slice::from_raw_parts(self.block.as_ptr(), size)
        };
        let (len, size) = read_length(header);
        (size, len)
    }

    pub fn as_slice(&self) -> &[u8] {
        let (start, len) = self.extent();
        // SAFETY: len initialised bytes follow the header.
        unsafe { slice::from_raw_parts(self.block.as_ptr().add(start), len) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let (start, len) = self.extent();
        // SAFETY: len initialised bytes follow the header, and we own them.
        unsafe { slice::from_raw_parts_mut(self.block.as_ptr().add(start), len) }
    }

    /// Heap bytes, rounded as the allocator does.
    pub fn heap_bytes(&self) -> usize {
        class_size(layout(self.extent().1).size())
    }

    /// Gives up ownership; [`ThinBytes::from_raw`] takes it back.
    pub fn into_raw(self) -> NonNull<u8> {
        std::mem::ManuallyDrop::new(self).block
    }

    /// Takes back what [`ThinBytes::into_raw`] gave.
    ///
    /// # Safety
    /// `block` came from `into_raw` and is owned by nobody else.
    pub unsafe fn from_raw(block: NonNull<u8>) -> Self {
        ThinBytes { block }
    }
}

impl From<&[u8]> for ThinBytes {
    fn from(bytes: &[u8]) -> Self {
        ThinBytes::concat(&[bytes])
    }
}

impl Clone for ThinBytes {
    fn clone(&self) -> Self {
        ThinBytes::from(self.as_slice())
    }
}

impl Drop for ThinBytes {
    fn drop(&mut self) {
        let layout = layout(self.extent().1);
        // SAFETY: the block was allocated with this layout and has one owner.
        unsafe { dealloc(self.block.as_ptr(), layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_bytes_of_every_header_size() {
        for len in [0, 1, 7, 44, 127, 128, 129, 70_000] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut thin = ThinBytes::from(&bytes[..]);
            assert_eq!(thin.as_slice(), bytes);
            let copy = thin.clone();
            thin.as_mut_slice().fill(b'x');
            assert_eq!(copy.as_slice(), bytes);
            assert!(thin.as_slice().iter().all(|&b| b == b'x'));
            assert!(thin.heap_bytes() > len);
        }
    }

    #[test]
    fn concatenates() {
        let thin = ThinBytes::concat(&[b"ab", b"", b"c"]);
        assert_eq!(thin.as_slice(), b"abc");
        assert_eq!(size_of::<Option<ThinBytes>>(), 8);
    }
}
