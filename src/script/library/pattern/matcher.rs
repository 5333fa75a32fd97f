//! Lua patterns: the matcher, with the meaning and the errors of Lua 5.1, but with bounded
//! recursion and every step paid for from the script's budget.
//!
//! A pattern ends at its first NUL byte. Positions are indices into the subject.

use crate::limits::SCRIPT_PATTERN_DEPTH_MAX;
use crate::script::vm::{Lua, Raised};

const CAPTURES_MAX: usize = 32;
const ESCAPE: u8 = b'%';

/// Steps of the matcher between two payments, and what such a bundle costs.
const STEPS_PER_PAYMENT: u32 = 4096;
const PAYMENT: i64 = 8192;

/// Bytes taken by one repeated item for which some steps are due.
const EXPANSIONS_PER_STEP: usize = 256;

#[derive(Clone, Copy)]
enum Capture {
    Unfinished { start: usize },
    Position { start: usize },
    Text { start: usize, end: usize },
}

pub struct Matcher<'a> {
    lua: Lua,
    subject: &'a [u8],
    pattern: &'a [u8],
    captures: [Capture; CAPTURES_MAX],
    level: usize,
    depth: usize,
    steps: u32,
}

type Match = Result<Option<usize>, Raised>;

impl<'a> Matcher<'a> {
    /// `pattern` without an anchor at its start.
    pub fn new(lua: Lua, subject: &'a [u8], pattern: &'a [u8]) -> Self {
        let end = pattern.iter().position(|&byte| byte == 0);
        Self {
            lua,
            subject,
            pattern: &pattern[..end.unwrap_or(pattern.len())],
            captures: [Capture::Unfinished { start: 0 }; CAPTURES_MAX],
            level: 0,
            depth: 0,
            steps: 0,
        }
    }

    /// The end of the match that starts exactly at `start`.
    pub fn match_at(&mut self, start: usize) -> Match {
        self.level = 0;
        self.depth = 0;
        self.step(1)?;
        self.run(start, 0)
    }

    fn step(&mut self, count: u32) -> Result<(), Raised> {
        self.steps += count;
        if self.steps >= STEPS_PER_PAYMENT {
            let bundles = i64::from(self.steps / STEPS_PER_PAYMENT);
            self.steps %= STEPS_PER_PAYMENT;
            self.lua.runtime().work(self.lua, bundles * PAYMENT)?;
        }
        Ok(())
    }

    /// The pattern's byte, 0 at its end.
    fn pattern_at(&self, at: usize) -> u8 {
        self.pattern.get(at).copied().unwrap_or(0)
    }

    /// The subject's byte, 0 at its end.
    fn subject_at(&self, at: usize) -> u8 {
        self.subject.get(at).copied().unwrap_or(0)
    }

    fn run(&mut self, at: usize, pattern: usize) -> Match {
        if self.depth >= SCRIPT_PATTERN_DEPTH_MAX {
            return Err(self.lua.error(b"pattern too complex"));
        }
        self.depth += 1;
        let result = self.run_here(at, pattern);
        self.depth -= 1;
        result
    }

    fn run_here(&mut self, mut at: usize, mut pattern: usize) -> Match {
        loop {
            self.step(1)?;
            let next = self.pattern_at(pattern + 1);
            match self.pattern_at(pattern) {
                0 if pattern >= self.pattern.len() => return Ok(Some(at)),
                b'(' if next == b')' => {
                    return self.open_capture(at, pattern + 2, Capture::Position { start: at });
                }
                b'(' => {
                    return self.open_capture(at, pattern + 1, Capture::Unfinished { start: at });
                }
                b')' => return self.close_capture(at, pattern + 1),
                b'$' if pattern + 1 == self.pattern.len() => {
                    return Ok((at == self.subject.len()).then_some(at));
                }
                ESCAPE if next == b'b' => {
                    let Some(end) = self.balanced(at, pattern + 2)? else {
                        return Ok(None);
                    };
                    at = end;
                    pattern += 4;
                    continue;
                }
                ESCAPE if next == b'f' => {
                    pattern += 2;
                    if self.pattern_at(pattern) != b'[' {
                        let text = b"missing '[' after '%f' in pattern";
                        return Err(self.lua.error(text));
                    }
                    let end = self.class_end(pattern)?;
                    self.step(item_cost(pattern, end))?;
                    let before = if at == 0 { 0 } else { self.subject[at - 1] };
                    if self.in_set(before, pattern, end - 1)
                        || !self.in_set(self.subject_at(at), pattern, end - 1)
                    {
                        return Ok(None);
                    }
                    pattern = end;
                    continue;
                }
                ESCAPE if next.is_ascii_digit() => {
                    let Some(end) = self.back_reference(at, next)? else {
                        return Ok(None);
                    };
                    at = end;
                    pattern += 2;
                    continue;
                }
                _ => {}
            }
            let end = self.class_end(pattern)?;
            self.step(item_cost(pattern, end))?;
            let is_match = at < self.subject.len() && self.single(at, pattern, end);
            match self.pattern_at(end) {
                b'?' => {
                    if is_match && let Some(found) = self.run(at + 1, end + 1)? {
                        return Ok(Some(found));
                    }
                    pattern = end + 1;
                }
                b'*' => return self.expand_most(at, pattern, end),
                b'+' if is_match => return self.expand_most(at + 1, pattern, end),
                b'+' => return Ok(None),
                b'-' => return self.expand_least(at, pattern, end),
                _ if is_match => {
                    at += 1;
                    pattern = end;
                }
                _ => return Ok(None),
            }
        }
    }

    /// Where the single item that starts at `pattern` ends.
    fn class_end(&self, pattern: usize) -> Result<usize, Raised> {
        let mut at = pattern + 1;
        match self.pattern_at(pattern) {
            ESCAPE => {
                if at >= self.pattern.len() {
                    let text = b"malformed pattern (ends with '%')";
                    return Err(self.lua.error(text));
                }
                Ok(at + 1)
            }
            b'[' => {
                if self.pattern_at(at) == b'^' {
                    at += 1;
                }
                loop {
                    if at >= self.pattern.len() {
                        let text = b"malformed pattern (missing ']')";
                        return Err(self.lua.error(text));
                    }
                    let byte = self.pattern[at];
                    at += 1;
                    if byte == ESCAPE && at < self.pattern.len() {
                        at += 1;
                    }
                    if self.pattern_at(at) == b']' {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(at),
        }
    }

    fn single(&self, at: usize, pattern: usize, end: usize) -> bool {
        let byte = self.subject[at];
        match self.pattern[pattern] {
            b'.' => true,
            ESCAPE => in_class(byte, self.pattern_at(pattern + 1)),
            b'[' => self.in_set(byte, pattern, end - 1),
            literal => literal == byte,
        }
    }

    /// Whether the set between `pattern` (its `[`) and `last` (its `]`) has `byte`.
    fn in_set(&self, byte: u8, mut pattern: usize, last: usize) -> bool {
        let mut is_positive = true;
        if self.pattern_at(pattern + 1) == b'^' {
            is_positive = false;
            pattern += 1;
        }
        pattern += 1;
        while pattern < last {
            let item = self.pattern_at(pattern);
            if item == ESCAPE {
                pattern += 1;
                if in_class(byte, self.pattern_at(pattern)) {
                    return is_positive;
                }
            } else if self.pattern_at(pattern + 1) == b'-' && pattern + 2 < last {
                pattern += 2;
                if (item..=self.pattern_at(pattern)).contains(&byte) {
                    return is_positive;
                }
            } else if item == byte {
                return is_positive;
            }
            pattern += 1;
        }
        !is_positive
    }

    fn balanced(&mut self, at: usize, pattern: usize) -> Match {
        if pattern + 1 >= self.pattern.len() {
            return Err(self.lua.error(b"unbalanced pattern"));
        }
        let (open, close) = (self.pattern[pattern], self.pattern[pattern + 1]);
        if self.subject_at(at) != open {
            return Ok(None);
        }
        let mut level = 1;
        let rest = self.subject.get(at + 1..).unwrap_or_default();
        self.step(rest.len() as u32 / 8)?;
        for (offset, &byte) in rest.iter().enumerate() {
            if byte == close {
                level -= 1;
                if level == 0 {
                    return Ok(Some(at + offset + 2));
                }
            } else if byte == open {
                level += 1;
            }
        }
        Ok(None)
    }

    fn expand_most(&mut self, at: usize, pattern: usize, end: usize) -> Match {
        let mut count = 0;
        let bundle = EXPANSIONS_PER_STEP / (1 + item_cost(pattern, end) as usize);
        while at + count < self.subject.len() && self.single(at + count, pattern, end) {
            count += 1;
            if count.is_multiple_of(bundle.max(1)) {
                self.step(EXPANSIONS_PER_STEP as u32 / 8)?;
            }
        }
        loop {
            if let Some(found) = self.run(at + count, end + 1)? {
                return Ok(Some(found));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    fn expand_least(&mut self, mut at: usize, pattern: usize, end: usize) -> Match {
        loop {
            if let Some(found) = self.run(at, end + 1)? {
                return Ok(Some(found));
            }
            if at >= self.subject.len() || !self.single(at, pattern, end) {
                return Ok(None);
            }
            self.step(item_cost(pattern, end))?;
            at += 1;
        }
    }

    fn open_capture(&mut self, at: usize, pattern: usize, capture: Capture) -> Match {
        if self.level >= CAPTURES_MAX {
            return Err(self.lua.error(b"too many captures"));
        }
        self.captures[self.level] = capture;
        self.level += 1;
        let found = self.run(at, pattern)?;
        if found.is_none() {
            self.level -= 1;
        }
        Ok(found)
    }

    fn close_capture(&mut self, at: usize, pattern: usize) -> Match {
        let open = self.captures[..self.level]
            .iter()
            .rposition(|capture| matches!(capture, Capture::Unfinished { .. }));
        let Some(index) = open else {
            return Err(self.lua.error(b"invalid pattern capture"));
        };
        let unfinished = self.captures[index];
        if let Capture::Unfinished { start } = unfinished {
            self.captures[index] = Capture::Text { start, end: at };
        }
        let found = self.run(at, pattern)?;
        if found.is_none() {
            self.captures[index] = unfinished;
        }
        Ok(found)
    }

    fn back_reference(&mut self, at: usize, digit: u8) -> Match {
        let index = usize::from(digit.wrapping_sub(b'1'));
        let (start, end) = match self.captures[..self.level].get(index) {
            Some(Capture::Text { start, end }) => (*start, *end),
            Some(Capture::Position { .. }) => return Ok(None),
            _ => return Err(self.lua.error(b"invalid capture index")),
        };
        let text = &self.subject[start..end];
        self.step(text.len() as u32 / 8)?;
        Ok(self.subject[at..]
            .starts_with(text)
            .then_some(at + text.len()))
    }

    /// Pushes capture `index` of the match; the whole of it stands for the first one if
    /// the pattern has none. May raise (memory).
    pub fn push_capture(&self, index: usize, whole: (usize, usize)) -> Result<(), Raised> {
        match self.captures[..self.level].get(index) {
            None if index == 0 => self.lua.push_bytes(&self.subject[whole.0..whole.1]),
            None => return Err(self.lua.error(b"invalid capture index")),
            Some(Capture::Unfinished { .. }) => {
                return Err(self.lua.error(b"unfinished capture"));
            }
            Some(Capture::Position { start }) => self.lua.push_number((start + 1) as f64),
            Some(Capture::Text { start, end }) => self.lua.push_bytes(&self.subject[*start..*end]),
        }
        Ok(())
    }

    /// Pushes all captures, or the whole match for a pattern without any if asked, and
    /// gives their number. May raise (memory).
    pub fn push_captures(&self, whole: Option<(usize, usize)>) -> Result<i32, Raised> {
        let count = if self.level == 0 && whole.is_some() {
            1
        } else {
            self.level
        };
        if !self.lua.reserve(count as i32) {
            return Err(self.lua.error(b"stack overflow (too many captures)"));
        }
        for index in 0..count {
            self.push_capture(index, whole.unwrap_or_default())?;
        }
        Ok(count as i32)
    }
}

/// Steps that a look at an item is worth beside its own: a set may be as long as the pattern.
fn item_cost(pattern: usize, end: usize) -> u32 {
    ((end - pattern) / 16) as u32
}

/// Whether a byte is of the class that a letter after `%` names; a capital letter turns
/// it round, and what is no class stands for itself.
fn in_class(byte: u8, class: u8) -> bool {
    let is_in = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => matches!(byte, b' ' | 9..=13),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is_in != class.is_ascii_uppercase()
}
