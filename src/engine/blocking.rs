//! Commands that wait for a key, in the order of their arrival.
//!
//! Invariants: a client waits for at most one command; it stands once in the
//! queue of each of its keys; a queue without clients does not exist.

use super::client::ClientId;
use super::followers::AckWait;
use super::session::Session;
use super::table::CommandId;
use crate::resp::args::OwnedArgs;
use crate::resp::reply::Reply;
use crate::store::value::Type;
use std::collections::{HashMap, HashSet, VecDeque};

/// What a handler asks for when it cannot answer yet.
pub struct Block {
    pub keys: Vec<Box<[u8]>>,
    /// The type whose appearance may end the wait.
    pub waits_for: Type,
    /// Also wake when the key vanishes or changes its type (XREADGROUP).
    pub wakes_on_loss: bool,
    /// Unix milliseconds; None waits without end.
    pub deadline_ms: Option<i64>,
    /// What the client gets when the time is over.
    pub timeout_reply: TimeoutReply,
    /// What is run when a key is signalled, if not the arguments of the call: they may name
    /// what was there when the wait began.
    pub retry: Option<OwnedArgs>,
}

/// The reply to a wait that ended without data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeoutReply {
    Null,
    NullArray,
    /// How far the writes of the client are safe by then, which the engine knows.
    Acks(AckWait),
    /// Only the other server's answer ends this wait.
    Transfer,
}

impl TimeoutReply {
    pub fn write(self, reply: &mut Reply) {
        match self {
            TimeoutReply::Null | TimeoutReply::Transfer => reply.null(),
            TimeoutReply::NullArray | TimeoutReply::Acks(_) => reply.null_array(),
        }
    }
}

/// A client that waits.
pub struct Waiting {
    pub block: Block,
    pub command: CommandId,
    pub args: OwnedArgs,
    /// The session to run the command with: the connection's own, moved here while it waits.
    pub session: Box<Session>,
    pub since_ns: u64,
    order: u64,
}

type KeyName = (usize, Box<[u8]>);

/// All waits.
#[derive(Default)]
pub struct Blocking {
    waiting: HashMap<ClientId, Waiting>,
    queues: HashMap<KeyName, VecDeque<ClientId>>,
    ready: VecDeque<KeyName>,
    ready_set: HashSet<KeyName>,
    next_order: u64,
    /// Clients that wait for acknowledgements instead of keys.
    for_acks: Vec<ClientId>,
}

impl Blocking {
    /// Number of waiting clients.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Number of clients whose wait ends by itself.
    pub fn with_deadline(&self) -> usize {
        self.waiting
            .values()
            .filter(|waiting| waiting.block.deadline_ms.is_some())
            .count()
    }

    /// Number of keys that someone waits for.
    pub fn key_count(&self) -> usize {
        self.queues.len()
    }

    /// Number of keys that someone waits for with a command that wakes on loss.
    pub fn key_count_waking_on_loss(&self) -> usize {
        self.queues
            .iter()
            .filter(|(_, queue)| self.wakes_on_loss(queue))
            .count()
    }

    /// Lets `session` wait.
    pub fn add(
        &mut self,
        session: Box<Session>,
        command: CommandId,
        args: OwnedArgs,
        block: Block,
        since_ns: u64,
    ) {
        let id = session.client.id;
        for key in &block.keys {
            let queue = self.queues.entry((session.db, key.clone())).or_default();
            if !queue.contains(&id) {
                queue.push_back(id);
            }
        }
        if matches!(block.timeout_reply, TimeoutReply::Acks(_)) {
            self.for_acks.push(id);
        }
        self.next_order += 1;
        let order = self.next_order;
        self.waiting.insert(
            id,
            Waiting {
                block,
                command,
                args,
                session,
                since_ns,
                order,
            },
        );
    }

    /// Puts a client back that was taken for a try and still has to wait: its places in the queues are kept.
    pub fn put_back(&mut self, waiting: Waiting) {
        self.waiting.insert(waiting.session.client.id, waiting);
    }

    /// Takes a client for a try; its places in the queues stay until [`Blocking::leave_queues`].
    pub fn take(&mut self, id: ClientId) -> Option<Waiting> {
        self.waiting.remove(&id)
    }

    /// Removes a client that no longer waits from the queues of its keys.
    pub fn leave_queues(&mut self, id: ClientId, db: usize, keys: &[Box<[u8]>]) {
        for key in keys {
            let name = (db, key.clone());
            if let Some(queue) = self.queues.get_mut(&name) {
                queue.retain(|&waiting| waiting != id);
                if queue.is_empty() {
                    self.queues.remove(&name);
                }
            }
        }
    }

    /// Takes a client out altogether.
    pub fn remove(&mut self, id: ClientId) -> Option<Waiting> {
        let waiting = self.take(id)?;
        self.for_acks.retain(|&waits| waits != id);
        self.leave_queues(id, waiting.session.db, &waiting.block.keys);
        Some(waiting)
    }

    /// Whether someone waits for acknowledgements.
    pub fn waits_for_acks(&self) -> bool {
        !self.for_acks.is_empty()
    }

    /// Who waits for acknowledgements, who waited longest first.
    pub fn ack_waiters(&self) -> Vec<ClientId> {
        self.for_acks.clone()
    }

    pub fn get(&self, id: ClientId) -> Option<&Waiting> {
        self.waiting.get(&id)
    }

    /// Clients whose time is over at `now_ms`, who waited longest first.
    pub fn overdue(&self, now_ms: i64) -> Vec<ClientId> {
        let mut due: Vec<_> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| {
                waiting
                    .block
                    .deadline_ms
                    .is_some_and(|deadline| deadline <= now_ms)
            })
            .map(|(&id, waiting)| (waiting.order, id))
            .collect();
        due.sort_unstable();
        due.into_iter().map(|(_, id)| id).collect()
    }

    /// A key was created or changed: whoever waits for it may be served.
    pub fn signal(&mut self, db: usize, key: &[u8]) {
        if self.queues.is_empty() {
            return;
        }
        let name: KeyName = (db, key.into());
        if self.queues.contains_key(&name) {
            self.signal_name(name);
        }
    }

    /// A key went away: only those who want to know of it are woken. To signal it for others too would change in which
    /// order they are served when it comes back at once.
    pub fn signal_loss(&mut self, db: usize, key: &[u8]) {
        if self.queues.is_empty() {
            return;
        }
        let name: KeyName = (db, key.into());
        if self.queue_wakes_on_loss(&name) {
            self.signal_name(name);
        }
    }

    /// All keys of a database may have gone (FLUSHDB, SWAPDB).
    pub fn signal_losses(&mut self, db: usize) {
        for name in self.names_in(db) {
            if self.queue_wakes_on_loss(&name) {
                self.signal_name(name);
            }
        }
    }

    /// All keys that a database has may be new (SWAPDB).
    pub fn signal_present(&mut self, db: usize, is_present: impl Fn(&[u8]) -> bool) {
        for name in self.names_in(db) {
            if is_present(&name.1) {
                self.signal_name(name);
            }
        }
    }

    fn names_in(&self, db: usize) -> Vec<KeyName> {
        let names = self.queues.keys().filter(|(of, _)| *of == db);
        names.cloned().collect()
    }

    fn queue_wakes_on_loss(&self, name: &KeyName) -> bool {
        self.queues
            .get(name)
            .is_some_and(|queue| self.wakes_on_loss(queue))
    }

    fn wakes_on_loss(&self, queue: &VecDeque<ClientId>) -> bool {
        queue.iter().any(|id| {
            let waiting = self.waiting.get(id);
            waiting.is_some_and(|waiting| waiting.block.wakes_on_loss)
        })
    }

    fn signal_name(&mut self, name: KeyName) {
        if self.ready_set.insert(name.clone()) {
            self.ready.push_back(name);
        }
    }

    /// The next key that was signalled.
    pub fn next_ready(&mut self) -> Option<KeyName> {
        let name = self.ready.pop_front()?;
        self.ready_set.remove(&name);
        Some(name)
    }

    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Who waits for a key, who waited longest first.
    pub fn queue(&self, name: &KeyName) -> Vec<ClientId> {
        let mut ids: Vec<_> = self
            .queues
            .get(name)
            .into_iter()
            .flatten()
            .copied()
            .collect();
        ids.sort_by_key(|id| self.waiting.get(id).map_or(0, |waiting| waiting.order));
        ids
    }
}
