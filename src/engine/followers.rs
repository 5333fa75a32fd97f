//! Peers that follow the effect stream, and clients that wait until their writes are safe (WAIT, WAITAOF).
//!
//! A follower gets a snapshot and then the stream from exactly there on. Its
//! mailbox holds the stream back until the snapshot is sent.

use super::blocking::TimeoutReply;
use super::client::{Client, ClientId, client_flags};
use super::effects::EffectSink;
use super::session::Session;
use super::time::Moment;
use super::{Engine, stats};
use crate::resp::args::OwnedArgs;
use crate::resp::reply::Reply;
use bytes::Bytes;
use std::sync::Arc;

/// What a peer said of itself before it asked for the data (REPLCONF).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowTerms {
    pub port: u16,
    /// It wants a snapshot and nothing after it.
    pub snapshot_only: bool,
    pub without_data: bool,
    pub without_functions: bool,
}

/// How far a follower is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowState {
    /// Its snapshot is not begun.
    Waiting,
    /// Its snapshot is being written.
    Saving,
    /// Its snapshot is on its way.
    Sending,
    /// It follows the stream.
    Online,
}

impl FollowState {
    /// The word in INFO.
    pub fn name(self) -> &'static str {
        match self {
            FollowState::Waiting | FollowState::Saving => "wait_bgsave",
            FollowState::Sending => "send_bulk",
            FollowState::Online => "online",
        }
    }
}

/// One peer.
pub struct Follower {
    pub client: Arc<Client>,
    pub terms: FollowTerms,
    state: FollowState,
    /// It asked by PSYNC and is told where the stream stands.
    pub wants_offset: bool,
    /// What it has received, and what of that its own log has on disk.
    pub acked: u64,
    pub acked_durable: u64,
    pub acked_unix_s: i64,
}

impl Follower {
    /// How far it is. Its connection knows alone when the snapshot is sent.
    pub fn state(&self) -> FollowState {
        match self.state {
            FollowState::Sending if self.client.has_flag(client_flags::REPLICA_ONLINE) => {
                FollowState::Online
            }
            state => state,
        }
    }
}

/// Hands the stream to the mailbox of a follower.
pub struct FollowerSink(pub Arc<Client>);

impl EffectSink for FollowerSink {
    fn append(&self, bytes: &[u8], _end_offset: u64) {
        self.0.mailbox.deliver(Bytes::copy_from_slice(bytes));
    }
}

/// What a client that called WAIT or WAITAOF waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckWait {
    /// Where the stream stood after its last write.
    pub offset: u64,
    /// None for WAIT, which asks for no disk at all.
    pub local: Option<bool>,
    pub replicas: usize,
}

impl Engine {
    /// A peer asks for all data.
    pub fn follow(&mut self, session: &Session, wants_offset: bool, now: Moment) {
        stats::count(&self.stats.sync_full, 1);
        self.followers.push(Follower {
            client: session.client.clone(),
            terms: session.follow_terms,
            state: FollowState::Waiting,
            wants_offset,
            acked: 0,
            acked_durable: 0,
            acked_unix_s: now.unix_us / 1_000_000,
        });
        if !self.job_is_running() {
            self.start_sync(now);
        }
    }

    /// Whether the settings ask for followers in step before anything is written.
    pub fn wants_followers(&self) -> bool {
        self.settings.min_replicas_to_write > 0 && self.settings.min_replicas_max_lag > 0
    }

    /// Followers that said lately how far they are.
    pub fn followers_in_step(&self, now: Moment) -> usize {
        let since_s = now.unix_us / 1_000_000 - self.settings.min_replicas_max_lag;
        self.followers
            .iter()
            .filter(|follower| follower.state() == FollowState::Online)
            .filter(|follower| follower.acked_unix_s >= since_s)
            .count()
    }

    /// Why nothing may be written now, if too few followers are in step.
    pub fn lack_of_followers(&self, now: Moment) -> Option<&'static str> {
        let lack = self.wants_followers()
            && self.followers_in_step(now) < self.settings.min_replicas_to_write;
        lack.then_some("NOREPLICAS Not enough good replicas to write.")
    }

    /// A follower's connection is gone.
    pub(super) fn unfollow(&mut self, id: ClientId) {
        let before = self.followers.len();
        self.followers.retain(|follower| follower.client.id != id);
        if self.followers.len() != before {
            self.effects.remove_follower(id);
        }
    }

    /// The followers whose snapshot is to be made next, which all want the same of it. They get the stream from
    /// here on; the terms of the snapshot.
    pub fn begin_following(&mut self) -> Option<(FollowTerms, Vec<Arc<Client>>)> {
        let waiting = |follower: &&mut Follower| follower.state == FollowState::Waiting;
        let first = self.followers.iter_mut().find(waiting)?.terms;
        let offset = self.effects.offset();
        let mut clients = Vec::new();
        for follower in self.followers.iter_mut().filter(|one| {
            one.state == FollowState::Waiting
                && one.terms.without_data == first.without_data
                && one.terms.without_functions == first.without_functions
        }) {
            follower.state = FollowState::Saving;
            let client = &follower.client;
            if follower.wants_offset {
                let id = &self.identity.replication_id;
                let line = format!("+FULLRESYNC {id} {offset}\r\n");
                client.mailbox.deliver(Bytes::from(line));
            }
            client.mailbox.hold();
            if !follower.terms.snapshot_only {
                let sink = Arc::new(FollowerSink(client.clone()));
                self.effects.add_follower(client.id, sink);
            }
            follower.acked = offset;
            clients.push(client.clone());
        }
        Some((first, clients))
    }

    /// The snapshot of a follower is whole; its terms, or None when it is gone.
    pub fn set_sending(&mut self, id: ClientId) -> Option<FollowTerms> {
        let mut followers = self.followers.iter_mut();
        let follower = followers.find(|follower| follower.client.id == id)?;
        follower.state = FollowState::Sending;
        Some(follower.terms)
    }

    /// Whether someone waits for a snapshot that nobody makes.
    pub fn someone_waits_to_follow(&self) -> bool {
        self.followers
            .iter()
            .any(|follower| follower.state == FollowState::Waiting)
    }

    /// Lets the links of followers show that they live: a ping in the stream, a line break ahead of a snapshot.
    pub fn ping_followers(&mut self, in_stream: bool) {
        let mut follows = false;
        for follower in &self.followers {
            match follower.state() {
                FollowState::Waiting | FollowState::Saving => {
                    follower.client.mailbox.nudge(Bytes::from_static(b"\n"));
                }
                FollowState::Sending | FollowState::Online => follows = true,
            }
        }
        if follows && in_stream {
            let ping = OwnedArgs::from_slices(&[b"PING"]);
            self.effects.push_global(ping.as_args());
        }
    }

    /// What a follower says it has.
    pub fn note_ack(&mut self, id: ClientId, acked: u64, durable: Option<u64>, now: Moment) {
        let mut followers = self.followers.iter_mut();
        let Some(follower) = followers.find(|follower| follower.client.id == id) else {
            return;
        };
        follower.acked = follower.acked.max(acked);
        follower.acked_durable = follower.acked_durable.max(durable.unwrap_or(0));
        follower.acked_unix_s = now.unix_us / 1_000_000;
        follower.state = FollowState::Online;
        self.serve_acks();
    }

    /// Asks all followers what they have.
    pub fn ask_for_acks(&mut self) {
        if !self.followers.is_empty() {
            let ask = OwnedArgs::from_slices(&[b"REPLCONF", b"GETACK", b"*"]);
            self.effects.push_global(ask.as_args());
        }
    }

    /// Followers that have the stream up to `offset`.
    fn acked_by(&self, offset: u64, durable: bool) -> usize {
        self.followers
            .iter()
            .filter(|follower| {
                let acked = if durable {
                    follower.acked_durable
                } else {
                    follower.acked
                };
                follower.state() == FollowState::Online && acked >= offset
            })
            .count()
    }

    /// Whether the log on this server's own disk has the stream up to `offset`.
    fn is_durable(&self, offset: u64) -> bool {
        let log = &self.persistence.log;
        log.enabled && !log.starting && self.outside.durable_offset() >= offset
    }

    /// Whether what a client waits for has come.
    pub fn acks_are_there(&self, wait: AckWait) -> bool {
        let durable = wait.local.is_some();
        (wait.local != Some(true) || self.is_durable(wait.offset))
            && self.acked_by(wait.offset, durable) >= wait.replicas
    }

    /// Answers WAIT or WAITAOF with what there is now.
    pub fn write_acks(&self, wait: AckWait, reply: &mut Reply) {
        let replicas = self.acked_by(wait.offset, wait.local.is_some());
        if wait.local.is_some() {
            reply.array(2);
            reply.integer(i64::from(self.is_durable(wait.offset)));
        }
        reply.integer(replicas as i64);
    }

    /// Answers the clients whose writes are safe by now.
    pub fn serve_acks(&mut self) {
        // Asked for ahead of the look, so that nothing falls between.
        if self.blocking.waits_for_acks() {
            self.outside.watch_durable();
        }
        for id in self.blocking.ack_waiters() {
            let Some(waiting) = self.blocking.get(id) else {
                continue;
            };
            let TimeoutReply::Acks(wait) = waiting.block.timeout_reply else {
                continue;
            };
            if wait.local == Some(true) && !self.settings.appendonly {
                self.stop_waiting(id, Some(NO_LOG));
            } else if self.acks_are_there(wait) {
                self.stop_waiting(id, None);
            }
        }
    }
}

/// What WAITAOF is told where no log is kept.
pub const NO_LOG: &str =
    "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
