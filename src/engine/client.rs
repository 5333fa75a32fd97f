//! The part of a connection that others may see: CLIENT LIST, KILL, messages.
//!
//! A [`Client`] is shared; the connection's own state is its
//! [`Session`](super::session::Session).

use super::table::CommandId;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Identity of a connection, never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClientId(pub u64);

/// The way to a connection from outside of it; the server implements it.
pub trait Mailbox: Send + Sync {
    /// Adds bytes behind all that the connection already has to write.
    fn deliver(&self, bytes: Bytes);
    /// From here on what is delivered waits until a source was sent ([`Mailbox::send`]).
    fn hold(&self);
    /// Adds bytes although others are held.
    fn nudge(&self, bytes: Bytes);
    /// Sends all that a source gives, and then what is held.
    fn send(&self, source: Box<dyn std::io::Read + Send>);
    /// The command that blocked has its reply (delivered before this call); the session comes back.
    fn unblock(&self, session: Box<super::session::Session>);
    /// Looks again at whatever it waits for (a pause that ended).
    fn wake(&self);
    /// Ends the connection, at once or after what is already to be written.
    fn close(&self, after_replies: bool);
    /// Ends the connection if what waits to be written has been too much for too long.
    fn check_limits(&self) {}
    /// Bytes that wait to be written, and an estimate of the buffers' memory.
    fn usage(&self) -> MailboxUsage;
}

/// Sizes that CLIENT LIST and the output limits need.
#[derive(Clone, Copy, Default, Debug)]
pub struct MailboxUsage {
    pub query_bytes: usize,
    pub query_free_bytes: usize,
    pub output_bytes: usize,
    pub output_messages: usize,
    pub memory_bytes: usize,
}

/// What others may know about a connection.
pub struct Client {
    pub id: ClientId,
    pub address: String,
    pub local_address: String,
    pub file_descriptor: i64,
    pub unix_socket: bool,
    pub created_ms: i64,
    pub mailbox: Box<dyn Mailbox>,
    pub last_interaction_ms: AtomicI64,
    pub db: AtomicU32,
    pub protocol3: AtomicBool,
    pub last_command: AtomicU16,
    pub flags: AtomicU32,
    pub channels: AtomicU32,
    pub patterns: AtomicU32,
    pub shard_channels: AtomicU32,
    /// Commands queued by MULTI, -1 outside of a transaction.
    pub queued: AtomicI64,
    pub queued_bytes: AtomicU64,
    pub watched: AtomicU32,
    pub commands: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    /// Set when a watched key changed; the transaction is refused then.
    pub watch_broken: AtomicBool,
    /// Client id to which invalidations are redirected, 0 for none.
    pub redirect: AtomicU64,
    names: Mutex<Names>,
}

/// What a client said about itself.
#[derive(Default, Clone)]
pub struct Names {
    pub name: Vec<u8>,
    pub client_library: Vec<u8>,
    pub client_library_version: Vec<u8>,
    /// The user that the connection acts as.
    pub user: Vec<u8>,
}

/// Bits of [`Client::flags`].
pub mod client_flags {
    pub const MULTI: u32 = 1;
    pub const BLOCKED: u32 = 1 << 1;
    pub const PUBSUB: u32 = 1 << 2;
    pub const MONITOR: u32 = 1 << 3;
    pub const NO_EVICT: u32 = 1 << 4;
    pub const NO_TOUCH: u32 = 1 << 5;
    pub const TRACKING: u32 = 1 << 6;
    pub const CLOSE_AFTER_REPLY: u32 = 1 << 7;
    pub const REPLICA: u32 = 1 << 8;
    /// The snapshot for the replica is sent.
    pub const REPLICA_ONLINE: u32 = 1 << 30;
    pub const TRACKING_BROKEN_REDIRECT: u32 = 1 << 9;
    pub const TRACKING_BCAST: u32 = 1 << 10;
    /// Keys are tracked only after CLIENT CACHING YES.
    pub const TRACKING_OPTIN: u32 = 1 << 11;
    /// Keys are tracked except after CLIENT CACHING NO.
    pub const TRACKING_OPTOUT: u32 = 1 << 12;
    /// CLIENT CACHING was called for the command or transaction to come.
    pub const TRACKING_CACHING: u32 = 1 << 13;
    pub const TRACKING_NOLOOP: u32 = 1 << 14;
}

/// [`Client::last_command`] before the first command.
pub const NO_COMMAND: u16 = u16::MAX;

impl Client {
    /// A client that has done nothing yet.
    pub fn new(
        id: ClientId,
        address: String,
        local_address: String,
        now_ms: i64,
        mailbox: Box<dyn Mailbox>,
    ) -> Self {
        Self {
            id,
            address,
            local_address,
            file_descriptor: -1,
            unix_socket: false,
            created_ms: now_ms,
            mailbox,
            last_interaction_ms: AtomicI64::new(now_ms),
            db: AtomicU32::new(0),
            protocol3: AtomicBool::new(false),
            last_command: AtomicU16::new(NO_COMMAND),
            flags: AtomicU32::new(0),
            channels: AtomicU32::new(0),
            patterns: AtomicU32::new(0),
            shard_channels: AtomicU32::new(0),
            queued: AtomicI64::new(-1),
            queued_bytes: AtomicU64::new(0),
            watched: AtomicU32::new(0),
            commands: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            watch_broken: AtomicBool::new(false),
            redirect: AtomicU64::new(0),
            names: Mutex::new(Names {
                user: b"default".to_vec(),
                ..Names::default()
            }),
        }
    }

    pub fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has_flag(&self, flag: u32) -> bool {
        self.flags.load(Relaxed) & flag != 0
    }

    pub fn set_flag(&self, flag: u32, on: bool) {
        if on {
            self.flags.fetch_or(flag, Relaxed);
        } else {
            self.flags.fetch_and(!flag, Relaxed);
        }
    }

    /// Whether the keys that the client reads are noted.
    #[inline]
    pub fn tracks_reads(&self) -> bool {
        let mode = client_flags::TRACKING | client_flags::TRACKING_BCAST;
        self.flags.load(Relaxed) & mode == client_flags::TRACKING
    }

    /// The client that gets the invalidations of this one: 0 when it gets them itself, -1 when it does not track.
    pub fn redirection(&self) -> i64 {
        if self.has_flag(client_flags::TRACKING) {
            self.redirect.load(Relaxed) as i64
        } else {
            -1
        }
    }

    pub fn last_command(&self) -> Option<CommandId> {
        let id = self.last_command.load(Relaxed);
        (id != NO_COMMAND).then_some(CommandId(id))
    }

    /// An estimate of what the connection takes: its buffers, and what MULTI queued.
    pub fn memory_bytes(&self) -> u64 {
        self.mailbox.usage().memory_bytes as u64 + self.queued_bytes.load(Relaxed)
    }

    pub fn is_subscriber(&self) -> bool {
        self.has_flag(client_flags::PUBSUB)
    }

    /// The address without its port.
    pub fn host(&self) -> &str {
        let host = self.address.rsplit_once(':').map_or("", |(host, _)| host);
        host.trim_matches(['[', ']'])
    }

    /// Whether the client is on this machine.
    pub fn is_local(&self) -> bool {
        self.unix_socket || self.address.starts_with("127.") || self.address.starts_with("[::1]")
    }

    /// Whether the client speaks RESP3.
    pub fn is_resp3(&self) -> bool {
        self.protocol3.load(Relaxed)
    }
}

/// All connections by id. Has its own lock, so that accepting needs none of the engine's.
#[derive(Default)]
pub struct ClientRegistry {
    clients: Mutex<BTreeMap<ClientId, Arc<Client>>>,
    next_id: AtomicU64,
}

impl ClientRegistry {
    pub fn next_id(&self) -> ClientId {
        ClientId(self.next_id.fetch_add(1, Relaxed) + 1)
    }

    pub fn add(&self, client: Arc<Client>) {
        self.lock().insert(client.id, client);
    }

    pub fn remove(&self, id: ClientId) {
        self.lock().remove(&id);
    }

    pub fn get(&self, id: ClientId) -> Option<Arc<Client>> {
        self.lock().get(&id).cloned()
    }

    pub fn len(&self) -> usize {
        self.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All clients in the order of their ids.
    pub fn all(&self) -> Vec<Arc<Client>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ClientId, Arc<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
