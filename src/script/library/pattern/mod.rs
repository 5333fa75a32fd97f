//! string.find, match, gmatch (gfind) and gsub. Lua's own spend any time in one
//! instruction, where no limit reaches, and any stack.

mod matcher;

use matcher::Matcher;

use crate::script::bridge::set_function;
use crate::script::vm::{FUNCTION, Lua, NUMBER, Outcome, Raised, STRING, TABLE};

/// Bytes that make a pattern more than a text.
const SPECIAL: &[u8] = b"^$*+?.([%-";

/// Replaces the functions in the string library. May raise (memory).
pub fn install(lua: Lua, globals: i32) {
    lua.raw_get_name(globals, b"string");
    set_function(lua, b"find", find);
    set_function(lua, b"match", match_once);
    set_function(lua, b"gmatch", match_all);
    lua.raw_get_name(-1, b"gmatch");
    lua.raw_set_name(-2, b"gfind");
    set_function(lua, b"gsub", substitute);
    lua.pop(1);
}

fn find(lua: Lua) -> Outcome {
    search(lua, true)
}

fn match_once(lua: Lua) -> Outcome {
    search(lua, false)
}

fn search(lua: Lua, is_find: bool) -> Outcome {
    let subject = lua.check_bytes(1);
    let pattern = lua.check_bytes(2);
    let start = lua.optional_integer(3, 1);
    let start = match start {
        // From the end.
        ..0 => start.saturating_add(subject.len() as i64 + 1),
        _ => start,
    };
    let start = (start.max(1) as usize - 1).min(subject.len());
    if is_find && (lua.to_bool(4) || is_plain(pattern)) {
        let Some(at) = find_text(lua, &subject[start..], pattern)? else {
            lua.push_nil();
            return Ok(1);
        };
        lua.push_number((start + at + 1) as f64);
        lua.push_number((start + at + pattern.len()) as f64);
        return Ok(2);
    }
    let (is_anchored, pattern) = split_anchor(pattern);
    let mut matcher = Matcher::new(lua, subject, pattern);
    for at in start..=subject.len() {
        if let Some(end) = matcher.match_at(at)? {
            if !is_find {
                return matcher.push_captures(Some((at, end)));
            }
            lua.push_number((at + 1) as f64);
            lua.push_number(end as f64);
            return Ok(2 + matcher.push_captures(None)?);
        }
        if is_anchored {
            break;
        }
    }
    lua.push_nil();
    Ok(1)
}

fn split_anchor(pattern: &[u8]) -> (bool, &[u8]) {
    match pattern.strip_prefix(b"^") {
        Some(rest) => (true, rest),
        None => (false, pattern),
    }
}

/// Only bytes before a NUL are looked at, as C does.
fn is_plain(pattern: &[u8]) -> bool {
    !pattern
        .iter()
        .take_while(|&&byte| byte != 0)
        .any(|byte| SPECIAL.contains(byte))
}

/// Where `text` first lies in `subject`; work is paid for.
fn find_text(lua: Lua, subject: &[u8], text: &[u8]) -> Result<Option<usize>, Raised> {
    let Some((first, rest)) = text.split_first() else {
        return Ok(Some(0));
    };
    let mut from = 0;
    loop {
        let Some(tail) = subject.get(from..).filter(|tail| tail.len() >= text.len()) else {
            return Ok(None);
        };
        let Some(offset) = tail.iter().position(|byte| byte == first) else {
            return Ok(None);
        };
        let at = from + offset;
        let equal = subject[at + 1..]
            .iter()
            .zip(rest)
            .take_while(|(a, b)| a == b)
            .count();
        if equal == rest.len() {
            return Ok(Some(at));
        }
        from = at + 1;
        lua.runtime().spend(lua, 1 + (equal + offset) as i64 / 16)?;
    }
}

/// Upvalues of the iterator: subject, pattern, and where to go on.
fn match_all(lua: Lua) -> Outcome {
    lua.check_bytes(1);
    lua.check_bytes(2);
    lua.set_top(2);
    lua.push_number(0.0);
    lua.push_closure(next_match, 3);
    Ok(1)
}

fn next_match(lua: Lua) -> Outcome {
    let subject = lua.bytes(Lua::upvalue(1)).unwrap_or_default();
    let pattern = lua.bytes(Lua::upvalue(2)).unwrap_or_default();
    let start = lua.to_number(Lua::upvalue(3)) as usize;
    let mut matcher = Matcher::new(lua, subject, pattern);
    for at in start..=subject.len() {
        let Some(end) = matcher.match_at(at)? else {
            continue;
        };
        // An empty match would be found for ever.
        let next = if end == at { end + 1 } else { end };
        lua.push_number(next as f64);
        lua.replace(Lua::upvalue(3));
        return matcher.push_captures(Some((at, end)));
    }
    Ok(0)
}

/// Text under construction in memory of Lua's own, in a slot of the stack, so that it
/// outlives calls of script functions and counts as the script's memory.
struct Builder {
    lua: Lua,
    slot: i32,
    len: usize,
    capacity: usize,
}

impl Builder {
    const CAPACITY_MIN: usize = 64;

    /// Takes the slot on top of the stack.
    fn new(lua: Lua, capacity: usize) -> Self {
        let capacity = capacity.max(Self::CAPACITY_MIN);
        lua.new_buffer(capacity);
        Self {
            lua,
            slot: lua.top(),
            len: 0,
            capacity,
        }
    }

    /// May raise (memory).
    fn append(&mut self, bytes: &[u8]) {
        let needed = self.len + bytes.len();
        if needed > self.capacity {
            let capacity = needed.max(self.capacity * 2);
            let longer = self.lua.new_buffer(capacity);
            longer[..self.len].copy_from_slice(self.bytes());
            self.lua.replace(self.slot);
            self.capacity = capacity;
        }
        let from = self.len;
        self.buffer()[from..needed].copy_from_slice(bytes);
        self.len = needed;
    }

    fn buffer(&mut self) -> &mut [u8] {
        let start = self.lua.to_light(self.slot).cast::<u8>();
        // SAFETY: the slot holds a userdata of this capacity that nobody else knows.
        unsafe { std::slice::from_raw_parts_mut(start, self.capacity) }
    }

    fn bytes(&self) -> &[u8] {
        let start = self.lua.to_light(self.slot).cast::<u8>();
        // SAFETY: as above; the first `len` bytes were written.
        unsafe { std::slice::from_raw_parts(start, self.len) }
    }
}

fn substitute(lua: Lua) -> Outcome {
    let subject = lua.check_bytes(1);
    let pattern = lua.check_bytes(2);
    let kind = lua.kind(3);
    let count_max = lua.optional_integer(4, subject.len() as i64 + 1) as i32;
    if !matches!(kind, NUMBER | STRING | FUNCTION | TABLE) {
        let text = c"string/function/table expected";
        return Err(lua.argument_error(3, text));
    }
    if kind == NUMBER {
        lua.bytes(3);
    }
    let (is_anchored, pattern) = split_anchor(pattern);
    let mut matcher = Matcher::new(lua, subject, pattern);
    let mut result = Builder::new(lua, subject.len());
    let mut count = 0;
    let mut at = 0;
    let mut copied = 0;
    while count < count_max {
        let end = matcher.match_at(at)?;
        if let Some(end) = end {
            count += 1;
            result.append(&subject[copied..at]);
            append_replacement(lua, &matcher, &mut result, kind, (at, end))?;
            copied = end;
        }
        match end {
            Some(end) if end > at => at = end,
            _ if at < subject.len() => at += 1,
            _ => break,
        }
        if is_anchored {
            break;
        }
    }
    result.append(&subject[copied..]);
    lua.push_bytes(result.bytes());
    lua.push_number(f64::from(count));
    Ok(2)
}

fn append_replacement(
    lua: Lua,
    matcher: &Matcher<'_>,
    result: &mut Builder,
    kind: i32,
    (start, end): (usize, usize),
) -> Result<(), Raised> {
    let subject = lua.bytes(1).unwrap_or_default();
    match kind {
        FUNCTION => {
            lua.push_value(3);
            let captures = matcher.push_captures(Some((start, end)))?;
            lua.call(captures, 1);
        }
        TABLE => {
            matcher.push_capture(0, (start, end))?;
            lua.get(3);
        }
        _ => return append_template(lua, matcher, result, (start, end)),
    }
    if !lua.to_bool(-1) {
        result.append(&subject[start..end]);
    } else {
        let Some(text) = lua.bytes(-1) else {
            let name = lua.kind_name(-1);
            let text = format_args!("invalid replacement value (a {name})");
            return Err(lua.error_text(text));
        };
        result.append(text);
    }
    lua.pop(1);
    Ok(())
}

/// Appends the text of argument 3, in which `%` and a digit stand for a capture.
fn append_template(
    lua: Lua,
    matcher: &Matcher<'_>,
    result: &mut Builder,
    (start, end): (usize, usize),
) -> Result<(), Raised> {
    let mut rest = lua.bytes(3).unwrap_or_default();
    let subject = lua.bytes(1).unwrap_or_default();
    while let Some(plain) = rest.iter().position(|&byte| byte == b'%') {
        result.append(&rest[..plain]);
        // A `%` at the end stands for the NUL that C finds there.
        let letter = rest.get(plain + 1).copied().unwrap_or(0);
        match letter {
            b'0' => result.append(&subject[start..end]),
            b'1'..=b'9' => {
                matcher.push_capture(usize::from(letter - b'1'), (start, end))?;
                let text = lua.bytes(-1).unwrap_or_default();
                result.append(text);
                lua.pop(1);
            }
            other => result.append(&[other]),
        }
        rest = rest.get(plain + 2..).unwrap_or_default();
    }
    result.append(rest);
    Ok(())
}
