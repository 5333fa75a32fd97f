//! Reads a value in any layout that Redis wrote for the types we have.

use super::error::RdbError;
use super::input::Input;
use super::packed::{self, Elements};
use super::stream::{self, Layout};
use super::{Limits, foreign_kind_name, kind};
use crate::limits::RDB_RESERVE_MAX;
use crate::store::decimal::Scratch;
use crate::store::hash::Hash;
use crate::store::list::{End, List};
use crate::store::set::Set;
use crate::store::sorted_set::{Score, SortedSet};
use crate::store::string::StringValue;
use crate::store::value::{Value, ValueType};
use std::io::Read;

/// Containers of a quicklist's nodes.
const NODE_PLAIN: u64 = 1;
const NODE_PACKED: u64 = 2;

/// Reads the value that follows a byte with its layout.
pub fn decode_value<R: Read>(
    kind: u8,
    input: &mut Input<R>,
    limits: &Limits,
) -> Result<Value, RdbError> {
    let value = match kind {
        kind::STRING => return Ok(StringValue::new(input.string()?).into_value()),
        // A stream may be without entries.
        kind::STREAM => return Ok(stream::decode(input, Layout::First)?.into_value()),
        kind::STREAM_2 => return Ok(stream::decode(input, Layout::Second)?.into_value()),
        kind::STREAM_3 => return Ok(stream::decode(input, Layout::Third)?.into_value()),
        kind::LIST => list(input, limits)?,
        kind::LIST_ZIPLIST => list_of(&packed::ziplist(input.string()?)?, limits),
        kind::LIST_QUICKLIST | kind::LIST_QUICKLIST_2 => {
            quicklist(input, kind == kind::LIST_QUICKLIST_2, limits)?
        }
        kind::SET => set(input, limits)?,
        kind::SET_INTSET => set_of_ints(&packed::intset(input.string()?)?, limits)?,
        kind::SET_LISTPACK => set_of(&packed::listpack(input.string()?)?, limits)?,
        kind::ZSET | kind::ZSET_2 => board(input, kind == kind::ZSET_2, limits)?,
        kind::ZSET_ZIPLIST => board_of(&packed::ziplist(input.string()?)?, limits)?,
        kind::ZSET_LISTPACK => board_of(&packed::listpack(input.string()?)?, limits)?,
        kind::HASH => hash(input, limits)?,
        kind::HASH_ZIPMAP => hash_of(&packed::zipmap(input.string()?)?, limits)?,
        kind::HASH_ZIPLIST => hash_of(&packed::ziplist(input.string()?)?, limits)?,
        kind::HASH_LISTPACK => hash_of(&packed::listpack(input.string()?)?, limits)?,
        _ => {
            return Err(RdbError::Foreign(format!(
                "{} (type {kind})",
                foreign_kind_name(kind)
            )));
        }
    };
    if value.is_empty() {
        return Err(RdbError::Corrupt("a value without elements"));
    }
    Ok(value)
}

fn list<R: Read>(input: &mut Input<R>, limits: &Limits) -> Result<Value, RdbError> {
    let count = input.len()?;
    let mut list = List::new();
    for _ in 0..count {
        list.push(End::Back, input.string()?, limits.list);
    }
    Ok(list.into_value())
}

fn list_of(elements: &Elements, limits: &Limits) -> Value {
    List::collect(elements.iter(), limits.list).into_value()
}

fn quicklist<R: Read>(
    input: &mut Input<R>,
    has_containers: bool,
    limits: &Limits,
) -> Result<Value, RdbError> {
    let nodes = input.len()?;
    let mut list = List::new();
    for _ in 0..nodes {
        let container = if has_containers {
            input.len()?
        } else {
            NODE_PACKED
        };
        let node = input.string()?;
        match container {
            NODE_PLAIN => list.push(End::Back, node, limits.list),
            NODE_PACKED => {
                let elements = if has_containers {
                    packed::listpack(node)?
                } else {
                    packed::ziplist(node)?
                };
                list.extend(End::Back, elements.iter(), limits.list);
            }
            _ => return Err(RdbError::Corrupt("an unknown container of list elements")),
        }
    }
    Ok(list.into_value())
}

const TWICE: RdbError = RdbError::Corrupt("a member or field that is there twice");

fn set<R: Read>(input: &mut Input<R>, limits: &Limits) -> Result<Value, RdbError> {
    let count = input.len()?;
    let mut set = Set::new();
    for index in 0..count {
        let member = input.string()?;
        if index == 0 {
            set.prepare(
                member,
                count.min(RDB_RESERVE_MAX as u64) as usize,
                limits.set,
            );
        }
        if !set.insert(member, limits.set) {
            return Err(TWICE);
        }
    }
    Ok(set.into_value())
}

fn set_of(elements: &Elements, limits: &Limits) -> Result<Value, RdbError> {
    let mut set = Set::new();
    if let Some(first) = elements.iter().next() {
        set.prepare(first, elements.len(), limits.set);
    }
    for member in elements.iter() {
        if !set.insert(member, limits.set) {
            return Err(TWICE);
        }
    }
    Ok(set.into_value())
}

fn set_of_ints(numbers: &[i64], limits: &Limits) -> Result<Value, RdbError> {
    let mut set = Set::new();
    let mut scratch = Scratch::default();
    for &number in numbers {
        if !set.insert(scratch.print(number), limits.set) {
            return Err(TWICE);
        }
    }
    Ok(set.into_value())
}

fn hash<R: Read>(input: &mut Input<R>, limits: &Limits) -> Result<Value, RdbError> {
    let count = input.len()?;
    let mut hash = Hash::new();
    let mut field = Vec::new();
    for _ in 0..count {
        field.clear();
        field.extend_from_slice(input.string()?);
        if !hash.set(&field, input.string()?, limits.hash) {
            return Err(TWICE);
        }
    }
    Ok(hash.into_value())
}

fn hash_of(elements: &Elements, limits: &Limits) -> Result<Value, RdbError> {
    let mut hash = Hash::new();
    for (field, value) in elements.pairs()? {
        if !hash.set(field, value, limits.hash) {
            return Err(TWICE);
        }
    }
    Ok(hash.into_value())
}

/// Members as they come from a file, before they are a board.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    entries: Vec<(usize, Score)>,
}

impl Gathered {
    fn push(&mut self, member: &[u8], score: f64) -> Result<(), RdbError> {
        let score = Score::new(score).ok_or(RdbError::Corrupt("a score that is not a number"))?;
        self.bytes.extend_from_slice(member);
        self.entries.push((self.bytes.len(), score));
        Ok(())
    }

    fn into_board(self, limits: &Limits) -> Result<Value, RdbError> {
        let mut start = 0;
        let mut entries: Vec<(&[u8], Score)> = Vec::with_capacity(self.entries.len());
        for &(end, score) in &self.entries {
            entries.push((&self.bytes[start..end], score));
            start = end;
        }
        // Files hold boards in descending order, which saves the sort.
        let ascends = |a: &(&[u8], Score), b: &(&[u8], Score)| (a.1, a.0) < (b.1, b.0);
        let descending = entries.windows(2).all(|pair| ascends(&pair[1], &pair[0]));
        if descending {
            entries.reverse();
        } else {
            entries.sort_unstable_by(|a, b| (a.1, a.0).cmp(&(b.1, b.0)));
        }
        if holds_twice(&entries) {
            return Err(TWICE);
        }
        Ok(SortedSet::from_sorted(entries, limits.board).into_value())
    }
}

/// Whether two entries have the same member. They are told apart by their hashes, so that
/// only what collides is compared.
fn holds_twice(entries: &[(&[u8], Score)]) -> bool {
    use std::hash::BuildHasher;
    let hasher = foldhash::fast::RandomState::default();
    let mut hashes: Vec<(u64, u32)> = Vec::with_capacity(entries.len());
    for (index, (member, _)) in entries.iter().enumerate() {
        hashes.push((hasher.hash_one(member), index as u32));
    }
    hashes.sort_unstable();
    let mut first = 0;
    for index in 1..hashes.len() {
        if hashes[index].0 != hashes[first].0 {
            first = index;
            continue;
        }
        let member = |at: usize| entries[hashes[at].1 as usize].0;
        if (first..index).any(|earlier| member(earlier) == member(index)) {
            return true;
        }
    }
    false
}

fn board<R: Read>(
    input: &mut Input<R>,
    binary_scores: bool,
    limits: &Limits,
) -> Result<Value, RdbError> {
    let count = input.len()?;
    if count > u64::from(u32::MAX) {
        return Err(RdbError::Corrupt("more members than a board can hold"));
    }
    let mut gathered = Gathered::default();
    gathered
        .entries
        .reserve((count as usize).min(RDB_RESERVE_MAX));
    let mut member = Vec::new();
    for _ in 0..count {
        member.clear();
        member.extend_from_slice(input.string()?);
        let score = if binary_scores {
            input.f64()?
        } else {
            input.old_double()?
        };
        gathered.push(&member, score)?;
    }
    gathered.into_board(limits)
}

fn board_of(elements: &Elements, limits: &Limits) -> Result<Value, RdbError> {
    let mut gathered = Gathered::default();
    for (member, score) in elements.pairs()? {
        let score = crate::resp::number::parse_double(score)
            .ok_or(RdbError::Corrupt("a score that is no number"))?;
        gathered.push(member, score)?;
    }
    gathered.into_board(limits)
}
