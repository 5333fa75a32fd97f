//! The layout of streams: nodes of entries as listpacks, then what is known about the whole, then the groups.
//!
//! A node is its number of entries and of removed ones, the names of its fields with a zero behind them, and the
//! entries: a flag, what the id adds to that of the node, names and values (values alone where the names are those of
//! the node), and how many elements that were. Removed entries are read, and counted, but not written.

use super::encode::Encoder;
use super::error::RdbError;
use super::input::Input;
use super::packed::{self, ListpackWriter};
use crate::store::decimal::parse_canonical;
use crate::store::stream::{Group, Log, Node, Pending, Stream, StreamId};
use std::collections::BTreeMap;
use std::io::Read;

const REMOVED: i64 = 1;
const SAME_FIELDS: i64 = 2;

/// The number that stands for an unknown count of entries read.
const UNKNOWN: u64 = u64::MAX;

/// Which of the three layouts a stream has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Layout {
    /// Redis 5.
    First,
    /// Redis 7.0: counts of what was added, removed and read.
    Second,
    /// Redis 7.2: when consumers were active.
    Third,
}

fn corrupt(what: &'static str) -> RdbError {
    RdbError::Corrupt(what)
}

/// Writes a stream in the second layout.
pub(super) fn encode(out: &mut Encoder, stream: &Stream) {
    let log = stream.log();
    out.len(log.nodes().len() as u64);
    for (first, node) in log.nodes() {
        out.string(&id_bytes(first));
        out.string(&listpack_of(first, node));
    }
    out.len(log.len());
    for id in [log.last_id, log.first_id(), log.max_deleted_id] {
        out.len(id.ms);
        out.len(id.seq);
    }
    out.len(log.entries_added);
    out.len(stream.groups().len() as u64);
    for (name, group) in stream.groups() {
        out.string(name);
        encode_group(out, group);
    }
}

fn encode_group(out: &mut Encoder, group: &Group) {
    out.len(group.last_id.ms);
    out.len(group.last_id.seq);
    out.len(group.entries_read.unwrap_or(UNKNOWN));
    out.len(group.pending().len() as u64);
    for (&id, pending) in group.pending() {
        out.raw(&id_bytes(id));
        out.raw(&pending.delivered_ms.to_le_bytes());
        out.len(pending.deliveries);
    }
    out.len(group.consumers().len() as u64);
    for consumer in group.consumers() {
        out.string(&consumer.name);
        out.raw(&consumer.seen_ms.to_le_bytes());
        out.len(consumer.pending().len() as u64);
        for &id in consumer.pending() {
            out.raw(&id_bytes(id));
        }
    }
}

fn id_bytes(id: StreamId) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&id.ms.to_be_bytes());
    bytes[8..].copy_from_slice(&id.seq.to_be_bytes());
    bytes
}

fn listpack_of(first: StreamId, node: &Node) -> Vec<u8> {
    let mut pack = ListpackWriter::new();
    pack.push_int(node.live() as i64);
    pack.push_int(0);
    pack.push_int(node.names().len() as i64);
    node.names().for_each(|name| pack.push(name));
    pack.push_int(0);
    for entry in node.entries(first) {
        let same = entry.has_names_of_node();
        pack.push_int(if same { SAME_FIELDS } else { 0 });
        pack.push_int(entry.id.ms.wrapping_sub(first.ms) as i64);
        pack.push_int(entry.id.seq.wrapping_sub(first.seq) as i64);
        let fields = entry.len() as i64;
        if !same {
            pack.push_int(fields);
        }
        for (name, value) in entry.fields() {
            if !same {
                pack.push(name);
            }
            pack.push(value);
        }
        pack.push_int(if same { fields + 3 } else { 2 * fields + 4 });
    }
    pack.finish()
}

/// Reads a stream.
pub(super) fn decode<R: Read>(input: &mut Input<R>, layout: Layout) -> Result<Stream, RdbError> {
    let mut stream = Stream::default();
    let nodes = input.len()?;
    for _ in 0..nodes {
        let first = id_of(input.string()?)?;
        let node = decode_node(first, input.string()?)?;
        if !stream.log_mut().push_node(first, node) {
            return Err(corrupt("nodes of a stream that are not in order"));
        }
    }
    let log = stream.log_mut();
    if input.len()? != log.len() {
        return Err(corrupt("a stream with another number of entries"));
    }
    log.last_id = decode_id(input)?;
    if layout >= Layout::Second {
        // The first id follows from the entries.
        decode_id(input)?;
        log.max_deleted_id = decode_id(input)?;
        log.entries_added = input.len()?;
    } else {
        log.entries_added = log.len();
    }
    if log.last_entry_id().is_some_and(|last| last > log.last_id) {
        return Err(corrupt("a stream with an entry behind its last id"));
    }
    let groups = input.len()?;
    for _ in 0..groups {
        let name: Box<[u8]> = input.string()?.into();
        let group = decode_group(input, layout, stream.log())?;
        if stream.groups_mut().insert(name, group).is_some() {
            return Err(corrupt("a group of a stream that is there twice"));
        }
    }
    Ok(stream)
}

fn decode_id<R: Read>(input: &mut Input<R>) -> Result<StreamId, RdbError> {
    Ok(StreamId::new(input.len()?, input.len()?))
}

fn id_of(bytes: &[u8]) -> Result<StreamId, RdbError> {
    match <[u8; 16]>::try_from(bytes) {
        Ok(bytes) => {
            let whole = u128::from_be_bytes(bytes);
            Ok(StreamId::new((whole >> 64) as u64, whole as u64))
        }
        Err(_) => Err(corrupt("an id of a stream without 16 bytes")),
    }
}

/// The elements of a node one after the other.
struct Elements<'a, I: Iterator<Item = &'a [u8]>>(I);

const BAD_NODE: RdbError = RdbError::Corrupt("a node of a stream that contradicts itself");

impl<'a, I: Iterator<Item = &'a [u8]>> Elements<'a, I> {
    fn next(&mut self) -> Result<&'a [u8], RdbError> {
        self.0.next().ok_or(BAD_NODE)
    }

    fn number(&mut self) -> Result<i64, RdbError> {
        parse_canonical(self.next()?).ok_or(BAD_NODE)
    }

    fn count(&mut self) -> Result<usize, RdbError> {
        usize::try_from(self.number()?).map_err(|_| BAD_NODE)
    }
}

fn decode_node(first: StreamId, bytes: &[u8]) -> Result<Node, RdbError> {
    let pack = packed::listpack(bytes)?;
    let mut elements = Elements(pack.iter());
    let live = elements.count()?;
    let removed = elements.count()?;
    let name_count = elements.count()?;
    let mut names = Vec::new();
    for _ in 0..name_count {
        names.push(elements.next()?);
    }
    if elements.number()? != 0 || names.is_empty() || live == 0 {
        return Err(BAD_NODE);
    }
    let mut node = Node::new(names.iter().flat_map(|&name| [name, b"".as_slice()]));
    let mut last = None;
    let mut words = Vec::new();
    let total = live.checked_add(removed).ok_or(BAD_NODE)?;
    for _ in 0..total {
        let flags = elements.number()?;
        let ms = first.ms.wrapping_add(elements.number()? as u64);
        let seq = first.seq.wrapping_add(elements.number()? as u64);
        let id = StreamId::new(ms, seq);
        let same = flags & SAME_FIELDS != 0;
        let fields = if same { names.len() } else { elements.count()? };
        words.clear();
        if same {
            for &name in &names {
                words.push(name);
                words.push(elements.next()?);
            }
        } else {
            for _ in 0..fields {
                words.push(elements.next()?);
                words.push(elements.next()?);
            }
        }
        let parts = if same { fields + 3 } else { 2 * fields + 4 };
        let rises = id >= first && last.is_none_or(|last| id > last);
        if elements.count()? != parts || fields == 0 || !rises {
            return Err(BAD_NODE);
        }
        last = Some(id);
        if flags & REMOVED == 0 {
            node.push(first, id, words.iter().copied());
        }
    }
    if elements.0.next().is_some() || node.live() != live as u64 {
        return Err(BAD_NODE);
    }
    let removed = u32::try_from(removed).map_err(|_| BAD_NODE)?;
    node.set_removed(removed, last.unwrap_or(first), bytes.len());
    Ok(node)
}

fn decode_group<R: Read>(
    input: &mut Input<R>,
    layout: Layout,
    log: &Log,
) -> Result<Group, RdbError> {
    let last_id = decode_id(input)?;
    let entries_read = if layout >= Layout::Second {
        Some(input.len()?).filter(|&read| read != UNKNOWN)
    } else {
        log.count_up_to(last_id)
    };
    let mut group = Group::new(last_id, entries_read);
    let mut unclaimed = BTreeMap::new();
    let count = input.len()?;
    for _ in 0..count {
        let id = id_of(input.take(16)?)?;
        let delivered_ms = input.i64()?;
        let deliveries = input.len()?.min(Pending::DELIVERIES_MAX);
        if unclaimed.insert(id, (delivered_ms, deliveries)).is_some() {
            return Err(corrupt("an entry that is pending twice"));
        }
    }
    let consumers = input.len()?;
    for _ in 0..consumers {
        let name: Box<[u8]> = input.string()?.into();
        let seen_ms = input.i64()?;
        // Earlier layouts say only when a consumer was seen, which is the best guess.
        let active_ms = match layout {
            Layout::Third => Some(input.i64()?).filter(|&active_ms| active_ms >= 0),
            _ => Some(seen_ms),
        };
        let (consumer, is_new) = group.find_or_create(&name, seen_ms);
        if !is_new {
            return Err(corrupt("a consumer that is there twice"));
        }
        group.consumer_mut(consumer).active_ms = active_ms;
        let pending = input.len()?;
        for _ in 0..pending {
            let id = id_of(input.take(16)?)?;
            let Some((delivered_ms, deliveries)) = unclaimed.remove(&id) else {
                return Err(corrupt(
                    "an entry that is pending for a consumer and not in its group",
                ));
            };
            group.set_pending(
                id,
                Pending {
                    consumer,
                    delivered_ms,
                    deliveries,
                },
            );
        }
    }
    if !unclaimed.is_empty() {
        return Err(corrupt("a pending entry without a consumer"));
    }
    Ok(group)
}
