//! BITFIELD: a string as packed integers of 1 to 64 bits.
//!
//! All operations are read before the first is done, so a wrong one changes nothing.

use super::{Args, BAD_OFFSET, grow, len_max};
use crate::commands::numbers::integer;
use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::spec::Handled;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::store::decimal::Scratch;
use crate::store::string::StringValue;

const BAD_TYPE: CommandError = CommandError::Text(
    "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
);

/// The width and sign of an integer.
#[derive(Clone, Copy)]
struct FieldType {
    signed: bool,
    bits: u32,
}

impl FieldType {
    fn parse(text: &[u8]) -> Result<Self, CommandError> {
        let (signed, width) = match text.split_first() {
            Some((b'i', width)) => (true, width),
            Some((b'u', width)) => (false, width),
            _ => return Err(BAD_TYPE),
        };
        match parse_i64(width) {
            Some(bits @ 1..=63) => Ok(Self {
                signed,
                bits: bits as u32,
            }),
            Some(64) if signed => Ok(Self { signed, bits: 64 }),
            _ => Err(BAD_TYPE),
        }
    }

    /// The low bits of `raw` as a number of this type.
    fn number(self, raw: u64) -> i64 {
        let unused = 64 - self.bits;
        if self.signed {
            (raw << unused) as i64 >> unused
        } else {
            (raw << unused >> unused) as i64
        }
    }

    /// Reads the field at a bit offset; zeros follow the string.
    fn read(self, bytes: &[u8], offset: usize) -> i64 {
        let first = offset >> 3;
        let mut window = [0; 16];
        if let Some(rest) = bytes.get(first..) {
            let count = rest.len().min(9);
            window[..count].copy_from_slice(&rest[..count]);
        }
        let shift = 128 - (offset & 7) as u32 - self.bits;
        self.number((u128::from_be_bytes(window) >> shift) as u64)
    }

    /// Writes the low bits of `value` at a bit offset inside `bytes`.
    fn write(self, bytes: &mut [u8], offset: usize, value: i64) {
        let (first, last) = (offset >> 3, (offset + self.bits as usize - 1) >> 3);
        let part = &mut bytes[first..=last];
        let mut window = [0; 16];
        window[..part.len()].copy_from_slice(part);
        let shift = 128 - (offset & 7) as u32 - self.bits;
        let mask = u128::from(u64::MAX >> (64 - self.bits)) << shift;
        let kept = u128::from_be_bytes(window) & !mask;
        let added = (u128::from(value as u64) << shift) & mask;
        part.copy_from_slice(&(kept | added).to_be_bytes()[..part.len()]);
    }

    /// `value + delta` in this type, and on which side it left the type's range, if it did.
    fn add(self, value: i64, delta: i64) -> (i64, Option<Side>) {
        let sum = value.wrapping_add(delta);
        let side = if self.signed {
            self.signed_side(value, delta)
        } else {
            self.unsigned_side(value as u64, delta)
        };
        match side {
            None => (sum, None),
            Some(side) => (self.number(sum as u64), Some(side)),
        }
    }

    fn signed_side(self, value: i64, delta: i64) -> Option<Side> {
        let (min, max) = (self.min(), self.max());
        // As in Redis, room wraps for a value far outside of a narrow type (SET of a huge negative number).
        let (above, below) = (max.wrapping_sub(value), min.wrapping_sub(value));
        let wide = self.bits == 64;
        if value > max || (!wide && delta > above) || (value >= 0 && delta > 0 && delta > above) {
            Some(Side::Above)
        } else if value < min
            || (!wide && delta < below)
            || (value < 0 && delta < 0 && delta < below)
        {
            Some(Side::Below)
        } else {
            None
        }
    }

    fn unsigned_side(self, value: u64, delta: i64) -> Option<Side> {
        let max = self.max() as u64;
        let sum = i128::from(value) + i128::from(delta);
        if value > max || sum > i128::from(max) {
            Some(Side::Above)
        } else if sum < 0 {
            Some(Side::Below)
        } else {
            None
        }
    }

    fn max(self) -> i64 {
        let value_bits = self.bits - u32::from(self.signed);
        (u64::MAX >> (64 - value_bits.max(1)) >> u32::from(value_bits == 0)) as i64
    }

    fn min(self) -> i64 {
        if self.signed { -self.max() - 1 } else { 0 }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Above,
    Below,
}

/// What happens to a result that its type cannot hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

impl Overflow {
    fn parse(word: &[u8]) -> Result<Self, CommandError> {
        if word.eq_ignore_ascii_case(b"wrap") {
            Ok(Self::Wrap)
        } else if word.eq_ignore_ascii_case(b"sat") {
            Ok(Self::Saturate)
        } else if word.eq_ignore_ascii_case(b"fail") {
            Ok(Self::Fail)
        } else {
            Err(CommandError::Text("ERR Invalid OVERFLOW type specified"))
        }
    }
}

#[derive(Clone, Copy)]
enum Action {
    Get,
    Set(i64),
    Increment(i64),
}

#[derive(Clone, Copy)]
struct Operation {
    field: FieldType,
    offset: usize,
    action: Action,
    overflow: Overflow,
}

struct Program {
    operations: Vec<Operation>,
    /// Bytes that the string needs for all writes; 0 if nothing is written.
    len_needed: usize,
}

impl Program {
    fn parse(args: Args<'_>, len_max: usize) -> Result<Self, CommandError> {
        let mut program = Self {
            operations: Vec::new(),
            len_needed: 0,
        };
        let mut overflow = Overflow::Wrap;
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let values = args.from(at + 1);
            let is = |name: &[u8], count: usize| {
                values.len() >= count && word.eq_ignore_ascii_case(name)
            };
            let (is_set, is_increment) = (is(b"set", 3), is(b"incrby", 3));
            if is(b"overflow", 1) {
                overflow = Overflow::parse(values.arg(0))?;
                at += 2;
                continue;
            }
            if !is_set && !is_increment && !is(b"get", 2) {
                return Err(CommandError::Syntax);
            }
            let field = FieldType::parse(values.arg(0))?;
            let offset = field_offset(values.arg(1), field, len_max)?;
            let mut action = Action::Get;
            if is_set || is_increment {
                let number = integer(values.arg(2))?;
                action = if is_set {
                    Action::Set(number)
                } else {
                    Action::Increment(number)
                };
                let last = offset + field.bits as usize - 1;
                program.len_needed = program.len_needed.max((last >> 3) + 1);
                at += 1;
            }
            at += 3;
            program.operations.push(Operation {
                field,
                offset,
                action,
                overflow,
            });
        }
        Ok(program)
    }
}

/// The bit offset that `text` names; `#` counts in widths of the field.
fn field_offset(text: &[u8], field: FieldType, len_max: usize) -> Result<usize, CommandError> {
    let (digits, unit) = match text.strip_prefix(b"#") {
        Some(digits) => (digits, field.bits as i64),
        None => (text, 1),
    };
    parse_i64(digits)
        .and_then(|count| count.checked_mul(unit))
        .and_then(|offset| usize::try_from(offset).ok())
        .filter(|offset| offset >> 3 < len_max)
        .ok_or(BAD_OFFSET)
}

impl Operation {
    /// The new content of the field, or None if it must not be written; and what to answer.
    fn outcome(&self, old: i64) -> (Option<i64>, Option<i64>) {
        let (value, delta, tells_old) = match self.action {
            Action::Get => return (None, Some(old)),
            Action::Set(value) => (value, 0, true),
            Action::Increment(delta) => (old, delta, false),
        };
        let (wrapped, side) = self.field.add(value, delta);
        let new = match (side, self.overflow) {
            (Some(_), Overflow::Fail) => return (None, None),
            (Some(Side::Above), Overflow::Saturate) => self.field.max(),
            (Some(Side::Below), Overflow::Saturate) => self.field.min(),
            _ => wrapped,
        };
        (Some(new), Some(if tells_old { old } else { new }))
    }
}

pub fn bitfield(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let program = Program::parse(args.from(2), len_max(ctx.session, ctx.settings()))?;
    if program.len_needed == 0 {
        let answers = {
            let value = ctx.read::<StringValue>(args.arg(1))?;
            ctx.count_lookup(value.is_some());
            read_all(&program, value)
        };
        ctx.reply.array(answers.len());
        for answer in answers {
            ctx.reply.integer(answer);
        }
        return Ok(());
    }
    ctx.upsert::<StringValue, ()>(args.arg(1), |value, lent| {
        let reply = &mut *lent.reply;
        reply.array(program.operations.len());
        let (changes, grown) = value.edit(|block| {
            let grown = grow(block, program.len_needed);
            let mut changes = 0;
            for operation in &program.operations {
                let old = operation.field.read(block.as_slice(), operation.offset);
                let (new, answer) = operation.outcome(old);
                match answer {
                    Some(answer) => reply.integer(answer),
                    None => reply.null(),
                }
                if let Some(new) = new {
                    operation
                        .field
                        .write(block.as_mut_slice(), operation.offset, new);
                    changes += u64::from(grown || old != new);
                }
            }
            (changes, grown)
        });
        if changes > 0 {
            lent.changed(changes);
            lent.event(EventClass::STRING, "setbit");
        } else if grown {
            // All writes overflowed, and the string is longer all the same.
            lent.changed(1);
        }
    })
}

pub fn bitfield_ro(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let program = Program::parse(args.from(2), len_max(ctx.session, ctx.settings()))?;
    if program.len_needed > 0 {
        return Err(CommandError::Text(
            "ERR BITFIELD_RO only supports the GET subcommand",
        ));
    }
    let value = ctx.read::<StringValue>(args.arg(1))?;
    let answers = read_all(&program, value);
    ctx.reply.array(answers.len());
    for answer in answers {
        ctx.reply.integer(answer);
    }
    Ok(())
}

/// The fields of a program that only reads.
fn read_all(program: &Program, value: Option<&StringValue>) -> Vec<i64> {
    let mut scratch = Scratch::default();
    let bytes = value.map_or(&b""[..], |value| value.bytes(&mut scratch));
    program
        .operations
        .iter()
        .map(|operation| operation.field.read(bytes, operation.offset))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_at_every_offset_keeps_its_neighbours() {
        for signed in [false, true] {
            for bits in 1..=(if signed { 64 } else { 63 }) {
                let field = FieldType { signed, bits };
                for offset in 0..17 {
                    let mut bytes = [0xa5u8; 12];
                    let value = field.number(0x0123_4567_89ab_cdef);
                    field.write(&mut bytes, offset, value);
                    assert_eq!(field.read(&bytes, offset), value);
                    for outside in
                        (0..96).filter(|at| !(offset..offset + bits as usize).contains(at))
                    {
                        let expected = 0xa5u8 >> (7 - outside % 8) & 1 == 1;
                        assert_eq!(super::super::bit_at(&bytes, outside), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn ranges_of_types() {
        let of = |text: &[u8]| FieldType::parse(text).map(|field| (field.min(), field.max()));
        assert_eq!(of(b"i1"), Ok((-1, 0)));
        assert_eq!(of(b"u1"), Ok((0, 1)));
        assert_eq!(of(b"i64"), Ok((i64::MIN, i64::MAX)));
        assert_eq!(of(b"u63"), Ok((0, i64::MAX)));
        for text in [&b""[..], b"i", b"u64", b"i65", b"i0", b"x8", b"u-1", b"I8"] {
            assert_eq!(of(text), Err(BAD_TYPE), "{text:?}");
        }
    }
}
