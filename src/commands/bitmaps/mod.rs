//! Bitmaps: the bits of strings, one by one, in runs and as packed integers.
//!
//! Bit 0 is the highest bit of the first byte. What lies beyond the end of a string
//! reads as zeros; a write there lets the string grow.

mod combine;
mod fields;
mod search;

use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::session::{Origin, Session};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::settings::Settings;
use crate::store::decimal::Scratch;
use crate::store::string::StringValue;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "bitcount",
        group: Group::Bitmap,
        summary: "Counts the bits that are set.",
        since: "2.6.0",
        complexity: "O(N), N bytes of the range",
        arity: -2,
        flags: Flags::READONLY,
        categories: Categories::BITMAP,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 [range(start:integer end:integer [unit<BYTE | BIT>@7.0.0])]",
        run: Run::Read(search::bitcount),
    },
    CommandSpec {
        name: "bitfield",
        group: Group::Bitmap,
        summary: "Reads, sets and increments integers of any width inside a string.",
        since: "3.2.0",
        complexity: "O(1) for each integer",
        arity: -2,
        flags: Flags::WRITE.union(Flags::DENYOOM),
        categories: Categories::BITMAP,
        keys: &[KeySpec {
            notes: "writes only with SET or INCRBY",
            ..KeySpec::one(
                1,
                KeyFlags::RW.union(
                    KeyFlags::ACCESS.union(KeyFlags::UPDATE.union(KeyFlags::VARIABLE_FLAGS)),
                ),
            )
        }],
        tips: &[],
        syntax: "key#0 [operation<GET=get-block(encoding offset:integer) | write([OVERFLOW=overflow-block<WRAP | SAT | FAIL>] write-operation<SET=set-block(encoding offset:integer value:integer) | INCRBY=incrby-block(encoding offset:integer increment:integer)>)>...]",
        run: Run::Write(fields::bitfield),
    },
    CommandSpec {
        name: "bitfield_ro",
        group: Group::Bitmap,
        summary: "Reads integers of any width inside a string.",
        since: "6.0.0",
        complexity: "O(1) for each integer",
        arity: -2,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::BITMAP,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 [GET=get-block(encoding offset:integer)&...]",
        run: Run::Read(fields::bitfield_ro),
    },
    CommandSpec {
        name: "bitop",
        group: Group::Bitmap,
        summary: "Stores the bitwise combination of strings.",
        since: "2.6.0",
        complexity: "O(N), N bytes of all strings",
        arity: -4,
        flags: Flags::WRITE.union(Flags::DENYOOM),
        categories: Categories::BITMAP,
        keys: &[
            KeySpec::one(2, KeyFlags::OW.union(KeyFlags::UPDATE)),
            KeySpec::range(3, -1, 1, KeyFlags::RO.union(KeyFlags::ACCESS)),
        ],
        tips: &[],
        syntax: "operation<AND | OR | XOR | NOT> destkey#0 key#1...",
        run: Run::Write(combine::bitop),
    },
    CommandSpec {
        name: "bitpos",
        group: Group::Bitmap,
        summary: "Finds the first bit that is set or clear.",
        since: "2.8.7",
        complexity: "O(N), N bytes of the range",
        arity: -3,
        flags: Flags::READONLY,
        categories: Categories::BITMAP,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 bit:integer [range(start:integer [end-unit-block(end:integer [unit<BYTE | BIT>@7.0.0])])]",
        run: Run::Read(search::bitpos),
    },
    CommandSpec {
        name: "getbit",
        group: Group::Bitmap,
        summary: "Returns one bit.",
        since: "2.2.0",
        complexity: "O(1)",
        arity: 3,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::BITMAP,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 offset:integer",
        run: Run::Read(getbit),
    },
    CommandSpec {
        name: "setbit",
        group: Group::Bitmap,
        summary: "Sets or clears one bit.",
        since: "2.2.0",
        complexity: "O(1), or the bytes by which the string grows",
        arity: 4,
        flags: Flags::WRITE.union(Flags::DENYOOM),
        categories: Categories::BITMAP,
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::UPDATE)),
        )],
        tips: &[],
        syntax: "key#0 offset:integer value:integer",
        run: Run::Write(setbit),
    },
];

const BAD_OFFSET: CommandError =
    CommandError::Text("ERR bit offset is not an integer or out of range");
const BAD_BIT: CommandError = CommandError::Text("ERR bit is not an integer or out of range");

/// Longest integer of a bit field, in bytes: so much may a write reach beyond its offset.
const FIELD_LEN_MAX: usize = 8;

/// How long a string may get for the sake of one of its bits.
fn len_max(session: &Session, settings: &Settings) -> usize {
    let max = StringValue::LEN_MAX - FIELD_LEN_MAX;
    if session.origin == Origin::Replay {
        max
    } else {
        settings.proto_max_bulk_len.min(max)
    }
}

/// The position of a bit that a string of at most `len_max` bytes has.
fn bit_offset(text: &[u8], len_max: usize) -> Result<usize, CommandError> {
    parse_i64(text)
        .and_then(|offset| usize::try_from(offset).ok())
        .filter(|offset| offset >> 3 < len_max)
        .ok_or(BAD_OFFSET)
}

/// The bit at `offset`; there are only zeros behind the end.
fn bit_at(bytes: &[u8], offset: usize) -> bool {
    bytes
        .get(offset >> 3)
        .is_some_and(|byte| byte >> (7 - (offset & 7)) & 1 == 1)
}

/// Makes `block` at least `len` bytes long; whether it was shorter.
fn grow(block: &mut crate::store::block::Block, len: usize) -> bool {
    let old_len = block.len();
    if old_len < len {
        block.open(old_len, len - old_len);
    }
    old_len < len
}

fn getbit(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let offset = bit_offset(args.arg(2), len_max(ctx.session, ctx.settings()))?;
    let bit = ctx
        .read::<StringValue>(args.arg(1))?
        .is_some_and(|value| bit_at(value.bytes(&mut Scratch::default()), offset));
    ctx.reply.integer(bit.into());
    Ok(())
}

fn setbit(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let offset = bit_offset(args.arg(2), len_max(ctx.session, ctx.settings()))?;
    let on = match parse_i64(args.arg(3)) {
        Some(0) => false,
        Some(1) => true,
        _ => return Err(BAD_BIT),
    };
    ctx.upsert::<StringValue, ()>(args.arg(1), |value, lent| {
        let (was_on, grown) = value.edit(|block| {
            let grown = grow(block, (offset >> 3) + 1);
            let was_on = bit_at(block.as_slice(), offset);
            let mask = 0x80 >> (offset & 7);
            let byte = &mut block.as_mut_slice()[offset >> 3];
            *byte = if on { *byte | mask } else { *byte & !mask };
            (was_on, grown)
        });
        if grown || was_on != on {
            lent.changed(1);
            lent.event(EventClass::STRING, "setbit");
        }
        lent.reply.integer(was_on.into());
    })
}
