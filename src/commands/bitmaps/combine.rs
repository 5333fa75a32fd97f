//! BITOP: strings combined bit by bit.

use super::Args;
use crate::engine::ctx::WriteCtx;
use crate::engine::notify::EventClass;
use crate::engine::spec::Handled;
use crate::resp::error::CommandError;
use crate::store::decimal::Scratch;
use crate::store::string::StringValue;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
    Not,
}

impl Operation {
    fn parse(word: &[u8]) -> Result<Self, CommandError> {
        let named = [
            (&b"and"[..], Self::And),
            (b"or", Self::Or),
            (b"xor", Self::Xor),
            (b"not", Self::Not),
        ];
        named
            .into_iter()
            .find(|(name, _)| word.eq_ignore_ascii_case(name))
            .map(|(_, operation)| operation)
            .ok_or(CommandError::Syntax)
    }

    /// Combines `bytes` into `result`, which has room for them; shorter ones go on with zeros.
    fn apply(self, result: &mut [u8], bytes: &[u8]) {
        let (head, tail) = result.split_at_mut(bytes.len());
        // Plain loops over equal lengths, which the compiler turns into wide instructions.
        match self {
            Self::And => {
                head.iter_mut()
                    .zip(bytes)
                    .for_each(|(to, from)| *to &= from);
                tail.fill(0);
            }
            Self::Or => head
                .iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to |= from),
            Self::Xor => head
                .iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to ^= from),
            Self::Not => head
                .iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to = !from),
        }
    }
}

pub fn bitop(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let operation = Operation::parse(args.arg(1))?;
    let (target, sources) = (args.arg(2), args.from(3));
    if operation == Operation::Not && sources.len() != 1 {
        return Err(CommandError::Text(
            "ERR BITOP NOT must be called with a single source key.",
        ));
    }
    let result = combine(ctx, operation, sources)?;
    let len = result.len();
    if len > 0 {
        // The result is a changed string, not the text of a number.
        let mut value = StringValue::default();
        value.append(&result);
        ctx.set_value(target, value.into(), false);
        ctx.event(EventClass::STRING, "set", target);
    } else if ctx.remove(target) {
        ctx.event(EventClass::GENERIC, "del", target);
    }
    ctx.reply.integer(len as i64);
    Ok(())
}

fn combine(
    ctx: &WriteCtx<'_>,
    operation: Operation,
    sources: Args<'_>,
) -> Result<Vec<u8>, CommandError> {
    let mut values = Vec::with_capacity(sources.len());
    for key in sources {
        let value = ctx.read::<StringValue>(key)?;
        ctx.count_lookup(value.is_some());
        values.push(value);
    }
    let len = values.iter().flatten().map(|value| value.len()).max();
    let mut result = vec![0; len.unwrap_or(0)];
    let mut scratch = Scratch::default();
    for (index, value) in values.into_iter().enumerate() {
        let bytes = value.map_or(&b""[..], |value| value.bytes(&mut scratch));
        if index == 0 && operation != Operation::Not {
            result[..bytes.len()].copy_from_slice(bytes);
        } else {
            operation.apply(&mut result, bytes);
        }
    }
    Ok(result)
}
