//! SPOP and SRANDMEMBER.

use super::limits;
use crate::commands::numbers::{count, symmetric};
use crate::commands::picks::{distinct_indexes, write_repeated};
use crate::engine::ctx::{Lent, ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::store::decimal::Scratch;
use crate::store::set::{Member, Set, SetLimits};

/// Members that one SREM in the log removes at most (Redis: SPOP's batches).
const LOGGED_MEMBERS_MAX: usize = 1024;

/// SPOP moves what stays to a new set if that is less than this share of what goes.
const MOVE_SHARE: usize = 5;

pub fn spop(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(1);
    let Some(text) = args.get(2) else {
        return pop_one(ctx, key);
    };
    if args.len() > 3 {
        return Err(CommandError::Syntax);
    }
    let wanted = count(text, CommandError::NotPositive)?;
    let len = ctx.read::<Set>(key)?.map_or(0, Set::len);
    if wanted == 0 || len == 0 {
        ctx.reply.set(0);
        return Ok(());
    }
    if wanted < len {
        ctx.update::<Set, ()>(key, |set, lent| pop_some(set, lent, wanted))?;
        return Ok(());
    }
    ctx.update::<Set, ()>(key, |set, lent| {
        write_all(set, lent);
        lent.event(EventClass::SET, "spop");
        lent.changed(len as u64);
        let lazily = lent.settings.lazyfree_lazy_server_del;
        lent.effect(&[if lazily { b"UNLINK" } else { b"DEL" }, key]);
        *set = Set::new();
    })?;
    Ok(())
}

fn pop_one(ctx: &mut WriteCtx<'_>, key: &[u8]) -> Handled {
    let popped = ctx.update::<Set, ()>(key, |set, lent| {
        let random = &mut *lent.random;
        let Some(member) = set.random(&mut |bound| random.below(bound)) else {
            return;
        };
        let member = member.to_vec();
        set.remove(&member);
        lent.changed(1);
        lent.event(EventClass::SET, "spop");
        lent.effect(&[b"SREM", key, &member]);
        lent.reply.bulk(&member);
    })?;
    if popped.is_none() {
        ctx.reply.null();
    }
    Ok(())
}

fn write_all(set: &Set, lent: &mut Lent<'_>) {
    let mut scratch = Scratch::default();
    lent.reply.set(set.len());
    for member in set.iter() {
        lent.reply.bulk(member.bytes(&mut scratch));
    }
}

/// Pops fewer members than there are.
fn pop_some(set: &mut Set, lent: &mut Lent<'_>, wanted: usize) {
    let chosen = distinct_indexes(set.len(), wanted, lent.random);
    let popped = members_at(set, &chosen);
    let left = set.len() - wanted;
    if left * MOVE_SHARE > wanted {
        for member in &popped {
            set.remove(member);
        }
    } else {
        let limits = limits(lent.settings);
        *set = without(set, &chosen, limits);
    }
    lent.reply.set(popped.len());
    for member in &popped {
        lent.reply.bulk(member);
    }
    lent.changed(popped.len() as u64);
    lent.event(EventClass::SET, "spop");
    let key = lent.key().to_vec();
    for members in popped.chunks(LOGGED_MEMBERS_MAX) {
        let mut words: Vec<&[u8]> = vec![b"SREM", &key];
        words.extend(members.iter().map(Vec::as_slice));
        lent.effect(&words);
    }
}

/// The members at these ascending places of the set's order.
fn members_at(set: &Set, places: &[usize]) -> Vec<Vec<u8>> {
    let mut places = places.iter().peekable();
    let mut members = Vec::with_capacity(places.len());
    for (place, member) in set.iter().enumerate() {
        if places.next_if_eq(&&place).is_some() {
            members.push(member.to_vec());
        }
        if places.peek().is_none() {
            break;
        }
    }
    members
}

/// What stays, as a new set that may well be small again.
fn without(set: &Set, places: &[usize], limits: SetLimits) -> Set {
    let mut places = places.iter().peekable();
    let mut left = set.emptied();
    let mut scratch = Scratch::default();
    for (place, member) in set.iter().enumerate() {
        if places.next_if_eq(&&place).is_none() {
            left.insert(member.bytes(&mut scratch), limits);
        }
    }
    left
}

pub fn srandmember(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let key = args.arg(1);
    let mut scratch = Scratch::default();
    let Some(text) = args.get(2) else {
        let set = ctx.read::<Set>(key)?;
        let random = &mut ctx.session.random;
        match set.and_then(|set| set.random(&mut |bound| random.below(bound))) {
            Some(member) => ctx.reply.bulk(member.bytes(&mut scratch)),
            None => ctx.reply.null(),
        }
        return Ok(());
    };
    if args.len() > 3 {
        return Err(CommandError::Syntax);
    }
    let count = symmetric(text)?;
    let Some(set) = ctx.read::<Set>(key)?.filter(|_| count != 0) else {
        ctx.reply.array(0);
        return Ok(());
    };
    if count < 0 {
        return repeated(ctx, set, count.unsigned_abs());
    }
    let wanted = usize::try_from(count).unwrap_or(usize::MAX).min(set.len());
    ctx.reply.array(wanted);
    if wanted == set.len() {
        for member in set.iter() {
            ctx.reply.bulk(member.bytes(&mut scratch));
        }
    } else {
        let chosen = distinct_indexes(set.len(), wanted, &mut ctx.session.random);
        for member in members_at(set, &chosen) {
            ctx.reply.bulk(&member);
        }
    }
    Ok(())
}

fn repeated(ctx: &mut ReadCtx<'_>, set: &Set, count: u64) -> Handled {
    ctx.reply.array(count as usize);
    let random = &mut ctx.session.random;
    // A small set is walked through for each draw, which an index of its members spares.
    let small: Option<Vec<Member<'_>>> =
        (set.encoding() == "listpack").then(|| set.iter().collect());
    let mut scratch = Scratch::default();
    write_repeated(ctx.reply, count, |reply| {
        let drawn = match &small {
            Some(members) => members.get(random.below(members.len())).copied(),
            None => set.random(&mut |bound| random.below(bound)),
        };
        if let Some(member) = drawn {
            reply.bulk(member.bytes(&mut scratch));
        }
    })
}
