//! Set values: distinct members.
//!
//! A small set of integers is a flat block of sorted numbers (`intset`), another small
//! one a flat block of members in the order in which they came (`listpack`), a big one
//! a [`Table`] (`hashtable`). Which form a set takes, and when it leaves it, follows
//! Redis 7.2 at the thresholds of [`SetLimits`]; adding never leads back to a smaller form.
//!
//! Members are bytes. Integers in an intset are those whose canonical text the
//! members are, so every form gives back the bytes that were added.

mod intset;
#[cfg(test)]
mod tests;

use self::intset::Ints;
use super::block::Block;
use super::compact::{Compact, View, ViewMut};
use super::decimal::{Scratch, parse_canonical, text_len};
use super::packed::{Entries, entry_size, read_length, write_entry};
use super::table::{Keyed, Table};
use super::thin::ThinBytes;
use crate::limits::FLAT_BYTES_MAX;

/// When a set is no longer small: `set-max-intset-entries`,
/// `set-max-listpack-entries` and `set-max-listpack-value`.
#[derive(Clone, Copy, Debug)]
pub struct SetLimits {
    pub intset_entries: usize,
    pub listpack_entries: usize,
    pub listpack_value_len: usize,
}

impl Keyed for ThinBytes {
    fn key(&self) -> &[u8] {
        self.as_slice()
    }

    fn heap_bytes(&self) -> usize {
        ThinBytes::heap_bytes(self)
    }
}

/// A member: of an intset a number, else bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Member<'a> {
    Int(i64),
    Bytes(&'a [u8]),
}

impl<'a> Member<'a> {
    /// The member's bytes; `scratch` holds them if it is a number.
    pub fn bytes<'b>(&self, scratch: &'b mut Scratch) -> &'b [u8]
    where
        'a: 'b,
    {
        match self {
            Member::Int(number) => scratch.print(*number),
            Member::Bytes(bytes) => bytes,
        }
    }

    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes(&mut Scratch::default()).to_vec()
    }
}

/// Marks a block's tally as that of an intset; the other bits count the members.
const INTSET: u32 = 1 << 31;

fn count_of(block: &Block) -> usize {
    (block.tally() & !INTSET) as usize
}

fn add_to_count(block: &mut Block, change: i32) {
    block.set_tally(block.tally().wrapping_add_signed(change));
}

/// What the word holds.
enum Form<'a> {
    Ints(Ints<'a>),
    Flat(&'a Block),
    Big(&'a Table<ThinBytes>),
}

/// A set value in one word.
#[derive(Clone)]
pub struct Set {
    body: Compact<Table<ThinBytes>>,
}

impl Default for Set {
    fn default() -> Self {
        Set::new()
    }
}

impl Set {
    /// An empty set, which is an intset as long as only integers come.
    pub fn new() -> Self {
        Set::flat(INTSET, 0)
    }

    fn flat(tally: u32, room: usize) -> Self {
        let mut block = Block::with_room(room);
        block.set_tally(tally);
        Set {
            body: Compact::small(block),
        }
    }

    /// An empty set to hold some of this set's members: an intset if this is one, else
    /// flat.
    pub fn emptied(&self) -> Self {
        match self.form() {
            Form::Ints(_) => Set::new(),
            Form::Flat(_) | Form::Big(_) => Set::flat(0, 0),
        }
    }

    fn form(&self) -> Form<'_> {
        match self.body.view() {
            View::Small(block) if block.tally() & INTSET != 0 => {
                Form::Ints(Ints::new(block.as_slice(), count_of(block)))
            }
            View::Small(block) => Form::Flat(block),
            View::Big(table) => Form::Big(table),
        }
    }

    pub fn len(&self) -> usize {
        match self.body.view() {
            View::Small(block) => count_of(block),
            View::Big(table) => table.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name that OBJECT ENCODING gives.
    pub fn encoding(&self) -> &'static str {
        match self.form() {
            Form::Ints(_) => "intset",
            Form::Flat(_) => "listpack",
            Form::Big(_) => "hashtable",
        }
    }

    /// Heap bytes behind the word. O(1).
    pub fn memory_usage(&self) -> usize {
        match self.body.view() {
            View::Small(block) => block.heap_bytes(),
            View::Big(table) => size_of::<Table<ThinBytes>>() + table.heap_bytes(),
        }
    }

    pub fn contains(&self, member: &[u8]) -> bool {
        match self.form() {
            Form::Ints(ints) => {
                parse_canonical(member).is_some_and(|number| ints.search(number).is_ok())
            }
            Form::Flat(block) => find(block.as_slice(), member).is_some(),
            Form::Big(table) => table.get(member).is_some(),
        }
    }

    /// Takes the form that Redis gives a set before a command adds `count` members,
    /// the first of which is `first`: a new set is made with the count in mind, an old
    /// one becomes big if the count alone is beyond its threshold.
    pub fn prepare(&mut self, first: &[u8], count: usize, limits: SetLimits) {
        match self.form() {
            Form::Big(_) => {}
            _ if self.is_empty() => {
                let is_int = parse_canonical(first).is_some();
                if is_int && count <= limits.intset_entries {
                    *self = Set::new();
                } else if count <= limits.listpack_entries {
                    *self = Set::flat(0, 0);
                } else {
                    *self = Set {
                        body: Compact::big(Table::new()),
                    };
                }
            }
            Form::Ints(_) if count > limits.intset_entries => self.make_big(),
            Form::Flat(_) if count > limits.listpack_entries => self.make_big(),
            Form::Ints(_) | Form::Flat(_) => {}
        }
    }

    /// Adds a member; true if it is new.
    pub fn insert(&mut self, member: &[u8], limits: SetLimits) -> bool {
        match self.form() {
            Form::Big(_) => self.insert_big(member),
            Form::Ints(_) => match parse_canonical(member) {
                Some(number) => self.insert_int(number, limits),
                None => self.insert_text_among_ints(member, limits),
            },
            Form::Flat(block) => {
                if find(block.as_slice(), member).is_some() {
                    return false;
                }
                if count_of(block) < limits.listpack_entries
                    && member.len() <= limits.listpack_value_len
                    && block.len() + entry_size(member.len()) <= FLAT_BYTES_MAX
                {
                    self.append_flat(member);
                    true
                } else {
                    self.make_big();
                    self.insert_big(member)
                }
            }
        }
    }

    fn insert_big(&mut self, member: &[u8]) -> bool {
        let ViewMut::Big(table) = self.body.view_mut() else {
            return false;
        };
        let is_new = table.get(member).is_none();
        if is_new {
            table.insert_new(ThinBytes::from(member));
        }
        is_new
    }

    fn append_flat(&mut self, member: &[u8]) {
        if let ViewMut::Small(block) = self.body.view_mut() {
            write_entry(block.open(block.len(), entry_size(member.len())), member);
            add_to_count(block, 1);
        }
    }

    fn insert_int(&mut self, number: i64, limits: SetLimits) -> bool {
        let ViewMut::Small(block) = self.body.view_mut() else {
            return false;
        };
        if !intset::insert(block, count_of(block), number) {
            return false;
        }
        add_to_count(block, 1);
        if count_of(block) > limits.intset_entries {
            self.make_big();
        }
        true
    }

    /// An intset gets a member that is no integer: it becomes flat if it fits, else big.
    fn insert_text_among_ints(&mut self, member: &[u8], limits: SetLimits) -> bool {
        let Form::Ints(ints) = self.form() else {
            return false;
        };
        let count = self.len();
        let longest = match count {
            0 => 0,
            _ => text_len(ints.get(0)).max(text_len(ints.get(count - 1))),
        };
        if count < limits.listpack_entries
            && member.len().max(longest) <= limits.listpack_value_len
            && count * entry_size(longest) + entry_size(member.len()) <= FLAT_BYTES_MAX
        {
            self.make_flat();
            self.append_flat(member);
            true
        } else {
            self.make_big();
            self.insert_big(member)
        }
    }

    /// Removes a member; true if it was there. The form stays.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        match self.body.view_mut() {
            ViewMut::Small(block) if block.tally() & INTSET != 0 => {
                let Some(number) = parse_canonical(member) else {
                    return false;
                };
                let removed = intset::remove(block, count_of(block), number);
                add_to_count(block, -i32::from(removed));
                removed
            }
            ViewMut::Small(block) => {
                let Some((start, end)) = find(block.as_slice(), member) else {
                    return false;
                };
                block.close(start, end - start);
                add_to_count(block, -1);
                true
            }
            ViewMut::Big(table) => table.remove(member).is_some(),
        }
    }

    fn make_flat(&mut self) {
        let mut flat = Set::flat(0, 0);
        let mut scratch = Scratch::default();
        for member in self.iter() {
            flat.append_flat(member.bytes(&mut scratch));
        }
        *self = flat;
    }

    fn make_big(&mut self) {
        let mut table = Table::new();
        let mut scratch = Scratch::default();
        for member in self.iter() {
            table.insert_new(ThinBytes::from(member.bytes(&mut scratch)));
        }
        self.body = Compact::big(table);
    }

    /// Makes the set an intset if all members are integers and few enough, as the
    /// commands that store an intersection end.
    pub fn make_ints_if_possible(&mut self, limits: SetLimits) {
        if self.encoding() == "intset" || self.len() > limits.intset_entries {
            return;
        }
        let mut ints = Set::new();
        let mut scratch = Scratch::default();
        for member in self.iter() {
            let Some(number) = parse_canonical(member.bytes(&mut scratch)) else {
                return;
            };
            ints.insert_int(number, limits);
        }
        *self = ints;
    }

    /// The members: an intset's ascending, a flat set's in order of arrival, a big one's
    /// in any order.
    pub fn iter(&self) -> impl Iterator<Item = Member<'_>> + Clone {
        let (ints, flat, table) = match self.form() {
            Form::Ints(ints) => (ints, Entries::new(&[]), None),
            Form::Flat(block) => (Ints::new(&[], 0), Entries::new(block.as_slice()), None),
            Form::Big(table) => (Ints::new(&[], 0), Entries::new(&[]), Some(table)),
        };
        let big = table.into_iter().flat_map(|table| table.iter());
        ints.iter()
            .map(Member::Int)
            .chain(flat.map(Member::Bytes))
            .chain(big.map(|member| Member::Bytes(member.as_slice())))
    }

    /// A member, each as likely as the others. `below` draws a number below its
    /// argument. None if the set is empty.
    pub fn random(&self, below: &mut dyn FnMut(usize) -> usize) -> Option<Member<'_>> {
        if self.is_empty() {
            return None;
        }
        match self.form() {
            Form::Ints(ints) => Some(Member::Int(ints.get(below(self.len())))),
            Form::Flat(block) => {
                let nth = below(count_of(block));
                Entries::new(block.as_slice()).nth(nth).map(Member::Bytes)
            }
            Form::Big(table) => table.random(below).map(|m| Member::Bytes(m.as_slice())),
        }
    }

    /// Visits some members from `cursor` (at first 0) on; returns the next cursor, 0 at
    /// the end. A member that stays during a whole scan is visited at least once.
    pub fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(&[u8])) -> u64 {
        match self.form() {
            Form::Big(table) => table.scan(cursor, count, |member| visit(member.as_slice())),
            Form::Ints(_) | Form::Flat(_) => {
                let mut scratch = Scratch::default();
                self.iter()
                    .for_each(|member| visit(member.bytes(&mut scratch)));
                0
            }
        }
    }
}

/// Where a member's entry is in the flat block.
fn find(bytes: &[u8], member: &[u8]) -> Option<(usize, usize)> {
    let mut start = 0;
    while start < bytes.len() {
        let (len, size) = read_length(&bytes[start..]);
        let end = start + size + len;
        if &bytes[start + size..end] == member {
            return Some((start, end));
        }
        start = end;
    }
    None
}
