//! LPOS.

use crate::commands::numbers::{count, symmetric};
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::store::list::List;

struct Options {
    /// Matches to skip.
    skipped: u64,
    backward: bool,
    /// None answers with the first match alone.
    wanted: Option<usize>,
    compared_max: usize,
}

impl Options {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = Options {
            skipped: 0,
            backward: false,
            wanted: None,
            compared_max: usize::MAX,
        };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let text = words.next().ok_or(CommandError::Syntax)?;
            if word.eq_ignore_ascii_case(b"RANK") {
                let rank = symmetric(text)?;
                let distance = rank.unsigned_abs().checked_sub(1);
                options.skipped = distance.ok_or(RANK_IS_ZERO)?;
                options.backward = rank < 0;
            } else if word.eq_ignore_ascii_case(b"COUNT") {
                options.wanted = Some(count(text, "ERR COUNT can't be negative".into())?);
            } else if word.eq_ignore_ascii_case(b"MAXLEN") {
                let max = count(text, "ERR MAXLEN can't be negative".into())?;
                options.compared_max = if max == 0 { usize::MAX } else { max };
            } else {
                return Err(CommandError::Syntax);
            }
        }
        Ok(options)
    }
}

const RANK_IS_ZERO: &str = "ERR RANK can't be zero: use 1 to start from the first match, 2 from \
     the second ... or use negative to start from the end of the list";

pub fn lpos(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let options = Options::parse(args.from(3))?;
    let found = match ctx.read::<List>(args.arg(1))? {
        Some(list) => find(list, args.arg(2), &options),
        None => Vec::new(),
    };
    match (options.wanted, found.first()) {
        (None, Some(&index)) => ctx.reply.integer(index as i64),
        (None, None) => ctx.reply.null(),
        (Some(_), _) => {
            ctx.reply.array(found.len());
            for index in found {
                ctx.reply.integer(index as i64);
            }
        }
    }
    Ok(())
}

fn find(list: &List, element: &[u8], options: &Options) -> Vec<usize> {
    let wanted = match options.wanted {
        None => 1,
        Some(0) => usize::MAX,
        Some(wanted) => wanted,
    };
    let len = list.len();
    let mut found = Vec::new();
    let mut skipped = 0;
    let mut look = |index: usize, other: &[u8]| {
        if other == element {
            if skipped < options.skipped {
                skipped += 1;
            } else {
                found.push(index);
            }
        }
        found.len() < wanted
    };
    if options.backward {
        let mut elements = list.range_back(len.saturating_sub(1), options.compared_max);
        let indexes = (0..len).rev();
        indexes
            .zip(&mut elements)
            .all(|(index, other)| look(index, other));
    } else {
        let mut elements = list.range(0, options.compared_max).enumerate();
        elements.all(|(index, other)| look(index, other));
    }
    found
}
