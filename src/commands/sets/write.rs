//! Commands that add, remove and move members.

use super::limits;
use crate::engine::ctx::WriteCtx;
use crate::engine::notify::EventClass;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::store::set::Set;

pub fn sadd(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    ctx.upsert::<Set, ()>(args.arg(1), |set, lent| {
        let limits = limits(lent.settings);
        let members = args.from(2);
        set.prepare(members.arg(0), members.len(), limits);
        let mut added = 0;
        for member in members {
            added += u64::from(set.insert(member, limits));
        }
        if added > 0 {
            lent.changed(added);
            lent.event(EventClass::SET, "sadd");
        }
        lent.reply.integer(added as i64);
    })
}

pub fn srem(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let removed = ctx.update::<Set, u64>(args.arg(1), |set, lent| {
        let mut removed = 0;
        for member in args.from(2) {
            removed += u64::from(set.remove(member));
            if set.is_empty() {
                break;
            }
        }
        if removed > 0 {
            lent.changed(removed);
            lent.event(EventClass::SET, "srem");
        }
        removed
    })?;
    ctx.reply.integer(removed.unwrap_or(0) as i64);
    Ok(())
}

pub fn smove(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (source, destination, member) = (args.arg(1), args.arg(2), args.arg(3));
    let Some(set) = ctx.read::<Set>(source)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let has_member = set.contains(member);
    ctx.read::<Set>(destination)?;
    ctx.reply.integer(i64::from(has_member));
    if !has_member || source == destination {
        return Ok(());
    }
    ctx.update::<Set, ()>(source, |set, lent| {
        set.remove(member);
        lent.changed(1);
        lent.event(EventClass::SET, "srem");
    })?;
    ctx.upsert::<Set, ()>(destination, |set, lent| {
        let limits = limits(lent.settings);
        if lent.created() {
            set.prepare(member, 1, limits);
        }
        if set.insert(member, limits) {
            lent.changed(1);
            lent.event(EventClass::SET, "sadd");
        }
    })
}
