//! Channels, patterns and shard channels with their subscribers.
//!
//! Guarantees: subscribers of a channel get messages in the order in which
//! they were published; a client gets one message for its channel and one for
//! each of its patterns that match.

use super::client::{Client, ClientId};
use crate::resp::reply::{Protocol, Reply};
use crate::store::glob;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

type Subscribers = BTreeMap<ClientId, Arc<Client>>;

/// One of the two separate spaces of channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelSpace {
    Plain,
    Shard,
}

/// Who listens to what.
#[derive(Default)]
pub struct PubSub {
    channels: HashMap<Bytes, Subscribers>,
    shard_channels: HashMap<Bytes, Subscribers>,
    patterns: BTreeMap<Bytes, Subscribers>,
}

/// The two wire forms of one message, made at most once each.
struct Message<'a> {
    kind: &'a str,
    parts: &'a [&'a [u8]],
    resp2: Option<Bytes>,
    resp3: Option<Bytes>,
}

impl<'a> Message<'a> {
    fn new(kind: &'a str, parts: &'a [&'a [u8]]) -> Self {
        Self {
            kind,
            parts,
            resp2: None,
            resp3: None,
        }
    }

    fn bytes_for(&mut self, client: &Client) -> Bytes {
        let (slot, protocol) = if client.is_resp3() {
            (&mut self.resp3, Protocol::Resp3)
        } else {
            (&mut self.resp2, Protocol::Resp2)
        };
        slot.get_or_insert_with(|| {
            let mut reply = Reply::new(protocol);
            reply.push(1 + self.parts.len());
            reply.bulk(self.kind.as_bytes());
            for part in self.parts {
                reply.bulk(part);
            }
            Bytes::from(reply.take())
        })
        .clone()
    }
}

impl PubSub {
    fn space(&self, space: ChannelSpace) -> &HashMap<Bytes, Subscribers> {
        match space {
            ChannelSpace::Plain => &self.channels,
            ChannelSpace::Shard => &self.shard_channels,
        }
    }

    fn space_mut(&mut self, space: ChannelSpace) -> &mut HashMap<Bytes, Subscribers> {
        match space {
            ChannelSpace::Plain => &mut self.channels,
            ChannelSpace::Shard => &mut self.shard_channels,
        }
    }

    pub fn subscribe(&mut self, space: ChannelSpace, channel: Bytes, client: &Arc<Client>) {
        self.space_mut(space)
            .entry(channel)
            .or_default()
            .insert(client.id, client.clone());
    }

    pub fn unsubscribe(&mut self, space: ChannelSpace, channel: &[u8], client: ClientId) {
        let channels = self.space_mut(space);
        if let Some(subscribers) = channels.get_mut(channel) {
            subscribers.remove(&client);
            if subscribers.is_empty() {
                channels.remove(channel);
            }
        }
    }

    pub fn subscribe_pattern(&mut self, pattern: Bytes, client: &Arc<Client>) {
        self.patterns
            .entry(pattern)
            .or_default()
            .insert(client.id, client.clone());
    }

    pub fn unsubscribe_pattern(&mut self, pattern: &[u8], client: ClientId) {
        if let Some(subscribers) = self.patterns.get_mut(pattern) {
            subscribers.remove(&client);
            if subscribers.is_empty() {
                self.patterns.remove(pattern);
            }
        }
    }

    /// A client listens to nothing any more. O(channels and patterns).
    pub fn forget(&mut self, client: ClientId) {
        let left = |_: &Bytes, listeners: &mut Subscribers| {
            listeners.remove(&client);
            !listeners.is_empty()
        };
        self.channels.retain(left);
        self.shard_channels.retain(left);
        self.patterns.retain(left);
    }

    /// Sends a message; the number of clients that got it (once for each match).
    pub fn publish(&self, space: ChannelSpace, channel: &[u8], payload: &[u8]) -> usize {
        let mut receivers = 0;
        if let Some(subscribers) = self.space(space).get(channel) {
            let kind = match space {
                ChannelSpace::Plain => "message",
                ChannelSpace::Shard => "smessage",
            };
            let parts: [&[u8]; 2] = [channel, payload];
            let mut message = Message::new(kind, &parts);
            for client in subscribers.values() {
                client.mailbox.deliver(message.bytes_for(client));
                receivers += 1;
            }
        }
        if space == ChannelSpace::Shard {
            return receivers;
        }
        for (pattern, subscribers) in &self.patterns {
            if !glob::matches(pattern, channel, false) {
                continue;
            }
            let parts: [&[u8]; 3] = [pattern, channel, payload];
            let mut message = Message::new("pmessage", &parts);
            for client in subscribers.values() {
                client.mailbox.deliver(message.bytes_for(client));
                receivers += 1;
            }
        }
        receivers
    }

    /// Everything that anyone listens to, with whether it is a pattern and who listens.
    pub fn subscriptions(&self) -> impl Iterator<Item = (&Bytes, bool, &Arc<Client>)> {
        let channels = self.channels.iter().chain(&self.shard_channels);
        let channels = channels.map(|(name, listeners)| (name, false, listeners));
        let patterns = self
            .patterns
            .iter()
            .map(|(name, listeners)| (name, true, listeners));
        channels
            .chain(patterns)
            .flat_map(|(name, is_pattern, listeners)| {
                listeners
                    .values()
                    .map(move |client| (name, is_pattern, client))
            })
    }

    /// Whether a message could reach anyone.
    pub fn is_silent(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty()
    }

    /// Names of channels with a subscriber.
    pub fn channel_names(&self, space: ChannelSpace) -> impl Iterator<Item = &Bytes> {
        self.space(space).keys()
    }

    pub fn subscriber_count(&self, space: ChannelSpace, channel: &[u8]) -> usize {
        self.space(space).get(channel).map_or(0, BTreeMap::len)
    }

    /// Number of distinct patterns.
    pub fn pattern_count(&self) -> usize {
        self.patterns.len()
    }

    pub fn channel_count(&self, space: ChannelSpace) -> usize {
        self.space(space).len()
    }
}
