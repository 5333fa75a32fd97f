//! Walking through the keys of a database: KEYS, SCAN, RANDOMKEY, DBSIZE.

use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::store::glob;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "dbsize",
        group: Group::Server,
        summary: "Counts the keys of the database.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 1,
        flags: Flags::READONLY.union(Flags::FAST),
        categories: Categories::KEYSPACE,
        keys: &[],
        tips: &["request_policy:all_shards", "response_policy:agg_sum"],
        syntax: "",
        run: Run::Read(dbsize),
    },
    CommandSpec {
        name: "keys",
        group: Group::Generic,
        summary: "Lists the keys that match a pattern.",
        since: "1.0.0",
        complexity: "O(N) with N being the number of keys in the database, under the assumption that the key names in the database and the given pattern have limited length.",
        arity: 2,
        flags: Flags::READONLY,
        categories: Categories::KEYSPACE.union(Categories::DANGEROUS),
        keys: &[],
        tips: &["request_policy:all_shards", "nondeterministic_output_order"],
        syntax: "pattern:pattern",
        run: Run::Read(keys),
    },
    CommandSpec {
        name: "randomkey",
        group: Group::Generic,
        summary: "Picks a key at random.",
        since: "1.0.0",
        complexity: "O(1)",
        arity: 1,
        flags: Flags::READONLY,
        categories: Categories::KEYSPACE,
        keys: &[],
        tips: &[
            "request_policy:all_shards",
            "response_policy:special",
            "nondeterministic_output",
        ],
        syntax: "",
        run: Run::Read(randomkey),
    },
    CommandSpec {
        name: "scan",
        group: Group::Generic,
        summary: "Walks through the keys in steps.",
        since: "2.8.0",
        complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.",
        arity: -2,
        flags: Flags::READONLY,
        categories: Categories::KEYSPACE,
        keys: &[],
        tips: &[
            "nondeterministic_output",
            "request_policy:special",
            "response_policy:special",
        ],
        syntax: "cursor:integer [MATCH=pattern:pattern] [COUNT=count:integer] [TYPE=type@6.0.0]",
        run: Run::Read(scan),
    },
];

/// Keys that SCAN looks at when COUNT is not given.
const COUNT_DEFAULT: usize = 10;

/// Tries of RANDOMKEY to find a key that is not expired.
const RANDOM_TRIES_MAX: usize = 100;

fn dbsize(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let keys = ctx.db().len();
    ctx.reply.integer(keys as i64);
    Ok(())
}

fn keys(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let pattern = args.arg(1);
    let all = pattern == b"*";
    let now_ms = ctx.now.unix_ms();
    let db = ctx.db();
    let mark = ctx.reply.begin_array();
    let mut count = 0;
    for entry in db.iter() {
        if (all || glob::matches(pattern, entry.key, false)) && !entry.is_expired(now_ms) {
            ctx.reply.bulk(entry.key);
            count += 1;
        }
    }
    ctx.reply.end_array(mark, count);
    Ok(())
}

fn randomkey(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let db = ctx.db();
    let now_ms = ctx.now.unix_ms();
    for _ in 0..RANDOM_TRIES_MAX {
        let Some(key) = db.random_key(|| ctx.session.random.next_u64()) else {
            break;
        };
        if !db.is_expired(key, now_ms) {
            ctx.reply.bulk(key);
            return Ok(());
        }
        ctx.met_expired(key);
    }
    // Nearly all keys are past their deadlines: look for one that is not.
    for entry in db.iter() {
        if !entry.is_expired(now_ms) {
            ctx.reply.bulk(entry.key);
            return Ok(());
        }
        ctx.met_expired(entry.key);
    }
    ctx.reply.null();
    Ok(())
}

/// A cursor as SCAN and its kin take it.
///
/// Redis reads it with strtoull unless it is a canonical integer: blanks before it, a sign
/// and leading zeros are no harm, a NUL ends it, and a minus sign in front of leading
/// zeros wraps around.
pub fn parse_cursor(text: &[u8]) -> Result<u64, CommandError> {
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    if let Some(number) = parse_i64(text) {
        return u64::try_from(number).map_err(|_| CommandError::InvalidCursor);
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = text.iter().position(|byte| !is_blank(byte)).unwrap_or(0);
    let (negative, digits) = match &text[start..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let number: Option<u64> = digits
        .first()
        .filter(|byte| byte.is_ascii_digit())
        .and_then(|_| std::str::from_utf8(digits).ok()?.parse().ok());
    match number {
        Some(number) if negative => Ok(number.wrapping_neg()),
        Some(number) => Ok(number),
        None => Err(CommandError::InvalidCursor),
    }
}

/// The options that SCAN and its kin share.
pub struct ScanOptions<'a> {
    pub pattern: Option<&'a [u8]>,
    pub count: usize,
    pub kind: Option<&'a [u8]>,
}

impl<'a> ScanOptions<'a> {
    /// Reads the options behind the cursor. TYPE is SCAN's alone.
    pub fn parse(args: Args<'a>, with_type: bool) -> Result<Self, CommandError> {
        let mut options = Self {
            pattern: None,
            count: COUNT_DEFAULT,
            kind: None,
        };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or(CommandError::Syntax)?;
            if word.eq_ignore_ascii_case(b"match") {
                options.pattern = (value != b"*").then_some(value);
            } else if word.eq_ignore_ascii_case(b"count") {
                let count = parse_i64(value).ok_or(CommandError::NotInteger)?;
                options.count = usize::try_from(count)
                    .ok()
                    .filter(|&count| count > 0)
                    .ok_or(CommandError::Syntax)?;
            } else if word.eq_ignore_ascii_case(b"type") && with_type {
                options.kind = Some(value);
            } else {
                return Err(CommandError::Syntax);
            }
        }
        Ok(options)
    }

    /// Whether a key, field or member is to be shown.
    pub fn matches(&self, text: &[u8]) -> bool {
        self.pattern
            .is_none_or(|pattern| glob::matches(pattern, text, false))
    }
}

fn scan(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let cursor = parse_cursor(args.arg(1))?;
    let options = ScanOptions::parse(args.from(2), true)?;
    let now_ms = ctx.now.unix_ms();
    let db = ctx.db();
    let mut found = Vec::new();
    let next = db.scan(cursor, options.count, |entry| {
        if !options.matches(entry.key) {
            return;
        }
        if entry.is_expired(now_ms) {
            ctx.met_expired(entry.key);
            return;
        }
        let of_kind = options
            .kind
            .is_none_or(|kind| kind.eq_ignore_ascii_case(entry.value.kind().name().as_bytes()));
        if of_kind {
            found.push(entry.key);
        }
    });
    ctx.reply.array(2);
    ctx.reply.bulk(next.to_string().as_bytes());
    ctx.reply.array(found.len());
    for key in found {
        ctx.reply.bulk(key);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_strtoull_does() {
        for (text, cursor) in [
            (&b"0"[..], 0),
            (b"18446744073709551615", u64::MAX),
            (b" \t7", 7),
            (b"+5", 5),
            (b"007", 7),
            (b"-0", 0),
            (b"-01", u64::MAX),
            (b"3\0x", 3),
        ] {
            assert_eq!(parse_cursor(text), Ok(cursor), "{}", text.escape_ascii());
        }
        for text in [
            &b""[..],
            b" ",
            b"-",
            b"-1",
            b"x",
            b"1x",
            b"1 ",
            b"+-1",
            b"18446744073709551616",
        ] {
            assert_eq!(parse_cursor(text), Err(CommandError::InvalidCursor));
        }
    }
}
