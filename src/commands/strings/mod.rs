//! Strings: set, counted, cut and compared.

mod lcs;
mod lifetime;
mod numbers;
mod ranges;
mod set;

use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use crate::store::decimal::Scratch;
use crate::store::string::StringValue;
use crate::store::value::ValueType;

const WRITE_DENYOOM_FAST: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::FAST);
const READ_FAST: Flags = Flags::READONLY.union(Flags::FAST);
const WRITE_FAST: Flags = Flags::WRITE.union(Flags::FAST);
const WRITE_DENYOOM: Flags = Flags::WRITE.union(Flags::DENYOOM);

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "append",
        group: Group::String,
        summary: "Appends to the string of a key.",
        since: "2.0.0",
        complexity: "O(1) amortised",
        arity: 3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::INSERT))],
        tips: &[],
        syntax: "key#0 value",
        run: Run::Write(ranges::append),
    },
    CommandSpec {
        name: "decr",
        group: Group::String,
        summary: "Takes one from the integer of a key.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE),
        )],
        tips: &[],
        syntax: "key#0",
        run: Run::Write(numbers::decr),
    },
    CommandSpec {
        name: "decrby",
        group: Group::String,
        summary: "Takes from the integer of a key.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE),
        )],
        tips: &[],
        syntax: "key#0 decrement:integer",
        run: Run::Write(numbers::decrby),
    },
    CommandSpec {
        name: "get",
        group: Group::String,
        summary: "Returns the string of a key.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: READ_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0",
        run: Run::Read(get),
    },
    CommandSpec {
        name: "getdel",
        group: Group::String,
        summary: "Returns the string of a key and deletes the key.",
        since: "6.2.0",
        complexity: "O(1)",
        arity: 2,
        flags: WRITE_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
        )],
        tips: &[],
        syntax: "key#0",
        run: Run::Write(set::getdel),
    },
    CommandSpec {
        name: "getex",
        group: Group::String,
        summary: "Returns the string of a key and sets or removes its deadline.",
        since: "6.2.0",
        complexity: "O(1)",
        arity: -2,
        flags: WRITE_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec {
            notes: "may change the deadline",
            ..KeySpec::one(
                1,
                KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE),
            )
        }],
        tips: &[],
        syntax: "key#0 [expiration<EX=seconds:integer | PX=milliseconds:integer | EXAT=unix-time-seconds:unix-time | PXAT=unix-time-milliseconds:unix-time | PERSIST>]",
        run: Run::Write(set::getex),
    },
    CommandSpec {
        name: "getrange",
        group: Group::String,
        summary: "Returns a part of the string of a key.",
        since: "2.4.0",
        complexity: "O(N), N bytes returned",
        arity: 4,
        flags: Flags::READONLY,
        categories: Categories::STRING,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 start:integer end:integer",
        run: Run::Read(ranges::getrange),
    },
    CommandSpec {
        name: "getset",
        group: Group::String,
        summary: "Sets a key to a string and returns the old one.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE),
        )],
        tips: &[],
        syntax: "key#0 value",
        run: Run::Write(set::getset),
    },
    CommandSpec {
        name: "incr",
        group: Group::String,
        summary: "Adds one to the integer of a key.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE),
        )],
        tips: &[],
        syntax: "key#0",
        run: Run::Write(numbers::incr),
    },
    CommandSpec {
        name: "incrby",
        group: Group::String,
        summary: "Adds to the integer of a key.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE),
        )],
        tips: &[],
        syntax: "key#0 increment:integer",
        run: Run::Write(numbers::incrby),
    },
    CommandSpec {
        name: "incrbyfloat",
        group: Group::String,
        summary: "Adds to the number of a key, fractions included.",
        since: "2.6.0",
        complexity: "O(1)",
        arity: 3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE),
        )],
        tips: &[],
        syntax: "key#0 increment:double",
        run: Run::Write(numbers::incrbyfloat),
    },
    CommandSpec {
        name: "lcs",
        group: Group::String,
        summary: "Finds the longest common subsequence of two strings.",
        since: "7.0.0",
        complexity: "O(N*M), the lengths of both strings",
        arity: -3,
        flags: Flags::READONLY,
        categories: Categories::STRING,
        keys: &[KeySpec::range(
            1,
            1,
            1,
            KeyFlags::RO.union(KeyFlags::ACCESS),
        )],
        tips: &[],
        syntax: "key1#0 key2#0 [LEN] [IDX] [MINMATCHLEN=min-match-len:integer] [WITHMATCHLEN]",
        run: Run::Read(lcs::lcs),
    },
    CommandSpec {
        name: "mget",
        group: Group::String,
        summary: "Returns the strings of several keys.",
        since: "1.0.0",
        complexity: "O(N), N keys",
        arity: -2,
        flags: READ_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::range(
            1,
            -1,
            1,
            KeyFlags::RO.union(KeyFlags::ACCESS),
        )],
        tips: &["request_policy:multi_shard"],
        syntax: "key#0...",
        run: Run::Read(mget),
    },
    CommandSpec {
        name: "mset",
        group: Group::String,
        summary: "Sets several keys to strings at once.",
        since: "1.0.1",
        complexity: "O(N), N keys",
        arity: -3,
        flags: WRITE_DENYOOM,
        categories: Categories::STRING,
        keys: &[KeySpec::range(
            1,
            -1,
            2,
            KeyFlags::OW.union(KeyFlags::UPDATE),
        )],
        tips: &[
            "request_policy:multi_shard",
            "response_policy:all_succeeded",
        ],
        syntax: "data(key#0 value)...",
        run: Run::Write(set::mset),
    },
    CommandSpec {
        name: "msetnx",
        group: Group::String,
        summary: "Sets several keys to strings unless one of them exists.",
        since: "1.0.1",
        complexity: "O(N), N keys",
        arity: -3,
        flags: WRITE_DENYOOM,
        categories: Categories::STRING,
        keys: &[KeySpec::range(
            1,
            -1,
            2,
            KeyFlags::OW.union(KeyFlags::INSERT),
        )],
        tips: &[],
        syntax: "data(key#0 value)...",
        run: Run::Write(set::msetnx),
    },
    CommandSpec {
        name: "psetex",
        group: Group::String,
        summary: "Sets a key to a string and its deadline in milliseconds from now.",
        since: "2.6.0",
        complexity: "O(1)",
        arity: 4,
        flags: WRITE_DENYOOM,
        categories: Categories::STRING,
        keys: &[KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 milliseconds:integer value",
        run: Run::Write(set::psetex),
    },
    CommandSpec {
        name: "set",
        group: Group::String,
        summary: "Sets a key to a string, whatever it held before.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: -3,
        flags: WRITE_DENYOOM,
        categories: Categories::STRING,
        keys: &[KeySpec {
            notes: "GET also reads the old value",
            ..KeySpec::one(
                1,
                KeyFlags::RW
                    .union(KeyFlags::ACCESS)
                    .union(KeyFlags::UPDATE)
                    .union(KeyFlags::VARIABLE_FLAGS),
            )
        }],
        tips: &[],
        syntax: "key#0 value [condition<NX | XX>@2.6.12] [GET@6.2.0] [expiration<EX=seconds:integer@2.6.12 | PX=milliseconds:integer@2.6.12 | EXAT=unix-time-seconds:unix-time@6.2.0 | PXAT=unix-time-milliseconds:unix-time@6.2.0 | KEEPTTL@6.0.0>]",
        run: Run::Write(set::set),
    },
    CommandSpec {
        name: "setex",
        group: Group::String,
        summary: "Sets a key to a string and its deadline in seconds from now.",
        since: "2.0.0",
        complexity: "O(1)",
        arity: 4,
        flags: WRITE_DENYOOM,
        categories: Categories::STRING,
        keys: &[KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 seconds:integer value",
        run: Run::Write(set::setex),
    },
    CommandSpec {
        name: "setnx",
        group: Group::String,
        summary: "Sets a key to a string unless it exists.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(1, KeyFlags::OW.union(KeyFlags::INSERT))],
        tips: &[],
        syntax: "key#0 value",
        run: Run::Write(set::setnx),
    },
    CommandSpec {
        name: "setrange",
        group: Group::String,
        summary: "Overwrites a part of the string of a key.",
        since: "2.2.0",
        complexity: "O(M), M bytes written",
        arity: 4,
        flags: WRITE_DENYOOM,
        categories: Categories::STRING,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 offset:integer value",
        run: Run::Write(ranges::setrange),
    },
    CommandSpec {
        name: "strlen",
        group: Group::String,
        summary: "Returns the length of the string of a key.",
        since: "2.2.0",
        complexity: "O(1)",
        arity: 2,
        flags: READ_FAST,
        categories: Categories::STRING,
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0",
        run: Run::Read(ranges::strlen),
    },
    CommandSpec {
        name: "substr",
        group: Group::String,
        summary: "Returns a part of the string of a key.",
        since: "1.0.0",
        complexity: "O(N), N bytes returned",
        arity: 4,
        flags: Flags::READONLY,
        categories: Categories::STRING,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 start:integer end:integer",
        run: Run::Read(ranges::getrange),
    },
];

fn get(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    match ctx.read::<StringValue>(args.arg(1))? {
        Some(value) => bulk(ctx.reply, value),
        None => ctx.reply.null(),
    }
    Ok(())
}

fn mget(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    ctx.reply.array(args.len() - 1);
    for key in args.from(1) {
        match ctx.value(key).and_then(StringValue::from_ref) {
            Some(value) => bulk(ctx.reply, value),
            None => ctx.reply.null(),
        }
    }
    Ok(())
}

fn bulk(reply: &mut Reply, value: &StringValue) {
    reply.bulk(value.bytes(&mut Scratch::default()));
}

/// Answers with the string of a key, as GET does inside a command that writes; false
/// if there is none.
fn read_for_reply(ctx: &mut WriteCtx<'_>, key: &[u8]) -> Result<bool, CommandError> {
    // The reply is taken out so that the value need not be copied to be written.
    let mut reply = std::mem::take(&mut *ctx.reply);
    let found = ctx.read::<StringValue>(key).map(|value| {
        match value {
            Some(value) => bulk(&mut reply, value),
            None => reply.null(),
        }
        value.is_some()
    });
    *ctx.reply = reply;
    ctx.count_lookup(*found.as_ref().unwrap_or(&true));
    found
}
