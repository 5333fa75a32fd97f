//! Counting and finding bits in a part of a string.

use super::Args;
use crate::commands::numbers::integer;
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::Handled;
use crate::resp::error::CommandError;
use crate::store::decimal::Scratch;
use crate::store::string::StringValue;

/// The part that a command names by its first and last byte or bit.
struct Part {
    start: i64,
    /// The last position; None is the end of the string.
    end: Option<i64>,
    by_bit: bool,
}

impl Part {
    const WHOLE: Self = Self {
        start: 0,
        end: None,
        by_bit: false,
    };

    /// The bits of the part in a string of `len` bytes: first and behind the last; None if there are none.
    fn bits(&self, len: usize) -> Option<(usize, usize)> {
        let unit = if self.by_bit { 1 } else { 8 };
        // Strings are far shorter than 2^60 bytes.
        let total = (len * 8 / unit) as i64;
        let from_end = |position: i64| {
            let positive = if position < 0 {
                position.saturating_add(total)
            } else {
                position
            };
            positive.max(0)
        };
        let start = from_end(self.start);
        let end = self.end.map_or(total - 1, from_end).min(total - 1);
        (start <= end).then(|| (start as usize * unit, (end + 1) as usize * unit))
    }
}

fn parse_unit(word: &[u8]) -> Result<bool, CommandError> {
    if word.eq_ignore_ascii_case(b"bit") {
        Ok(true)
    } else if word.eq_ignore_ascii_case(b"byte") {
        Ok(false)
    } else {
        Err(CommandError::Syntax)
    }
}

pub fn bitcount(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let part = match args.len() {
        2 => Part::WHOLE,
        4 | 5 => Part {
            start: integer(args.arg(2))?,
            end: Some(integer(args.arg(3))?),
            by_bit: args.get(4).map_or(Ok(false), parse_unit)?,
        },
        _ => return Err(CommandError::Syntax),
    };
    let count = match ctx.read::<StringValue>(args.arg(1))? {
        None => 0,
        Some(value) => {
            let mut scratch = Scratch::default();
            let bytes = value.bytes(&mut scratch);
            // Bounds from the end the wrong way round would be clipped to the first byte.
            let reversed =
                matches!(part.end, Some(end) if part.start < 0 && end < 0 && part.start > end);
            match part.bits(bytes.len()) {
                Some((start, end)) if !reversed => count_bits(bytes, start, end),
                _ => 0,
            }
        }
    };
    ctx.reply.integer(count as i64);
    Ok(())
}

pub fn bitpos(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let wanted = match integer(args.arg(2))? {
        0 => false,
        1 => true,
        _ => return Err(CommandError::Text("ERR The bit argument must be 1 or 0.")),
    };
    let part = match args.len() {
        3 => Part::WHOLE,
        4..=6 => {
            let start = integer(args.arg(3))?;
            let by_bit = args.get(5).map_or(Ok(false), parse_unit)?;
            let end = args.get(4).map(integer).transpose()?;
            Part { start, end, by_bit }
        }
        _ => return Err(CommandError::Syntax),
    };
    let position = match ctx.read::<StringValue>(args.arg(1))? {
        // An absent key is an endless row of zeros.
        None => (!wanted).then_some(0),
        Some(value) => {
            let mut scratch = Scratch::default();
            let bytes = value.bytes(&mut scratch);
            part.bits(bytes.len()).and_then(|(start, end)| {
                let found = find_bit(bytes, start, end, wanted);
                // Without a given end, zeros follow the string.
                found.or((!wanted && part.end.is_none()).then_some(end))
            })
        }
    };
    ctx.reply
        .integer(position.map_or(-1, |position| position as i64));
    Ok(())
}

/// The byte at `index` with only the bits from `start` to before `end` kept.
fn masked(bytes: &[u8], index: usize, start: usize, end: usize) -> u8 {
    let mut byte = bytes[index];
    if index == start >> 3 {
        byte &= 0xff >> (start & 7);
    }
    if index == end >> 3 {
        byte &= !(0xff >> (end & 7));
    }
    byte
}

/// Bits that are set from `start` to before `end`.
fn count_bits(bytes: &[u8], start: usize, end: usize) -> usize {
    let (first, last) = (start >> 3, (end - 1) >> 3);
    if first == last {
        return masked(bytes, first, start, end).count_ones() as usize;
    }
    let edges = masked(bytes, first, start, end).count_ones()
        + masked(bytes, last, start, end).count_ones();
    edges as usize + count_all(&bytes[first + 1..last])
}

/// Bits that are set, eight bytes at a time.
fn count_all(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let in_words: usize = words
        .iter()
        .map(|word| u64::from_ne_bytes(*word).count_ones() as usize)
        .sum();
    let in_rest: usize = rest.iter().map(|byte| byte.count_ones() as usize).sum();
    in_words + in_rest
}

/// The first bit equal to `wanted` from `start` to before `end`.
fn find_bit(bytes: &[u8], start: usize, end: usize, wanted: bool) -> Option<usize> {
    // Bits that are not wanted are zeros in all that follows.
    let flip = if wanted { 0 } else { 0xff };
    let (first, last) = (start >> 3, (end - 1) >> 3);
    let in_byte = |index: usize| {
        let flipped = [bytes[index] ^ flip];
        let mut byte = flipped[0];
        if index == first {
            byte &= 0xff >> (start & 7);
        }
        if index == end >> 3 {
            byte &= !(0xff >> (end & 7));
        }
        (byte != 0).then(|| index * 8 + byte.leading_zeros() as usize)
    };
    if let Some(found) = in_byte(first) {
        return Some(found);
    }
    if first == last {
        return None;
    }
    let skip = if wanted { 0 } else { u64::MAX };
    let inner = &bytes[first + 1..last];
    let (words, _) = inner.as_chunks::<8>();
    let equal = words
        .iter()
        .take_while(|word| u64::from_ne_bytes(**word) == skip)
        .count();
    (first + 1 + equal * 8..=last).find_map(in_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_finds_as_bit_by_bit() {
        let mut state = 11u64;
        let mut below = move |bound: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        for _ in 0..3000 {
            let kind = below(3);
            let bytes: Vec<u8> = (0..1 + below(60))
                .map(|_| match kind {
                    0 => below(256) as u8,
                    1 if below(20) > 0 => 0,
                    2 if below(20) > 0 => 0xff,
                    _ => below(256) as u8,
                })
                .collect();
            let start = below(bytes.len() * 8);
            let end = start + 1 + below(bytes.len() * 8 - start);
            let set: Vec<usize> = (start..end)
                .filter(|&offset| super::super::bit_at(&bytes, offset))
                .collect();
            assert_eq!(count_bits(&bytes, start, end), set.len());
            assert_eq!(
                find_bit(&bytes, start, end, true),
                set.first().copied(),
                "{bytes:?} {start} {end}"
            );
            let clear = (start..end).find(|offset| !set.contains(offset));
            assert_eq!(find_bit(&bytes, start, end, false), clear);
        }
    }
}
