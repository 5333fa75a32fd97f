//! The two forms in which all data is written: a snapshot, or plain commands.

use super::aof::base::CommandEncoder;
use super::rdb::Encoder;
use super::rdb::snapshot::{Clocks, Head, write_db, write_entry, write_head, write_key};
use crate::store::keyspace::Entry;
use crate::store::sorted_set::{Score, SortedSet};

/// How data is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The RDB format.
    Snapshot,
    /// The commands that make the data, as in an append-only log.
    Commands,
}

/// Appends data to a buffer in one of the forms.
pub enum Writer {
    Snapshot(Encoder),
    Commands(CommandEncoder),
}

impl Writer {
    /// `compress` packs long texts of a snapshot.
    pub fn new(form: Form, compress: bool) -> Self {
        match form {
            Form::Snapshot => Writer::Snapshot(Encoder::new(compress)),
            Form::Commands => Writer::Commands(CommandEncoder::default()),
        }
    }

    /// An empty one of the same kind.
    pub fn fresh(&self) -> Self {
        match self {
            Writer::Snapshot(out) => Writer::Snapshot(Encoder::new(out.compresses())),
            Writer::Commands(_) => Writer::Commands(CommandEncoder::default()),
        }
    }

    /// What was written and not taken yet.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Writer::Snapshot(out) => out.bytes(),
            Writer::Commands(out) => out.bytes(),
        }
    }

    /// Takes what was written.
    pub fn take(&mut self) -> Vec<u8> {
        match self {
            Writer::Snapshot(out) => out.take(),
            Writer::Commands(out) => out.take(),
        }
    }

    /// Forgets what was written and keeps its memory.
    pub fn clear(&mut self) {
        match self {
            Writer::Snapshot(out) => out.clear(),
            Writer::Commands(out) => out.clear(),
        }
    }

    /// What stands ahead of all databases.
    pub fn head(&mut self, head: &Head) {
        match self {
            Writer::Snapshot(out) => write_head(out, head),
            Writer::Commands(out) => {
                if head.timed {
                    out.time(head.unix_s);
                }
                for library in &head.libraries {
                    out.command(&[b"FUNCTION", b"LOAD", library]);
                }
            }
        }
    }

    /// Writes that the entries of a database follow, and about how many.
    pub fn db(&mut self, index: usize, keys: usize, deadlines: usize) {
        match self {
            Writer::Snapshot(out) => write_db(out, index, keys, deadlines),
            Writer::Commands(out) => out.db(index),
        }
    }

    /// Writes a key with its value.
    pub fn entry(&mut self, entry: &Entry<'_>, clocks: Clocks) {
        match self {
            Writer::Snapshot(out) => write_entry(out, entry, clocks),
            Writer::Commands(out) => out.entry(entry),
        }
    }

    /// Begins a board whose members follow one by one, as many as it has now.
    pub fn begin_board(&mut self, entry: &Entry<'_>, board: &SortedSet, clocks: Clocks) {
        match self {
            Writer::Snapshot(out) => {
                write_key(out, entry, clocks);
                out.len(board.len() as u64);
            }
            Writer::Commands(out) => out.begin_board(entry),
        }
    }

    /// Writes a member of the board.
    pub fn member(&mut self, member: &[u8], score: Score) {
        match self {
            Writer::Snapshot(out) => out.scored(member, score),
            Writer::Commands(out) => out.member(member, score),
        }
    }

    /// Makes what was written of a board so far complete in itself.
    pub fn end_members(&mut self) {
        if let Writer::Commands(out) = self {
            out.end_items();
        }
    }

    /// Ends the board.
    pub fn end_board(&mut self) {
        if let Writer::Commands(out) = self {
            out.end_board();
        }
    }
}
