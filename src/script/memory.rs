//! The memory of a script machine: counted, and refused beyond a limit.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use super::runtime::Runtime;
use crate::limits::SCRIPT_ALLOCATION_BYTES_LONG;

/// What Lua aligns its objects to.
const ALIGN: usize = 8;

/// Counts bytes as Lua asks for and gives back memory.
pub struct Memory {
    used: Cell<usize>,
    limit: usize,
    /// Beyond so many bytes garbage is to be collected at the next occasion.
    collect_at: Cell<usize>,
}

impl Memory {
    pub fn new(limit: usize) -> Self {
        Self {
            used: Cell::new(0),
            limit,
            collect_at: Cell::new(limit / 2),
        }
    }

    pub fn used(&self) -> usize {
        self.used.get()
    }

    /// Whether so many bytes more would exceed the limit.
    pub fn would_exceed(&self, more: usize) -> bool {
        self.used.get().saturating_add(more) > self.limit
    }

    pub fn wants_collection(&self) -> bool {
        self.used.get() > self.collect_at.get()
    }

    /// After a collection the next one waits until half of the free memory is used.
    pub fn collected(&self) {
        let used = self.used.get();
        self.collect_at
            .set(used + self.limit.saturating_sub(used) / 2);
    }
}

/// Lua's allocator. `data` is the [`Runtime`] of the state.
///
/// # Safety
/// Called by Lua, with a block of this function's own and its size.
pub unsafe extern "C" fn allocate(
    data: *mut c_void,
    block: *mut c_void,
    old_len: usize,
    new_len: usize,
) -> *mut c_void {
    // SAFETY: the runtime outlives the state and is only shared.
    let runtime = unsafe { &*data.cast::<Runtime>() };
    let memory = &runtime.memory;
    let used = memory.used.get();
    if new_len == 0 {
        if !block.is_null() {
            memory.used.set(used - old_len);
            // SAFETY: the block was made here with this size and alignment.
            unsafe {
                dealloc(
                    block.cast(),
                    Layout::from_size_align_unchecked(old_len, ALIGN),
                )
            };
        }
        return ptr::null_mut();
    }
    let old_len = if block.is_null() { 0 } else { old_len };
    let new_used = used - old_len + new_len;
    if new_len > old_len && new_used > memory.limit || new_len > isize::MAX as usize - ALIGN {
        return ptr::null_mut();
    }
    if new_len > old_len.max(SCRIPT_ALLOCATION_BYTES_LONG) && !runtime.may_allocate(new_len) {
        return ptr::null_mut();
    }
    // SAFETY: sizes are not zero and not above isize::MAX; the block was made here.
    let result = unsafe {
        let layout = Layout::from_size_align_unchecked(new_len, ALIGN);
        if block.is_null() {
            alloc(layout)
        } else {
            realloc(
                block.cast(),
                Layout::from_size_align_unchecked(old_len, ALIGN),
                new_len,
            )
        }
    };
    if !result.is_null() {
        memory.used.set(new_used);
    }
    result.cast()
}
