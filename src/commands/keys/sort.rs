//! SORT and SORT_RO: the elements of a list, set or sorted set in order, also by the values of other keys.

use crate::commands::lists;
use crate::engine::Engine;
use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::session::{Origin, Session};
use crate::engine::spec::{
    Begin, Categories, CommandSpec, Find, Flags, Group, Handled, KeyFlags, KeySpec, Run,
};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::{parse_double, parse_i64};
use crate::resp::reply::Reply;
use crate::store::decimal::Scratch;
use crate::store::keyspace::Db;
use crate::store::list::List;
use crate::store::sorted_set::SortedSet;
use crate::store::value::{Type, Value, ValueRef};
use std::cmp::Ordering;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "sort",
        group: Group::Generic,
        summary: "Sorts the elements of a list, set or sorted set, and may store them.",
        since: "1.0.0",
        complexity: "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number of returned elements. When the elements are not sorted, complexity is O(N).",
        arity: -2,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::MOVABLE_KEYS)),
        categories: Categories::SET
            .union(Categories::SORTED_SET.union(Categories::LIST.union(Categories::DANGEROUS))),
        keys: &[
            KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS)),
            KeySpec {
                begin: Begin::Unknown,
                find: Find::Unknown,
                flags: KeyFlags::RO.union(KeyFlags::ACCESS),
                notes: "",
            },
            KeySpec {
                begin: Begin::Unknown,
                find: Find::Unknown,
                flags: KeyFlags::OW.union(KeyFlags::UPDATE),
                notes: "",
            },
        ],
        tips: &[],
        syntax: "key#0 [BY=by-pattern:pattern#1/pattern] [LIMIT=limit(offset:integer count:integer)] [GET=get-pattern:pattern#1/pattern&...] [order<ASC | DESC>] [sorting='ALPHA'] [STORE=destination#2]",
        run: Run::Write(sort),
    },
    CommandSpec {
        name: "sort_ro",
        group: Group::Generic,
        summary: "Sorts the elements of a list, set or sorted set.",
        since: "7.0.0",
        complexity: "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number of returned elements. When the elements are not sorted, complexity is O(N).",
        arity: -2,
        flags: Flags::READONLY.union(Flags::MOVABLE_KEYS),
        categories: Categories::SET
            .union(Categories::SORTED_SET.union(Categories::LIST.union(Categories::DANGEROUS))),
        keys: &[
            KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS)),
            KeySpec {
                begin: Begin::Unknown,
                find: Find::Unknown,
                flags: KeyFlags::RO.union(KeyFlags::ACCESS),
                notes: "",
            },
        ],
        tips: &[],
        syntax: "key#0 [BY=by-pattern:pattern#1/pattern] [LIMIT=limit(offset:integer count:integer)] [GET=get-pattern:pattern#1/pattern&...] [order<ASC | DESC>] [sorting='ALPHA']",
        run: Run::Read(sort_ro),
    },
];

const BY_DENIED: CommandError =
    CommandError::Text("ERR BY option of SORT denied due to insufficient ACL permissions.");

const GET_DENIED: CommandError =
    CommandError::Text("ERR GET option of SORT denied due to insufficient ACL permissions.");

/// Whether the call may read any key; which ones it will read, its words do not tell.
fn reads_all(engine: &Engine, session: &Session, args: Args<'_>) -> bool {
    let user = &session.user;
    user.is_unrestricted()
        || engine
            .table
            .resolve(args)
            .is_ok_and(|command| user.may_read_all(command, args))
}

/// The options of one call.
#[derive(Default)]
struct Options<'a> {
    descending: bool,
    alphabetic: bool,
    limit: Option<(i64, i64)>,
    by: Option<&'a [u8]>,
    get: Vec<&'a [u8]>,
    store: Option<&'a [u8]>,
    /// BY a pattern without `*`: the order of the value itself.
    unsorted: bool,
}

impl<'a> Options<'a> {
    /// Reads the options. Only who `reads_all` keys may have them name keys by the sorted elements.
    fn parse(args: Args<'a>, may_store: bool, reads_all: bool) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            match word.to_ascii_lowercase().as_slice() {
                b"asc" => options.descending = false,
                b"desc" => options.descending = true,
                b"alpha" => options.alphabetic = true,
                b"limit" if words.len() >= 2 => {
                    let mut number = || {
                        words
                            .next()
                            .and_then(parse_i64)
                            .ok_or(CommandError::NotInteger)
                    };
                    options.limit = Some((number()?, number()?));
                }
                b"store" if may_store && words.len() >= 1 => options.store = words.next(),
                b"by" if words.len() >= 1 => {
                    options.by = words.next();
                    options.unsorted = options.by.is_some_and(|pattern| !pattern.contains(&b'*'));
                    if !options.unsorted && !reads_all {
                        return Err(BY_DENIED);
                    }
                }
                b"get" if words.len() >= 1 => {
                    if !reads_all {
                        return Err(GET_DENIED);
                    }
                    options.get.extend(words.next());
                }
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(options)
    }
}

fn sort(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let reads_all = reads_all(ctx.engine(), ctx.session, args);
    let options = Options::parse(args.from(2), true, reads_all)?;
    if matches!(ctx.value(args.arg(1)), Some(ValueRef::SortedSet(_))) {
        // Redis sorts a board only in its big form, and leaves it so.
        ctx.update(args.arg(1), |board: &mut SortedSet, _| board.outgrow())?;
    }
    let from_script = ctx.session.origin == Origin::Script;
    let now_ms = ctx.now.unix_ms();
    let sorted = sorted(
        ctx.db(),
        now_ms,
        args.arg(1),
        &options,
        from_script || options.store.is_some(),
    )?;
    let Some(target) = options.store else {
        write(ctx.reply, &sorted);
        return Ok(());
    };
    if sorted.is_empty() {
        if ctx.remove(target) {
            ctx.event(EventClass::GENERIC, "del", target);
        }
    } else {
        let limits = lists::limits(ctx.settings());
        let list = List::collect(
            sorted
                .iter()
                .map(|element| element.as_deref().unwrap_or_default()),
            limits,
        );
        ctx.set_value(target, Value::List(list), false);
        ctx.event(EventClass::LIST, "sortstore", target);
    }
    ctx.reply.integer(sorted.len() as i64);
    Ok(())
}

fn sort_ro(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let reads_all = reads_all(ctx.engine(), ctx.session, args);
    let options = Options::parse(args.from(2), false, reads_all)?;
    // Counts and marks it; the sorting looks at the database itself, where the patterns lead.
    let _ = ctx.value(args.arg(1));
    let from_script = ctx.session.origin == Origin::Script;
    let sorted = sorted(
        ctx.db(),
        ctx.now.unix_ms(),
        args.arg(1),
        &options,
        from_script,
    )?;
    write(ctx.reply, &sorted);
    Ok(())
}

fn write(reply: &mut Reply, sorted: &[Option<Vec<u8>>]) {
    reply.array(sorted.len());
    for element in sorted {
        match element {
            Some(element) => reply.bulk(element),
            None => reply.null(),
        }
    }
}

/// What an element is ordered by.
enum Weight {
    Number(f64),
    Text(Option<Vec<u8>>),
}

/// The elements, or what GET makes of them, in order and cut to LIMIT.
///
/// `repeatable` asks for an order that does not depend on the layout of a set.
fn sorted(
    db: &Db,
    now_ms: i64,
    key: &[u8],
    options: &Options<'_>,
    repeatable: bool,
) -> Result<Vec<Option<Vec<u8>>>, CommandError> {
    let value = db.get(key, now_ms);
    let kind = value.map(|value| value.kind());
    let mut elements = match value {
        None => Vec::new(),
        Some(value) => elements_of(value)?,
    };
    let (mut unsorted, mut by, mut alphabetic) = (options.unsorted, options.by, options.alphabetic);
    if unsorted && kind == Some(Type::Set) && repeatable {
        (unsorted, by, alphabetic) = (false, None, true);
    }
    if unsorted {
        if options.descending && kind == Some(Type::SortedSet) {
            elements.reverse();
        }
    } else {
        let mut weighted = Vec::with_capacity(elements.len());
        for element in elements {
            let weight = weight_of(db, now_ms, &element, by, alphabetic)?;
            weighted.push((weight, element));
        }
        weighted.sort_by(|a, b| {
            let order = compare(a, b);
            if options.descending {
                order.reverse()
            } else {
                order
            }
        });
        elements = weighted.into_iter().map(|(_, element)| element).collect();
    }
    let elements = limited(elements, options.limit);
    if options.get.is_empty() {
        return Ok(elements.into_iter().map(Some).collect());
    }
    let looked_up = elements
        .iter()
        .flat_map(|element| {
            options
                .get
                .iter()
                .map(|pattern| look_up(db, now_ms, pattern, element))
        })
        .collect();
    Ok(looked_up)
}

fn elements_of(value: ValueRef<'_>) -> Result<Vec<Vec<u8>>, CommandError> {
    match value {
        ValueRef::List(list) => Ok(list.iter().map(<[u8]>::to_vec).collect()),
        ValueRef::Set(set) => Ok(set.iter().map(|member| member.to_vec()).collect()),
        ValueRef::SortedSet(set) => Ok(set.iter().map(|(member, _)| member.to_vec()).collect()),
        ValueRef::String(_) | ValueRef::Hash(_) | ValueRef::Stream(_) => {
            Err(CommandError::WrongType)
        }
    }
}

fn weight_of(
    db: &Db,
    now_ms: i64,
    element: &[u8],
    by: Option<&[u8]>,
    alphabetic: bool,
) -> Result<Weight, CommandError> {
    let text = match by {
        Some(pattern) => look_up(db, now_ms, pattern, element),
        None => Some(element.to_vec()),
    };
    match (alphabetic, text) {
        (true, text) => Ok(Weight::Text(text)),
        (false, None) => Ok(Weight::Number(0.0)),
        (false, Some(text)) => number(&text).map(Weight::Number),
    }
}

/// A number as C's strtod reads all of it: leading blanks and an empty text pass.
fn number(text: &[u8]) -> Result<f64, CommandError> {
    let text = text.trim_ascii_start();
    if text.is_empty() {
        return Ok(0.0);
    }
    parse_double(text).ok_or(CommandError::Text(
        "ERR One or more scores can't be converted into double",
    ))
}

fn compare(a: &(Weight, Vec<u8>), b: &(Weight, Vec<u8>)) -> Ordering {
    match (&a.0, &b.0) {
        (Weight::Number(x), Weight::Number(y)) => x
            .partial_cmp(y)
            .unwrap_or(Ordering::Equal)
            .then_with(|| a.1.cmp(&b.1)),
        (Weight::Text(x), Weight::Text(y)) => x.cmp(y),
        // One call makes weights of one kind only.
        _ => Ordering::Equal,
    }
}

/// LIMIT as Redis cuts: a negative offset counts as 0, a negative count takes all.
fn limited(mut elements: Vec<Vec<u8>>, limit: Option<(i64, i64)>) -> Vec<Vec<u8>> {
    let Some((offset, count)) = limit else {
        return elements;
    };
    let offset = usize::try_from(offset).unwrap_or(0).min(elements.len());
    elements.drain(..offset);
    if let Ok(count) = usize::try_from(count) {
        elements.truncate(count);
    }
    elements
}

/// The value that a pattern points to for an element: `#` is the element itself, `*` stands for the element in
/// the name of a key, and `->field` behind it picks a field of a hash.
fn look_up(db: &Db, now_ms: i64, pattern: &[u8], element: &[u8]) -> Option<Vec<u8>> {
    if pattern == b"#" {
        return Some(element.to_vec());
    }
    let star = pattern.iter().position(|&byte| byte == b'*')?;
    let (before, after) = (&pattern[..star], &pattern[star + 1..]);
    let arrow = after
        .windows(2)
        .position(|pair| pair == b"->")
        .filter(|&arrow| arrow + 2 < after.len());
    let (after, field) = match arrow {
        Some(arrow) => (&after[..arrow], Some(&after[arrow + 2..])),
        None => (after, None),
    };
    let key = [before, element, after].concat();
    match (db.get(&key, now_ms)?, field) {
        (ValueRef::Hash(hash), Some(field)) => hash.get(field).map(<[u8]>::to_vec),
        (ValueRef::String(text), None) => Some(text.bytes(&mut Scratch::default()).to_vec()),
        _ => None,
    }
}
