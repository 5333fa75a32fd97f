//! Streams: entries in order of their ids, read by ranges, by followers and by groups.

mod add;
mod groups;
mod ids;
mod info;
mod pending;
mod read;

use crate::commands::numbers::integer;
use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::{
    Begin, Categories, CommandSpec, Find, Flags, Group, Handled, KeyFlags, KeySpec, Run,
};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::store::stream::{Stream, StreamId};

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "xack",
        group: Group::Stream,
        summary: "Acknowledges entries that were delivered to a group.",
        since: "5.0.0",
        complexity: "O(log(N)) for each entry, of N pending",
        arity: -4,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::STREAM,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 group id...",
        run: Run::Write(pending::xack),
    },
    CommandSpec {
        name: "xadd",
        group: Group::Stream,
        summary: "Adds an entry, and may trim the stream.",
        since: "5.0.0",
        complexity: "O(1), and O(N) for N entries that are trimmed",
        arity: -5,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::FAST)),
        categories: Categories::STREAM,
        keys: &[KeySpec {
            notes: "UPDATE instead of INSERT because of the optional trimming feature",
            ..KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))
        }],
        tips: &["nondeterministic_output"],
        syntax: "key#0 [NOMKSTREAM@6.2.0] [trim(strategy<MAXLEN | MINID@6.2.0> [operator<equal='=' | approximately='~'>] threshold [LIMIT=count:integer@6.2.0])] id-selector<auto-id='*' | id> data(field value)...",
        run: Run::Write(add::xadd),
    },
    CommandSpec {
        name: "xautoclaim",
        group: Group::Stream,
        summary: "Gives a consumer the next entries that others have pending for too long.",
        since: "6.2.0",
        complexity: "O(N), N entries looked at",
        arity: -6,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::STREAM,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &["nondeterministic_output"],
        syntax: "key#0 group consumer min-idle-time start [COUNT=count:integer] [JUSTID]",
        run: Run::Write(pending::xautoclaim),
    },
    CommandSpec {
        name: "xclaim",
        group: Group::Stream,
        summary: "Gives a consumer entries that others have pending for too long.",
        since: "5.0.0",
        complexity: "O(log(N)) for each entry, of N pending",
        arity: -6,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::STREAM,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &["nondeterministic_output"],
        syntax: "key#0 group consumer min-idle-time id... [IDLE=ms:integer] [TIME=unix-time-milliseconds:unix-time] [RETRYCOUNT=count:integer] [FORCE] [JUSTID] [LASTID=lastid]",
        run: Run::Write(pending::xclaim),
    },
    CommandSpec {
        name: "xdel",
        group: Group::Stream,
        summary: "Removes entries.",
        since: "5.0.0",
        complexity: "O(log(N)) for each entry, of N in all",
        arity: -3,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::STREAM,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &[],
        syntax: "key#0 id...",
        run: Run::Write(xdel),
    },
    CommandSpec {
        name: "xgroup",
        group: Group::Stream,
        summary: "Holds the subcommands for groups.",
        since: "5.0.0",
        complexity: "Depends on the subcommand",
        arity: -2,
        flags: Flags::empty(),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Container(&[
            CommandSpec {
                name: "createconsumer",
                group: Group::Stream,
                summary: "Adds a consumer to a group.",
                since: "6.2.0",
                complexity: "O(log(N)), N consumers",
                arity: 5,
                flags: Flags::WRITE.union(Flags::DENYOOM),
                categories: Categories::STREAM,
                keys: &[KeySpec::one(2, KeyFlags::RW.union(KeyFlags::INSERT))],
                tips: &[],
                syntax: "key#0 group consumer",
                run: Run::Write(groups::createconsumer),
            },
            CommandSpec {
                name: "create",
                group: Group::Stream,
                summary: "Adds a group to a stream.",
                since: "5.0.0",
                complexity: "O(1)",
                arity: -5,
                flags: Flags::WRITE.union(Flags::DENYOOM),
                categories: Categories::STREAM,
                keys: &[KeySpec::one(2, KeyFlags::RW.union(KeyFlags::INSERT))],
                tips: &[],
                syntax: "key#0 group id-selector<id | new-id='$'> [MKSTREAM] [ENTRIESREAD=entriesread:integer/entries-read]",
                run: Run::Write(groups::create),
            },
            CommandSpec {
                name: "destroy",
                group: Group::Stream,
                summary: "Removes a group.",
                since: "5.0.0",
                complexity: "O(N), N pending entries",
                arity: 4,
                flags: Flags::WRITE,
                categories: Categories::STREAM,
                keys: &[KeySpec::one(2, KeyFlags::RW.union(KeyFlags::DELETE))],
                tips: &[],
                syntax: "key#0 group",
                run: Run::Write(groups::destroy),
            },
            CommandSpec {
                name: "delconsumer",
                group: Group::Stream,
                summary: "Removes a consumer from a group.",
                since: "5.0.0",
                complexity: "O(N), N pending entries of the consumer",
                arity: 5,
                flags: Flags::WRITE,
                categories: Categories::STREAM,
                keys: &[KeySpec::one(2, KeyFlags::RW.union(KeyFlags::DELETE))],
                tips: &[],
                syntax: "key#0 group consumer",
                run: Run::Write(groups::delconsumer),
            },
            CommandSpec {
                name: "setid",
                group: Group::Stream,
                summary: "Sets the last entry that a group was given.",
                since: "5.0.0",
                complexity: "O(1)",
                arity: -5,
                flags: Flags::WRITE,
                categories: Categories::STREAM,
                keys: &[KeySpec::one(2, KeyFlags::RW.union(KeyFlags::UPDATE))],
                tips: &[],
                syntax: "key#0 group id-selector<id | new-id='$'> [ENTRIESREAD=entriesread:integer/entries-read]",
                run: Run::Write(groups::setid),
            },
            CommandSpec {
                name: "help",
                group: Group::Stream,
                summary: "Shows the subcommands.",
                since: "5.0.0",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::STREAM,
                keys: &[],
                tips: &[],
                syntax: "",
                run: Run::Read(groups::help),
            },
        ]),
    },
    CommandSpec {
        name: "xinfo",
        group: Group::Stream,
        summary: "Holds the subcommands that look at streams.",
        since: "5.0.0",
        complexity: "Depends on the subcommand",
        arity: -2,
        flags: Flags::empty(),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Container(&[
            CommandSpec {
                name: "groups",
                group: Group::Stream,
                summary: "Shows the groups of a stream.",
                since: "5.0.0",
                complexity: "O(N), N groups",
                arity: 3,
                flags: Flags::READONLY,
                categories: Categories::STREAM,
                keys: &[KeySpec::one(2, KeyFlags::RO.union(KeyFlags::ACCESS))],
                tips: &[],
                syntax: "key#0",
                run: Run::Read(info::groups),
            },
            CommandSpec {
                name: "help",
                group: Group::Stream,
                summary: "Shows the subcommands.",
                since: "5.0.0",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::STREAM,
                keys: &[],
                tips: &[],
                syntax: "",
                run: Run::Read(info::help),
            },
            CommandSpec {
                name: "consumers",
                group: Group::Stream,
                summary: "Shows the consumers of a group.",
                since: "5.0.0",
                complexity: "O(N), N consumers",
                arity: 4,
                flags: Flags::READONLY,
                categories: Categories::STREAM,
                keys: &[KeySpec::one(2, KeyFlags::RO.union(KeyFlags::ACCESS))],
                tips: &["nondeterministic_output"],
                syntax: "key#0 group",
                run: Run::Read(info::consumers),
            },
            CommandSpec {
                name: "stream",
                group: Group::Stream,
                summary: "Shows figures of a stream, or all of it.",
                since: "5.0.0",
                complexity: "O(N), N nodes of entries",
                arity: -3,
                flags: Flags::READONLY,
                categories: Categories::STREAM,
                keys: &[KeySpec::one(2, KeyFlags::RO.union(KeyFlags::ACCESS))],
                tips: &[],
                syntax: "key#0 [full-block(FULL [COUNT=count:integer])]",
                run: Run::Read(info::stream),
            },
        ]),
    },
    CommandSpec {
        name: "xlen",
        group: Group::Stream,
        summary: "Counts the entries.",
        since: "5.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::STREAM,
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0",
        run: Run::Read(xlen),
    },
    CommandSpec {
        name: "xpending",
        group: Group::Stream,
        summary: "Shows what a group was given and has not acknowledged.",
        since: "5.0.0",
        complexity: "O(N), N pending entries or consumers looked at",
        arity: -3,
        flags: Flags::READONLY,
        categories: Categories::STREAM,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        syntax: "key#0 group [filters([IDLE=min-idle-time:integer@6.2.0] start end count:integer [consumer])]",
        run: Run::Read(pending::xpending),
    },
    CommandSpec {
        name: "xrange",
        group: Group::Stream,
        summary: "Shows entries of a range of ids.",
        since: "5.0.0",
        complexity: "O(log(N)+M), M entries shown of N",
        arity: -4,
        flags: Flags::READONLY,
        categories: Categories::STREAM,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 start end [COUNT=count:integer]",
        run: Run::Read(read::xrange),
    },
    CommandSpec {
        name: "xread",
        group: Group::Stream,
        summary: "Shows entries behind the given ids, and may wait for them.",
        since: "5.0.0",
        complexity: "O(log(N)+M) for each stream, M entries shown of N",
        arity: -4,
        flags: Flags::READONLY.union(Flags::BLOCKING.union(Flags::MOVABLE_KEYS)),
        categories: Categories::STREAM,
        keys: &[KeySpec {
            begin: Begin::Keyword("STREAMS", 1),
            find: Find::Range {
                last: -1,
                step: 1,
                limit: 2,
            },
            flags: KeyFlags::RO.union(KeyFlags::ACCESS),
            notes: "",
        }],
        tips: &[],
        syntax: "[COUNT=count:integer] [BLOCK=milliseconds:integer] STREAMS=streams(key#0... id...)",
        run: Run::ReadOrWrite(read::try_xread, read::xread),
    },
    CommandSpec {
        name: "xreadgroup",
        group: Group::Stream,
        summary: "Gives a consumer entries of its group, and may wait for them.",
        since: "5.0.0",
        complexity: "O(log(N)+M) for each stream, M entries shown of N",
        arity: -7,
        flags: Flags::WRITE.union(Flags::BLOCKING.union(Flags::MOVABLE_KEYS)),
        categories: Categories::STREAM,
        keys: &[KeySpec {
            begin: Begin::Keyword("STREAMS", 4),
            find: Find::Range {
                last: -1,
                step: 1,
                limit: 2,
            },
            flags: KeyFlags::RO.union(KeyFlags::ACCESS),
            notes: "",
        }],
        tips: &[],
        syntax: "GROUP=group-block(group consumer) [COUNT=count:integer] [BLOCK=milliseconds:integer] [NOACK] STREAMS=streams(key#0... id...)",
        run: Run::Write(read::xreadgroup),
    },
    CommandSpec {
        name: "xrevrange",
        group: Group::Stream,
        summary: "Shows entries of a range of ids, the last one first.",
        since: "5.0.0",
        complexity: "O(log(N)+M), M entries shown of N",
        arity: -4,
        flags: Flags::READONLY,
        categories: Categories::STREAM,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 end start [COUNT=count:integer]",
        run: Run::Read(read::xrevrange),
    },
    CommandSpec {
        name: "xsetid",
        group: Group::Stream,
        summary: "Sets the figures that a stream goes on from.",
        since: "5.0.0",
        complexity: "O(1)",
        arity: -3,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::FAST)),
        categories: Categories::STREAM,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 last-id [ENTRIESADDED=entries-added:integer@7.0.0] [MAXDELETEDID=max-deleted-id@7.0.0]",
        run: Run::Write(xsetid),
    },
    CommandSpec {
        name: "xtrim",
        group: Group::Stream,
        summary: "Removes the oldest entries.",
        since: "5.0.0",
        complexity: "O(N), N entries removed",
        arity: -4,
        flags: Flags::WRITE,
        categories: Categories::STREAM,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &["nondeterministic_output"],
        syntax: "key#0 trim(strategy<MAXLEN | MINID@6.2.0> [operator<equal='=' | approximately='~'>] threshold [LIMIT=count:integer@6.2.0])",
        run: Run::Write(add::xtrim),
    },
];

fn xlen(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let stream = ctx.read::<Stream>(args.arg(1))?;
    let len = stream.map_or(0, |stream| stream.log().len());
    ctx.reply.integer(len as i64);
    Ok(())
}

fn xdel(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(1);
    if ctx.read::<Stream>(key)?.is_none() {
        ctx.reply.integer(0);
        return Ok(());
    }
    let entries = args.from(2).iter().map(ids::strict);
    let entries: Vec<StreamId> = entries.collect::<Result<_, _>>()?;
    ctx.update::<Stream, ()>(key, |stream, lent| {
        let log = stream.log_mut();
        let removed = entries.iter().filter(|&&id| log.remove(id)).count();
        if removed > 0 {
            lent.changed(removed as u64);
            lent.event(EventClass::STREAM, "xdel");
        }
        lent.reply.integer(removed as i64);
    })?;
    Ok(())
}

fn xsetid(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let id = ids::strict(args.arg(2))?;
    let (mut entries_added, mut max_deleted_id) = (None, StreamId::MIN);
    let mut options = args.from(3);
    while let Some(word) = options.get(0) {
        let value = options.get(1).ok_or(CommandError::Syntax)?;
        if word.eq_ignore_ascii_case(b"entriesadded") {
            let added = u64::try_from(integer(value)?)
                .map_err(|_| CommandError::Text("ERR entries_added must be positive"))?;
            entries_added = Some(added);
        } else if word.eq_ignore_ascii_case(b"maxdeletedid") {
            max_deleted_id = ids::strict(value)?;
            if id < max_deleted_id {
                return Err(CommandError::Text(
                    "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                ));
            }
        } else {
            return Err(CommandError::Syntax);
        }
        options = options.from(2);
    }
    let key = args.arg(1);
    let log = ctx
        .read::<Stream>(key)?
        .ok_or(CommandError::NoSuchKey)?
        .log();
    if id < log.max_deleted_id {
        return Err(CommandError::Text(
            "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
        ));
    }
    if log.last_entry_id() > Some(id) {
        return Err(CommandError::Text(
            "ERR The ID specified in XSETID is smaller than the target stream top item",
        ));
    }
    if entries_added.is_some_and(|added| added < log.len()) {
        return Err(CommandError::Text(
            "ERR The entries_added specified in XSETID is smaller than the target stream length",
        ));
    }
    ctx.update::<Stream, ()>(key, |stream, lent| {
        let log = stream.log_mut();
        log.last_id = id;
        if let Some(added) = entries_added {
            log.entries_added = added;
        }
        if !max_deleted_id.is_zero() {
            log.max_deleted_id = max_deleted_id;
        }
        lent.event(EventClass::STREAM, "xsetid");
        lent.reply.ok();
    })?;
    ctx.changed(1);
    Ok(())
}
