//! Digests of values and of the whole dataset, equal to those of DEBUG DIGEST-VALUE and
//! DEBUG DIGEST of Redis 8.2 (which differs from 7.0 in the text of scores).
//!
//! Two steps build everything: `xor` adds bytes without regard to their order, `mix` adds
//! them in order. So two datasets with the same content have the same digest, however
//! they came to it and whatever represents them.

use std::fmt;

use sha1_smol::Sha1;

use crate::store::decimal::Scratch;
use crate::store::keyspace::{Db, Entry, Store};
use crate::store::stream::StreamId;
use crate::store::value::{Type, ValueRef};

/// Appends the shortest text of a score, in scientific notation where that is shorter;
/// how numbers are written is not for the store to know.
pub type ScoreText = fn(f64, &mut Vec<u8>);

/// What stands for a deadline, whenever it is.
const DEADLINE_MARK: &[u8] = b"!!expire!!";

/// A digest of 160 bits; an absent value has the digest of all zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest([u8; 20]);

impl Digest {
    /// Adds bytes; the same ones a second time take them away again.
    pub fn xor(&mut self, bytes: &[u8]) {
        let added = Sha1::from(bytes).digest().bytes();
        for (byte, added) in self.0.iter_mut().zip(added) {
            *byte ^= added;
        }
    }

    /// Adds bytes after those before.
    pub fn mix(&mut self, bytes: &[u8]) {
        self.xor(bytes);
        self.0 = Sha1::from(self.0).digest().bytes();
    }

    /// The digest of a value, as DEBUG DIGEST-VALUE tells it.
    pub fn of_value(value: ValueRef<'_>, has_deadline: bool, score_text: ScoreText) -> Self {
        let mut digest = Digest::default();
        digest.add_value(value, has_deadline, score_text);
        digest
    }

    /// The digest of all databases, as DEBUG DIGEST tells it.
    pub fn of_store(store: &Store, score_text: ScoreText) -> Self {
        let mut digest = Digest::default();
        for (index, db) in store.iter().enumerate() {
            digest.add_db(index as u32, db, score_text);
        }
        digest
    }

    fn add_db(&mut self, index: u32, db: &Db, score_text: ScoreText) {
        if db.is_empty() {
            return;
        }
        self.mix(&index.to_be_bytes());
        for entry in db.iter() {
            self.xor(&Digest::of_entry(entry, score_text).0);
        }
    }

    fn of_entry(entry: Entry<'_>, score_text: ScoreText) -> Self {
        let mut digest = Digest::default();
        digest.mix(entry.key);
        digest.add_value(entry.value, entry.deadline.is_some(), score_text);
        digest
    }

    fn add_value(&mut self, value: ValueRef<'_>, has_deadline: bool, score_text: ScoreText) {
        self.mix(&type_number(value.kind()).to_be_bytes());
        let mut scratch = Scratch::default();
        match value {
            ValueRef::String(text) => self.mix(text.bytes(&mut scratch)),
            ValueRef::List(list) => list.iter().for_each(|element| self.mix(element)),
            ValueRef::Set(set) => set
                .iter()
                .for_each(|member| self.xor(member.bytes(&mut scratch))),
            ValueRef::SortedSet(board) => {
                let mut text = Vec::new();
                for (member, score) in board.iter() {
                    text.clear();
                    score_text(score.get(), &mut text);
                    self.xor_pair(member, &text);
                }
            }
            ValueRef::Hash(hash) => hash
                .iter()
                .for_each(|(field, value)| self.xor_pair(field, value)),
            ValueRef::Stream(stream) => {
                let entries = stream.log().range(StreamId::MIN, StreamId::MAX);
                for entry in entries {
                    let StreamId { ms, seq } = entry.id;
                    self.mix(format!("{ms}.{seq}").as_bytes());
                    for (field, value) in entry.fields() {
                        self.mix(field);
                        self.mix(value);
                    }
                }
            }
        }
        if has_deadline {
            self.xor(DEADLINE_MARK);
        }
    }

    fn xor_pair(&mut self, first: &[u8], second: &[u8]) {
        let mut pair = Digest::default();
        pair.mix(first);
        pair.mix(second);
        self.xor(&pair.0);
    }
}

/// The hexadecimal form that clients see.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Redis's number of a type (OBJ_STRING and so on; 5 is a module's).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::hash::{Hash, HashLimits};
    use crate::store::list::{List, ListLimits};
    use crate::store::set::{Set, SetLimits};
    use crate::store::sorted_set::{Score, SortedSet, Thresholds};
    use crate::store::string::StringValue;
    use crate::store::value::{Value, ValueType};
    use std::io::Write;

    /// Enough for scores whose text is the same everywhere.
    fn plain(score: f64, text: &mut Vec<u8>) {
        write!(text, "{score}").expect("memory takes all bytes");
    }

    fn string(text: &[u8]) -> Value {
        StringValue::new(text).into_value()
    }

    fn list(elements: &[&[u8]]) -> Value {
        let limits = ListLimits { listpack_size: -2 };
        List::collect(elements.iter().copied(), limits).into_value()
    }

    fn set(members: &[&[u8]]) -> Value {
        let limits = SetLimits {
            intset_entries: 512,
            listpack_entries: 128,
            listpack_value_len: 64,
        };
        let mut set = Set::new();
        for member in members {
            set.insert(member, limits);
        }
        set.into_value()
    }

    fn board(entries: impl IntoIterator<Item = (String, f64)>) -> Value {
        let mut board = SortedSet::new();
        for (member, score) in entries {
            let score = Score::new(score).expect("a number");
            board.insert(member.as_bytes(), score, Thresholds::default());
        }
        board.into_value()
    }

    fn hash(pairs: &[(&[u8], &[u8])]) -> Value {
        let limits = HashLimits {
            entries: 128,
            value_len: 64,
        };
        let mut hash = Hash::new();
        for (field, value) in pairs {
            hash.set(field, value, limits);
        }
        hash.into_value()
    }

    fn digest(value: &Value) -> String {
        Digest::of_value(value.as_ref(), false, plain).to_string()
    }

    #[test]
    fn values_have_the_digests_that_redis_gives_them() {
        let small = [("a", 0.1), ("b", 3.0), ("c", -2.5)];
        let small = small.map(|(member, score)| (member.to_string(), score));
        let big = (0..300).map(|n| (format!("m{n}"), f64::from(n) / 4.0));
        // From redis-server 8.2.3.
        let known = [
            (string(b"hello"), "36b23a1456b2dce2c3ed252c456761301dba8060"),
            (
                string(b"-12345"),
                "9364d007acb0ba24016c9866e6283671e674924f",
            ),
            (string(b""), "8b3447c33a834b810e3e181b6fd6a2ee1020921c"),
            (
                list(&[b"a", b"b", b"3"]),
                "09eb1fc9381ee92790d59930ab462945f8cd948b",
            ),
            (
                set(&[b"-7", b"1"]),
                "d18d5b03060855e762c22c451bbce68bffecf4cc",
            ),
            (
                set(&[b"b", b"1"]),
                "6e04cf8ce07c18af9dd57a02f6f31423d7774ed5",
            ),
            (board(small), "d7fb4a2836e381c75f8391a8b097b577ea91b8af"),
            (board(big), "c56a9f21ae49357b985af786724c6cf21ecf43a9"),
            (
                hash(&[(b"g", b"1"), (b"f", b"v")]),
                "6679ee22f89ed8001eeb5309d0900265ea56c03a",
            ),
        ];
        for (value, expected) in &known {
            assert_eq!(digest(value), *expected);
        }
        let value = string(b"hello");
        assert_eq!(
            Digest::of_value(value.as_ref(), true, plain).to_string(),
            "d037c4eb8a8b36b602fbced4000daeab0714c1e3"
        );
    }

    #[test]
    fn a_dataset_has_the_digest_that_redis_gives_it() {
        let mut store = Store::new(16, 1u64);
        assert_eq!(
            Digest::of_store(&store, plain).to_string(),
            "0000000000000000000000000000000000000000"
        );
        store[0].insert(b"k", string(b"v"));
        store[0].set_deadline(b"k", 99_999_999_999_999);
        store[0].insert(b"l", list(&[b"a"]));
        store[3].insert(b"q", string(b"7"));
        assert_eq!(
            Digest::of_store(&store, plain).to_string(),
            "114e53a3afb85567687d1003115b188bdb0381d2"
        );
    }
}
