//! The first line of a script or library: `#!lua name=... flags=...`.

use bitflags::bitflags;

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
    let words = split_words(&source[..line_len]).ok_or_else(invalid)?;
    let (engine, options) = words.split_first().ok_or_else(invalid)?;
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
