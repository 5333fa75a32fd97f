//! Connections in words (CLIENT LIST), and which of them a CLIENT KILL means.

use crate::engine::Engine;
use crate::engine::client::{Client, ClientId, client_flags};
use crate::engine::time::Moment;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use std::sync::atomic::Ordering::Relaxed;

/// The kinds that CLIENT LIST TYPE tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Normal,
    Replica,
    PubSub,
    Master,
}

impl Kind {
    pub fn parse(text: &[u8]) -> Result<Self, CommandError> {
        match text.to_ascii_lowercase().as_slice() {
            b"normal" => Ok(Kind::Normal),
            b"replica" | b"slave" => Ok(Kind::Replica),
            b"pubsub" => Ok(Kind::PubSub),
            b"master" => Ok(Kind::Master),
            _ => {
                let shown = String::from_utf8_lossy(text);
                Err(CommandError::Owned(format!(
                    "ERR Unknown client type '{shown}'"
                )))
            }
        }
    }

    pub fn of(client: &Client) -> Self {
        if client.has_flag(client_flags::REPLICA) {
            Kind::Replica
        } else if client.has_flag(client_flags::PUBSUB) {
            Kind::PubSub
        } else {
            Kind::Normal
        }
    }
}

/// Which connections to end. All given conditions have to hold.
#[derive(Default)]
pub struct Filter {
    id: Option<ClientId>,
    address: Option<Vec<u8>>,
    local_address: Option<Vec<u8>>,
    kind: Option<Kind>,
    user: Option<Vec<u8>>,
    age_min_s: Option<i64>,
    skip: Option<ClientId>,
}

impl Filter {
    /// The one connection of that address, one's own included.
    pub fn address(address: &[u8]) -> Self {
        Self {
            address: Some(address.to_vec()),
            ..Self::default()
        }
    }

    /// Reads pairs of option and value; `me` is spared unless SKIPME says no.
    pub fn parse(args: Args<'_>, me: ClientId) -> Result<Self, CommandError> {
        let mut filter = Self {
            skip: Some(me),
            ..Self::default()
        };
        if !args.len().is_multiple_of(2) {
            return Err(CommandError::Syntax);
        }
        let mut words = args.iter();
        while let (Some(option), Some(value)) = (words.next(), words.next()) {
            match option.to_ascii_lowercase().as_slice() {
                b"id" => {
                    let id = parse_i64(value)
                        .filter(|&id| id > 0)
                        .ok_or(CommandError::Text("ERR client-id should be greater than 0"))?;
                    filter.id = Some(ClientId(id as u64));
                }
                b"addr" => filter.address = Some(value.to_vec()),
                b"laddr" => filter.local_address = Some(value.to_vec()),
                b"type" => filter.kind = Some(Kind::parse(value)?),
                b"user" if value == b"default" => filter.user = Some(value.to_vec()),
                b"user" => {
                    let shown = String::from_utf8_lossy(value);
                    return Err(CommandError::Owned(format!("ERR No such user '{shown}'")));
                }
                b"maxage" => {
                    let age = parse_i64(value).ok_or(CommandError::Text(
                        "ERR maxage is not an integer or out of range",
                    ))?;
                    if age <= 0 {
                        return Err(CommandError::Text("ERR maxage should be greater than 0"));
                    }
                    filter.age_min_s = Some(age);
                }
                b"skipme" if value.eq_ignore_ascii_case(b"yes") => filter.skip = Some(me),
                b"skipme" if value.eq_ignore_ascii_case(b"no") => filter.skip = None,
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(filter)
    }

    pub fn matches(&self, client: &Client, now: Moment) -> bool {
        let age_s = (now.unix_ms() - client.created_ms) / 1_000;
        self.skip != Some(client.id)
            && self.id.is_none_or(|id| id == client.id)
            && self
                .address
                .as_ref()
                .is_none_or(|address| *address == client.address.as_bytes())
            && self
                .local_address
                .as_ref()
                .is_none_or(|address| *address == client.local_address.as_bytes())
            && self.kind.is_none_or(|kind| kind == Kind::of(client))
            && self
                .user
                .as_ref()
                .is_none_or(|user| *user == client.names().user.as_bytes())
            && self.age_min_s.is_none_or(|age| age_s >= age)
    }
}

/// The flag letters of a connection, in Redis's order.
fn flag_letters(client: &Client) -> String {
    let letters = [
        (client_flags::REPLICA, 'S'),
        (client_flags::MONITOR, 'O'),
        (client_flags::PUBSUB, 'P'),
        (client_flags::MULTI, 'x'),
        (client_flags::BLOCKED, 'b'),
        (client_flags::TRACKING, 't'),
        (client_flags::TRACKING_BROKEN_REDIRECT, 'R'),
        (client_flags::TRACKING_BCAST, 'B'),
    ];
    let mut text: String = letters
        .iter()
        .filter(|(flag, _)| client.has_flag(*flag))
        .map(|(_, letter)| *letter)
        .collect();
    if client.watch_broken.load(Relaxed) {
        text.push('d');
    }
    if client.has_flag(client_flags::CLOSE_AFTER_REPLY) {
        text.push('c');
    }
    if client.unix_socket {
        text.push('U');
    }
    if client.has_flag(client_flags::NO_EVICT) {
        text.push('e');
    }
    if client.has_flag(client_flags::NO_TOUCH) {
        text.push('T');
    }
    if text.is_empty() {
        text.push('N');
    }
    text
}

/// One line of CLIENT LIST, without its end.
pub fn describe(client: &Client, engine: &Engine, now: Moment) -> Vec<u8> {
    let usage = client.mailbox.usage();
    let names = client.names().clone();
    let command = client
        .last_command()
        .map_or("NULL", |id| &engine.table.get(id).full_name);
    let redirect = match client.redirect.load(Relaxed) {
        0 => -1,
        id => id as i64,
    };
    let events = if usage.output_bytes > 0 { "rw" } else { "r" };
    let mut line = format!(
        "id={} addr={} laddr={} fd={} name=",
        client.id.0, client.address, client.local_address, client.file_descriptor
    )
    .into_bytes();
    line.extend_from_slice(&names.name);
    line.extend_from_slice(
        format!(
            " age={} idle={} flags={} db={} sub={} psub={} ssub={} multi={} qbuf={} qbuf-free={} argv-mem={} \
             multi-mem={} rbs={} rbp={} obl={} oll={} omem={} tot-mem={} events={} cmd={} user={} redir={} resp={}",
            (now.unix_ms() - client.created_ms).max(0) / 1_000,
            (now.unix_ms() - client.last_interaction_ms.load(Relaxed)).max(0) / 1_000,
            flag_letters(client),
            client.db.load(Relaxed),
            client.channels.load(Relaxed),
            client.patterns.load(Relaxed),
            client.shard_channels.load(Relaxed),
            client.queued.load(Relaxed),
            usage.query_bytes,
            usage.query_free_bytes,
            0,
            client.queued_bytes.load(Relaxed),
            0,
            0,
            usage.output_bytes,
            usage.output_messages,
            usage.output_bytes,
            usage.memory_bytes,
            events,
            command,
            names.user,
            redirect,
            if client.is_resp3() { 3 } else { 2 },
        )
        .as_bytes(),
    );
    line.extend_from_slice(b" lib-name=");
    line.extend_from_slice(&names.client_library);
    line.extend_from_slice(b" lib-ver=");
    line.extend_from_slice(&names.client_library_version);
    line
}
