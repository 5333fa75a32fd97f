//! HyperLogLog: estimates of how many different elements were seen.

use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::{
    Attempt, Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run,
};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::store::block::Block;
use crate::store::decimal::Scratch;
use crate::store::hyperloglog::{self, Corrupt, REGISTERS};
use crate::store::string::StringValue;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "pfadd",
        group: Group::HyperLogLog,
        summary: "Adds elements to a HyperLogLog.",
        since: "2.8.9",
        complexity: "O(1) for each element",
        arity: -2,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::FAST)),
        categories: Categories::HYPERLOGLOG,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::INSERT))],
        tips: &[],
        syntax: "key#0 [element...]",
        run: Run::Write(pfadd),
    },
    CommandSpec {
        name: "pfcount",
        group: Group::HyperLogLog,
        summary: "Estimates how many different elements were added.",
        since: "2.8.9",
        complexity: "O(1) for one key; O(N) for the union of N keys, with a large constant",
        arity: -2,
        flags: Flags::READONLY.union(Flags::MAY_REPLICATE),
        categories: Categories::HYPERLOGLOG,
        keys: &[KeySpec {
            notes: "may rewrite the value in its other form",
            ..KeySpec::range(1, -1, 1, KeyFlags::RW.union(KeyFlags::ACCESS))
        }],
        tips: &[],
        syntax: "key#0...",
        run: Run::ReadOrWrite(try_pfcount, pfcount),
    },
    CommandSpec {
        name: "pfdebug",
        group: Group::HyperLogLog,
        summary: "Shows the inside of a HyperLogLog.",
        since: "2.8.9",
        complexity: "O(N), N registers",
        arity: 3,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::ADMIN)),
        categories: Categories::HYPERLOGLOG,
        keys: &[KeySpec::one(2, KeyFlags::RW.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "subcommand key#0",
        run: Run::Write(pfdebug),
    },
    CommandSpec {
        name: "pfmerge",
        group: Group::HyperLogLog,
        summary: "Merges HyperLogLogs into the first one.",
        since: "2.8.9",
        complexity: "O(N), N keys, with a large constant",
        arity: -2,
        flags: Flags::WRITE.union(Flags::DENYOOM),
        categories: Categories::HYPERLOGLOG,
        keys: &[
            KeySpec::one(
                1,
                KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::INSERT)),
            ),
            KeySpec::range(2, -1, 1, KeyFlags::RO.union(KeyFlags::ACCESS)),
        ],
        tips: &[],
        syntax: "destkey#0 [sourcekey#1...]",
        run: Run::Write(pfmerge),
    },
    CommandSpec {
        name: "pfselftest",
        group: Group::HyperLogLog,
        summary: "Compares the representations of HyperLogLogs with each other.",
        since: "2.8.9",
        complexity: "O(1)",
        arity: 1,
        flags: Flags::ADMIN,
        categories: Categories::HYPERLOGLOG,
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Read(pfselftest),
    },
];

const NOT_ONE: CommandError =
    CommandError::Text("WRONGTYPE Key is not a valid HyperLogLog string value.");

fn corrupt(_: Corrupt) -> CommandError {
    CommandError::Text("INVALIDOBJ Corrupted HLL object detected")
}

/// Whether the key exists; refused if it holds anything else.
fn check(ctx: &WriteCtx<'_>, key: &[u8]) -> Result<bool, CommandError> {
    match ctx.read::<StringValue>(key)? {
        None => Ok(false),
        Some(value) if hyperloglog::is_valid(value.bytes(&mut Scratch::default())) => Ok(true),
        Some(_) => Err(NOT_ONE),
    }
}

fn pfadd(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (key, elements) = (args.arg(1), args.from(2));
    check(ctx, key)?;
    ctx.upsert::<StringValue, Handled>(key, |value, lent| {
        let created = lent.created();
        let sparse_max = lent.settings.hll_sparse_max_bytes;
        let updated = value.edit(|block| {
            if created {
                block.append(&hyperloglog::empty());
            }
            add_all(block, elements, sparse_max)
        });
        let updated = updated.map_err(corrupt)? + u64::from(created);
        if updated > 0 {
            value.edit(|block| hyperloglog::forget_count(block.as_mut_slice()));
            lent.changed(updated);
            lent.event(EventClass::STRING, "pfadd");
        }
        lent.reply.integer((updated > 0).into());
        Ok(())
    })?
}

/// Adds elements; how many changed a register. A corrupt block stays as it was.
fn add_all(block: &mut Block, elements: Args<'_>, sparse_max: usize) -> Result<u64, Corrupt> {
    let may_fail_late = elements.len() > 1 && !hyperloglog::is_dense(block.as_slice());
    let before = may_fail_late.then(|| block.clone());
    let mut updated = 0;
    for element in elements {
        match hyperloglog::add(block, element, sparse_max) {
            Ok(raised) => updated += u64::from(raised),
            Err(error) => {
                if let Some(before) = before {
                    *block = before;
                }
                return Err(error);
            }
        }
    }
    Ok(updated)
}

/// Answers unless the count of a single key has to be made and kept.
fn try_pfcount(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Result<Attempt, CommandError> {
    if args.len() > 2 {
        let (registers, _) = merged(ctx, args.from(1))?;
        let count = hyperloglog::count_registers(&registers);
        ctx.reply.integer(count as i64);
        return Ok(Attempt::Answered);
    }
    let key = args.arg(1);
    let mut scratch = Scratch::default();
    let count = match ctx.glance::<StringValue>(key)? {
        None => Some(0),
        Some(value) => {
            let bytes = value.bytes(&mut scratch);
            let valid = hyperloglog::is_valid(bytes);
            valid.then(|| hyperloglog::cached_count(bytes)).flatten()
        }
    };
    let Some(count) = count else {
        return Ok(Attempt::MustWrite);
    };
    ctx.value(key);
    ctx.reply.integer(count as i64);
    Ok(Attempt::Answered)
}

fn pfcount(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    if args.len() > 2 {
        let (registers, _) = merged(&mut ctx.reader(), args.from(1))?;
        let count = hyperloglog::count_registers(&registers);
        ctx.reply.integer(count as i64);
        return Ok(());
    }
    let key = args.arg(1);
    let found = check(ctx, key);
    ctx.count_lookup(found != Ok(false));
    if !found? {
        ctx.reply.integer(0);
        return Ok(());
    }
    ctx.update::<StringValue, Handled>(key, |value, lent| {
        let (count, changed) = value
            .edit(|block| match hyperloglog::cached_count(block.as_slice()) {
                Some(count) => Ok((count, 0)),
                None => {
                    let count = hyperloglog::count(block.as_slice())?;
                    hyperloglog::cache_count(block.as_mut_slice(), count);
                    Ok((count, 1))
                }
            })
            .map_err(corrupt)?;
        lent.changed(changed);
        lent.reply.integer(count as i64);
        Ok(())
    })?
    .unwrap_or(Ok(()))
}

/// The greatest value of each register in all keys, and whether one of them is dense.
fn merged(
    ctx: &mut ReadCtx<'_>,
    keys: Args<'_>,
) -> Result<(Box<[u8; REGISTERS]>, bool), CommandError> {
    let mut registers = Box::new([0; REGISTERS]);
    let mut any_dense = false;
    for key in keys {
        let Some(value) = ctx.read::<StringValue>(key)? else {
            continue;
        };
        let mut scratch = Scratch::default();
        let bytes = value.bytes(&mut scratch);
        if !hyperloglog::is_valid(bytes) {
            return Err(NOT_ONE);
        }
        any_dense |= hyperloglog::is_dense(bytes);
        hyperloglog::merge(&mut registers, bytes).map_err(corrupt)?;
    }
    Ok((registers, any_dense))
}

fn pfmerge(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (registers, any_dense) = merged(&mut ctx.reader(), args.from(1))?;
    ctx.upsert::<StringValue, Handled>(args.arg(1), |value, lent| {
        let created = lent.created();
        let sparse_max = lent.settings.hll_sparse_max_bytes;
        let written = value.edit(|block| {
            if created {
                block.append(&hyperloglog::empty());
            }
            if any_dense {
                hyperloglog::make_dense(block)?;
            }
            for (index, &register) in registers.iter().enumerate() {
                if register > 0 {
                    hyperloglog::raise(block, index, register, sparse_max)?;
                }
            }
            hyperloglog::forget_count(block.as_mut_slice());
            Ok(())
        });
        written.map_err(corrupt)?;
        lent.changed(1);
        lent.event(EventClass::STRING, "pfadd");
        lent.reply.ok();
        Ok(())
    })?
}

fn pfdebug(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let (name, key) = (args.arg(1), args.arg(2));
    if !check(ctx, key)? {
        return Err(CommandError::Text("ERR The specified key does not exist"));
    }
    let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
    let (getreg, todense) = (is("getreg"), is("todense"));
    if !(getreg || todense || is("decode") || is("encoding")) {
        return Err(CommandError::Owned(format!(
            "ERR Unknown PFDEBUG subcommand '{}'",
            String::from_utf8_lossy(name)
        )));
    }
    ctx.update::<StringValue, Handled>(key, |value, lent| {
        value.edit(|block| {
            let was_dense = hyperloglog::is_dense(block.as_slice());
            if getreg || todense {
                hyperloglog::make_dense(block).map_err(corrupt)?;
                lent.changed((!was_dense).into());
            }
            let reply = &mut *lent.reply;
            if getreg {
                reply.array(REGISTERS);
                hyperloglog::registers(block.as_slice())
                    .for_each(|register| reply.integer(register.into()));
            } else if todense {
                reply.integer((!was_dense).into());
            } else if is("encoding") {
                reply.simple(if was_dense { "dense" } else { "sparse" });
            } else if was_dense {
                return Err(CommandError::Text("ERR HLL encoding is not sparse"));
            } else {
                reply.bulk(hyperloglog::describe_runs(block.as_slice()).as_bytes());
            }
            Ok(())
        })
    })?
    .unwrap_or(Ok(()))
}

fn pfselftest(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let sparse_max = ctx.settings().hll_sparse_max_bytes;
    let seed = ctx.session.random.next_u64();
    match hyperloglog::self_test(seed, sparse_max) {
        Ok(()) => ctx.reply.ok(),
        Err(text) => return Err(CommandError::Owned(format!("ERR TESTFAILED {text}"))),
    }
    Ok(())
}
