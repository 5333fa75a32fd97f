//! XGROUP: groups and their consumers.

use super::ids;
use crate::commands::help;
use crate::commands::numbers::integer;
use crate::engine::ctx::{Lent, ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::store::stream::{ConsumerId, Group, Log, Stream, StreamId};

const NO_KEY: CommandError = CommandError::Text(
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.",
);

pub fn no_group(key: &[u8], group: &[u8], where_from: &str) -> CommandError {
    CommandError::Owned(format!(
        "NOGROUP No such key '{}' or consumer group '{}'{where_from}",
        String::from_utf8_lossy(key),
        String::from_utf8_lossy(group)
    ))
}

pub fn no_group_of_key(key: &[u8], group: &[u8]) -> CommandError {
    CommandError::Owned(format!(
        "NOGROUP No such consumer group '{}' for key name '{}'",
        String::from_utf8_lossy(group),
        String::from_utf8_lossy(key)
    ))
}

pub fn syntax(command: &str, subcommand: &[u8]) -> CommandError {
    CommandError::Owned(format!(
        "ERR unknown subcommand or wrong number of arguments for '{}'. Try {command} HELP.",
        String::from_utf8_lossy(subcommand)
    ))
}

/// The consumer of that name, made and logged if it is new, and seen now.
pub fn ensure_consumer(
    group: &mut Group,
    lent: &mut Lent<'_>,
    group_name: &[u8],
    name: &[u8],
) -> ConsumerId {
    let now_ms = lent.now.unix_ms();
    let (consumer, created) = group.find_or_create(name, now_ms);
    if created {
        lent.event(EventClass::STREAM, "xgroup-createconsumer");
        if lent.wants_effects() {
            let key = lent.key().to_vec();
            lent.effect(&[b"XGROUP", b"CREATECONSUMER", &key, group_name, name]);
        }
    }
    group.consumer_mut(consumer).seen_ms = now_ms;
    consumer
}

/// Logs how far a group is.
pub fn log_position(lent: &mut Lent<'_>, group: &Group, group_name: &[u8]) {
    if !lent.wants_effects() {
        return;
    }
    let key = lent.key().to_vec();
    let id = group.last_id.to_string();
    let read = group
        .entries_read
        .map_or("-1".to_string(), |read| read.to_string());
    lent.effect(&[
        b"XGROUP",
        b"SETID",
        &key,
        group_name,
        id.as_bytes(),
        b"ENTRIESREAD",
        read.as_bytes(),
    ]);
}

/// The options of CREATE and SETID.
struct Options {
    make: bool,
    entries_read: Option<u64>,
}

impl Options {
    fn parse(args: Args<'_>, may_make: bool) -> Result<Self, CommandError> {
        let mut options = Self {
            make: false,
            entries_read: None,
        };
        let mut at = 5;
        while let Some(word) = args.get(at) {
            if may_make && word.eq_ignore_ascii_case(b"mkstream") {
                options.make = true;
                at += 1;
            } else if word.eq_ignore_ascii_case(b"entriesread") && at + 1 < args.len() {
                options.entries_read = match integer(args.arg(at + 1))? {
                    -1 => None,
                    number => Some(u64::try_from(number).map_err(|_| {
                        CommandError::Text("ERR value for ENTRIESREAD must be positive or -1")
                    })?),
                };
                at += 2;
            } else {
                return Err(syntax("XGROUP", args.arg(1)));
            }
        }
        Ok(options)
    }

    /// No more can be read than was added.
    fn read_of(&self, log: &Log) -> Option<u64> {
        self.entries_read.map(|read| read.min(log.entries_added))
    }
}

/// Refuses a key without a stream, and one without the group.
fn check_group(ctx: &WriteCtx<'_>, key: &[u8], group: &[u8]) -> Result<(), CommandError> {
    let stream = ctx.read::<Stream>(key)?.ok_or(NO_KEY)?;
    if stream.groups().contains_key(group) {
        Ok(())
    } else {
        Err(no_group_of_key(key, group))
    }
}

pub fn create(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let options = Options::parse(args, true)?;
    let (key, name) = (args.arg(2), args.arg(3));
    let stream = ctx.read::<Stream>(key)?;
    if stream.is_none() && !options.make {
        return Err(NO_KEY);
    }
    if args.len() > 8 {
        return Err(syntax("XGROUP", args.arg(1)));
    }
    let last_id = match args.arg(4) {
        b"$" => stream.map_or(StreamId::MIN, |stream| stream.log().last_id),
        text => ids::strict(text)?,
    };
    if stream.is_some_and(|stream| stream.groups().contains_key(name)) {
        return Err(CommandError::Text(
            "BUSYGROUP Consumer Group name already exists",
        ));
    }
    ctx.upsert::<Stream, ()>(key, |stream, lent| {
        let group = Group::new(last_id, options.read_of(stream.log()));
        stream.groups_mut().insert(name.into(), group);
        lent.changed(lent.created().into());
        lent.event(EventClass::STREAM, "xgroup-create");
        lent.reply.ok();
    })?;
    ctx.changed(1);
    Ok(())
}

pub fn setid(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let options = Options::parse(args, false)?;
    let (key, name) = (args.arg(2), args.arg(3));
    check_group(ctx, key, name)?;
    if args.len() != 5 && args.len() != 7 {
        return Err(syntax("XGROUP", args.arg(1)));
    }
    let last_id = match args.arg(4) {
        b"$" => None,
        text => Some(ids::any(text, 0)?),
    };
    ctx.update::<Stream, ()>(key, |stream, lent| {
        let (log, groups) = stream.parts_mut();
        if let Some(group) = groups.get_mut(name) {
            group.last_id = last_id.unwrap_or(log.last_id);
            group.entries_read = options.read_of(log);
        }
        lent.event(EventClass::STREAM, "xgroup-setid");
        lent.reply.ok();
    })?;
    ctx.changed(1);
    Ok(())
}

pub fn destroy(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, name) = (args.arg(2), args.arg(3));
    let destroyed = ctx.update::<Stream, bool>(key, |stream, lent| {
        let destroyed = stream.groups_mut().remove(name).is_some();
        if destroyed {
            lent.event(EventClass::STREAM, "xgroup-destroy");
            // Readers of the group learn that it is gone.
            lent.wake();
        }
        lent.reply.integer(destroyed.into());
        destroyed
    })?;
    match destroyed {
        None => Err(NO_KEY),
        Some(destroyed) => {
            ctx.changed(destroyed.into());
            Ok(())
        }
    }
}

pub fn createconsumer(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, name, consumer) = (args.arg(2), args.arg(3), args.arg(4));
    check_group(ctx, key, name)?;
    let created = ctx.update::<Stream, bool>(key, |stream, lent| {
        let now_ms = lent.now.unix_ms();
        let group = stream.groups_mut().get_mut(name);
        let created = group.is_some_and(|group| group.find_or_create(consumer, now_ms).1);
        if created {
            lent.event(EventClass::STREAM, "xgroup-createconsumer");
        }
        lent.reply.integer(created.into());
        created
    })?;
    ctx.changed(u64::from(created == Some(true)));
    Ok(())
}

pub fn delconsumer(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, name, consumer) = (args.arg(2), args.arg(3), args.arg(4));
    check_group(ctx, key, name)?;
    let removed = ctx.update::<Stream, Option<usize>>(key, |stream, lent| {
        let group = stream.groups_mut().get_mut(name);
        let removed = group.and_then(|group| group.remove_consumer(consumer));
        if removed.is_some() {
            lent.event(EventClass::STREAM, "xgroup-delconsumer");
        }
        lent.reply.integer(removed.unwrap_or(0) as i64);
        removed
    })?;
    ctx.changed(u64::from(removed.flatten().is_some()));
    Ok(())
}

pub fn help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    help::write(
        ctx.reply,
        "XGROUP",
        &[
            "CREATE <key> <groupname> <id|$> [option]",
            "    Create a new consumer group. Options are:",
            "    * MKSTREAM",
            "      Create the empty stream if it does not exist.",
            "    * ENTRIESREAD entries_read",
            "      Set the group's entries_read counter (internal use).",
            "CREATECONSUMER <key> <groupname> <consumer>",
            "    Create a new consumer in the specified group.",
            "DELCONSUMER <key> <groupname> <consumer>",
            "    Remove the specified consumer.",
            "DESTROY <key> <groupname>",
            "    Remove the specified group.",
            "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
            "    Set the current group ID and entries_read counter.",
        ],
    );
    Ok(())
}
