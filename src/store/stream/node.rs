//! A run of entries in one buffer.
//!
//! The buffer begins with the names of the fields of the first entry; later entries with the
//! same names do not repeat them. An entry is the length of the rest, what its id adds to the
//! id of the node (the number is whole where the time differs), a flag, and its words, each
//! behind its length. All numbers are base 128, lowest digit first.
//!
//! How full a node is, is counted as Redis does for its own nodes, removed entries included:
//! that decides what approximate trimming removes.

use super::id::StreamId;
use crate::store::decimal::parse_canonical;

/// Up to where a node takes more entries; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLimits {
    pub bytes_max: usize,
    pub entries_max: u64,
}

/// Most bytes of a node, whatever the settings say (Redis: STREAM_LISTPACK_MAX_SIZE).
pub const NODE_BYTES_MAX: usize = 1 << 30;

/// The names are those of the node.
const SAME_FIELDS: u8 = 1;

#[derive(Clone)]
pub struct Node {
    bytes: Vec<u8>,
    /// Where the entries begin, behind the names of fields.
    start: u32,
    live: u32,
    removed: u32,
    /// Bytes that Redis's node would have, without its two counters.
    counted_bytes: usize,
    /// Id of the last entry that was added, even if it is removed by now.
    pub last_added: StreamId,
}

impl Node {
    /// A node without entries for an entry with these words, names and values in turns.
    pub fn new<'a>(words: impl Iterator<Item = &'a [u8]>) -> Self {
        let names: Vec<&[u8]> = words.step_by(2).collect();
        let mut bytes = Vec::new();
        push_number(&mut bytes, names.len() as u64);
        let mut counted_bytes = LISTPACK_FRAME + integer_size(names.len() as i64);
        for name in &names {
            push_word(&mut bytes, name);
            counted_bytes += word_size(name);
        }
        // A zero ends the first entry of such a node.
        counted_bytes += integer_size(0);
        Self {
            start: bytes.len() as u32,
            bytes,
            live: 0,
            removed: 0,
            counted_bytes,
            last_added: StreamId::MIN,
        }
    }

    pub fn live(&self) -> u64 {
        self.live.into()
    }

    /// Whether an entry of `added` bytes belongs into a new node.
    pub fn is_full_for(&self, added: usize, limits: NodeLimits) -> bool {
        let bytes_max = match limits.bytes_max {
            0 => NODE_BYTES_MAX,
            max => max.min(NODE_BYTES_MAX),
        };
        let counters = integer_size(self.live.into()) + integer_size(self.removed.into());
        self.counted_bytes + counters + added >= bytes_max
            || limits.entries_max > 0
                && u64::from(self.live) + u64::from(self.removed) >= limits.entries_max
    }

    /// Adds an entry behind all others. `first` is the id of the node.
    pub fn push<'a>(
        &mut self,
        first: StreamId,
        id: StreamId,
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) {
        let mut body = Vec::new();
        push_number(&mut body, id.ms - first.ms);
        push_number(
            &mut body,
            if id.ms == first.ms {
                id.seq - first.seq
            } else {
                id.seq
            },
        );
        let same = self.names().eq(words.clone().step_by(2));
        body.push(if same { SAME_FIELDS } else { 0 });
        let mut counted = integer_size(0)
            + integer_size((id.ms - first.ms) as i64)
            + integer_size(id.seq.wrapping_sub(first.seq) as i64);
        let count = words.clone().count() / 2;
        if !same {
            push_number(&mut body, count as u64);
            counted += integer_size(count as i64);
        }
        let skip = usize::from(same);
        for word in words.skip(skip).step_by(1 + skip) {
            push_word(&mut body, word);
            counted += word_size(word);
        }
        let parts = if same { count + 3 } else { 2 * count + 4 };
        self.counted_bytes += counted + integer_size(parts as i64);
        push_number(&mut self.bytes, body.len() as u64);
        self.bytes.extend_from_slice(&body);
        self.live += 1;
        self.last_added = id;
    }

    /// Notes entries that were removed before the others came, in a node that takes `listpack_bytes` in Redis.
    pub fn set_removed(&mut self, removed: u32, last_added: StreamId, listpack_bytes: usize) {
        self.removed = removed;
        self.last_added = last_added;
        let counters = integer_size(self.live.into()) + integer_size(removed.into());
        self.counted_bytes = listpack_bytes.saturating_sub(counters);
    }

    pub fn names(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut at = 0;
        let count = read_number(&self.bytes, &mut at) as usize;
        (0..count).map(move |_| read_word(&self.bytes, &mut at))
    }

    /// The entries in order. `first` is the id of the node.
    pub fn entries(&self, first: StreamId) -> NodeEntries<'_> {
        NodeEntries {
            node: self,
            first,
            at: self.start as usize,
        }
    }

    /// Removes the entry with that id; whether it was there.
    pub fn remove(&mut self, first: StreamId, id: StreamId) -> bool {
        let mut entries = self.entries(first);
        let (from, to) = loop {
            let from = entries.at;
            match entries.next() {
                Some(entry) if entry.id == id => break (from, entries.at),
                Some(entry) if entry.id < id => {}
                _ => return false,
            }
        };
        self.bytes.drain(from..to);
        self.live -= 1;
        self.removed += 1;
        true
    }

    /// Removes entries from the front while `goes` says so; how many.
    pub fn remove_front(
        &mut self,
        first: StreamId,
        mut goes: impl FnMut(StreamId, u64) -> bool,
    ) -> u64 {
        let mut entries = self.entries(first);
        let (mut count, mut end) = (0, entries.at);
        while let Some(entry) = entries.next() {
            if !goes(entry.id, count) {
                break;
            }
            count += 1;
            end = entries.at;
        }
        self.bytes.drain(self.start as usize..end);
        self.live -= count as u32;
        self.removed += count as u32;
        count
    }

    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

pub struct NodeEntries<'a> {
    node: &'a Node,
    first: StreamId,
    at: usize,
}

impl<'a> Iterator for NodeEntries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let bytes = &self.node.bytes;
        if self.at >= bytes.len() {
            return None;
        }
        let len = read_number(bytes, &mut self.at) as usize;
        let body = &bytes[self.at..self.at + len];
        self.at += len;
        let mut at = 0;
        let ms = self.first.ms + read_number(body, &mut at);
        let seq = read_number(body, &mut at);
        let seq = if ms == self.first.ms {
            self.first.seq + seq
        } else {
            seq
        };
        let same = body[at] & SAME_FIELDS != 0;
        at += 1;
        let mut names = &bytes[..self.node.start as usize];
        let mut names_at = 0;
        let len = if same {
            read_number(names, &mut names_at)
        } else {
            names = &[];
            read_number(body, &mut at)
        };
        Some(Entry {
            id: StreamId { ms, seq },
            len: len as usize,
            names: same.then(|| &names[names_at..]),
            words: &body[at..],
        })
    }
}

/// One entry of a stream.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    pub id: StreamId,
    len: usize,
    /// The names, if they stand apart from the values.
    names: Option<&'a [u8]>,
    words: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Number of fields.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether its names are those of its node.
    pub fn has_names_of_node(&self) -> bool {
        self.names.is_some()
    }

    /// Names and values in order.
    pub fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let entry = *self;
        let (mut name_at, mut word_at) = (0, 0);
        (0..entry.len).map(move |_| {
            let name = match entry.names {
                Some(names) => read_word(names, &mut name_at),
                None => read_word(entry.words, &mut word_at),
            };
            (name, read_word(entry.words, &mut word_at))
        })
    }
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_number(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}

fn push_word(out: &mut Vec<u8>, word: &[u8]) {
    push_number(out, word.len() as u64);
    out.extend_from_slice(word);
}

fn read_word<'a>(bytes: &'a [u8], at: &mut usize) -> &'a [u8] {
    let len = read_number(bytes, at) as usize;
    let word = &bytes[*at..*at + len];
    *at += len;
    word
}

/// Head and end of a listpack, Redis's format of a node.
const LISTPACK_FRAME: usize = 7;

/// Bytes of an integer in a listpack.
fn integer_size(value: i64) -> usize {
    match value {
        0..=127 => 2,
        -4096..=4095 => 3,
        -0x8000..=0x7fff => 4,
        -0x80_0000..=0x7f_ffff => 5,
        -0x8000_0000..=0x7fff_ffff => 6,
        _ => 10,
    }
}

/// Bytes of a word in a listpack, which keeps the text of an integer as one.
fn word_size(word: &[u8]) -> usize {
    if let Some(number) = parse_canonical(word) {
        return integer_size(number);
    }
    let size = word.len()
        + match word.len() {
            0..64 => 1,
            64..4096 => 2,
            _ => 5,
        };
    size + match size {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    }
}
