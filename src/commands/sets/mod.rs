//! Sets: distinct members, and what several sets have in common.

mod combine;
mod random;
mod write;

use super::scanning;
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::settings::Settings;
use crate::store::decimal::Scratch;
use crate::store::set::{Set, SetLimits};

const WRITE_DENYOOM_FAST: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::FAST);
const READ_FAST: Flags = Flags::READONLY.union(Flags::FAST);
const WRITE_DENYOOM: Flags = Flags::WRITE.union(Flags::DENYOOM);
const WRITE_FAST: Flags = Flags::WRITE.union(Flags::FAST);

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "sadd",
        group: Group::Set,
        summary: "Adds members to a set.",
        since: "1.0.0",
        complexity: "O(N), N members added",
        arity: -3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::SET,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::INSERT))],
        tips: &[],
        syntax: "key#0 member...",
        run: Run::Write(write::sadd),
    },
    CommandSpec {
        name: "scard",
        group: Group::Set,
        summary: "Counts the members of a set.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: READ_FAST,
        categories: Categories::SET,
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0",
        run: Run::Read(scard),
    },
    CommandSpec {
        name: "sdiff",
        group: Group::Set,
        summary: "Returns the members of the first set that no other set has.",
        since: "1.0.0",
        complexity: "O(N), N members in all sets",
        arity: -2,
        flags: Flags::READONLY,
        categories: Categories::SET,
        keys: &[KeySpec::range(
            1,
            -1,
            1,
            KeyFlags::RO.union(KeyFlags::ACCESS),
        )],
        tips: &["nondeterministic_output_order"],
        syntax: "key#0...",
        run: Run::Read(combine::sdiff),
    },
    CommandSpec {
        name: "sdiffstore",
        group: Group::Set,
        summary: "Stores the members of the first set that no other set has.",
        since: "1.0.0",
        complexity: "O(N), N members in all sets",
        arity: -3,
        flags: WRITE_DENYOOM,
        categories: Categories::SET,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE)),
            KeySpec::range(2, -1, 1, KeyFlags::RO.union(KeyFlags::ACCESS)),
        ],
        tips: &[],
        syntax: "destination#0 key#1...",
        run: Run::Write(combine::sdiffstore),
    },
    CommandSpec {
        name: "sinter",
        group: Group::Set,
        summary: "Returns the members that all sets have.",
        since: "1.0.0",
        complexity: "O(N*M), N members in the smallest of M sets",
        arity: -2,
        flags: Flags::READONLY,
        categories: Categories::SET,
        keys: &[KeySpec::range(
            1,
            -1,
            1,
            KeyFlags::RO.union(KeyFlags::ACCESS),
        )],
        tips: &["nondeterministic_output_order"],
        syntax: "key#0...",
        run: Run::Read(combine::sinter),
    },
    CommandSpec {
        name: "sintercard",
        group: Group::Set,
        summary: "Counts the members that all sets have.",
        since: "7.0.0",
        complexity: "O(N*M), N members in the smallest of M sets",
        arity: -3,
        flags: Flags::READONLY,
        categories: Categories::SET,
        keys: &[KeySpec::counted(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "numkeys:integer key#0... [LIMIT=limit:integer]",
        run: Run::Read(combine::sintercard),
    },
    CommandSpec {
        name: "sinterstore",
        group: Group::Set,
        summary: "Stores the members that all sets have.",
        since: "1.0.0",
        complexity: "O(N*M), N members in the smallest of M sets",
        arity: -3,
        flags: WRITE_DENYOOM,
        categories: Categories::SET,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE)),
            KeySpec::range(2, -1, 1, KeyFlags::RO.union(KeyFlags::ACCESS)),
        ],
        tips: &[],
        syntax: "destination#0 key#1...",
        run: Run::Write(combine::sinterstore),
    },
    CommandSpec {
        name: "sismember",
        group: Group::Set,
        summary: "Tells whether a set has a member.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: READ_FAST,
        categories: Categories::SET,
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0 member",
        run: Run::Read(sismember),
    },
    CommandSpec {
        name: "smembers",
        group: Group::Set,
        summary: "Returns all members of a set.",
        since: "1.0.0",
        complexity: "O(N), N members in the set",
        arity: 2,
        flags: Flags::READONLY,
        categories: Categories::SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output_order"],
        syntax: "key#0",
        run: Run::Read(smembers),
    },
    CommandSpec {
        name: "smismember",
        group: Group::Set,
        summary: "Tells of several members whether a set has them.",
        since: "6.2.0",
        complexity: "O(N), N members asked for",
        arity: -3,
        flags: READ_FAST,
        categories: Categories::SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 member...",
        run: Run::Read(smismember),
    },
    CommandSpec {
        name: "smove",
        group: Group::Set,
        summary: "Moves a member from one set to another.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 4,
        flags: WRITE_FAST,
        categories: Categories::SET,
        keys: &[
            KeySpec::one(
                1,
                KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
            ),
            KeySpec::one(2, KeyFlags::RW.union(KeyFlags::INSERT)),
        ],
        tips: &[],
        syntax: "source#0 destination#1 member",
        run: Run::Write(write::smove),
    },
    CommandSpec {
        name: "spop",
        group: Group::Set,
        summary: "Removes and returns members of a set at random.",
        since: "1.0.0",
        complexity: "O(N), N members removed",
        arity: -2,
        flags: WRITE_FAST,
        categories: Categories::SET,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
        )],
        tips: &["nondeterministic_output"],
        syntax: "key#0 [count:integer@3.2.0]",
        run: Run::Write(random::spop),
    },
    CommandSpec {
        name: "srandmember",
        group: Group::Set,
        summary: "Returns members of a set at random.",
        since: "1.0.0",
        complexity: "O(N), N members returned",
        arity: -2,
        flags: Flags::READONLY,
        categories: Categories::SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        syntax: "key#0 [count:integer@2.6.0]",
        run: Run::Read(random::srandmember),
    },
    CommandSpec {
        name: "srem",
        group: Group::Set,
        summary: "Removes members of a set.",
        since: "1.0.0",
        complexity: "O(N), N members given",
        arity: -3,
        flags: WRITE_FAST,
        categories: Categories::SET,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &[],
        syntax: "key#0 member...",
        run: Run::Write(write::srem),
    },
    CommandSpec {
        name: "sscan",
        group: Group::Set,
        summary: "Walks over the members of a set.",
        since: "2.8.0",
        complexity: "O(1) a call, O(N) for a whole walk",
        arity: -3,
        flags: Flags::READONLY,
        categories: Categories::SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        syntax: "key#0 cursor:integer [MATCH=pattern:pattern] [COUNT=count:integer]",
        run: Run::Read(sscan),
    },
    CommandSpec {
        name: "sunion",
        group: Group::Set,
        summary: "Returns the members that any of the sets has.",
        since: "1.0.0",
        complexity: "O(N), N members in all sets",
        arity: -2,
        flags: Flags::READONLY,
        categories: Categories::SET,
        keys: &[KeySpec::range(
            1,
            -1,
            1,
            KeyFlags::RO.union(KeyFlags::ACCESS),
        )],
        tips: &["nondeterministic_output_order"],
        syntax: "key#0...",
        run: Run::Read(combine::sunion),
    },
    CommandSpec {
        name: "sunionstore",
        group: Group::Set,
        summary: "Stores the members that any of the sets has.",
        since: "1.0.0",
        complexity: "O(N), N members in all sets",
        arity: -3,
        flags: WRITE_DENYOOM,
        categories: Categories::SET,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE)),
            KeySpec::range(2, -1, 1, KeyFlags::RO.union(KeyFlags::ACCESS)),
        ],
        tips: &[],
        syntax: "destination#0 key#1...",
        run: Run::Write(combine::sunionstore),
    },
];

/// When a set leaves its small encodings.
fn limits(settings: &Settings) -> SetLimits {
    SetLimits {
        intset_entries: settings.set_max_intset_entries,
        listpack_entries: settings.set_max_listpack_entries,
        listpack_value_len: settings.set_max_listpack_value,
    }
}

fn smembers(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let set = ctx.read::<Set>(args.arg(1))?;
    let mut scratch = Scratch::default();
    ctx.reply.set(set.map_or(0, Set::len));
    for member in set.into_iter().flat_map(Set::iter) {
        ctx.reply.bulk(member.bytes(&mut scratch));
    }
    Ok(())
}

fn sismember(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let set = ctx.read::<Set>(args.arg(1))?;
    let has_member = set.is_some_and(|set| set.contains(args.arg(2)));
    ctx.reply.integer(i64::from(has_member));
    Ok(())
}

fn smismember(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let set = ctx.read::<Set>(args.arg(1))?;
    let members = args.from(2);
    ctx.reply.array(members.len());
    for member in members {
        let has_member = set.is_some_and(|set| set.contains(member));
        ctx.reply.integer(i64::from(has_member));
    }
    Ok(())
}

fn scard(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let len = ctx.read::<Set>(args.arg(1))?.map_or(0, Set::len);
    ctx.reply.integer(len as i64);
    Ok(())
}

fn sscan(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    scanning::scan::<Set>(ctx, args, |set, cursor, options, found| {
        set.scan(cursor, options.count, |member| {
            if options.matches(member) {
                found.push(member.to_vec());
            }
        })
    })
}
