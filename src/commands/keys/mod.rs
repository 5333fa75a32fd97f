//! Keys whatever their values: existence, names, databases, walking through them.

mod deadline;
mod object;
mod scan;
mod sort;

pub use deadline::COMMANDS as DEADLINE_COMMANDS;
pub use object::COMMANDS as OBJECT_COMMANDS;
pub use scan::COMMANDS as SCAN_COMMANDS;
pub use scan::{ScanOptions, parse_cursor};
pub use sort::COMMANDS as SORT_COMMANDS;

use crate::engine::ctx::{ControlCtx, ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::session::Origin;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "copy",
        group: Group::Generic,
        summary: "Copies the value of a key to another key.",
        since: "6.2.0",
        complexity: "O(N) worst case for collections, where N is the number of nested items. O(1) for string values.",
        arity: -3,
        flags: Flags::WRITE.union(Flags::DENYOOM),
        categories: Categories::KEYSPACE,
        keys: &[
            KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS)),
            KeySpec::one(2, KeyFlags::OW.union(KeyFlags::UPDATE)),
        ],
        tips: &[],
        syntax: "source#0 destination#1 [DB=destination-db:integer] [REPLACE]",
        run: Run::Write(copy),
    },
    CommandSpec {
        name: "del",
        group: Group::Generic,
        summary: "Removes keys.",
        since: "1.0.0",
        complexity: "O(N) where N is the number of keys that will be removed. When a key to remove holds a value other than a string, the individual complexity for this key is O(M) where M is the number of elements in the list, set, sorted set or hash. Removing a single key that holds a string value is O(1).",
        arity: -2,
        flags: Flags::WRITE,
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::range(
            1,
            -1,
            1,
            KeyFlags::RM.union(KeyFlags::DELETE),
        )],
        tips: &["request_policy:multi_shard", "response_policy:agg_sum"],
        syntax: "key#0...",
        run: Run::Write(del),
    },
    CommandSpec {
        name: "exists",
        group: Group::Generic,
        summary: "Counts the given keys that exist.",
        since: "1.0.0",
        complexity: "O(N) where N is the number of keys to check.",
        arity: -2,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO)],
        tips: &["request_policy:multi_shard", "response_policy:agg_sum"],
        syntax: "key#0...",
        run: Run::Read(exists),
    },
    CommandSpec {
        name: "move",
        group: Group::Generic,
        summary: "Moves a key to another database.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::UPDATE)),
        )],
        tips: &[],
        syntax: "key#0 db:integer",
        run: Run::Write(move_),
    },
    CommandSpec {
        name: "rename",
        group: Group::Generic,
        summary: "Gives a key another name, replacing what has that name.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: Flags::WRITE,
        categories: Categories::KEYSPACE,
        keys: &[
            KeySpec::one(
                1,
                KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::DELETE)),
            ),
            KeySpec::one(2, KeyFlags::OW.union(KeyFlags::UPDATE)),
        ],
        tips: &[],
        syntax: "key#0 newkey#1",
        run: Run::Write(rename),
    },
    CommandSpec {
        name: "renamenx",
        group: Group::Generic,
        summary: "Gives a key another name if nobody has it.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[
            KeySpec::one(
                1,
                KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::DELETE)),
            ),
            KeySpec::one(2, KeyFlags::OW.union(KeyFlags::INSERT)),
        ],
        tips: &[],
        syntax: "key#0 newkey#1",
        run: Run::Write(renamenx),
    },
    CommandSpec {
        name: "touch",
        group: Group::Generic,
        summary: "Marks keys as used and counts those that exist.",
        since: "3.2.1",
        complexity: "O(N) where N is the number of keys that will be touched.",
        arity: -2,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO)],
        tips: &["request_policy:multi_shard", "response_policy:agg_sum"],
        syntax: "key#0...",
        run: Run::Read(touch),
    },
    CommandSpec {
        name: "type",
        group: Group::Generic,
        summary: "Names the type of a key's value.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0",
        run: Run::Read(type_),
    },
    CommandSpec {
        name: "unlink",
        group: Group::Generic,
        summary: "Removes keys and frees their memory aside.",
        since: "4.0.0",
        complexity: "O(1) for each key removed regardless of its size. Then the command does O(N) work in a different thread in order to reclaim memory, where N is the number of allocations the deleted objects where composed of.",
        arity: -2,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[KeySpec::range(
            1,
            -1,
            1,
            KeyFlags::RM.union(KeyFlags::DELETE),
        )],
        tips: &["request_policy:multi_shard", "response_policy:agg_sum"],
        syntax: "key#0...",
        run: Run::Write(unlink),
    },
    CommandSpec {
        name: "flushall",
        group: Group::Server,
        summary: "Removes all keys of all databases.",
        since: "1.0.0",
        complexity: "O(N) where N is the total number of keys in all databases",
        arity: -1,
        flags: Flags::WRITE,
        categories: Categories::KEYSPACE.union(Categories::DANGEROUS),
        keys: &[],
        tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
        syntax: "[flush-type<ASYNC@4.0.0 | SYNC@6.2.0>]",
        run: Run::Control(flushall),
    },
    CommandSpec {
        name: "flushdb",
        group: Group::Server,
        summary: "Removes all keys of the database.",
        since: "1.0.0",
        complexity: "O(N) where N is the number of keys in the selected database",
        arity: -1,
        flags: Flags::WRITE,
        categories: Categories::KEYSPACE.union(Categories::DANGEROUS),
        keys: &[],
        tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
        syntax: "[flush-type<ASYNC@4.0.0 | SYNC@6.2.0>]",
        run: Run::Control(flushdb),
    },
    CommandSpec {
        name: "swapdb",
        group: Group::Server,
        summary: "Exchanges two databases.",
        since: "4.0.0",
        complexity: "O(N) where N is the count of clients watching or blocking on keys from both databases.",
        arity: 3,
        flags: Flags::WRITE.union(Flags::FAST),
        categories: Categories::KEYSPACE.union(Categories::DANGEROUS),
        keys: &[],
        tips: &[],
        syntax: "index1:integer index2:integer",
        run: Run::Control(swapdb),
    },
];

const NO_SUCH_DB: CommandError = CommandError::DbOutOfRange;
const SAME_KEY: CommandError = CommandError::SameObject;

fn del(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    remove_all(ctx, args)
}

fn unlink(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    remove_all(ctx, args)
}

fn remove_all(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let mut removed = 0;
    for key in args.from(1).iter() {
        if ctx.remove(key) {
            ctx.event(EventClass::GENERIC, "del", key);
            removed += 1;
        }
    }
    ctx.reply.integer(removed);
    Ok(())
}

fn exists(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let found = args
        .from(1)
        .iter()
        .filter(|key| ctx.untouched(key).is_some())
        .count();
    ctx.reply.integer(found as i64);
    Ok(())
}

fn touch(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let found = args
        .from(1)
        .iter()
        .filter(|key| ctx.value(key).is_some())
        .count();
    ctx.reply.integer(found as i64);
    Ok(())
}

fn type_(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let name = ctx
        .untouched(args.arg(1))
        .map_or("none", |value| value.kind().name());
    ctx.reply.simple(name);
    Ok(())
}

fn rename(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    if rename_to(ctx, args, true)? {
        ctx.reply.ok();
    }
    Ok(())
}

fn renamenx(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let renamed = rename_to(ctx, args, false)?;
    ctx.reply.integer(i64::from(renamed));
    Ok(())
}

/// Moves a value to its new name. False when the name is taken and must not be replaced.
fn rename_to(ctx: &mut WriteCtx<'_>, args: Args<'_>, replace: bool) -> Result<bool, CommandError> {
    let (from, to) = (args.arg(1), args.arg(2));
    if !ctx.contains(from) {
        return Err(CommandError::NoSuchKey);
    }
    if from == to {
        return Ok(replace);
    }
    if !replace && ctx.contains(to) {
        return Ok(false);
    }
    let db = ctx.session.db;
    let Some((value, deadline)) = ctx.take_value_at(db, from) else {
        return Err(CommandError::NoSuchKey);
    };
    ctx.set_value(to, value, false);
    ctx.set_deadline_at(db, to, deadline);
    ctx.event(EventClass::GENERIC, "rename_from", from);
    ctx.event(EventClass::GENERIC, "rename_to", to);
    Ok(true)
}

/// An existing database from its text.
fn db_index(ctx: &WriteCtx<'_>, text: &[u8]) -> Result<usize, CommandError> {
    let index = parse_i64(text).ok_or(CommandError::NotInteger)?;
    existing_db(ctx.engine().store.len(), index)
}

fn existing_db(count: usize, index: i64) -> Result<usize, CommandError> {
    usize::try_from(index)
        .ok()
        .filter(|&index| index < count)
        .ok_or(NO_SUCH_DB)
}

fn copy(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (from, to) = (args.arg(1), args.arg(2));
    let mut target_db = ctx.session.db;
    let mut replace = false;
    let mut options = args.from(3).iter();
    while let Some(option) = options.next() {
        if option.eq_ignore_ascii_case(b"replace") {
            replace = true;
        } else if option.eq_ignore_ascii_case(b"db") {
            target_db = db_index(ctx, options.next().ok_or(CommandError::Syntax)?)?;
        } else {
            return Err(CommandError::Syntax);
        }
    }
    let source_db = ctx.session.db;
    if source_db == target_db && from == to {
        return Err(SAME_KEY);
    }
    let now_ms = ctx.now.unix_ms();
    ctx.expire_if_due(target_db, to);
    let Some(value) = ctx.value(from).map(|value| value.to_value()) else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let deadline = ctx.db().deadline(from);
    if ctx.db_at(target_db).get(to, now_ms).is_some() && !replace {
        ctx.reply.integer(0);
        return Ok(());
    }
    ctx.set_value_at(target_db, to, value, false);
    ctx.set_deadline_at(target_db, to, deadline);
    ctx.event_at(target_db, EventClass::GENERIC, "copy_to", to);
    ctx.reply.integer(1);
    Ok(())
}

fn move_(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(1);
    let source_db = ctx.session.db;
    let target_db = db_index(ctx, args.arg(2))?;
    if source_db == target_db {
        return Err(SAME_KEY);
    }
    let now_ms = ctx.now.unix_ms();
    ctx.expire_if_due(target_db, key);
    if !ctx.contains(key) || ctx.db_at(target_db).get(key, now_ms).is_some() {
        ctx.reply.integer(0);
        return Ok(());
    }
    if let Some((value, deadline)) = ctx.take_value_at(source_db, key) {
        ctx.set_value_at(target_db, key, value, false);
        ctx.set_deadline_at(target_db, key, deadline);
    }
    ctx.event_at(source_db, EventClass::GENERIC, "move_from", key);
    ctx.event_at(target_db, EventClass::GENERIC, "move_to", key);
    ctx.reply.integer(1);
    Ok(())
}

/// SYNC and ASYNC are accepted alike: big values are always dropped aside.
fn check_flush_options(args: Args<'_>) -> Handled {
    let known = match args.len() {
        1 => true,
        2 => {
            args.arg(1).eq_ignore_ascii_case(b"sync") || args.arg(1).eq_ignore_ascii_case(b"async")
        }
        _ => false,
    };
    known.then_some(()).ok_or(CommandError::Syntax)
}

fn flushall(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    check_flush_options(args)?;
    for index in 0..ctx.engine.store.len() {
        let removed = ctx.engine.flush_db(index, ctx.now);
        ctx.engine.dirty += removed as u64;
    }
    ctx.engine.all_keys_changed();
    if ctx.session.origin != Origin::Replay {
        ctx.engine.save_emptiness(ctx.now);
    }
    ctx.force_effect();
    ctx.reply.ok();
    Ok(())
}

fn flushdb(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    check_flush_options(args)?;
    let removed = ctx.engine.flush_db(ctx.session.db, ctx.now);
    ctx.engine.all_keys_changed();
    ctx.changed(removed as u64);
    ctx.force_effect();
    ctx.reply.ok();
    Ok(())
}

fn swapdb(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let index = |text: &[u8], error: &'static str| parse_i64(text).ok_or(CommandError::Text(error));
    let first = index(args.arg(1), "ERR invalid first DB index")?;
    let second = index(args.arg(2), "ERR invalid second DB index")?;
    let count = ctx.engine.store.len();
    let (first, second) = (existing_db(count, first)?, existing_db(count, second)?);
    ctx.engine.swap_dbs(first, second, ctx.now);
    ctx.changed(1);
    ctx.reply.ok();
    Ok(())
}
