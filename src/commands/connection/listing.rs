//! Which connections a CLIENT LIST or CLIENT KILL means.

use crate::engine::acl::Acl;
use crate::engine::client::{Client, ClientId, client_flags};
use crate::engine::time::Moment;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;

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
    pub fn parse(args: Args<'_>, me: ClientId, acl: &Acl) -> Result<Self, CommandError> {
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
                b"user" if acl.user(value).is_some() => filter.user = Some(value.to_vec()),
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
                .is_none_or(|user| *user == client.names().user)
            && self.age_min_s.is_none_or(|age| age_s >= age)
    }
}
