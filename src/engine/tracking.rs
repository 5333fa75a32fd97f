//! Client-side caching: which clients may hold which keys, and the messages that tell them to drop them.
//!
//! A client that tracks is told once of each key that it read and that changed since (the table), or of every change
//! below its prefixes (broadcasting), by itself or through the client it redirects to.  Keys have no database here, as
//! in Redis.
//!
//! Guarantees: what a client's own command invalidates comes behind the reply of that command; broadcasts come once
//! for each batch of commands; the table never names a key for longer than its next change.  Not known here: which
//! commands read what ([`super::dispatch`]), and what a slow reader may leave unread (the mailboxes).

use super::Engine;
use super::client::{Client, ClientId, ClientRegistry, client_flags};
use super::random::Random;
use crate::limits;
use crate::resp::error::CommandError;
use crate::resp::reply::{Protocol, Reply};
use bytes::Bytes;
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The channel of messages to RESP2 clients.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// Flags that end with tracking.
const TRACKING_FLAGS: u32 = client_flags::TRACKING
    | client_flags::TRACKING_BROKEN_REDIRECT
    | client_flags::TRACKING_CACHING
    | TRACKING_MODES;

/// Flags that CLIENT TRACKING ON sets anew.
const TRACKING_MODES: u32 = client_flags::TRACKING_BCAST
    | client_flags::TRACKING_OPTIN
    | client_flags::TRACKING_OPTOUT
    | client_flags::TRACKING_NOLOOP;

/// How a client wants to track.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct TrackingOptions {
    /// Who gets the messages; None is the client itself.
    pub redirect: Option<ClientId>,
    pub broadcast: bool,
    pub opt_in: bool,
    pub opt_out: bool,
    /// Without messages about keys that the client itself changes.
    pub no_loop: bool,
}

/// A client that tracks.
struct Member {
    client: Arc<Client>,
    prefixes: BTreeSet<Box<[u8]>>,
}

/// What happens below one prefix.
#[derive(Default)]
struct Prefix {
    /// Keys that changed since the last broadcast, with the client that changed them last.
    changed: BTreeMap<Box<[u8]>, Option<ClientId>>,
    listeners: BTreeSet<ClientId>,
}

/// A message to the client whose command runs; it may have stopped tracking before that is over.
struct Pending {
    client: Arc<Client>,
    /// None stands for all keys.
    key: Option<Box<[u8]>>,
}

/// Who tracks what.
#[derive(Default)]
pub struct Tracking {
    members: BTreeMap<ClientId, Member>,
    /// Keys that were read, with the clients that may hold them, in order.
    readers: IndexMap<Box<[u8]>, Vec<ClientId>>,
    reader_count: usize,
    prefixes: BTreeMap<Box<[u8]>, Prefix>,
    has_changed_prefix: bool,
    /// The client whose command runs.
    current: Option<ClientId>,
    /// What `current` is to be told when its command is over.
    pending: Vec<Pending>,
    /// Rounds in a row that left too many keys in the table.
    rounds_over_limit: usize,
}

/// One message in the two forms, each made at most once.
struct Invalidation<'a> {
    /// None stands for all keys.
    keys: Option<&'a [&'a [u8]]>,
    resp2: Option<Bytes>,
    resp3: Option<Bytes>,
}

impl<'a> Invalidation<'a> {
    fn of(keys: &'a [&'a [u8]]) -> Self {
        Self {
            keys: Some(keys),
            resp2: None,
            resp3: None,
        }
    }

    fn of_all_keys() -> Self {
        Self {
            keys: None,
            resp2: None,
            resp3: None,
        }
    }

    fn write(&self, protocol: Protocol) -> Bytes {
        let mut reply = Reply::new(protocol);
        match protocol {
            Protocol::Resp3 => {
                reply.push(2);
                reply.bulk(b"invalidate");
            }
            Protocol::Resp2 => {
                reply.push(3);
                reply.bulk(b"message");
                reply.bulk(CHANNEL);
            }
        }
        match self.keys {
            None => reply.null(),
            Some(keys) => {
                reply.array(keys.len());
                keys.iter().for_each(|key| reply.bulk(key));
            }
        }
        Bytes::from(reply.take())
    }

    fn bytes_for(&mut self, receiver: &Client) -> Bytes {
        let (slot, protocol) = if receiver.is_resp3() {
            (&mut self.resp3, Protocol::Resp3)
        } else {
            (&mut self.resp2, Protocol::Resp2)
        };
        if let Some(bytes) = slot {
            return bytes.clone();
        }
        let bytes = self.write(protocol);
        match protocol {
            Protocol::Resp2 => self.resp2 = Some(bytes.clone()),
            Protocol::Resp3 => self.resp3 = Some(bytes.clone()),
        }
        bytes
    }

    /// Whom a message for `client` reaches. One whose redirection leads nowhere is told so instead.
    fn receiver(client: &Arc<Client>, clients: &ClientRegistry) -> Result<Option<Arc<Client>>, ()> {
        let redirect = client.redirect.load(Relaxed);
        if redirect == 0 {
            return Ok(client.is_resp3().then(|| client.clone()));
        }
        let target = clients
            .get(ClientId(redirect))
            .filter(|target| !target.has_flag(client_flags::CLOSE_AFTER_REPLY))
            .ok_or(())?;
        let hears = target.is_resp3() || target.is_subscriber();
        Ok(hears.then_some(target))
    }

    /// Sends it to `client`, or to whom it redirects. With `out`, what `client` itself gets goes there.
    fn send(&mut self, client: &Arc<Client>, clients: &ClientRegistry, out: Option<&mut Reply>) {
        let (receiver, bytes) = match Self::receiver(client, clients) {
            Ok(Some(receiver)) => {
                let bytes = self.bytes_for(&receiver);
                (receiver, bytes)
            }
            Ok(None) => return,
            Err(()) => {
                client.set_flag(client_flags::TRACKING_BROKEN_REDIRECT, true);
                if !client.is_resp3() {
                    return;
                }
                (client.clone(), broken_redirect(client))
            }
        };
        match out {
            Some(out) if receiver.id == client.id => out.raw(&bytes),
            _ => receiver.mailbox.deliver(bytes),
        }
    }
}

/// What a client is told whose redirection leads nowhere.
fn broken_redirect(client: &Client) -> Bytes {
    let mut reply = Reply::new(Protocol::Resp3);
    reply.push(2);
    reply.bulk(b"tracking-redir-broken");
    reply.integer(client.redirect.load(Relaxed) as i64);
    Bytes::from(reply.take())
}

fn overlap(first: &[u8], second: &[u8]) -> bool {
    first.starts_with(second) || second.starts_with(first)
}

fn overlap_error(prefix: &[u8], what: &str, other: &[u8]) -> CommandError {
    let (prefix, other) = (
        String::from_utf8_lossy(prefix),
        String::from_utf8_lossy(other),
    );
    CommandError::Owned(format!(
        "ERR Prefix '{prefix}' overlaps with {what} prefix '{other}'. Prefixes for a single client must not overlap."
    ))
}

impl Tracking {
    /// Whether anybody is, or may yet be, interested in changes.
    #[inline]
    pub fn is_active(&self) -> bool {
        !self.members.is_empty() || !self.readers.is_empty()
    }

    /// Clients that track.
    pub fn client_count(&self) -> usize {
        self.members.len()
    }

    /// Keys that some client may hold.
    pub fn key_count(&self) -> usize {
        self.readers.len()
    }

    /// Pairs of such a key and a client.
    pub fn reader_count(&self) -> usize {
        self.reader_count
    }

    /// Different prefixes of all clients.
    pub fn prefix_count(&self) -> usize {
        self.prefixes.len()
    }

    /// The prefixes of a client, in order.
    pub fn prefixes_of(&self, client: ClientId) -> Vec<&[u8]> {
        let member = self.members.get(&client);
        let prefixes = member.iter().flat_map(|member| &member.prefixes);
        prefixes.map(|prefix| &**prefix).collect()
    }

    /// Lets a client track, or changes how it does; prefixes add up. The options fit together and to the client.
    pub fn enable(
        &mut self,
        client: &Arc<Client>,
        options: TrackingOptions,
        prefixes: &[&[u8]],
    ) -> Result<(), CommandError> {
        if options.broadcast {
            self.check_prefixes(client.id, prefixes)?;
        }
        let member = self.members.entry(client.id).or_insert_with(|| Member {
            client: client.clone(),
            prefixes: BTreeSet::new(),
        });
        client.set_flag(
            TRACKING_MODES | client_flags::TRACKING_BROKEN_REDIRECT,
            false,
        );
        client
            .redirect
            .store(options.redirect.map_or(0, |id| id.0), Relaxed);
        if options.broadcast {
            let everything: &[&[u8]] = &[b""];
            let prefixes = if prefixes.is_empty() {
                everything
            } else {
                prefixes
            };
            for &prefix in prefixes {
                member.prefixes.insert(prefix.into());
                let prefix = self.prefixes.entry(prefix.into()).or_default();
                prefix.listeners.insert(client.id);
            }
        }
        for (flag, on) in [
            (client_flags::TRACKING, true),
            (client_flags::TRACKING_BCAST, options.broadcast),
            (client_flags::TRACKING_OPTIN, options.opt_in),
            (client_flags::TRACKING_OPTOUT, options.opt_out),
            (client_flags::TRACKING_NOLOOP, options.no_loop),
        ] {
            if on {
                client.set_flag(flag, true);
            }
        }
        Ok(())
    }

    fn check_prefixes(&self, client: ClientId, prefixes: &[&[u8]]) -> Result<(), CommandError> {
        let existing = self.prefixes_of(client);
        for (at, prefix) in prefixes.iter().enumerate() {
            if let Some(other) = existing.iter().find(|other| overlap(other, prefix)) {
                return Err(overlap_error(prefix, "an existing", other));
            }
            let rest = &prefixes[at + 1..];
            if let Some(other) = rest.iter().find(|other| overlap(other, prefix)) {
                return Err(overlap_error(prefix, "another provided", other));
            }
        }
        if self.prefixes.len() + prefixes.len() > limits::TRACKING_PREFIXES_MAX {
            return Err(CommandError::Text("ERR too many prefixes are tracked"));
        }
        Ok(())
    }

    /// Ends the tracking of a client. What the table says of it is removed key by key, when they change.
    pub fn disable(&mut self, client: &Client) {
        let Some(member) = self.members.remove(&client.id) else {
            return;
        };
        for name in member.prefixes {
            if let Some(prefix) = self.prefixes.get_mut(&name) {
                prefix.listeners.remove(&client.id);
                if prefix.listeners.is_empty() {
                    self.prefixes.remove(&name);
                }
            }
        }
        client.set_flag(TRACKING_FLAGS, false);
    }

    /// A client is gone for good.
    pub fn forget(&mut self, client: &Client) {
        if !self.members.contains_key(&client.id) {
            return;
        }
        self.disable(client);
        if self.members.is_empty() {
            self.readers = IndexMap::new();
            self.reader_count = 0;
        }
    }

    /// The client may hold what it read of the key.
    pub fn remember(&mut self, client: ClientId, key: &[u8]) {
        let readers = match self.readers.get_mut(key) {
            Some(readers) => readers,
            None => self.readers.entry(key.into()).or_default(),
        };
        let Err(at) = readers.binary_search(&client) else {
            return;
        };
        readers.insert(at, client);
        self.reader_count += 1;
        // Clients that come and go must not pile up at a key that never changes.
        if readers.len() >= limits::TRACKING_READERS_SWEEP_MIN && readers.len().is_power_of_two() {
            let before = readers.len();
            readers.retain(|reader| self.members.contains_key(reader));
            self.reader_count -= before - readers.len();
        }
    }

    /// Begins the command of a client, and returns whose command it interrupts.
    pub fn begin(
        &mut self,
        client: Option<ClientId>,
        clients: &ClientRegistry,
    ) -> Option<ClientId> {
        self.send_pending(clients, None);
        std::mem::replace(&mut self.current, client)
    }

    /// Sends what waited for the command of the current client; with `out`, what it gets itself goes there.
    pub fn send_pending(&mut self, clients: &ClientRegistry, mut out: Option<&mut Reply>) {
        if self.pending.is_empty() {
            return;
        }
        for Pending { client, key } in std::mem::take(&mut self.pending) {
            let out = out.as_deref_mut();
            match key {
                Some(key) => Invalidation::of(&[&key]).send(&client, clients, out),
                None => Invalidation::of_all_keys().send(&client, clients, out),
            }
        }
    }

    /// A key changed, by a command of `author` if it was a client's own.
    pub fn key_changed(&mut self, key: &[u8], author: Option<ClientId>, clients: &ClientRegistry) {
        let mut gathered = 0;
        for (name, prefix) in &mut self.prefixes {
            if key.starts_with(name) {
                prefix.changed.insert(key.into(), author);
                gathered = gathered.max(prefix.changed.len());
                self.has_changed_prefix = true;
            }
        }
        if gathered >= limits::TRACKING_BROADCAST_KEYS_MAX {
            self.broadcast(clients);
        }
        self.invalidate(key, clients);
    }

    /// Tells those who may hold the key to drop it.
    fn invalidate(&mut self, key: &[u8], clients: &ClientRegistry) {
        let Some(readers) = self.readers.swap_remove(key) else {
            return;
        };
        self.reader_count -= readers.len();
        let keys = [key];
        let mut message = Invalidation::of(&keys);
        for id in readers {
            let Some(member) = self.members.get(&id) else {
                continue;
            };
            let client = &member.client;
            // One that went over to broadcasting is not told of what it read before.
            if client.has_flag(client_flags::TRACKING_BCAST) {
                continue;
            }
            if self.current != Some(id) {
                message.send(client, clients, None);
            } else if !client.has_flag(client_flags::TRACKING_NOLOOP) {
                self.pending.push(Pending {
                    client: client.clone(),
                    key: Some(key.into()),
                });
            }
        }
    }

    /// Databases were emptied: nobody holds anything any more.
    pub fn all_keys_changed(&mut self, clients: &ClientRegistry) {
        let mut message = Invalidation::of_all_keys();
        for (id, member) in &self.members {
            if self.current == Some(*id) {
                self.pending.push(Pending {
                    client: member.client.clone(),
                    key: None,
                });
            } else {
                message.send(&member.client, clients, None);
            }
        }
        self.readers = IndexMap::new();
        self.reader_count = 0;
    }

    /// Keeps the table at `keys_max` keys (0 is no limit), by giving up random ones as if they had changed. Each round
    /// that does not get there lets the next one do more.
    pub fn make_room(&mut self, keys_max: usize, random: &mut Random, clients: &ClientRegistry) {
        if keys_max == 0 || self.readers.len() <= keys_max {
            self.rounds_over_limit = 0;
            return;
        }
        let effort = limits::TRACKING_ROUND_KEYS * (self.rounds_over_limit + 1);
        for _ in 0..effort {
            let at = random.below(self.readers.len());
            let Some((key, _)) = self.readers.get_index(at) else {
                break;
            };
            self.invalidate(&key.clone(), clients);
            if self.readers.len() <= keys_max {
                self.rounds_over_limit = 0;
                return;
            }
        }
        self.rounds_over_limit += 1;
    }

    /// Tells those who listen to prefixes what changed below them since the last time.
    fn broadcast(&mut self, clients: &ClientRegistry) {
        self.has_changed_prefix = false;
        for prefix in self.prefixes.values_mut() {
            let changed = std::mem::take(&mut prefix.changed);
            if changed.is_empty() {
                continue;
            }
            let keys: Vec<&[u8]> = changed.keys().map(|key| &**key).collect();
            let mut message = Invalidation::of(&keys);
            for id in &prefix.listeners {
                let Some(Member { client, .. }) = self.members.get(id) else {
                    continue;
                };
                if !client.has_flag(client_flags::TRACKING_NOLOOP) {
                    message.send(client, clients, None);
                    continue;
                }
                let by_others = changed.iter().filter(|(_, author)| **author != Some(*id));
                let keys: Vec<&[u8]> = by_others.map(|(key, _)| &**key).collect();
                if !keys.is_empty() {
                    Invalidation::of(&keys).send(client, clients, None);
                }
            }
        }
    }

    /// Fails the test when the counts are not those of the table.
    #[cfg(test)]
    pub fn check(&self) {
        let readers: usize = self.readers.values().map(Vec::len).sum();
        assert_eq!(self.reader_count, readers);
        assert!(self.readers.values().all(|readers| readers.is_sorted()));
        for (name, prefix) in &self.prefixes {
            assert!(!prefix.listeners.is_empty());
            let listens = |id| self.members[id].prefixes.contains(name);
            assert!(prefix.listeners.iter().all(listens));
        }
        for member in self.members.values() {
            assert!(member.client.has_flag(client_flags::TRACKING));
        }
    }
}

impl Engine {
    /// Sends the broadcasts that wait; to be called when a batch of commands is over.
    #[inline]
    pub fn broadcast_invalidations(&mut self) {
        if self.tracking.has_changed_prefix {
            self.tracking.broadcast(&self.clients);
        }
    }

    /// Tells who holds copies of keys that databases were emptied.
    pub fn all_keys_changed(&mut self) {
        if self.tracking.is_active() {
            self.tracking.all_keys_changed(&self.clients);
        }
    }

    /// Gives up keys of the tracking table that are beyond its limit.
    pub fn make_tracking_room(&mut self) {
        let keys_max = self.settings.tracking_table_max_keys;
        self.tracking
            .make_room(keys_max, &mut self.random, &self.clients);
    }
}

#[cfg(test)]
#[path = "tracking_tests.rs"]
mod tests;
