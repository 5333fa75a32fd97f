//! Combining boards: union, intersection and difference, shown, counted or stored.
//!
//! A plain set takes part as a board on which every member has score 1.

use super::range::{store, write_members};
use super::thresholds;
use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::{parse_double, parse_i64};
use crate::store::sorted_set::merge::{self, Aggregate, Input, Merged};
use crate::store::value::ValueRef;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "zdiff",
        group: Group::SortedSet,
        summary: "Shows the members of the first board that no other has.",
        since: "6.2.0",
        complexity: "O(L + (N-K)log(N)) for L members in all, N in the first board and K in the result",
        arity: -3,
        flags: Flags::READONLY.union(Flags::MOVABLE_KEYS),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::counted(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "numkeys:integer key#0... [WITHSCORES]",
        run: Run::Read(zdiff),
    },
    CommandSpec {
        name: "zdiffstore",
        group: Group::SortedSet,
        summary: "Stores the members of the first board that no other has.",
        since: "6.2.0",
        complexity: "O(L + (N-K)log(N)) for L members in all, N in the first board and K in the result",
        arity: -4,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::MOVABLE_KEYS)),
        categories: Categories::SORTED_SET,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE)),
            KeySpec::counted(2, KeyFlags::RO.union(KeyFlags::ACCESS)),
        ],
        tips: &[],
        syntax: "destination#0 numkeys:integer key#1...",
        run: Run::Write(zdiffstore),
    },
    CommandSpec {
        name: "zinter",
        group: Group::SortedSet,
        summary: "Shows the members that all boards share.",
        since: "6.2.0",
        complexity: "O(N*K)+O(M*log(M)) for K boards, N members in the smallest and M in the result",
        arity: -3,
        flags: Flags::READONLY.union(Flags::MOVABLE_KEYS),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::counted(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "numkeys:integer key#0... [WEIGHTS=weight:integer...] [AGGREGATE=aggregate<SUM | MIN | MAX>] [WITHSCORES]",
        run: Run::Read(zinter),
    },
    CommandSpec {
        name: "zintercard",
        group: Group::SortedSet,
        summary: "Counts the members that all boards share.",
        since: "7.0.0",
        complexity: "O(N*K) for K boards and N members in the smallest",
        arity: -3,
        flags: Flags::READONLY.union(Flags::MOVABLE_KEYS),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::counted(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "numkeys:integer key#0... [LIMIT=limit:integer]",
        run: Run::Read(zintercard),
    },
    CommandSpec {
        name: "zinterstore",
        group: Group::SortedSet,
        summary: "Stores the members that all boards share.",
        since: "2.0.0",
        complexity: "O(N*K)+O(M*log(M)) for K boards, N members in the smallest and M in the result",
        arity: -4,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::MOVABLE_KEYS)),
        categories: Categories::SORTED_SET,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE)),
            KeySpec::counted(2, KeyFlags::RO.union(KeyFlags::ACCESS)),
        ],
        tips: &[],
        syntax: "destination#0 numkeys:integer key#1... [WEIGHTS=weight:integer...] [AGGREGATE=aggregate<SUM | MIN | MAX>]",
        run: Run::Write(zinterstore),
    },
    CommandSpec {
        name: "zunion",
        group: Group::SortedSet,
        summary: "Shows the members of any of the boards.",
        since: "6.2.0",
        complexity: "O(N)+O(M*log(M)) for N members in all and M in the result",
        arity: -3,
        flags: Flags::READONLY.union(Flags::MOVABLE_KEYS),
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::counted(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "numkeys:integer key#0... [WEIGHTS=weight:integer...] [AGGREGATE=aggregate<SUM | MIN | MAX>] [WITHSCORES]",
        run: Run::Read(zunion),
    },
    CommandSpec {
        name: "zunionstore",
        group: Group::SortedSet,
        summary: "Stores the members of any of the boards.",
        since: "2.0.0",
        complexity: "O(N)+O(M*log(M)) for N members in all and M in the result",
        arity: -4,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::MOVABLE_KEYS)),
        categories: Categories::SORTED_SET,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE)),
            KeySpec::counted(2, KeyFlags::RO.union(KeyFlags::ACCESS)),
        ],
        tips: &[],
        syntax: "destination#0 numkeys:integer key#1... [WEIGHTS=weight:integer...] [AGGREGATE=aggregate<SUM | MIN | MAX>]",
        run: Run::Write(zunionstore),
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

/// What becomes of the result, which decides the options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Show,
    Store,
    Count,
}

/// The keys behind the count at the head of `args`, and the options behind them.
fn split_keys<'a>(args: Args<'a>, name: &str) -> Result<(Args<'a>, Args<'a>), CommandError> {
    let count = parse_i64(args.arg(0)).ok_or(CommandError::NotInteger)?;
    if count < 1 {
        return Err(CommandError::Owned(format!(
            "ERR at least 1 input key is needed for '{name}' command"
        )));
    }
    let count = count as usize;
    let rest = args.from(1);
    if count > rest.len() {
        return Err(CommandError::Syntax);
    }
    Ok((rest.first(count), rest.from(count)))
}

/// The value of one key as an input; an absent key has no members.
fn input(value: Option<ValueRef<'_>>) -> Result<Input<'_>, CommandError> {
    match value {
        None => Ok(Input::nothing()),
        Some(ValueRef::SortedSet(board)) => Ok(Input::board(board)),
        Some(ValueRef::Set(set)) => Ok(Input::set(set)),
        Some(_) => Err(CommandError::WrongType),
    }
}

/// What is behind the keys.
#[derive(Default)]
struct Options {
    aggregate: Aggregate,
    with_scores: bool,
    /// Where counting stops.
    limit: Option<usize>,
}

impl Options {
    /// Reads the options; weights go into the inputs.
    fn parse(
        args: Args<'_>,
        inputs: &mut [Input<'_>],
        operation: Operation,
        purpose: Purpose,
    ) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let scored = operation != Operation::Difference && purpose != Purpose::Count;
        let mut position = 0;
        while let Some(word) = args.get(position) {
            let values = args.from(position + 1);
            if scored && values.len() >= inputs.len() && word.eq_ignore_ascii_case(b"weights") {
                for (input, text) in inputs.iter_mut().zip(values) {
                    input.weight = parse_double(text)
                        .ok_or(CommandError::Text("ERR weight value is not a float"))?;
                }
                position += inputs.len();
            } else if scored && !values.is_empty() && word.eq_ignore_ascii_case(b"aggregate") {
                options.aggregate = parse_aggregate(values.arg(0))?;
                position += 1;
            } else if purpose == Purpose::Show && word.eq_ignore_ascii_case(b"withscores") {
                options.with_scores = true;
            } else if purpose == Purpose::Count
                && !values.is_empty()
                && word.eq_ignore_ascii_case(b"limit")
            {
                let limit = parse_i64(values.arg(0))
                    .and_then(|limit| usize::try_from(limit).ok())
                    .ok_or(CommandError::Text("ERR LIMIT can't be negative"))?;
                options.limit = (limit > 0).then_some(limit);
                position += 1;
            } else {
                return Err(CommandError::Syntax);
            }
            position += 1;
        }
        Ok(options)
    }
}

fn parse_aggregate(word: &[u8]) -> Result<Aggregate, CommandError> {
    if word.eq_ignore_ascii_case(b"sum") {
        Ok(Aggregate::Sum)
    } else if word.eq_ignore_ascii_case(b"min") {
        Ok(Aggregate::Min)
    } else if word.eq_ignore_ascii_case(b"max") {
        Ok(Aggregate::Max)
    } else {
        Err(CommandError::Syntax)
    }
}

impl Operation {
    fn run<'s>(self, inputs: &'s [Input<'_>], options: &Options) -> Merged<'s> {
        match self {
            Operation::Union => merge::union(inputs, options.aggregate),
            Operation::Intersection => merge::intersect(inputs, options.aggregate),
            Operation::Difference => merge::diff(inputs),
        }
    }
}

fn show(ctx: &mut ReadCtx<'_>, args: Args<'_>, operation: Operation, name: &str) -> Handled {
    let (keys, rest) = split_keys(args.from(1), name)?;
    let mut inputs = Vec::with_capacity(keys.len());
    for key in keys {
        inputs.push(input(ctx.value(key))?);
    }
    let options = Options::parse(rest, &mut inputs, operation, Purpose::Show)?;
    let merged = operation.run(&inputs, &options);
    write_members(ctx.reply, merged.iter(), options.with_scores);
    Ok(())
}

fn combine_and_store(
    ctx: &mut WriteCtx<'_>,
    args: Args<'_>,
    operation: Operation,
    name: &'static str,
) -> Handled {
    let (keys, rest) = split_keys(args.from(2), name)?;
    let result = {
        let mut inputs = Vec::with_capacity(keys.len());
        for key in keys {
            let value = ctx.value(key);
            ctx.count_lookup(value.is_some());
            inputs.push(input(value)?);
        }
        let options = Options::parse(rest, &mut inputs, operation, Purpose::Store)?;
        let merged = operation.run(&inputs, &options);
        merged.to_board(thresholds(ctx.settings()))
    };
    store(ctx, args.arg(1), result, name);
    Ok(())
}

fn zunion(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    show(ctx, args, Operation::Union, "zunion")
}

fn zinter(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    show(ctx, args, Operation::Intersection, "zinter")
}

fn zdiff(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    show(ctx, args, Operation::Difference, "zdiff")
}

fn zunionstore(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    combine_and_store(ctx, args, Operation::Union, "zunionstore")
}

fn zinterstore(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    combine_and_store(ctx, args, Operation::Intersection, "zinterstore")
}

fn zdiffstore(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    combine_and_store(ctx, args, Operation::Difference, "zdiffstore")
}

fn zintercard(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let (keys, rest) = split_keys(args.from(1), "zintercard")?;
    let mut inputs = Vec::with_capacity(keys.len());
    for key in keys {
        inputs.push(input(ctx.value(key))?);
    }
    let options = Options::parse(rest, &mut inputs, Operation::Intersection, Purpose::Count)?;
    let count = merge::intersect_count(&inputs, options.limit);
    ctx.reply.integer(count as i64);
    Ok(())
}
