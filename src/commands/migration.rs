//! MIGRATE: keys move to another server.
//!
//! The values are taken down, sent while others go on, and removed when the other server has them. A key that was
//! changed meanwhile is sent again; after some rounds the last is made with the engine held, as Redis makes its only.

use crate::engine::blocking::{Block, TimeoutReply};
use crate::engine::ctx::ControlCtx;
use crate::engine::notify::EventClass;
use crate::engine::session::Origin;
use crate::engine::spec::{
    Begin, Categories, CommandSpec, Find, Flags, Group, Handled, KeyFlags, KeySpec, Run,
};
use crate::engine::transfer::{Destination, SentKey, Transfer, Transferred};
use crate::limits;
use crate::persist::rdb::dump as payload;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::store::value::Type;

const MOVED: KeyFlags = KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::DELETE));

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "migrate",
    group: Group::Generic,
    summary: "Moves keys to another server.",
    since: "2.6.0",
    complexity: "As DUMP and DEL here and RESTORE there, and O(N) for the way of N bytes",
    arity: -6,
    flags: Flags::WRITE,
    categories: Categories::KEYSPACE.union(Categories::DANGEROUS),
    keys: &[
        KeySpec::one(3, MOVED),
        KeySpec {
            begin: Begin::Keyword("KEYS", -2),
            find: Find::Range {
                last: -1,
                step: 1,
                limit: 0,
            },
            flags: MOVED.union(KeyFlags::INCOMPLETE),
            notes: "",
        },
    ],
    tips: &["nondeterministic_output"],
    syntax: "host port:integer key-selector<key#0 | empty-string=''> destination-db:integer timeout:integer [COPY@3.0.0] [REPLACE@3.0.0] [authentication<AUTH=auth/password@4.0.7 | AUTH2=auth2(username password)@6.0.0>] [KEYS=keys#1/key...@3.0.6]",
    run: Run::Control(migrate),
}];

/// Milliseconds that stand for a timeout of 0 or less.
const TIMEOUT_MS_DEFAULT: u64 = 1_000;

#[derive(Default)]
struct Options<'a> {
    copy: bool,
    replace: bool,
    login: Vec<Vec<u8>>,
    /// What follows KEYS.
    keys: Option<Args<'a>>,
}

impl<'a> Options<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let mut at = 6;
        while let Some(word) = args.get(at) {
            let mut secrets = 0;
            match word.to_ascii_lowercase().as_slice() {
                b"copy" => options.copy = true,
                b"replace" => options.replace = true,
                b"auth" => secrets = 1,
                b"auth2" => secrets = 2,
                b"keys" if !args.arg(3).is_empty() => {
                    return Err(CommandError::Text(
                        "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string",
                    ));
                }
                b"keys" => {
                    options.keys = Some(args.from(at + 1));
                    break;
                }
                _ => return Err(CommandError::Syntax),
            }
            if secrets > 0 {
                let words = (at + 1..=at + secrets).map(|at| args.get(at).map(<[u8]>::to_vec));
                options.login = words.collect::<Option<_>>().ok_or(CommandError::Syntax)?;
            }
            at += 1 + secrets;
        }
        Ok(options)
    }
}

fn migrate(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let options = Options::parse(args)?;
    let timeout_ms = parse_i64(args.arg(5)).ok_or(CommandError::NotInteger)?;
    let db = parse_i64(args.arg(4)).ok_or(CommandError::NotInteger)?;
    if ctx.session.origin == Origin::Unblocked
        && let Some((transfer, outcome)) = ctx.engine.transfers.remove(&ctx.session.client.id)
    {
        return finish(ctx, transfer, outcome, options.copy);
    }
    let timeout_ms = u64::try_from(timeout_ms).unwrap_or(0);
    let destination = Destination {
        host: String::from_utf8_lossy(args.arg(1)).into_owned(),
        port: leading_number(args.arg(2)) as u16,
        login: options.login,
        db,
        timeout_ms: match timeout_ms {
            0 => TIMEOUT_MS_DEFAULT,
            _ => timeout_ms.min(limits::TRANSFER_TIMEOUT_MS_MAX),
        },
    };
    let named: Vec<&[u8]> = match options.keys {
        Some(keys) => keys.iter().collect(),
        None => vec![args.arg(3)],
    };
    let keys: Vec<SentKey> = named.iter().filter_map(|key| take_down(ctx, key)).collect();
    if keys.is_empty() {
        ctx.reply.simple("NOKEY");
        return Ok(());
    }
    let transfer = Transfer {
        client: ctx.session.client.id,
        destination,
        keys,
        replace: options.replace,
        rounds: 0,
    };
    if ctx.session.must_not_block() {
        let outcome = ctx.engine.outside.transfer(&transfer);
        return finish(ctx, transfer, outcome, options.copy);
    }
    send_off(ctx, transfer);
    Ok(())
}

/// The client waits while its keys are on their way.
fn send_off(ctx: &mut ControlCtx<'_>, transfer: Transfer) {
    ctx.engine.outside.start_transfer(transfer);
    ctx.block(Block {
        keys: Vec::new(),
        waits_for: Type::String,
        wakes_on_loss: false,
        deadline_ms: None,
        timeout_reply: TimeoutReply::Transfer,
        retry: None,
    });
}

/// What C's atoi makes of a port.
fn leading_number(text: &[u8]) -> i64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0_i64, |number, digit| {
        number
            .wrapping_mul(10)
            .wrapping_add(i64::from(digit - b'0'))
    })
}

/// A key as it is now.
fn take_down(ctx: &ControlCtx<'_>, key: &[u8]) -> Option<SentKey> {
    let now_ms = ctx.now.unix_ms();
    let db = ctx.engine.db(ctx.session.db);
    let value = db.get(key, now_ms)?;
    let deadline_ms = db.deadline(key);
    Some(SentKey {
        key: key.to_vec(),
        payload: payload::encode(value, ctx.settings().rdbcompression),
        deadline_ms,
        ttl_ms: deadline_ms.map_or(0, |deadline| (deadline - now_ms).max(1)),
    })
}

/// Removes what has arrived, and sends again what changed on the way.
fn finish(
    ctx: &mut ControlCtx<'_>,
    transfer: Transfer,
    outcome: Transferred,
    copy: bool,
) -> Handled {
    let mut arrived: Vec<&[u8]> = Vec::new();
    let mut changed = Vec::new();
    let stored = outcome.stored.iter().chain(std::iter::repeat(&false));
    for (sent, _) in transfer
        .keys
        .iter()
        .zip(stored)
        .filter(|(_, stored)| **stored && !copy)
    {
        match take_down(ctx, &sent.key) {
            // Removed meanwhile: as if that had come after the move.
            None => {}
            Some(now) if now.payload == sent.payload && now.deadline_ms == sent.deadline_ms => {
                arrived.push(&sent.key);
            }
            Some(now) => changed.push(now),
        }
    }
    remove(ctx, &arrived);
    if let Some(error) = outcome.error {
        return Err(CommandError::Owned(error));
    }
    if changed.is_empty() {
        ctx.reply.ok();
        return Ok(());
    }
    let again = Transfer {
        client: transfer.client,
        destination: transfer.destination,
        keys: changed,
        replace: true,
        rounds: transfer.rounds + 1,
    };
    if again.rounds < limits::TRANSFER_ROUNDS_MAX {
        send_off(ctx, again);
        return Ok(());
    }
    // Held alone nothing changes any more, so that this comes to an end.
    let outcome = ctx.engine.outside.transfer(&again);
    finish(ctx, again, outcome, copy)
}

fn remove(ctx: &mut ControlCtx<'_>, keys: &[&[u8]]) {
    if keys.is_empty() {
        return;
    }
    let mut write = ctx.as_write();
    let mut effect: Vec<&[u8]> = vec![b"DEL"];
    for key in keys {
        // The same key may be named twice.
        if write.remove(key) {
            write.event(EventClass::GENERIC, "del", key);
            effect.push(key);
        }
    }
    write.effect(&effect);
}
