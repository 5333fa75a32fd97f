//! DEBUG subcommands that turn knobs: of the allocator, and of layouts and timers of Redis that have no counterpart.

use crate::engine::ctx::ControlCtx;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::settings::memory_size;

/// Largest element of a list that Redis lets be set aside.
const PACKED_THRESHOLD_MAX: u64 = 4 << 30;

/// Looks at what Redis looks at, and changes nothing.
pub fn packed_threshold(ctx: &mut ControlCtx<'_>, size: &[u8]) -> Handled {
    match memory_size::parse(size) {
        Some(bytes) if bytes <= PACKED_THRESHOLD_MAX => ctx.reply.ok(),
        _ => {
            return Err(CommandError::Text(
                "ERR argument must be a memory value bigger than 1 and smaller than 4gb",
            ));
        }
    }
    Ok(())
}

/// DEBUG REPLYBUFFER: looks at what Redis looks at, and changes nothing.
pub fn reply_buffer(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let (knob, value) = (args.arg(2), args.arg(3));
    let words = [&b"never"[..], b"reset"];
    if knob.eq_ignore_ascii_case(b"peak-reset-time") {
        if !words.iter().any(|word| value.eq_ignore_ascii_case(word)) {
            parse_i64(value).ok_or(CommandError::NotInteger)?;
        }
    } else if !knob.eq_ignore_ascii_case(b"resizing") {
        return Err(CommandError::subcommand_syntax("DEBUG", args.arg(1)));
    }
    ctx.reply.ok();
    Ok(())
}

/// Figures of the allocator by name. They are not to be changed: a wrong one ends the process.
pub fn allocator_number(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    if let Some(text) = args.get(3) {
        parse_i64(text).ok_or(CommandError::NotInteger)?;
        return Err(CommandError::Text("ERR Operation not permitted"));
    }
    let name = String::from_utf8_lossy(args.arg(2));
    let number = ctx.engine.outside.allocator_number(&name);
    let number = number.ok_or(CommandError::Text("ERR No such file or directory"))?;
    ctx.reply.integer(number);
    Ok(())
}

/// Texts of the allocator by name.
pub fn allocator_text(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    if args.len() > 3 {
        return Err(CommandError::Text("ERR Operation not permitted"));
    }
    let name = String::from_utf8_lossy(args.arg(2));
    let text = ctx.engine.outside.allocator_text(&name);
    let text = text.ok_or(CommandError::Text("ERR Invalid argument"))?;
    ctx.reply.bulk(text.as_bytes());
    Ok(())
}
