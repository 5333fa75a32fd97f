//! Which arguments of a request are keys, from the declared key specs.

use super::spec::{Begin, Find, KeyFlags, KeySpec};
use super::table::Command;
use crate::resp::args::Args;
use crate::resp::number::parse_i64;
use std::ops::Range;

/// Calls `found` with each key and what happens to it, in the order of the specs.
pub fn for_each_key<'a>(
    command: &Command,
    args: Args<'a>,
    mut found: impl FnMut(&'a [u8], KeyFlags),
) {
    if let Some(positions) = listed_keys(command, args) {
        let flags = command.spec.keys[0].flags;
        positions.for_each(|position| found(args.arg(position), flags));
        return;
    }
    for spec in command.spec.keys {
        for_each_position(spec, args, |position| found(args.arg(position), spec.flags));
    }
    if let Some((position, flags)) = hidden_key(command, args) {
        found(args.arg(position), flags);
    }
}

/// Collects the position of each key with what this very call does to it. A call whose words do not fit the key specs
/// names none: it will fail by itself.
pub fn collect(command: &Command, args: Args<'_>, found: &mut Vec<(usize, KeyFlags)>) {
    if let Some(positions) = listed_keys(command, args) {
        let flags = command.spec.keys[0].flags;
        found.extend(positions.map(|position| (position, flags)));
        return;
    }
    for spec in command.spec.keys {
        let unknown = matches!(spec.begin, Begin::Unknown) || matches!(spec.find, Find::Unknown);
        if unknown
            || spec
                .flags
                .intersects(KeyFlags::NOT_KEY | KeyFlags::INCOMPLETE)
        {
            continue;
        }
        let flags = flags_in(command, spec, args);
        let before = found.len();
        for_each_position(spec, args, |position| found.push((position, flags)));
        let optional = matches!(spec.begin, Begin::Keyword(..));
        if found.len() == before && !optional {
            found.clear();
            return;
        }
    }
    found.extend(hidden_key(command, args));
}

/// What a call does with the keys of a spec, where that depends on its options.
pub fn flags_in(command: &Command, spec: &KeySpec, call: Args<'_>) -> KeyFlags {
    let read_and_write = KeyFlags::RW.union(KeyFlags::ACCESS.union(KeyFlags::UPDATE));
    match command.spec.name {
        "set" if call.from(3).iter().any(|word| is_word(word, b"GET")) => read_and_write,
        "set" => KeyFlags::OW.union(KeyFlags::UPDATE),
        "bitfield" if only_reads_fields(call.from(2)) => KeyFlags::RO.union(KeyFlags::ACCESS),
        "bitfield" => read_and_write,
        _ => spec.flags,
    }
}

fn only_reads_fields(mut operations: Args<'_>) -> bool {
    while let Some(word) = operations.get(0) {
        let len = match word {
            _ if is_word(word, b"GET") => 3,
            _ if is_word(word, b"OVERFLOW") => 2,
            _ => return false,
        };
        if operations.len() < len {
            return false;
        }
        operations = operations.from(len);
    }
    true
}

fn is_word(word: &[u8], expected: &[u8]) -> bool {
    word.eq_ignore_ascii_case(expected)
}

/// The key that no key spec can point at: the target of SORT, of which the last one counts.
pub fn hidden_key(command: &Command, args: Args<'_>) -> Option<(usize, KeyFlags)> {
    if command.spec.name != "sort" {
        return None;
    }
    let mut target = None;
    let mut at = 2;
    while let Some(word) = args.get(at) {
        at += if is_word(word, b"limit") {
            3
        } else if is_word(word, b"get") || is_word(word, b"by") {
            2
        } else if is_word(word, b"store") && at + 1 < args.len() {
            target = Some(at + 1);
            2
        } else {
            1
        };
    }
    target.map(|position| (position, KeyFlags::OW.union(KeyFlags::UPDATE)))
}

/// The positions of the keys behind the word KEYS of MIGRATE, which stand for the one key that is empty then; what
/// looks like that word may be a password.
pub fn listed_keys(command: &Command, args: Args<'_>) -> Option<Range<usize>> {
    if command.spec.name != "migrate" {
        return None;
    }
    let mut at = 6;
    loop {
        at += match args.get(at)?.to_ascii_lowercase().as_slice() {
            b"keys" if at + 1 == args.len() => return None,
            b"keys" if args.arg(3).is_empty() => return Some(at + 1..args.len()),
            b"keys" => return Some(0..0),
            b"auth" => 2,
            b"auth2" => 3,
            _ => 1,
        };
    }
}

/// Calls `found` with the position of each key. A spec that does not fit the arguments yields nothing.
pub fn for_each_position(spec: &KeySpec, args: Args<'_>, mut found: impl FnMut(usize)) -> bool {
    let Some(begin) = beginning(spec, args) else {
        return false;
    };
    match spec.find {
        Find::Unknown => false,
        Find::Range { last, step, limit } => {
            let count = args.len();
            let last = if last >= 0 {
                begin + last as usize
            } else if limit <= 1 {
                match count.checked_sub(last.unsigned_abs() as usize) {
                    Some(last) => last,
                    None => return false,
                }
            } else {
                begin
                    + ((count - begin) / limit as usize).wrapping_sub(last.unsigned_abs() as usize)
            };
            if last >= count {
                return false;
            }
            (begin..=last).step_by(step.max(1)).for_each(&mut found);
            true
        }
        Find::KeyNum { count, first, step } => {
            let Some(keys) = args
                .get(begin + count)
                .and_then(parse_i64)
                .and_then(|keys| usize::try_from(keys).ok())
            else {
                return false;
            };
            if keys == 0 {
                return true;
            }
            let first = begin + first;
            let Some(last) = keys
                .checked_sub(1)
                .and_then(|more| more.checked_mul(step))
                .and_then(|more| first.checked_add(more))
            else {
                return false;
            };
            if last >= args.len() {
                return false;
            }
            (first..=last).step_by(step.max(1)).for_each(&mut found);
            true
        }
    }
}

fn beginning(spec: &KeySpec, args: Args<'_>) -> Option<usize> {
    match spec.begin {
        Begin::Index(index) => (index < args.len()).then_some(index),
        Begin::Keyword(word, from) => {
            let is_word =
                |position: &usize| args.arg(*position).eq_ignore_ascii_case(word.as_bytes());
            let found = if from >= 0 {
                (from as usize..args.len()).find(is_word)
            } else {
                let start = args.len().checked_sub(from.unsigned_abs() as usize)?;
                (1..=start).rev().find(is_word)
            };
            found
                .map(|position| position + 1)
                .filter(|&position| position < args.len())
        }
        Begin::Unknown => None,
    }
}
