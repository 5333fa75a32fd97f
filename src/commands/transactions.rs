//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.

use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::session::Transaction;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "discard",
        group: Group::Transactions,
        summary: "Drops the queued commands and ends the transaction.",
        since: "2.0.0",
        complexity: "O(N), when N is the number of queued commands",
        arity: 1,
        flags: Flags::NOSCRIPT
            .union(Flags::LOADING.union(Flags::STALE.union(Flags::FAST.union(Flags::ALLOW_BUSY)))),
        categories: Categories::TRANSACTION,
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Control(discard),
    },
    CommandSpec {
        name: "exec",
        group: Group::Transactions,
        summary: "Runs the queued commands as one.",
        since: "1.2.0",
        complexity: "Depends on commands in the transaction",
        arity: 1,
        flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE.union(Flags::SKIP_SLOWLOG))),
        categories: Categories::TRANSACTION,
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Control(exec),
    },
    CommandSpec {
        name: "multi",
        group: Group::Transactions,
        summary: "Begins to queue commands.",
        since: "1.2.0",
        complexity: "O(1)",
        arity: 1,
        flags: Flags::NOSCRIPT
            .union(Flags::LOADING.union(Flags::STALE.union(Flags::FAST.union(Flags::ALLOW_BUSY)))),
        categories: Categories::TRANSACTION,
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Read(multi),
    },
    CommandSpec {
        name: "unwatch",
        group: Group::Transactions,
        summary: "Forgets the watched keys.",
        since: "2.2.0",
        complexity: "O(1)",
        arity: 1,
        flags: Flags::NOSCRIPT
            .union(Flags::LOADING.union(Flags::STALE.union(Flags::FAST.union(Flags::ALLOW_BUSY)))),
        categories: Categories::TRANSACTION,
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Control(unwatch),
    },
    CommandSpec {
        name: "watch",
        group: Group::Transactions,
        summary: "Makes the next EXEC depend on these keys staying as they are.",
        since: "2.2.0",
        complexity: "O(1) for every key.",
        arity: -2,
        flags: Flags::NOSCRIPT
            .union(Flags::LOADING.union(Flags::STALE.union(Flags::FAST.union(Flags::ALLOW_BUSY)))),
        categories: Categories::TRANSACTION,
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO)],
        tips: &[],
        syntax: "key#0...",
        run: Run::Control(watch),
    },
];

fn multi(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    if ctx.session.transaction.is_some() {
        return Err(CommandError::Text("ERR MULTI calls can not be nested"));
    }
    ctx.session.transaction = Some(Transaction::default());
    ctx.session.publish_counts();
    ctx.reply.ok();
    Ok(())
}

fn discard(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    if ctx.session.transaction.take().is_none() {
        return Err(CommandError::Text("ERR DISCARD without MULTI"));
    }
    ctx.engine.unwatch(ctx.session);
    ctx.session.publish_counts();
    ctx.reply.ok();
    Ok(())
}

fn exec(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    let Some(transaction) = ctx.session.transaction.take() else {
        return Err(CommandError::Text("ERR EXEC without MULTI"));
    };
    let broken = ctx.engine.watch_is_broken(ctx.session, ctx.now);
    ctx.engine.unwatch(ctx.session);
    ctx.session.publish_counts();
    if transaction.refused {
        return Err(CommandError::Text(
            "EXECABORT Transaction discarded because of previous errors.",
        ));
    }
    if broken {
        ctx.reply.null_array();
        return Ok(());
    }
    ctx.reply.array(transaction.commands.len());
    ctx.run_transaction(&transaction);
    Ok(())
}

fn watch(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    if ctx.session.transaction.is_some() {
        return Err(CommandError::Text("ERR WATCH inside MULTI is not allowed"));
    }
    for key in args.from(1).iter() {
        ctx.engine.watch(ctx.session, key, ctx.now);
    }
    ctx.session.publish_counts();
    ctx.reply.ok();
    Ok(())
}

fn unwatch(ctx: &mut ControlCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.engine.unwatch(ctx.session);
    ctx.session.publish_counts();
    ctx.reply.ok();
    Ok(())
}
