//! Members in a circle or a box: GEOSEARCH, GEORADIUS and what they store.

use super::grid::{Position, Search, Shape, score_bits};
use super::{position, position_of, unit_m, write_distance, write_position};
use crate::commands::sorted_sets::{store_board, thresholds};
use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::spec::{Attempt, Handled};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::{parse_double, parse_i64};
use crate::resp::reply::Reply;
use crate::store::sorted_set::{Score, ScoreRange, SortedSet, Thresholds};
use std::ops::Bound;

/// Which command is read, which decides its options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Center and radius stand in front of the options.
    Radius { by_member: bool, may_store: bool },
    /// Center and shape are options; the store command takes STOREDIST without a key.
    Search { stores: bool },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    AsFound,
    NearestFirst,
    FarthestFirst,
}

struct Query<'a> {
    center: Option<Position>,
    shape: Option<Shape>,
    unit_m: f64,
    order: Order,
    /// 0 without a limit.
    count: usize,
    any: bool,
    with_distance: bool,
    with_hash: bool,
    with_position: bool,
    target: Option<&'a [u8]>,
    stores_distance: bool,
    /// A center was named, even if there is no board to find it on.
    named_center: NamedCenter,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedCenter {
    No,
    Member,
    Position,
}

fn member_position(
    board: Option<&SortedSet>,
    member: &[u8],
) -> Result<Option<Position>, CommandError> {
    // Without a board the answer is empty, but the options are still looked at.
    let Some(board) = board else { return Ok(None) };
    match position_of(board, member) {
        Some(position) => Ok(Some(position)),
        None => Err(CommandError::Text(
            "ERR could not decode requested zset member",
        )),
    }
}

fn length(text: &[u8], refusal: &'static str) -> Result<f64, CommandError> {
    parse_double(text).ok_or(CommandError::Text(refusal))
}

impl<'a> Query<'a> {
    fn parse(
        args: Args<'a>,
        board: Option<&SortedSet>,
        form: Form,
    ) -> Result<Query<'a>, CommandError> {
        let mut query = Query {
            center: None,
            shape: None,
            unit_m: 1.0,
            order: Order::AsFound,
            count: 0,
            any: false,
            with_distance: false,
            with_hash: false,
            with_position: false,
            target: None,
            stores_distance: false,
            named_center: NamedCenter::No,
        };
        let options = match form {
            Form::Radius {
                by_member: false, ..
            } => {
                query.center = Some(position(args.arg(2), args.arg(3))?);
                query.take_radius(args.arg(4), args.arg(5))?;
                args.from(6)
            }
            Form::Radius { .. } => {
                query.center = member_position(board, args.arg(2))?;
                if board.is_some() {
                    query.take_radius(args.arg(3), args.arg(4))?;
                }
                args.from(5)
            }
            Form::Search { stores: false } => args.from(2),
            Form::Search { stores: true } => {
                query.target = Some(args.arg(1));
                args.from(3)
            }
        };
        let mut at = 0;
        while at < options.len() {
            at += query.take_option(options.from(at), board, form)?;
        }
        query.check(args.name(), form)?;
        Ok(query)
    }

    fn take_radius(&mut self, radius: &[u8], unit: &[u8]) -> Result<(), CommandError> {
        let radius = length(radius, "ERR need numeric radius")?;
        if radius < 0.0 {
            return Err(CommandError::Text("ERR radius cannot be negative"));
        }
        self.unit_m = unit_m(unit)?;
        self.shape = Some(Shape::Circle {
            radius_m: radius * self.unit_m,
        });
        Ok(())
    }

    fn take_box(&mut self, values: Args<'_>) -> Result<(), CommandError> {
        let width = length(values.arg(0), "ERR need numeric width")?;
        let height = length(values.arg(1), "ERR need numeric height")?;
        if height < 0.0 || width < 0.0 {
            return Err(CommandError::Text("ERR height or width cannot be negative"));
        }
        self.unit_m = unit_m(values.arg(2))?;
        self.shape = Some(Shape::Box {
            width_m: width * self.unit_m,
            height_m: height * self.unit_m,
        });
        Ok(())
    }

    /// Reads the option at the head of `words`; how many words it takes.
    fn take_option(
        &mut self,
        words: Args<'a>,
        board: Option<&SortedSet>,
        form: Form,
    ) -> Result<usize, CommandError> {
        let (word, values) = (words.arg(0), words.from(1));
        let is = |name: &str, count: usize| {
            values.len() >= count && word.eq_ignore_ascii_case(name.as_bytes())
        };
        if is("withdist", 0) {
            self.with_distance = true;
        } else if is("withhash", 0) {
            self.with_hash = true;
        } else if is("withcoord", 0) {
            self.with_position = true;
        } else if is("any", 0) {
            self.any = true;
        } else if is("asc", 0) {
            self.order = Order::NearestFirst;
        } else if is("desc", 0) {
            self.order = Order::FarthestFirst;
        } else if is("count", 1) {
            let count = parse_i64(values.arg(0)).ok_or(CommandError::NotInteger)?;
            if count <= 0 {
                return Err(CommandError::Text("ERR COUNT must be > 0"));
            }
            self.count = count as usize;
            return Ok(2);
        } else {
            return match form {
                Form::Radius {
                    may_store: true, ..
                } => self.take_target(word, values),
                Form::Radius { .. } => Err(CommandError::Syntax),
                Form::Search { stores } => self.take_area(word, values, board, stores),
            };
        }
        Ok(1)
    }

    fn take_target(&mut self, word: &[u8], values: Args<'a>) -> Result<usize, CommandError> {
        let stores_distance = word.eq_ignore_ascii_case(b"storedist");
        if values.is_empty() || !(stores_distance || word.eq_ignore_ascii_case(b"store")) {
            return Err(CommandError::Syntax);
        }
        self.target = Some(values.arg(0));
        self.stores_distance = stores_distance;
        Ok(2)
    }

    fn take_area(
        &mut self,
        word: &[u8],
        values: Args<'_>,
        board: Option<&SortedSet>,
        stores: bool,
    ) -> Result<usize, CommandError> {
        let is = |name: &str, count: usize| {
            values.len() >= count && word.eq_ignore_ascii_case(name.as_bytes())
        };
        let is_box = matches!(self.shape, Some(Shape::Box { .. }));
        let is_circle = matches!(self.shape, Some(Shape::Circle { .. }));
        if stores && is("storedist", 0) {
            self.stores_distance = true;
            Ok(1)
        } else if is("frommember", 1) && self.named_center != NamedCenter::Position {
            self.center = member_position(board, values.arg(0))?;
            self.named_center = NamedCenter::Member;
            Ok(2)
        } else if is("fromlonlat", 2) && self.named_center != NamedCenter::Member {
            self.center = Some(position(values.arg(0), values.arg(1))?);
            self.named_center = NamedCenter::Position;
            Ok(3)
        } else if is("byradius", 2) && !is_box {
            self.take_radius(values.arg(0), values.arg(1))?;
            Ok(3)
        } else if is("bybox", 3) && !is_circle {
            self.take_box(values)?;
            Ok(4)
        } else {
            Err(CommandError::Syntax)
        }
    }

    /// Refuses what does not go together.
    fn check(&self, name: &[u8], form: Form) -> Result<(), CommandError> {
        let shows_more = self.with_distance || self.with_hash || self.with_position;
        if self.target.is_some() && shows_more {
            let who = match form {
                Form::Search { .. } => "GEOSEARCHSTORE",
                Form::Radius { .. } => "STORE option in GEORADIUS",
            };
            return Err(CommandError::Owned(format!(
                "ERR {who} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
            )));
        }
        if matches!(form, Form::Search { .. }) {
            let missing = if self.named_center == NamedCenter::No {
                "exactly one of FROMMEMBER or FROMLONLAT"
            } else if self.shape.is_none() {
                "exactly one of BYRADIUS and BYBOX"
            } else {
                ""
            };
            if !missing.is_empty() {
                let name = String::from_utf8_lossy(name);
                return Err(CommandError::Owned(format!(
                    "ERR {missing} can be specified for {name}"
                )));
            }
        }
        if self.any && self.count == 0 {
            return Err(CommandError::Text(
                "ERR the ANY argument requires COUNT argument",
            ));
        }
        Ok(())
    }

    /// The members asked for, in their order.
    fn run<'b>(&self, board: &'b SortedSet) -> Vec<Found<'b>> {
        let (Some(center), Some(shape)) = (self.center, self.shape) else {
            return Vec::new();
        };
        let search = Search { center, shape };
        let enough = if self.any { self.count } else { usize::MAX };
        let mut found = Vec::new();
        for scores in search.score_ranges() {
            let bound = |bits: u64| Score::new(bits as f64).expect("an integer is a number");
            let ranks = board.rank_range_by_score(&ScoreRange {
                min: Bound::Included(bound(scores.start)),
                max: Bound::Excluded(bound(scores.end)),
            });
            let inside = board.range(ranks).filter_map(|(member, score)| {
                let position = Position::from_score(score.get());
                Some(Found {
                    member,
                    score,
                    position,
                    distance_m: search.distance_m_inside(position)?,
                })
            });
            found.extend(inside.take(enough - found.len()));
            if found.len() >= enough {
                break;
            }
        }
        self.put_in_order(&mut found);
        found
    }

    fn put_in_order(&self, found: &mut Vec<Found<'_>>) {
        let nearer = |a: &Found<'_>, b: &Found<'_>| a.distance_m.total_cmp(&b.distance_m);
        match self.order {
            Order::FarthestFirst => found.sort_by(|a, b| nearer(b, a)),
            Order::NearestFirst => found.sort_by(nearer),
            // The first ones of no order would be of no use.
            Order::AsFound if self.count > 0 && !self.any => found.sort_by(nearer),
            Order::AsFound => {}
        }
        if self.count > 0 {
            found.truncate(self.count);
        }
    }

    fn write(&self, reply: &mut Reply, found: &[Found<'_>]) {
        let more = [self.with_distance, self.with_hash, self.with_position];
        let more = more.into_iter().filter(|&wanted| wanted).count();
        reply.array(found.len());
        for one in found {
            if more > 0 {
                reply.array(1 + more);
            }
            reply.bulk(one.member);
            if self.with_distance {
                write_distance(reply, one.distance_m / self.unit_m);
            }
            if self.with_hash {
                reply.integer(score_bits(one.score.get()) as i64);
            }
            if self.with_position {
                write_position(reply, one.position);
            }
        }
    }

    /// The board that is stored.
    fn board(&self, found: &[Found<'_>], thresholds: Thresholds) -> SortedSet {
        let entries = found
            .iter()
            .map(|one| {
                let score = if self.stores_distance {
                    Score::new(one.distance_m / self.unit_m).expect("a distance is a number")
                } else {
                    one.score
                };
                (one.member, score)
            })
            .collect();
        SortedSet::from_unsorted(entries, thresholds)
    }
}

struct Found<'a> {
    member: &'a [u8],
    score: Score,
    position: Position,
    distance_m: f64,
}

fn show(ctx: &mut ReadCtx<'_>, args: Args<'_>, form: Form) -> Handled {
    let board = ctx.read::<SortedSet>(args.arg(1))?;
    let query = Query::parse(args, board, form)?;
    let found = board.map_or_else(Vec::new, |board| query.run(board));
    query.write(ctx.reply, &found);
    Ok(())
}

/// Answers unless a word may say where to store the result.
fn show_unless_stored(
    ctx: &mut ReadCtx<'_>,
    args: Args<'_>,
    form: Form,
) -> Result<Attempt, CommandError> {
    let says_where = |word: &[u8]| {
        word.eq_ignore_ascii_case(b"store") || word.eq_ignore_ascii_case(b"storedist")
    };
    if args.iter().any(says_where) {
        return Ok(Attempt::MustWrite);
    }
    show(ctx, args, form)?;
    Ok(Attempt::Answered)
}

fn show_or_store(
    ctx: &mut WriteCtx<'_>,
    args: Args<'_>,
    source: usize,
    form: Form,
    event: &'static str,
) -> Handled {
    let mut reply = std::mem::take(&mut *ctx.reply);
    let result = find(ctx, args, source, form, &mut reply);
    *ctx.reply = reply;
    if let Some((target, result)) = result? {
        let more = (result.len() as u64).saturating_sub(1);
        store_board(ctx, target, result, event);
        ctx.changed(more);
    }
    Ok(())
}

/// Answers at once, or gives what is to be stored and where.
fn find<'a>(
    ctx: &WriteCtx<'_>,
    args: Args<'a>,
    source: usize,
    form: Form,
    reply: &mut Reply,
) -> Result<Option<(&'a [u8], SortedSet)>, CommandError> {
    let board = ctx.read::<SortedSet>(args.arg(source))?;
    ctx.count_lookup(board.is_some());
    let query = Query::parse(args, board, form)?;
    let found = board.map_or_else(Vec::new, |board| query.run(board));
    match query.target {
        Some(target) => {
            let result = query.board(&found, thresholds(ctx.settings()));
            Ok(Some((target, result)))
        }
        None => {
            query.write(reply, &found);
            Ok(None)
        }
    }
}

const RADIUS: Form = Form::Radius {
    by_member: false,
    may_store: true,
};

const RADIUS_BY_MEMBER: Form = Form::Radius {
    by_member: true,
    may_store: true,
};

pub fn try_georadius(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Result<Attempt, CommandError> {
    show_unless_stored(ctx, args, RADIUS)
}

pub fn georadius(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    show_or_store(ctx, args, 1, RADIUS, "georadiusstore")
}

pub fn georadius_ro(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let form = Form::Radius {
        by_member: false,
        may_store: false,
    };
    show(ctx, args, form)
}

pub fn try_georadiusbymember(
    ctx: &mut ReadCtx<'_>,
    args: Args<'_>,
) -> Result<Attempt, CommandError> {
    show_unless_stored(ctx, args, RADIUS_BY_MEMBER)
}

pub fn georadiusbymember(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    show_or_store(ctx, args, 1, RADIUS_BY_MEMBER, "georadiusstore")
}

pub fn georadiusbymember_ro(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let form = Form::Radius {
        by_member: true,
        may_store: false,
    };
    show(ctx, args, form)
}

pub fn geosearch(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    show(ctx, args, Form::Search { stores: false })
}

pub fn geosearchstore(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    show_or_store(
        ctx,
        args,
        2,
        Form::Search { stores: true },
        "geosearchstore",
    )
}
