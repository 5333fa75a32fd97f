//! The digest of Redis's DEBUG DIGEST: equal for equal data, whatever its order and encoding.
//!
//! Ordered things are mixed one after the other, unordered ones combined by exclusive or.

use crate::resp::number::write_shortest;
use crate::store::decimal::Scratch;
use crate::store::keyspace::{Entry, Store};
use crate::store::value::{Type, ValueRef};
use sha1_smol::Sha1;

/// 20 bytes; all zero for nothing.
pub type Digest = [u8; 20];

fn sha1(bytes: &[u8]) -> Digest {
    Sha1::from(bytes).digest().bytes()
}

/// Combines without order.
fn combine(digest: &mut Digest, bytes: &[u8]) {
    digest
        .iter_mut()
        .zip(sha1(bytes))
        .for_each(|(byte, other)| *byte ^= other);
}

/// Combines in order.
fn mix(digest: &mut Digest, bytes: &[u8]) {
    combine(digest, bytes);
    *digest = sha1(digest);
}

/// The number that Redis has for a type.
fn type_number(kind: Type) -> u32 {
    match kind {
        Type::String => 0,
        Type::List => 1,
        Type::Set => 2,
        Type::SortedSet => 3,
        Type::Hash => 4,
        Type::Stream => 6,
    }
}

/// Adds a value and whether it has a deadline.
pub fn add_value(digest: &mut Digest, entry: &Entry<'_>) {
    mix(digest, &type_number(entry.value.kind()).to_be_bytes());
    let mut scratch = Scratch::default();
    match entry.value {
        ValueRef::String(text) => mix(digest, text.bytes(&mut scratch)),
        ValueRef::List(list) => list.iter().for_each(|element| mix(digest, element)),
        ValueRef::Set(set) => {
            for member in set.iter() {
                combine(digest, member.bytes(&mut scratch));
            }
        }
        ValueRef::SortedSet(board) => {
            let mut text = Vec::new();
            for (member, score) in board.iter() {
                text.clear();
                write_shortest(score.get(), &mut text);
                let mut element = Digest::default();
                mix(&mut element, member);
                mix(&mut element, &text);
                combine(digest, &element);
            }
        }
        ValueRef::Hash(hash) => {
            for (field, value) in hash.iter() {
                let mut element = Digest::default();
                mix(&mut element, field);
                mix(&mut element, value);
                combine(digest, &element);
            }
        }
        ValueRef::Stream(_) => {}
    }
    if entry.deadline.is_some() {
        combine(digest, b"!!expire!!");
    }
}

/// The digest of one value, for DEBUG DIGEST-VALUE.
pub fn of_value(entry: &Entry<'_>) -> Digest {
    let mut digest = Digest::default();
    add_value(&mut digest, entry);
    digest
}

/// The digest of all databases. O(all).
pub fn of_store(store: &Store) -> Digest {
    let mut whole = Digest::default();
    for (index, db) in store.iter().enumerate().filter(|(_, db)| !db.is_empty()) {
        mix(&mut whole, &(index as u32).to_be_bytes());
        for entry in db.iter() {
            let mut digest = Digest::default();
            mix(&mut digest, entry.key);
            add_value(&mut digest, &entry);
            combine(&mut whole, &digest);
        }
    }
    whole
}

/// 40 hexadecimal digits.
pub fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
