//! The records of a segment: value, key and deadline in one run of words.
//!
//! A record is
//!
//! - one word: the handle of the value;
//! - one byte: type (3 bits), whether there is a word for a deadline, and the length of
//!   the key up to 14; 15 says that a length byte follows;
//! - the key, then unused bytes up to the next word. A key that is longer than
//!   `KEY_INLINE_LEN_MAX` has the length byte 255, and two words after it are its box;
//! - one word: the deadline, if the record has one.
//!
//! Freed records stay as dead words until the segment moves the living ones into a new
//! arena. The arena doesn't know where its records start: that is for the segment to
//! keep, and the functions that take an offset are `unsafe` for it.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::KEY_INLINE_LEN_MAX;
use crate::store::hash::Hash;
use crate::store::list::List;
use crate::store::set::Set;
use crate::store::sorted_set::SortedSet;
use crate::store::stream::Stream;
use crate::store::string::StringValue;
use crate::store::value::{Type, Value, ValueMut, ValueRef};

/// Words keep the provenance of the handles inside them, because they are never read
/// as integers.
type Word = MaybeUninit<u64>;
const WORD_LEN: usize = size_of::<Word>();

/// Words that an offset can reach.
pub(super) const ARENA_WORDS_MAX: usize = 1 << 16;

const KIND_MASK: u8 = 0b0111;
const DEADLINE_FLAG: u8 = 0b1000;
const LEN_SHIFT: u32 = 4;
/// Longest key whose length is in the first byte.
const SHORT_LEN_MAX: usize = 14;
const LEN_FOLLOWS: u8 = 15;
/// The length byte of a boxed key.
const BOXED: u8 = u8::MAX;

const _: () = assert!(KEY_INLINE_LEN_MAX < BOXED as usize);

/// A word for a deadline that holds none; kept for the next one.
const NO_DEADLINE: i64 = i64::MIN;

/// A handle must fit a word, and sharing an arena between threads must be no worse than
/// sharing the values.
macro_rules! handle_fits {
    ($($handle:path),*) => {
        $(const _: () = assert!(size_of::<$handle>() == 8 && align_of::<$handle>() <= 8);)*
    };
}
handle_fits!(StringValue, List, Set, SortedSet, Hash, Stream);
const fn shared_between_threads<T: Send + Sync>() {}
const _: () = shared_between_threads::<Value>();

/// The words of a record without one for a deadline.
pub(super) fn record_words(key_len: usize) -> usize {
    let head = if key_len <= SHORT_LEN_MAX {
        (1 + key_len).div_ceil(WORD_LEN)
    } else if key_len <= KEY_INLINE_LEN_MAX {
        (2 + key_len).div_ceil(WORD_LEN)
    } else {
        1 + size_of::<Box<[u8]>>() / WORD_LEN
    };
    1 + head
}

/// Bytes of all arenas that records have left and that new ones take.
static REUSABLE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes of the keyspaces of this process that keys have left and that new keys will take.
pub fn reusable_bytes() -> usize {
    REUSABLE_BYTES.load(Ordering::Relaxed)
}

#[derive(Default)]
pub(super) struct Arena {
    words: Vec<Word>,
    dead: usize,
    /// Those of the dead words that count as reusable; not those whose records are moved away, since then the whole
    /// arena goes.
    reusable: usize,
    /// Words at the end that came of dead ones, until they are in use again; they count as reusable too.
    spare: usize,
}

impl Drop for Arena {
    fn drop(&mut self) {
        let words = self.reusable + self.spare;
        REUSABLE_BYTES.fetch_sub(words * WORD_LEN, Ordering::Relaxed);
    }
}

impl Arena {
    pub(super) fn with_capacity(words: usize) -> Self {
        Arena {
            words: Vec::with_capacity(words),
            dead: 0,
            reusable: 0,
            spare: 0,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.words.capacity()
    }

    /// Words of records that are there.
    pub(super) fn live(&self) -> usize {
        self.words.len() - self.dead
    }

    /// Words that only a move into a new arena gives back.
    pub(super) fn dead(&self) -> usize {
        self.dead
    }

    pub(super) fn has_room(&self, words: usize) -> bool {
        self.words.capacity() - self.words.len() >= words
    }

    /// Makes the arena larger; offsets stay.
    pub(super) fn grow(&mut self, capacity: usize) {
        let more = capacity.saturating_sub(self.words.len());
        self.words.reserve_exact(more);
    }

    /// Reserves words at the end and returns their offset.
    fn extend(&mut self, words: usize) -> usize {
        let at = self.words.len();
        assert!(
            at + words <= ARENA_WORDS_MAX,
            "an offset reaches every record"
        );
        self.words.resize(at + words, Word::uninit());
        if self.spare > 0 {
            let taken = self.spare.min(words);
            self.spare -= taken;
            REUSABLE_BYTES.fetch_sub(taken * WORD_LEN, Ordering::Relaxed);
        }
        at
    }

    /// The free words at the end were dead ones before all records were moved here: they stay reusable.
    pub(super) fn keep_reusable(&mut self) {
        let spare = self.words.capacity() - self.words.len();
        REUSABLE_BYTES.fetch_add((spare - self.spare) * WORD_LEN, Ordering::Relaxed);
        self.spare = spare;
    }

    /// Adds a record without a deadline.
    pub(super) fn push(&mut self, key: &[u8], value: Value) -> u16 {
        let at = self.extend(record_words(key.len()));
        let record = RecordMut {
            // SAFETY: `at` is inside of `words`, which was just extended.
            at: unsafe { self.words.as_mut_ptr().add(at) }.cast(),
            borrow: PhantomData,
        };
        // SAFETY: the words of this record are all there, and nothing is in them yet.
        unsafe { record.write(key, value) };
        at as u16
    }

    /// The record at `offset`.
    ///
    /// # Safety
    /// A record of this arena must start there, and not be freed.
    #[inline]
    pub(super) unsafe fn record(&self, offset: u16) -> Record<'_> {
        debug_assert!(usize::from(offset) < self.words.len());
        Record {
            // SAFETY: the caller says that a record is there, so the offset is inside.
            at: unsafe { self.words.as_ptr().add(usize::from(offset)) }.cast(),
            borrow: PhantomData,
        }
    }

    /// The record at `offset`, to change it.
    ///
    /// # Safety
    /// A record of this arena must start there, and not be freed.
    #[inline]
    pub(super) unsafe fn record_mut(&mut self, offset: u16) -> RecordMut<'_> {
        debug_assert!(usize::from(offset) < self.words.len());
        RecordMut {
            // SAFETY: the caller says that a record is there, so the offset is inside.
            at: unsafe { self.words.as_mut_ptr().add(usize::from(offset)) }.cast(),
            borrow: PhantomData,
        }
    }

    /// Frees the record at `offset` and hands out what was in it.
    ///
    /// # Safety
    /// A record of this arena must start there, and not be freed. It is freed then.
    pub(super) unsafe fn free(&mut self, offset: u16) -> (Value, Option<i64>) {
        // SAFETY: as the caller says.
        let record = unsafe { self.record_mut(offset) };
        let (words, deadline) = (record.as_ref().words(), record.as_ref().deadline());
        // SAFETY: the record is not used again, so its value and its key are moved out once.
        let value = unsafe {
            drop(record.read_boxed_key());
            record.read_value()
        };
        self.forget(usize::from(offset), words);
        (value, deadline)
    }

    fn forget(&mut self, at: usize, words: usize) {
        if at + words == self.words.len() {
            self.words.truncate(at);
        } else {
            self.bury(words);
        }
    }

    fn bury(&mut self, words: usize) {
        self.dead += words;
        self.reusable += words;
        REUSABLE_BYTES.fetch_add(words * WORD_LEN, Ordering::Relaxed);
    }

    /// Moves a record to the end of another arena, without an empty word for a deadline,
    /// and returns its offset there.
    ///
    /// # Safety
    /// A record of this arena must start at `offset`, and not be freed. It is freed then.
    pub(super) unsafe fn move_to(&mut self, offset: u16, other: &mut Arena) -> u16 {
        // SAFETY: as the caller says.
        let record = unsafe { self.record(offset) };
        let (words, deadline) = (record.words(), record.deadline());
        let kept = words - usize::from(record.has_deadline_word() && deadline.is_none());
        let from = usize::from(offset);
        let at = other.extend(kept);
        other.words[at..at + kept].copy_from_slice(&self.words[from..from + kept]);
        if kept < words {
            // SAFETY: the record was just copied there.
            unsafe { other.record_mut(at as u16) }.set_header_flag(false);
        }
        self.dead += words;
        at as u16
    }

    /// Gives a record a word for a deadline, for which there must be room; it may move.
    ///
    /// # Safety
    /// A record of this arena, without such a word, must start at `offset` and not be
    /// freed. It is at the returned offset then, and no more at the old one.
    pub(super) unsafe fn widen(&mut self, offset: u16, deadline: i64) -> u16 {
        // SAFETY: as the caller says.
        let words = unsafe { self.record(offset) }.words();
        let from = usize::from(offset);
        let at = if from + words == self.words.len() {
            self.extend(1);
            from
        } else {
            let at = self.extend(words + 1);
            self.words.copy_within(from..from + words, at);
            self.bury(words);
            at
        };
        // SAFETY: the record is there, with one more word, which the flag tells of.
        let mut record = unsafe { self.record_mut(at as u16) };
        record.set_header_flag(true);
        record.set_deadline(Some(deadline));
        at as u16
    }
}

/// A record that is only read.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    /// The first byte of a complete record that lives for `'a`.
    at: *const u8,
    borrow: PhantomData<&'a Arena>,
}

impl<'a> Record<'a> {
    #[inline]
    fn header(self) -> u8 {
        // SAFETY: the byte after the handle is always written.
        unsafe { self.at.add(WORD_LEN).read() }
    }

    #[inline]
    pub(super) fn key(self) -> &'a [u8] {
        let short_len = self.header() >> LEN_SHIFT;
        // SAFETY: the bytes were written by `RecordMut::write` in this form, and live and
        // stay as they are for `'a`.
        unsafe {
            if short_len < LEN_FOLLOWS {
                let bytes = self.at.add(WORD_LEN + 1);
                return std::slice::from_raw_parts(bytes, usize::from(short_len));
            }
            match self.at.add(WORD_LEN + 1).read() {
                BOXED => &*self.at.add(2 * WORD_LEN).cast::<Box<[u8]>>(),
                len => std::slice::from_raw_parts(self.at.add(WORD_LEN + 2), usize::from(len)),
            }
        }
    }

    #[inline]
    pub(super) fn kind(self) -> Type {
        Type::ALL[usize::from(self.header() & KIND_MASK)]
    }

    #[inline]
    pub(super) fn value(self) -> ValueRef<'a> {
        // SAFETY: the first word is a handle of the type that the header says.
        unsafe {
            match self.kind() {
                Type::String => ValueRef::String(&*self.at.cast()),
                Type::List => ValueRef::List(&*self.at.cast()),
                Type::Set => ValueRef::Set(&*self.at.cast()),
                Type::SortedSet => ValueRef::SortedSet(&*self.at.cast()),
                Type::Hash => ValueRef::Hash(&*self.at.cast()),
                Type::Stream => ValueRef::Stream(&*self.at.cast()),
            }
        }
    }

    /// Where the record is, to be asked for and not to be read.
    #[inline]
    pub(super) fn address(self) -> *const u8 {
        self.at
    }

    /// Where the heap block of the value is, if it has one; to be asked for and not to be
    /// read.
    #[inline]
    pub(super) fn handle_as_address(self) -> *const u8 {
        // SAFETY: the first word is a handle, whose bytes are all written: a pointer, or
        // what a value without a heap block keeps there.
        unsafe { self.at.cast::<*const u8>().read() }
    }

    #[inline]
    pub(super) fn has_deadline_word(self) -> bool {
        self.header() & DEADLINE_FLAG != 0
    }

    #[inline]
    pub(super) fn deadline(self) -> Option<i64> {
        if !self.has_deadline_word() {
            return None;
        }
        let at = (self.words() - 1) * WORD_LEN;
        // SAFETY: the flag says that the last word is a deadline.
        let deadline = unsafe { self.at.add(at).cast::<i64>().read() };
        (deadline != NO_DEADLINE).then_some(deadline)
    }

    #[inline]
    pub(super) fn is_expired(self, now_ms: i64) -> bool {
        self.deadline().is_some_and(|deadline| now_ms > deadline)
    }

    /// Words of the whole record.
    #[inline]
    pub(super) fn words(self) -> usize {
        let short_len = self.header() >> LEN_SHIFT;
        let len = if short_len < LEN_FOLLOWS {
            usize::from(short_len)
        } else {
            // SAFETY: the header says that a length byte follows it. A boxed key's is
            // 255, which `record_words` takes for what it is: longer than inline.
            usize::from(unsafe { self.at.add(WORD_LEN + 1).read() })
        };
        record_words(len) + usize::from(self.has_deadline_word())
    }
}

/// A record that may be changed.
pub(super) struct RecordMut<'a> {
    /// The first byte of a complete record that lives for `'a` and that nothing else uses.
    at: *mut u8,
    borrow: PhantomData<&'a mut Arena>,
}

impl<'a> RecordMut<'a> {
    #[inline]
    pub(super) fn as_ref(&self) -> Record<'_> {
        Record {
            at: self.at,
            borrow: PhantomData,
        }
    }

    /// # Safety
    /// The words of the record must be there, without anything in them to drop.
    unsafe fn write(mut self, key: &[u8], value: Value) {
        // SAFETY: all of it lies inside of the `record_words(key.len())` words.
        unsafe {
            let head = self.at.add(WORD_LEN);
            if key.len() <= SHORT_LEN_MAX {
                head.write((key.len() as u8) << LEN_SHIFT);
                head.add(1)
                    .copy_from_nonoverlapping(key.as_ptr(), key.len());
            } else {
                head.write(LEN_FOLLOWS << LEN_SHIFT);
                if key.len() <= KEY_INLINE_LEN_MAX {
                    head.add(1).write(key.len() as u8);
                    head.add(2)
                        .copy_from_nonoverlapping(key.as_ptr(), key.len());
                } else {
                    head.add(1).write(BOXED);
                    head.add(WORD_LEN).cast::<Box<[u8]>>().write(key.into());
                }
            }
            self.write_value(value);
        }
    }

    /// # Safety
    /// There must be no value in the record, or one that was moved out.
    unsafe fn write_value(&mut self, value: Value) {
        let kind = value.kind() as u8;
        // SAFETY: the first word is for the handle, and the header tells its type.
        unsafe {
            match value {
                Value::String(value) => self.at.cast::<StringValue>().write(value),
                Value::List(value) => self.at.cast::<List>().write(value),
                Value::Set(value) => self.at.cast::<Set>().write(value),
                Value::SortedSet(value) => self.at.cast::<SortedSet>().write(value),
                Value::Hash(value) => self.at.cast::<Hash>().write(value),
                Value::Stream(value) => self.at.cast::<Stream>().write(value),
            }
            let header = self.at.add(WORD_LEN);
            header.write(header.read() & !KIND_MASK | kind);
        }
    }

    /// # Safety
    /// The value is moved out: it must not be used in the record any more.
    unsafe fn read_value(&self) -> Value {
        // SAFETY: the first word is a handle of the type that the header says.
        unsafe {
            match self.as_ref().kind() {
                Type::String => Value::String(self.at.cast::<StringValue>().read()),
                Type::List => Value::List(self.at.cast::<List>().read()),
                Type::Set => Value::Set(self.at.cast::<Set>().read()),
                Type::SortedSet => Value::SortedSet(self.at.cast::<SortedSet>().read()),
                Type::Hash => Value::Hash(self.at.cast::<Hash>().read()),
                Type::Stream => Value::Stream(self.at.cast::<Stream>().read()),
            }
        }
    }

    /// # Safety
    /// A boxed key is moved out: it must not be used in the record any more.
    unsafe fn read_boxed_key(&self) -> Option<Box<[u8]>> {
        if self.as_ref().header() >> LEN_SHIFT != LEN_FOLLOWS {
            return None;
        }
        // SAFETY: the header says that a length byte follows it, and that one, whether
        // two words after it are a box.
        unsafe {
            let boxed = self.at.add(WORD_LEN + 1).read() == BOXED;
            boxed.then(|| self.at.add(2 * WORD_LEN).cast::<Box<[u8]>>().read())
        }
    }

    #[inline]
    pub(super) fn into_value(self) -> ValueMut<'a> {
        // SAFETY: the first word is a handle of the type that the header says.
        unsafe {
            match self.as_ref().kind() {
                Type::String => ValueMut::String(&mut *self.at.cast()),
                Type::List => ValueMut::List(&mut *self.at.cast()),
                Type::Set => ValueMut::Set(&mut *self.at.cast()),
                Type::SortedSet => ValueMut::SortedSet(&mut *self.at.cast()),
                Type::Hash => ValueMut::Hash(&mut *self.at.cast()),
                Type::Stream => ValueMut::Stream(&mut *self.at.cast()),
            }
        }
    }

    /// Puts another value, of any type, in the place of the old one.
    pub(super) fn replace(&mut self, value: Value) -> Value {
        // SAFETY: the old value is moved out, and the new one moved in.
        unsafe {
            let old = self.read_value();
            self.write_value(value);
            old
        }
    }

    /// Sets or takes away the deadline of a record that has a word for it.
    pub(super) fn set_deadline(&mut self, deadline: Option<i64>) {
        assert!(self.as_ref().has_deadline_word());
        let at = (self.as_ref().words() - 1) * WORD_LEN;
        let word = match deadline {
            // One millisecond later is as long ago.
            Some(deadline) => deadline.max(NO_DEADLINE + 1),
            None => NO_DEADLINE,
        };
        // SAFETY: the flag says that the last word is for a deadline.
        unsafe { self.at.add(at).cast::<i64>().write(word) };
    }

    fn set_header_flag(&mut self, flag: bool) {
        // SAFETY: the byte after the handle is the header.
        unsafe {
            let header = self.at.add(WORD_LEN);
            let rest = header.read() & !DEADLINE_FLAG;
            header.write(if flag { rest | DEADLINE_FLAG } else { rest });
        }
    }
}
