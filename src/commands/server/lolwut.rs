//! LOLWUT: a leaderboard as a skyline.

use crate::engine::ctx::ReadCtx;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::settings::{RANKD_VERSION, REDIS_VERSION};

/// Columns and rows of the drawing.
const WIDTH: usize = 40;
const HEIGHT: usize = 8;

pub fn lolwut(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    if args.len() >= 3 && args.arg(1).eq_ignore_ascii_case(b"version") {
        parse_i64(args.arg(2)).ok_or(CommandError::NotInteger)?;
    }
    let mut towers = [0usize; WIDTH];
    for tower in &mut towers {
        *tower = 1 + ctx.session.random.below(HEIGHT);
    }
    towers.sort_unstable();
    let mut text = String::new();
    for row in (1..=HEIGHT).rev() {
        let line: String = towers
            .iter()
            .map(|&tower| if tower >= row { '#' } else { ' ' })
            .collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(&format!(
        "Everyone has a rank. rankd {RANKD_VERSION}, Redis ver. {REDIS_VERSION}\n"
    ));
    ctx.reply.verbatim("txt", text.as_bytes());
    Ok(())
}
