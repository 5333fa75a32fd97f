//! Intersections, unions and differences of sets.

use super::limits;
use crate::commands::numbers::{count, positive};
use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use crate::store::decimal::Scratch;
use crate::store::set::{Set, SetLimits};

pub fn sinter(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let sets = read_all(ctx, args.from(1))?;
    let mark = ctx.reply.begin_set();
    let mut len = 0;
    intersect(&sets, |member| {
        ctx.reply.bulk(member);
        len += 1;
        true
    });
    ctx.reply.end_set(mark, len);
    Ok(())
}

pub fn sintercard(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let keys = positive(args.arg(1), "ERR numkeys should be greater than 0")?;
    if keys > args.len() - 2 {
        return Err(CommandError::Text(
            "ERR Number of keys can't be greater than number of args",
        ));
    }
    let mut limit = 0;
    let mut words = args.from(2 + keys).iter();
    while let Some(word) = words.next() {
        let text = words.next().ok_or(CommandError::Syntax)?;
        if !word.eq_ignore_ascii_case(b"LIMIT") {
            return Err(CommandError::Syntax);
        }
        limit = count(text, "ERR LIMIT can't be negative".into())?;
    }
    let sets = read_all(ctx, args.from(2).first(keys))?;
    let mut found = 0;
    intersect(&sets, |_| {
        found += 1;
        found != limit
    });
    ctx.reply.integer(found as i64);
    Ok(())
}

pub fn sinterstore(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let limits = limits(ctx.settings());
    let sets = look_up_all(ctx, args.from(2))?;
    let smallest = sets.iter().flatten().min_by_key(|set| set.len());
    let mut result = smallest.map_or_else(Set::new, |set| set.emptied());
    intersect(&sets, |member| result.insert(member, limits));
    result.make_ints_if_possible(limits);
    store(ctx, args.arg(1), result, "sinterstore")
}

pub fn sunion(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let sets = read_all(ctx, args.from(1))?;
    let union = unite(&sets, EXACT_ENCODING_IS_MOOT);
    write(ctx.reply, &union);
    Ok(())
}

pub fn sunionstore(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let limits = limits(ctx.settings());
    let sets = look_up_all(ctx, args.from(2))?;
    let union = unite(&sets, limits);
    store(ctx, args.arg(1), union, "sunionstore")
}

pub fn sdiff(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let sets = read_all(ctx, args.from(1))?;
    let difference = subtract(sets, EXACT_ENCODING_IS_MOOT);
    write(ctx.reply, &difference);
    Ok(())
}

pub fn sdiffstore(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let limits = limits(ctx.settings());
    let sets = look_up_all(ctx, args.from(2))?;
    let difference = subtract(sets, limits);
    store(ctx, args.arg(1), difference, "sdiffstore")
}

/// For results that are only shown: intsets stay intsets, others become big at once,
/// where finding a member costs least.
const EXACT_ENCODING_IS_MOOT: SetLimits = SetLimits {
    intset_entries: 512,
    listpack_entries: 16,
    listpack_value_len: 64,
};

fn read_all<'a>(
    ctx: &mut ReadCtx<'a>,
    keys: Args<'_>,
) -> Result<Vec<Option<&'a Set>>, CommandError> {
    keys.iter().map(|key| ctx.read::<Set>(key)).collect()
}

fn look_up_all<'a>(
    ctx: &'a WriteCtx<'_>,
    keys: Args<'_>,
) -> Result<Vec<Option<&'a Set>>, CommandError> {
    keys.iter().map(|key| ctx.read::<Set>(key)).collect()
}

/// Calls `found` with each member that all sets have, until it returns false.
/// O(members of the smallest set * sets).
fn intersect(sets: &[Option<&Set>], mut found: impl FnMut(&[u8]) -> bool) {
    let Some(mut sets) = sets.iter().copied().collect::<Option<Vec<&Set>>>() else {
        return;
    };
    sets.sort_by_key(|set| set.len());
    let Some((smallest, others)) = sets.split_first() else {
        return;
    };
    let mut scratch = Scratch::default();
    for member in smallest.iter() {
        let member = member.bytes(&mut scratch);
        if others.iter().all(|set| set.contains(member)) && !found(member) {
            return;
        }
    }
}

fn unite(sets: &[Option<&Set>], limits: SetLimits) -> Set {
    let mut union = Set::new();
    let mut scratch = Scratch::default();
    for member in sets.iter().flatten().flat_map(|set| set.iter()) {
        union.insert(member.bytes(&mut scratch), limits);
    }
    union
}

/// The members of the first set that no other one has.
///
/// As in Redis, either each member of the first set is looked for in the others, or the
/// members of the others are removed from a copy, whichever is less work: it shows in
/// the encoding of a result that is stored.
fn subtract(sets: Vec<Option<&Set>>, limits: SetLimits) -> Set {
    let mut difference = Set::new();
    let Some((Some(first), others)) = sets.split_first() else {
        return difference;
    };
    let mut others: Vec<&Set> = others.iter().copied().flatten().collect();
    if others.iter().any(|set| std::ptr::eq(*set, *first)) {
        return difference;
    }
    let mut scratch = Scratch::default();
    let looking_for = first.len() * (others.len() + 1) / 2;
    let removing = first.len() + others.iter().map(|set| set.len()).sum::<usize>();
    if looking_for <= removing {
        others.sort_by_key(|set| std::cmp::Reverse(set.len()));
        for member in first.iter() {
            let member = member.bytes(&mut scratch);
            if !others.iter().any(|set| set.contains(member)) {
                difference.insert(member, limits);
            }
        }
        return difference;
    }
    for member in first.iter() {
        difference.insert(member.bytes(&mut scratch), limits);
    }
    for set in others {
        for member in set.iter() {
            difference.remove(member.bytes(&mut scratch));
        }
        if difference.is_empty() {
            break;
        }
    }
    difference
}

fn write(reply: &mut Reply, set: &Set) {
    let mut scratch = Scratch::default();
    reply.set(set.len());
    for member in set.iter() {
        reply.bulk(member.bytes(&mut scratch));
    }
}

/// Stores a result and answers with its size; an empty one removes the key.
fn store(ctx: &mut WriteCtx<'_>, key: &[u8], result: Set, event: &'static str) -> Handled {
    let len = result.len();
    if len > 0 {
        ctx.set_value(key, result.into(), false);
        ctx.event(EventClass::SET, event, key);
    } else if ctx.remove(key) {
        ctx.event(EventClass::GENERIC, "del", key);
    }
    ctx.reply.integer(len as i64);
    Ok(())
}
