//! Lists: queues and stacks, with ends to wait at.

mod blocking;
mod search;
mod write;

use super::numbers::{integer, position, range};
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use crate::settings::Settings;
use crate::store::list::{End, List, ListLimits};

const WRITE_DENYOOM_BLOCKING: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::BLOCKING);
const WRITE_BLOCKING: Flags = Flags::WRITE.union(Flags::BLOCKING);
const WRITE_DENYOOM: Flags = Flags::WRITE.union(Flags::DENYOOM);
const READ_FAST: Flags = Flags::READONLY.union(Flags::FAST);
const WRITE_FAST: Flags = Flags::WRITE.union(Flags::FAST);
const WRITE_DENYOOM_FAST: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::FAST);

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "blmove",
        group: Group::List,
        summary: "Moves an element between lists, waiting for one if need be.",
        since: "6.2.0",
        complexity: "O(1)",
        arity: 6,
        flags: WRITE_DENYOOM_BLOCKING,
        categories: Categories::LIST,
        keys: &[
            KeySpec::one(
                1,
                KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
            ),
            KeySpec::one(2, KeyFlags::RW.union(KeyFlags::INSERT)),
        ],
        tips: &[],
        syntax: "source#0 destination#1 wherefrom<LEFT | RIGHT> whereto<LEFT | RIGHT> timeout:double",
        run: Run::Write(blocking::blmove),
    },
    CommandSpec {
        name: "blmpop",
        group: Group::List,
        summary: "Removes and returns elements of the first list that has any, waiting for some if need be.",
        since: "7.0.0",
        complexity: "O(N+M), N keys, M elements returned",
        arity: -5,
        flags: WRITE_BLOCKING,
        categories: Categories::LIST,
        keys: &[KeySpec::counted(
            2,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
        )],
        tips: &[],
        syntax: "timeout:double numkeys:integer key#0... where<LEFT | RIGHT> [COUNT=count:integer]",
        run: Run::Write(blocking::blmpop),
    },
    CommandSpec {
        name: "blpop",
        group: Group::List,
        summary: "Removes and returns the first element of a list, waiting for one if need be.",
        since: "2.0.0",
        complexity: "O(N), N keys",
        arity: -3,
        flags: WRITE_BLOCKING,
        categories: Categories::LIST,
        keys: &[KeySpec::range(
            1,
            -2,
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
        )],
        tips: &[],
        syntax: "key#0... timeout:double",
        run: Run::Write(blocking::blpop),
    },
    CommandSpec {
        name: "brpop",
        group: Group::List,
        summary: "Removes and returns the last element of a list, waiting for one if need be.",
        since: "2.0.0",
        complexity: "O(N), N keys",
        arity: -3,
        flags: WRITE_BLOCKING,
        categories: Categories::LIST,
        keys: &[KeySpec::range(
            1,
            -2,
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
        )],
        tips: &[],
        syntax: "key#0... timeout:double",
        run: Run::Write(blocking::brpop),
    },
    CommandSpec {
        name: "brpoplpush",
        group: Group::List,
        summary: "Moves the last element of a list to the head of another, waiting for one if need be.",
        since: "2.2.0",
        complexity: "O(1)",
        arity: 4,
        flags: WRITE_DENYOOM_BLOCKING,
        categories: Categories::LIST,
        keys: &[
            KeySpec::one(
                1,
                KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
            ),
            KeySpec::one(2, KeyFlags::RW.union(KeyFlags::INSERT)),
        ],
        tips: &[],
        syntax: "source#0 destination#1 timeout:double",
        run: Run::Write(blocking::brpoplpush),
    },
    CommandSpec {
        name: "lindex",
        group: Group::List,
        summary: "Returns the element at an index.",
        since: "1.0.0",
        complexity: "O(N), N chunks to the nearer end",
        arity: 3,
        flags: Flags::READONLY,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 index:integer",
        run: Run::Read(lindex),
    },
    CommandSpec {
        name: "linsert",
        group: Group::List,
        summary: "Inserts an element beside another one.",
        since: "2.2.0",
        complexity: "O(N), N elements up to the pivot",
        arity: 5,
        flags: WRITE_DENYOOM,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::INSERT))],
        tips: &[],
        syntax: "key#0 where<BEFORE | AFTER> pivot element",
        run: Run::Write(write::linsert),
    },
    CommandSpec {
        name: "llen",
        group: Group::List,
        summary: "Counts the elements of a list.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 2,
        flags: READ_FAST,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0",
        run: Run::Read(llen),
    },
    CommandSpec {
        name: "lmove",
        group: Group::List,
        summary: "Moves an element from an end of one list to an end of another.",
        since: "6.2.0",
        complexity: "O(1)",
        arity: 5,
        flags: WRITE_DENYOOM,
        categories: Categories::LIST,
        keys: &[
            KeySpec::one(
                1,
                KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
            ),
            KeySpec::one(2, KeyFlags::RW.union(KeyFlags::INSERT)),
        ],
        tips: &[],
        syntax: "source#0 destination#1 wherefrom<LEFT | RIGHT> whereto<LEFT | RIGHT>",
        run: Run::Write(write::lmove),
    },
    CommandSpec {
        name: "lmpop",
        group: Group::List,
        summary: "Removes and returns elements of the first list that has any.",
        since: "7.0.0",
        complexity: "O(N+M), N keys, M elements returned",
        arity: -4,
        flags: Flags::WRITE,
        categories: Categories::LIST,
        keys: &[KeySpec::counted(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
        )],
        tips: &[],
        syntax: "numkeys:integer key#0... where<LEFT | RIGHT> [COUNT=count:integer]",
        run: Run::Write(write::lmpop),
    },
    CommandSpec {
        name: "lpop",
        group: Group::List,
        summary: "Removes and returns elements at the head of a list.",
        since: "1.0.0",
        complexity: "O(N), N elements returned",
        arity: -2,
        flags: WRITE_FAST,
        categories: Categories::LIST,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
        )],
        tips: &[],
        syntax: "key#0 [count:integer@6.2.0]",
        run: Run::Write(write::lpop),
    },
    CommandSpec {
        name: "lpos",
        group: Group::List,
        summary: "Finds the indexes of elements that equal a value.",
        since: "6.0.6",
        complexity: "O(N), N elements looked at",
        arity: -3,
        flags: Flags::READONLY,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 element [RANK=rank:integer] [COUNT=num-matches:integer] [MAXLEN=len:integer]",
        run: Run::Read(search::lpos),
    },
    CommandSpec {
        name: "lpush",
        group: Group::List,
        summary: "Adds elements at the head of a list.",
        since: "1.0.0",
        complexity: "O(N), N elements added",
        arity: -3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::INSERT))],
        tips: &[],
        syntax: "key#0 element...",
        run: Run::Write(write::lpush),
    },
    CommandSpec {
        name: "lpushx",
        group: Group::List,
        summary: "Adds elements at the head of a list that exists.",
        since: "2.2.0",
        complexity: "O(N), N elements added",
        arity: -3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::INSERT))],
        tips: &[],
        syntax: "key#0 element...",
        run: Run::Write(write::lpushx),
    },
    CommandSpec {
        name: "lrange",
        group: Group::List,
        summary: "Returns the elements between two indexes.",
        since: "1.0.0",
        complexity: "O(S+N), S chunks to the start, N elements returned",
        arity: 4,
        flags: Flags::READONLY,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 start:integer stop:integer",
        run: Run::Read(lrange),
    },
    CommandSpec {
        name: "lrem",
        group: Group::List,
        summary: "Removes the elements that equal a value.",
        since: "1.0.0",
        complexity: "O(N), N elements in the list",
        arity: 4,
        flags: Flags::WRITE,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &[],
        syntax: "key#0 count:integer element",
        run: Run::Write(write::lrem),
    },
    CommandSpec {
        name: "lset",
        group: Group::List,
        summary: "Replaces the element at an index.",
        since: "1.0.0",
        complexity: "O(N), N chunks to the nearer end",
        arity: 4,
        flags: WRITE_DENYOOM,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 index:integer element",
        run: Run::Write(write::lset),
    },
    CommandSpec {
        name: "ltrim",
        group: Group::List,
        summary: "Keeps only the elements between two indexes.",
        since: "1.0.0",
        complexity: "O(N), N elements removed",
        arity: 4,
        flags: Flags::WRITE,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::DELETE))],
        tips: &[],
        syntax: "key#0 start:integer stop:integer",
        run: Run::Write(write::ltrim),
    },
    CommandSpec {
        name: "rpop",
        group: Group::List,
        summary: "Removes and returns elements at the tail of a list.",
        since: "1.0.0",
        complexity: "O(N), N elements returned",
        arity: -2,
        flags: WRITE_FAST,
        categories: Categories::LIST,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
        )],
        tips: &[],
        syntax: "key#0 [count:integer@6.2.0]",
        run: Run::Write(write::rpop),
    },
    CommandSpec {
        name: "rpoplpush",
        group: Group::List,
        summary: "Moves the last element of a list to the head of another.",
        since: "1.2.0",
        complexity: "O(1)",
        arity: 3,
        flags: WRITE_DENYOOM,
        categories: Categories::LIST,
        keys: &[
            KeySpec::one(
                1,
                KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE),
            ),
            KeySpec::one(2, KeyFlags::RW.union(KeyFlags::INSERT)),
        ],
        tips: &[],
        syntax: "source#0 destination#1",
        run: Run::Write(write::rpoplpush),
    },
    CommandSpec {
        name: "rpush",
        group: Group::List,
        summary: "Adds elements at the tail of a list.",
        since: "1.0.0",
        complexity: "O(N), N elements added",
        arity: -3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::INSERT))],
        tips: &[],
        syntax: "key#0 element...",
        run: Run::Write(write::rpush),
    },
    CommandSpec {
        name: "rpushx",
        group: Group::List,
        summary: "Adds elements at the tail of a list that exists.",
        since: "2.2.0",
        complexity: "O(N), N elements added",
        arity: -3,
        flags: WRITE_DENYOOM_FAST,
        categories: Categories::LIST,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::INSERT))],
        tips: &[],
        syntax: "key#0 element...",
        run: Run::Write(write::rpushx),
    },
];

/// When a list leaves its small encoding.
pub fn limits(settings: &Settings) -> ListLimits {
    ListLimits {
        listpack_size: settings.list_max_listpack_size,
    }
}

fn end_named(word: &[u8]) -> Result<End, CommandError> {
    if word.eq_ignore_ascii_case(b"LEFT") {
        Ok(End::Front)
    } else if word.eq_ignore_ascii_case(b"RIGHT") {
        Ok(End::Back)
    } else {
        Err(CommandError::Syntax)
    }
}

fn write_elements<'a>(reply: &mut Reply, elements: impl ExactSizeIterator<Item = &'a [u8]>) {
    reply.array(elements.len());
    for element in elements {
        reply.bulk(element);
    }
}

fn llen(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let len = ctx.read::<List>(args.arg(1))?.map_or(0, List::len);
    ctx.reply.integer(len as i64);
    Ok(())
}

fn lindex(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let Some(list) = ctx.read::<List>(args.arg(1))? else {
        ctx.reply.null();
        return Ok(());
    };
    let index = position(integer(args.arg(2))?, list.len());
    match index.and_then(|index| list.get(index)) {
        Some(element) => ctx.reply.bulk(element),
        None => ctx.reply.null(),
    }
    Ok(())
}

fn lrange(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let (start, stop) = (integer(args.arg(2))?, integer(args.arg(3))?);
    let list = ctx.read::<List>(args.arg(1))?;
    match list.and_then(|list| Some((list, range(start, stop, list.len())?))) {
        Some((list, (first, count))) => write_elements(ctx.reply, list.range(first, count)),
        None => ctx.reply.array(0),
    }
    Ok(())
}
