//! What one connection is in the middle of: database, protocol, transaction.

use super::acl::User;
use super::client::{Client, ClientId, client_flags};
use super::followers::FollowTerms;
use super::random::Random;
use super::table::CommandId;
use super::time::Moment;
use crate::resp::args::OwnedArgs;
use crate::resp::reply::Protocol;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Which replies a client wants (CLIENT REPLY).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReplyMode {
    #[default]
    On,
    Off,
    /// The reply of the command under way is dropped, the next one counts again.
    SkipThis,
    /// CLIENT REPLY SKIP was just answered (with nothing); the next command is skipped.
    SkipNext,
}

/// Commands that wait for EXEC.
#[derive(Default)]
pub struct Transaction {
    pub commands: Vec<(CommandId, OwnedArgs)>,
    pub bytes: usize,
    /// A command could not be queued; EXEC answers EXECABORT.
    pub refused: bool,
}

/// Where a command comes from, which decides what it may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Origin {
    #[default]
    Client,
    /// A queued command that EXEC runs.
    Transaction,
    /// redis.call of a script.
    Script,
    /// A command that had blocked and is run again.
    Unblocked,
    /// Replayed from a file or a stream: never refused, never propagated.
    Replay,
}

/// The state of one connection. Owned by the connection; handlers get it lent.
pub struct Session {
    pub client: Arc<Client>,
    pub db: usize,
    pub protocol: Protocol,
    pub authenticated: bool,
    /// Who the connection acts as; the default user until it says otherwise.
    pub user: Arc<User>,
    pub transaction: Option<Transaction>,
    /// The watched keys, with their database.
    pub watched: Vec<(usize, Box<[u8]>)>,
    pub reply_mode: ReplyMode,
    /// The reply under way is made of pushes, which CLIENT REPLY does not hold back.
    pub reply_is_push: bool,
    pub origin: Origin,
    /// Close the connection once the replies are written.
    pub close: bool,
    pub channels: Vec<bytes::Bytes>,
    pub patterns: Vec<bytes::Bytes>,
    pub shard_channels: Vec<bytes::Bytes>,
    pub random: Random,
    /// The present while a log is replayed: for the keys' deadlines time stands still then.
    pub present: Option<Moment>,
    /// Where the effect stream stood after the last write of this connection.
    pub write_offset: u64,
    /// What the peer said of itself, should it come to follow.
    pub follow_terms: FollowTerms,
    /// Keys past their deadline that a walk of this session met; they are removed when its handler is done.
    pub met_expired: Vec<Box<[u8]>>,
    /// The running script must not write.
    pub script_read_only: bool,
    /// The running script may use memory beyond maxmemory.
    pub script_allows_oom: bool,
    /// The running script has written, so that it is too late to refuse it memory.
    pub script_has_written: bool,
}

impl Session {
    /// A fresh session of `client`.
    pub fn new(client: Arc<Client>, user: Arc<User>, authenticated: bool, random: Random) -> Self {
        Self {
            client,
            user,
            db: 0,
            protocol: Protocol::Resp2,
            authenticated,
            transaction: None,
            watched: Vec::new(),
            reply_mode: ReplyMode::On,
            reply_is_push: false,
            origin: Origin::Client,
            close: false,
            channels: Vec::new(),
            patterns: Vec::new(),
            shard_channels: Vec::new(),
            random,
            present: None,
            write_offset: 0,
            follow_terms: FollowTerms::default(),
            met_expired: Vec::new(),
            script_read_only: false,
            script_allows_oom: false,
            script_has_written: false,
        }
    }

    /// The session of a script that this one runs: its user and database, nothing of its transaction.
    pub fn for_script(&mut self) -> Self {
        let random = self.random.fork();
        let mut session = Self::new(self.client.clone(), self.user.clone(), true, random);
        session.db = self.db;
        session.origin = Origin::Script;
        session
    }

    /// The connection acts as `user` from here on.
    pub fn log_in(&mut self, user: Arc<User>) {
        self.client.names().user = user.name().to_vec();
        self.user = user;
        self.authenticated = true;
    }

    /// Number of subscriptions of channels and patterns (shard channels are counted apart).
    pub fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Whether only the pub/sub commands are allowed now (RESP2 with a subscription).
    pub fn is_subscriber(&self) -> bool {
        self.subscriptions() + self.shard_channels.len() > 0
    }

    pub fn set_db(&mut self, db: usize) {
        self.db = db;
        self.client.db.store(db as u32, Relaxed);
    }

    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.client
            .protocol3
            .store(protocol == Protocol::Resp3, Relaxed);
    }

    /// Whether a blocking command has to answer at once instead of waiting.
    pub fn must_not_block(&self) -> bool {
        matches!(
            self.origin,
            Origin::Transaction | Origin::Script | Origin::Replay
        )
    }

    /// Whose change a change of this session is. A script's belongs to nobody, as in Redis.
    pub fn author(&self) -> Option<ClientId> {
        (self.origin != Origin::Script).then_some(self.client.id)
    }

    /// Brings the figures that others see up to date.
    pub fn publish_counts(&self) {
        let client = &self.client;
        client.channels.store(self.channels.len() as u32, Relaxed);
        client.patterns.store(self.patterns.len() as u32, Relaxed);
        client
            .shard_channels
            .store(self.shard_channels.len() as u32, Relaxed);
        client.watched.store(self.watched.len() as u32, Relaxed);
        client.set_flag(client_flags::PUBSUB, self.is_subscriber());
        client.set_flag(client_flags::MULTI, self.transaction.is_some());
        match &self.transaction {
            Some(transaction) => {
                client
                    .queued
                    .store(transaction.commands.len() as i64, Relaxed);
                client.queued_bytes.store(transaction.bytes as u64, Relaxed);
            }
            None => {
                client.queued.store(-1, Relaxed);
                client.queued_bytes.store(0, Relaxed);
            }
        }
    }
}
