//! The effect stream: what the log and the replicas get to see.
//!
//! Every write leaves effects, stock commands that give the same state when
//! they are replayed.  They are encoded once, as RESP, with a byte offset that
//! only grows; whoever consumes the stream (the append-only log, a replica)
//! is handed the bytes of each group before the engine's lock is released.
//!
//! Invariants: a group of several effects is written between MULTI and EXEC; a
//! SELECT goes before the first effect of another database; nothing is encoded
//! while nobody consumes.

use super::client::ClientId;
use crate::resp::args::{Args, OwnedArgs};
use std::sync::Arc;

/// Whoever consumes the stream. Called under the engine's lock, so that the order is that of the changes.
pub trait EffectSink: Send + Sync {
    /// Takes whole groups; their last byte is at `end_offset` of the stream.
    fn append(&self, bytes: &[u8], end_offset: u64);
}

/// Effects that wait for a consumer, and those of the group under way.
#[derive(Default)]
pub struct EffectLog {
    enabled: bool,
    sink: Option<Arc<dyn EffectSink>>,
    /// Peers that get the same bytes.
    followers: Vec<(ClientId, Arc<dyn EffectSink>)>,
    /// What happens now is not to be replayed (redis.set_repl).
    muted: bool,
    offset: u64,
    selected_db: Option<usize>,
    pending: Vec<u8>,
    group: Vec<(usize, OwnedArgs)>,
    group_depth: usize,
}

impl EffectLog {
    /// Whether anyone consumes the stream; a handler may skip building an effect when not.
    pub fn enabled(&self) -> bool {
        self.enabled && !self.muted
    }

    /// Leaves effects out until this is taken back.
    pub fn set_muted(&mut self, muted: bool) {
        self.muted = muted;
    }

    /// Starts or stops encoding. The first effect after a start selects its database again.
    pub fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
        self.selected_db = None;
    }

    /// Starts to hand the stream to a consumer, or stops.
    pub fn set_sink(&mut self, sink: Option<Arc<dyn EffectSink>>) {
        self.sink = sink;
        self.set_enabled(self.is_consumed());
    }

    /// Hands the stream to one more peer, from here on; its first effect names its database.
    pub fn add_follower(&mut self, id: ClientId, sink: Arc<dyn EffectSink>) {
        self.followers.push((id, sink));
        self.set_enabled(true);
    }

    /// A peer is gone.
    pub fn remove_follower(&mut self, id: ClientId) {
        self.followers.retain(|(of, _)| *of != id);
        self.enabled = self.is_consumed();
    }

    fn is_consumed(&self) -> bool {
        self.sink.is_some() || !self.followers.is_empty()
    }

    /// Bytes written to the stream since it began.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Continues a stream whose offset was stored.
    pub fn set_offset(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// The next effect names its database again (a new file begins).
    pub fn forget_selected_db(&mut self) {
        self.selected_db = None;
    }

    /// Effects up to the matching [`EffectLog::end_group`] are applied as one. Groups nest; only the outermost counts.
    #[inline]
    pub fn begin_group(&mut self) {
        self.group_depth += 1;
    }

    /// Ends a group and encodes it.
    #[inline]
    pub fn end_group(&mut self) {
        debug_assert!(self.group_depth > 0, "a group ends that never began");
        self.group_depth -= 1;
        if self.group_depth == 0 && !self.group.is_empty() {
            self.encode_group();
        }
    }

    fn encode_group(&mut self) {
        let group = std::mem::take(&mut self.group);
        let wrap = group.len() > 1;
        if wrap {
            self.select(group[0].0);
            self.encode(OwnedArgs::from_slices(&[b"MULTI"]).as_args());
        }
        for (db, args) in &group {
            self.select(*db);
            self.encode(args.as_args());
        }
        if wrap {
            self.encode(OwnedArgs::from_slices(&[b"EXEC"]).as_args());
        }
        self.deliver();
    }

    fn deliver(&mut self) {
        for (_, follower) in &self.followers {
            follower.append(&self.pending, self.offset);
        }
        if let Some(sink) = &self.sink {
            sink.append(&self.pending, self.offset);
        }
        if self.is_consumed() {
            self.pending.clear();
        }
    }

    /// Adds one effect in database `db`.
    pub fn push(&mut self, db: usize, args: Args<'_>) {
        if !self.enabled() {
            return;
        }
        if self.group_depth > 0 {
            self.group.push((db, OwnedArgs::from_args(args)));
        } else {
            self.select(db);
            self.encode(args);
            self.deliver();
        }
    }

    /// Adds a command that is of no database. It may stand between the effects of a group that is not encoded yet.
    pub fn push_global(&mut self, args: Args<'_>) {
        if self.is_consumed() {
            self.encode(args);
            self.deliver();
        }
    }

    /// Adds one effect made of the given words.
    pub fn push_words(&mut self, db: usize, words: &[&[u8]]) {
        if self.enabled() {
            self.push(db, OwnedArgs::from_slices(words).as_args());
        }
    }

    /// The encoded effects nobody has taken yet.
    pub fn pending(&self) -> &[u8] {
        &self.pending
    }

    /// Takes the encoded effects; their last byte is at [`EffectLog::offset`].
    pub fn take_pending(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    fn select(&mut self, db: usize) {
        if self.selected_db != Some(db) {
            self.selected_db = Some(db);
            let index = db.to_string();
            self.encode(OwnedArgs::from_slices(&[b"SELECT", index.as_bytes()]).as_args());
        }
    }

    fn encode(&mut self, args: Args<'_>) {
        let before = self.pending.len();
        args.encode(&mut self.pending);
        self.offset += (self.pending.len() - before) as u64;
    }
}
