//! ZRANGE and its older forms, and ZRANGESTORE.

use super::bounds::{Limit, RankRange, parse_lex_range, parse_score_range};
use super::thresholds;
use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use crate::store::sorted_set::{LexRange, Score, ScoreRange, SortedSet, Thresholds};
use crate::store::value::ValueType;
use std::ops::Range;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "zrange",
        group: Group::SortedSet,
        summary: "Shows the members in a range of ranks, scores or of the alphabet.",
        since: "1.2.0",
        complexity: "O(log(N)+M) for M members shown of a board of N",
        arity: -4,
        flags: Flags::READONLY,
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 start stop [sortby<BYSCORE | BYLEX>@6.2.0] [REV@6.2.0] [LIMIT=limit(offset:integer count:integer)@6.2.0] [WITHSCORES]",
        run: Run::Read(zrange),
    },
    CommandSpec {
        name: "zrangebylex",
        group: Group::SortedSet,
        summary: "Shows the members in a range of the alphabet.",
        since: "2.8.9",
        complexity: "O(log(N)+M) for M members shown of a board of N",
        arity: -4,
        flags: Flags::READONLY,
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 min max [LIMIT=limit(offset:integer count:integer)]",
        run: Run::Read(zrangebylex),
    },
    CommandSpec {
        name: "zrangebyscore",
        group: Group::SortedSet,
        summary: "Shows the members with scores in a range.",
        since: "1.0.5",
        complexity: "O(log(N)+M) for M members shown of a board of N",
        arity: -4,
        flags: Flags::READONLY,
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 min:double max:double [WITHSCORES@2.0.0] [LIMIT=limit(offset:integer count:integer)]",
        run: Run::Read(zrangebyscore),
    },
    CommandSpec {
        name: "zrangestore",
        group: Group::SortedSet,
        summary: "Stores the members in a range of ranks, scores or of the alphabet.",
        since: "6.2.0",
        complexity: "O(log(N)+M) for M members stored of a board of N",
        arity: -5,
        flags: Flags::WRITE.union(Flags::DENYOOM),
        categories: Categories::SORTED_SET,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE)),
            KeySpec::one(2, KeyFlags::RO.union(KeyFlags::ACCESS)),
        ],
        tips: &[],
        syntax: "dst#0 src#1 min max [sortby<BYSCORE | BYLEX>] [REV] [LIMIT=limit(offset:integer count:integer)]",
        run: Run::Write(zrangestore),
    },
    CommandSpec {
        name: "zrevrange",
        group: Group::SortedSet,
        summary: "Shows the members in a range of ranks, the highest score first.",
        since: "1.2.0",
        complexity: "O(log(N)+M) for M members shown of a board of N",
        arity: -4,
        flags: Flags::READONLY,
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 start:integer stop:integer [WITHSCORES]",
        run: Run::Read(zrevrange),
    },
    CommandSpec {
        name: "zrevrangebylex",
        group: Group::SortedSet,
        summary: "Shows the members in a range of the alphabet, backwards.",
        since: "2.8.9",
        complexity: "O(log(N)+M) for M members shown of a board of N",
        arity: -4,
        flags: Flags::READONLY,
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 max min [LIMIT=limit(offset:integer count:integer)]",
        run: Run::Read(zrevrangebylex),
    },
    CommandSpec {
        name: "zrevrangebyscore",
        group: Group::SortedSet,
        summary: "Shows the members with scores in a range, the highest first.",
        since: "2.2.0",
        complexity: "O(log(N)+M) for M members shown of a board of N",
        arity: -4,
        flags: Flags::READONLY,
        categories: Categories::SORTED_SET,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 max:double min:double [WITHSCORES] [LIMIT=limit(offset:integer count:integer)]",
        run: Run::Read(zrevrangebyscore),
    },
];

/// What the bounds of a range are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rank,
    Score,
    Lex,
}

/// What a command leaves to its options.
struct Form {
    /// `None` until BYSCORE or BYLEX says so.
    kind: Option<Kind>,
    /// `None` until REV says so.
    reversed: Option<bool>,
    /// Whether WITHSCORES is an option.
    shows_scores: bool,
}

impl Form {
    const ZRANGE: Form = Form {
        kind: None,
        reversed: None,
        shows_scores: true,
    };

    const ZRANGESTORE: Form = Form {
        shows_scores: false,
        ..Form::ZRANGE
    };

    const fn fixed(kind: Kind, reversed: bool) -> Form {
        Form {
            kind: Some(kind),
            reversed: Some(reversed),
            shows_scores: true,
        }
    }
}

enum Bounds<'a> {
    Rank(RankRange),
    Score(ScoreRange),
    Lex(LexRange<'a>),
}

/// A range that a command asks for.
struct Query<'a> {
    bounds: Bounds<'a>,
    reversed: bool,
    limit: Limit,
    with_scores: bool,
}

impl<'a> Query<'a> {
    /// Reads the two bounds and the options behind them.
    fn parse(args: Args<'a>, form: Form) -> Result<Self, CommandError> {
        let (mut kind, mut reversed) = (form.kind, form.reversed);
        let mut limit = Limit::NONE;
        let mut with_scores = false;
        let mut position = 2;
        while let Some(word) = args.get(position) {
            if form.shows_scores && word.eq_ignore_ascii_case(b"withscores") {
                with_scores = true;
            } else if word.eq_ignore_ascii_case(b"limit") && args.len() > position + 2 {
                limit = Limit::parse(args.arg(position + 1), args.arg(position + 2))?;
                position += 2;
            } else if reversed.is_none() && word.eq_ignore_ascii_case(b"rev") {
                reversed = Some(true);
            } else if kind.is_none() && word.eq_ignore_ascii_case(b"byscore") {
                kind = Some(Kind::Score);
            } else if kind.is_none() && word.eq_ignore_ascii_case(b"bylex") {
                kind = Some(Kind::Lex);
            } else {
                return Err(CommandError::Syntax);
            }
            position += 1;
        }
        let kind = kind.unwrap_or(Kind::Rank);
        let reversed = reversed.unwrap_or(false);
        if kind == Kind::Rank && limit.count != Limit::NONE.count {
            return Err(CommandError::Text(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if kind == Kind::Lex && with_scores {
            return Err(CommandError::Text(
                "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
            ));
        }
        let (first, second) = (args.arg(0), args.arg(1));
        let (min, max) = if reversed {
            (second, first)
        } else {
            (first, second)
        };
        let bounds = match kind {
            Kind::Rank => Bounds::Rank(RankRange::parse(first, second)?),
            Kind::Score => Bounds::Score(parse_score_range(min, max)?),
            Kind::Lex => Bounds::Lex(parse_lex_range(min, max)?),
        };
        Ok(Self {
            bounds,
            reversed,
            limit,
            with_scores,
        })
    }

    /// The ascending ranks of the members asked for. O(log n).
    fn ranks(&self, board: &SortedSet) -> Range<usize> {
        let ranks = match &self.bounds {
            // LIMIT does not apply to ranks, even where -1 lets it pass.
            Bounds::Rank(ranks) if self.reversed => return ranks.on_reversed(board.len()),
            Bounds::Rank(ranks) => return ranks.on(board.len()),
            Bounds::Score(scores) => board.rank_range_by_score(scores),
            Bounds::Lex(members) => board.rank_range_by_lex(members),
        };
        self.limit.on(ranks, self.reversed)
    }

    /// A board of the members asked for. They enter it in the order asked for, and only a range of ranks knows
    /// beforehand how many they are: as in Redis, which shows in the sign of a zero.
    fn collect(&self, board: &SortedSet, mut thresholds: Thresholds) -> SortedSet {
        let ranks = self.ranks(board);
        if matches!(self.bounds, Bounds::Rank(_)) && ranks.len() > thresholds.max_entries {
            thresholds = Thresholds::NEVER_SMALL;
        }
        let members = board.range(ranks);
        if !self.reversed {
            return SortedSet::from_sorted(members, thresholds);
        }
        let mut collected = SortedSet::new();
        for (member, score) in members.rev() {
            collected.insert(member, score, thresholds);
        }
        collected
    }
}

/// Writes members, each with its score when asked for: a pair in RESP3, one after the other in RESP2.
pub fn write_members<'a>(
    reply: &mut Reply,
    members: impl ExactSizeIterator<Item = (&'a [u8], Score)>,
    with_scores: bool,
) {
    if !with_scores {
        reply.array(members.len());
        for (member, _) in members {
            reply.bulk(member);
        }
        return;
    }
    let paired = reply.is_resp3();
    reply.array(if paired {
        members.len()
    } else {
        members.len() * 2
    });
    for (member, score) in members {
        if paired {
            reply.array(2);
        }
        reply.bulk(member);
        reply.double(score.get());
    }
}

fn show(ctx: &mut ReadCtx<'_>, args: Args<'_>, form: Form) -> Handled {
    let query = Query::parse(args.from(2), form)?;
    let Some(board) = ctx.read::<SortedSet>(args.arg(1))? else {
        ctx.reply.array(0);
        return Ok(());
    };
    let members = board.range(query.ranks(board));
    if query.reversed {
        write_members(ctx.reply, members.rev(), query.with_scores);
    } else {
        write_members(ctx.reply, members, query.with_scores);
    }
    Ok(())
}

fn zrange(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    show(ctx, args, Form::ZRANGE)
}

fn zrevrange(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    show(ctx, args, Form::fixed(Kind::Rank, true))
}

fn zrangebyscore(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    show(ctx, args, Form::fixed(Kind::Score, false))
}

fn zrevrangebyscore(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    show(ctx, args, Form::fixed(Kind::Score, true))
}

fn zrangebylex(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    show(ctx, args, Form::fixed(Kind::Lex, false))
}

fn zrevrangebylex(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    show(ctx, args, Form::fixed(Kind::Lex, true))
}

fn zrangestore(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let query = Query::parse(args.from(3), Form::ZRANGESTORE)?;
    let source = ctx.read::<SortedSet>(args.arg(2))?;
    let result = source.map_or_else(SortedSet::new, |board| {
        query.collect(board, thresholds(ctx.settings()))
    });
    ctx.count_lookup(source.is_some());
    store(ctx, args.arg(1), result, "zrangestore");
    Ok(())
}

/// Puts a result in the place of whatever `key` holds, and answers with its size. An empty one only removes.
pub fn store(ctx: &mut WriteCtx<'_>, key: &[u8], result: SortedSet, event: &'static str) {
    let len = result.len();
    if len > 0 {
        ctx.set_value(key, result.into_value(), false);
        ctx.event(EventClass::ZSET, event, key);
    } else if ctx.remove(key) {
        ctx.event(EventClass::GENERIC, "del", key);
    }
    ctx.reply.integer(len as i64);
}
