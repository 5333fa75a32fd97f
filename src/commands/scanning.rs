//! What HSCAN and SSCAN share: the cursor, the options and the shape of the reply.

use super::keys::{ScanOptions, parse_cursor};
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::store::value::ValueType;

/// Elements of a reply, one behind the other.
pub type Found = Vec<Vec<u8>>;

/// Answers a scan of the value at the first argument. `walk` visits elements from a
/// cursor on, keeps those that the options let through, and returns the next cursor.
pub fn scan<T: ValueType + 'static>(
    ctx: &mut ReadCtx<'_>,
    args: Args<'_>,
    walk: impl FnOnce(&T, u64, &ScanOptions<'_>, &mut Found) -> u64,
) -> Handled {
    let cursor = parse_cursor(args.arg(2))?;
    let mut found = Vec::new();
    // Redis doesn't look at the options if there is nothing to scan.
    let next = match ctx.read::<T>(args.arg(1))? {
        Some(value) => {
            let options = ScanOptions::parse(args.from(3), false)?;
            walk(value, cursor, &options, &mut found)
        }
        None => 0,
    };
    ctx.reply.array(2);
    ctx.reply.bulk_fmt(format_args!("{next}"));
    ctx.reply.array(found.len());
    for element in &found {
        ctx.reply.bulk(element);
    }
    Ok(())
}
