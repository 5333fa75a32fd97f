//! The first line of a script or library: `#!lua name=... flags=...`.

use bitflags::bitflags;

use super::functions::FunctionError;
use super::interpreter::LoadError;
use crate::resp::Span;
use crate::resp::inline::split_inline;

bitflags! {
    /// What a script declares of itself.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct ScriptFlags: u8 {
        const NO_WRITES = 1;
        const ALLOW_OOM = 1 << 1;
        const ALLOW_STALE = 1 << 2;
        const NO_CLUSTER = 1 << 3;
        const ALLOW_CROSS_SLOT_KEYS = 1 << 4;
        /// There is no first line: the rules before Redis 7 apply.
        const COMPATIBLE = 1 << 5;
    }
}

/// The flags that a script can name.
pub const NAMED_FLAGS: [(&str, ScriptFlags); 5] = [
    ("no-writes", ScriptFlags::NO_WRITES),
    ("allow-oom", ScriptFlags::ALLOW_OOM),
    ("allow-stale", ScriptFlags::ALLOW_STALE),
    ("no-cluster", ScriptFlags::NO_CLUSTER),
    ("allow-cross-slot-keys", ScriptFlags::ALLOW_CROSS_SLOT_KEYS),
];

pub fn named_flag(name: &[u8]) -> Option<ScriptFlags> {
    NAMED_FLAGS
        .iter()
        .find(|(text, _)| text.as_bytes() == name)
        .map(|(_, flag)| *flag)
}

#[derive(Debug, PartialEq, Eq)]
pub struct Shebang {
    pub flags: ScriptFlags,
    /// Where the source proper starts: at the end of the first line, so that lines
    /// keep their numbers.
    pub body_start: usize,
}

/// The words of a first line.
pub fn split_words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let line = line.split(|&byte| byte == 0).next().unwrap_or_default();
    let mut bytes = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    split_inline(line, &mut bytes, &mut spans).ok()?;
    Some(spans.iter().map(|span| span.of(&bytes).to_vec()).collect())
}

/// Reads the first line of an EVAL's script, if there is one.
pub fn parse_shebang(source: &[u8]) -> Result<Shebang, LoadError> {
    let error = |text: &str, word: &[u8]| {
        let mut text = text.as_bytes().to_vec();
        text.extend_from_slice(word);
        LoadError(text)
    };
    if !source.starts_with(b"#!") {
        return Ok(Shebang {
            flags: ScriptFlags::COMPATIBLE,
            body_start: 0,
        });
    }
    let invalid = || error("ERR Invalid script shebang", b"");
    let line_len = source
        .iter()
        .position(|&byte| byte == b'\n')
        .ok_or_else(invalid)?;
    let no_engine = || error("ERR Invalid engine in script shebang", b"");
    let words = split_words(&source[..line_len]).ok_or_else(no_engine)?;
    let (engine, options) = words.split_first().ok_or_else(no_engine)?;
    if engine != b"#!lua" {
        return Err(error("ERR Unexpected engine in script shebang: ", engine));
    }
    let mut flags = ScriptFlags::empty();
    for option in options {
        let Some(names) = option.strip_prefix(b"flags=") else {
            return Err(error("ERR Unknown lua shebang option: ", option));
        };
        if names.is_empty() {
            continue;
        }
        for name in names.split(|&byte| byte == b',') {
            flags |= named_flag(name)
                .ok_or_else(|| error("ERR Unexpected flag in script shebang: ", name))?;
        }
    }
    Ok(Shebang {
        flags,
        body_start: line_len,
    })
}

/// What names of libraries and functions must be, as the error says it.
pub const NAME_RULE: &[u8] = b"ERR Library names can only contain letters, numbers, or \
    underscores(_) and must be at least one character long";

pub fn is_name(name: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    !name.is_empty() && name.iter().all(is_allowed)
}

/// The first line of a library.
#[derive(Debug, PartialEq, Eq)]
pub struct LibraryLine {
    pub name: Vec<u8>,
    /// As [`Shebang::body_start`].
    pub body_start: usize,
}

/// Reads the first line of a library's source: `#!lua name=<name>`.
pub fn parse_library_line(source: &[u8]) -> Result<LibraryLine, FunctionError> {
    let error = |text: &str, word: &[u8], after: &str| FunctionError::new(text, word, after);
    if !source.starts_with(b"#!") {
        return Err(error("ERR Missing library metadata", b"", ""));
    }
    let invalid = || error("ERR Invalid library metadata", b"", "");
    let line_len = source
        .iter()
        .position(|&byte| byte == b'\n')
        .ok_or_else(invalid)?;
    let words = split_words(&source[..line_len]).ok_or_else(invalid)?;
    let (engine, options) = words.split_first().ok_or_else(invalid)?;
    let engine = engine.strip_prefix(b"#!").unwrap_or(engine);
    let mut name = None;
    for option in options {
        let value = option
            .split_at_checked(b"name=".len())
            .filter(|(key, _)| key.eq_ignore_ascii_case(b"name="));
        let Some((_, value)) = value else {
            return Err(error("ERR Invalid metadata value given: ", option, ""));
        };
        if name.is_some() {
            let text = "ERR Invalid metadata value, name argument was given multiple times";
            return Err(error(text, b"", ""));
        }
        name = Some(value.to_vec());
    }
    let name = name.ok_or_else(|| error("ERR Library name was not given", b"", ""))?;
    if !is_name(&name) {
        return Err(FunctionError(NAME_RULE.to_vec()));
    }
    if !engine.eq_ignore_ascii_case(b"lua") {
        return Err(error("ERR Engine '", engine, "' not found"));
    }
    Ok(LibraryLine {
        name,
        body_start: line_len,
    })
}
