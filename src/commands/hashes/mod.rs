//! Hashes: fields and their values.

mod random;
mod write;

use super::scanning;
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::settings::Settings;
use crate::store::hash::{Hash, HashLimits};

const WRITE_FAST: Flags = Flags::WRITE.union(Flags::FAST);
const READ_FAST: Flags = Flags::READONLY.union(Flags::FAST);
const WRITE_DENYOOM_FAST: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::FAST);

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "hdel",
        group: Group::Hash,
        summary: "Deletes fields of a hash.",
        since: "2.0.0",
        complexity: "O(N), N fields given",
        arity: -3,
        flags: WRITE_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &[],
        syntax: "key#0 field...",
        run: Run::Write(write::hdel),
    },
    CommandSpec {
        name: "hexists",
        group: Group::Hash,
        summary: "Tells whether a hash has a field.",
        since: "2.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: READ_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0 field",
        run: Run::Read(hexists),
    },
    CommandSpec {
        name: "hget",
        group: Group::Hash,
        summary: "Returns the value of a field.",
        since: "2.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: READ_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 field",
        run: Run::Read(hget),
    },
    CommandSpec {
        name: "hgetall",
        group: Group::Hash,
        summary: "Returns all fields and values of a hash.",
        since: "2.0.0",
        complexity: "O(N), N fields in the hash",
        arity: 2,
        flags: Flags::READONLY,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output_order"],
        syntax: "key#0",
        run: Run::Read(hgetall),
    },
    CommandSpec {
        name: "hincrby",
        group: Group::Hash,
        summary: "Adds to the integer of a field.",
        since: "2.0.0",
        complexity: "O(1)",
        arity: 4,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE),
        )],
        tips: &[],
        syntax: "key#0 field increment:integer",
        run: Run::Write(write::hincrby),
    },
    CommandSpec {
        name: "hincrbyfloat",
        group: Group::Hash,
        summary: "Adds to the number of a field, fractions included.",
        since: "2.6.0",
        complexity: "O(1)",
        arity: 4,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE),
        )],
        tips: &[],
        syntax: "key#0 field increment:double",
        run: Run::Write(write::hincrbyfloat),
    },
    CommandSpec {
        name: "hkeys",
        group: Group::Hash,
        summary: "Returns all fields of a hash.",
        since: "2.0.0",
        complexity: "O(N), N fields in the hash",
        arity: 2,
        flags: Flags::READONLY,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output_order"],
        syntax: "key#0",
        run: Run::Read(hkeys),
    },
    CommandSpec {
        name: "hlen",
        group: Group::Hash,
        summary: "Counts the fields of a hash.",
        since: "2.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: READ_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0",
        run: Run::Read(hlen),
    },
    CommandSpec {
        name: "hmget",
        group: Group::Hash,
        summary: "Returns the values of several fields.",
        since: "2.0.0",
        complexity: "O(N), N fields asked for",
        arity: -3,
        flags: READ_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 field...",
        run: Run::Read(hmget),
    },
    CommandSpec {
        name: "hmset",
        group: Group::Hash,
        summary: "Sets fields of a hash.",
        since: "2.0.0",
        complexity: "O(N), N fields set",
        arity: -4,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 data(field value)...",
        run: Run::Write(write::hmset),
    },
    CommandSpec {
        name: "hrandfield",
        group: Group::Hash,
        summary: "Returns fields of a hash at random.",
        since: "6.2.0",
        complexity: "O(N), N fields returned",
        arity: -2,
        flags: Flags::READONLY,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        syntax: "key#0 [options(count:integer [WITHVALUES])]",
        run: Run::Read(random::hrandfield),
    },
    CommandSpec {
        name: "hscan",
        group: Group::Hash,
        summary: "Walks over the fields and values of a hash.",
        since: "2.8.0",
        complexity: "O(1) a call, O(N) for a whole walk",
        arity: -3,
        flags: Flags::READONLY,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        syntax: "key#0 cursor:integer [MATCH=pattern:pattern] [COUNT=count:integer]",
        run: Run::Read(hscan),
    },
    CommandSpec {
        name: "hset",
        group: Group::Hash,
        summary: "Sets fields of a hash.",
        since: "2.0.0",
        complexity: "O(N), N fields set",
        arity: -4,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 data(field value)...",
        run: Run::Write(write::hset),
    },
    CommandSpec {
        name: "hsetnx",
        group: Group::Hash,
        summary: "Sets a field of a hash unless it exists.",
        since: "2.0.0",
        complexity: "O(1)",
        arity: 4,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::INSERT))],
        tips: &[],
        syntax: "key#0 field value",
        run: Run::Write(write::hsetnx),
    },
    CommandSpec {
        name: "hstrlen",
        group: Group::Hash,
        summary: "Returns the length of a field's value.",
        since: "3.2.0",
        complexity: "O(1)",
        arity: 3,
        flags: READ_FAST,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0 field",
        run: Run::Read(hstrlen),
    },
    CommandSpec {
        name: "hvals",
        group: Group::Hash,
        summary: "Returns all values of a hash.",
        since: "2.0.0",
        complexity: "O(N), N fields in the hash",
        arity: 2,
        flags: Flags::READONLY,
        categories: Categories::HASH,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output_order"],
        syntax: "key#0",
        run: Run::Read(hvals),
    },
];

/// When a hash leaves its small encoding.
fn limits(settings: &Settings) -> HashLimits {
    HashLimits {
        entries: settings.hash_max_listpack_entries,
        value_len: settings.hash_max_listpack_value,
    }
}

fn hget(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    match ctx
        .read::<Hash>(args.arg(1))?
        .and_then(|hash| hash.get(args.arg(2)))
    {
        Some(value) => ctx.reply.bulk(value),
        None => ctx.reply.null(),
    }
    Ok(())
}

fn hmget(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let hash = ctx.read::<Hash>(args.arg(1))?;
    let fields = args.from(2);
    ctx.reply.array(fields.len());
    for field in fields {
        match hash.and_then(|hash| hash.get(field)) {
            Some(value) => ctx.reply.bulk(value),
            None => ctx.reply.null(),
        }
    }
    Ok(())
}

fn hgetall(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let hash = ctx.read::<Hash>(args.arg(1))?;
    ctx.reply.map(hash.map_or(0, Hash::len));
    for (field, value) in hash.into_iter().flat_map(Hash::iter) {
        ctx.reply.bulk(field);
        ctx.reply.bulk(value);
    }
    Ok(())
}

fn hkeys(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let hash = ctx.read::<Hash>(args.arg(1))?;
    ctx.reply.array(hash.map_or(0, Hash::len));
    for (field, _) in hash.into_iter().flat_map(Hash::iter) {
        ctx.reply.bulk(field);
    }
    Ok(())
}

fn hvals(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let hash = ctx.read::<Hash>(args.arg(1))?;
    ctx.reply.array(hash.map_or(0, Hash::len));
    for (_, value) in hash.into_iter().flat_map(Hash::iter) {
        ctx.reply.bulk(value);
    }
    Ok(())
}

fn hlen(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let len = ctx.read::<Hash>(args.arg(1))?.map_or(0, Hash::len);
    ctx.reply.integer(len as i64);
    Ok(())
}

fn hexists(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let hash = ctx.read::<Hash>(args.arg(1))?;
    let exists = hash.is_some_and(|hash| hash.contains(args.arg(2)));
    ctx.reply.integer(i64::from(exists));
    Ok(())
}

fn hstrlen(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let hash = ctx.read::<Hash>(args.arg(1))?;
    let len = hash
        .and_then(|hash| hash.get(args.arg(2)))
        .map_or(0, <[u8]>::len);
    ctx.reply.integer(len as i64);
    Ok(())
}

fn hscan(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    scanning::scan::<Hash>(ctx, args, |hash, cursor, options, found| {
        hash.scan(cursor, options.count, |field, value| {
            if options.matches(field) {
                found.push(field.to_vec());
                found.push(value.to_vec());
            }
        })
    })
}
