//! LCS: the longest common subsequence of two strings.

use crate::commands::numbers::integer;
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use crate::store::decimal::Scratch;
use crate::store::string::StringValue;
use crate::store::value::ValueType;

#[derive(Default)]
struct Options {
    only_len: bool,
    ranges: bool,
    with_match_len: bool,
    match_len_min: usize,
}

impl Options {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = Options::default();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            if word.eq_ignore_ascii_case(b"IDX") {
                options.ranges = true;
            } else if word.eq_ignore_ascii_case(b"LEN") {
                options.only_len = true;
            } else if word.eq_ignore_ascii_case(b"WITHMATCHLEN") {
                options.with_match_len = true;
            } else if word.eq_ignore_ascii_case(b"MINMATCHLEN") {
                let number = integer(words.next().ok_or(CommandError::Syntax)?)?;
                options.match_len_min = usize::try_from(number).unwrap_or(0);
            } else {
                return Err(CommandError::Syntax);
            }
        }
        if options.ranges && options.only_len {
            return Err(CommandError::Text(
                "ERR If you want both the length and indexes, please just use IDX.",
            ));
        }
        Ok(options)
    }
}

pub fn lcs(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let first = ctx.value(args.arg(1));
    let second = ctx.value(args.arg(2));
    let text = |value| match value {
        None => Ok(None),
        Some(value) => StringValue::from_ref(value)
            .map(Some)
            .ok_or(CommandError::Text(
                "ERR The specified keys must contain string values",
            )),
    };
    let (first, second) = (text(first)?, text(second)?);
    let options = Options::parse(args.from(3))?;
    let (mut scratch, mut other_scratch) = (Scratch::default(), Scratch::default());
    let first = first.map_or(&b""[..], |value| value.bytes(&mut scratch));
    let second = second.map_or(&b""[..], |value| value.bytes(&mut other_scratch));
    let table = Table::new(first, second, ctx.settings().proto_max_bulk_len)?;
    if options.only_len {
        ctx.reply.integer(table.len() as i64);
    } else if options.ranges {
        table.write_ranges(&options, ctx.reply);
    } else {
        ctx.reply.bulk(&table.text());
    }
    Ok(())
}

/// The lengths of the longest common subsequences of all pairs of prefixes.
struct Table<'a> {
    first: &'a [u8],
    second: &'a [u8],
    lens: Vec<u32>,
}

/// What a step back through the table finds.
enum Step {
    /// The last bytes of both prefixes are equal: they are part of the subsequence.
    Match,
    ShortenFirst,
    ShortenSecond,
}

impl<'a> Table<'a> {
    /// O(lengths multiplied) in time and in memory, which `bytes_max` bounds.
    fn new(first: &'a [u8], second: &'a [u8], bytes_max: usize) -> Result<Self, CommandError> {
        let cells = (first.len() + 1)
            .checked_mul(second.len() + 1)
            .filter(|cells| {
                cells
                    .checked_mul(size_of::<u32>())
                    .is_some_and(|b| b <= bytes_max)
            })
            .ok_or(CommandError::Text(
                "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
            ))?;
        let mut table = Table {
            first,
            second,
            lens: vec![0; cells],
        };
        let width = second.len() + 1;
        for (row, byte) in first.iter().enumerate() {
            let (above, below) = table.lens[row * width..(row + 2) * width].split_at_mut(width);
            for (column, other) in second.iter().enumerate() {
                below[column + 1] = if byte == other {
                    above[column] + 1
                } else {
                    above[column + 1].max(below[column])
                };
            }
        }
        Ok(table)
    }

    fn at(&self, first: usize, second: usize) -> u32 {
        self.lens[first * (self.second.len() + 1) + second]
    }

    fn len(&self) -> u32 {
        self.at(self.first.len(), self.second.len())
    }

    fn step(&self, first: usize, second: usize) -> Step {
        if self.first[first - 1] == self.second[second - 1] {
            Step::Match
        } else if self.at(first - 1, second) > self.at(first, second - 1) {
            Step::ShortenFirst
        } else {
            Step::ShortenSecond
        }
    }

    fn text(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.len() as usize);
        let (mut first, mut second) = (self.first.len(), self.second.len());
        while first > 0 && second > 0 {
            match self.step(first, second) {
                Step::Match => {
                    text.push(self.first[first - 1]);
                    (first, second) = (first - 1, second - 1);
                }
                Step::ShortenFirst => first -= 1,
                Step::ShortenSecond => second -= 1,
            }
        }
        text.reverse();
        text
    }

    /// The runs of equal bytes, the last one first: where they start in both strings, and how long they are.
    fn runs(&self) -> Vec<(usize, usize, usize)> {
        let mut runs = Vec::new();
        let mut run = 0;
        let (mut first, mut second) = (self.first.len(), self.second.len());
        while first > 0 && second > 0 {
            let step = self.step(first, second);
            if !matches!(step, Step::Match) && run > 0 {
                runs.push((first, second, run));
                run = 0;
            }
            match step {
                Step::Match => {
                    (first, second) = (first - 1, second - 1);
                    run += 1;
                }
                Step::ShortenFirst => first -= 1,
                Step::ShortenSecond => second -= 1,
            }
        }
        if run > 0 {
            runs.push((first, second, run));
        }
        runs
    }

    fn write_ranges(&self, options: &Options, reply: &mut Reply) {
        let mut runs = self.runs();
        runs.retain(|&(.., len)| len >= options.match_len_min);
        reply.map(2);
        reply.bulk(b"matches");
        reply.array(runs.len());
        for (first, second, len) in runs {
            reply.array(2 + usize::from(options.with_match_len));
            for start in [first, second] {
                reply.array(2);
                reply.integer(start as i64);
                reply.integer((start + len - 1) as i64);
            }
            if options.with_match_len {
                reply.integer(len as i64);
            }
        }
        reply.bulk(b"len");
        reply.integer(i64::from(self.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_subsequence_and_its_runs() {
        let table = Table::new(b"ohmytext", b"mynewtext", 1 << 20).unwrap();
        assert_eq!(table.text(), b"mytext");
        assert_eq!(table.len(), 6);
        assert_eq!(table.runs(), [(4, 5, 4), (2, 0, 2)]);
        let empty = Table::new(b"", b"abc", 1 << 20).unwrap();
        assert_eq!((empty.len(), empty.runs().len()), (0, 0));
        assert!(Table::new(&[b'x'; 1000], &[b'x'; 1000], 4_000_000).is_err());
    }
}
