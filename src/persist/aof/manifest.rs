//! The manifest: which files make up the log.
//!
//! A line is `file NAME seq NUMBER type b|i|h` and may go on with further pairs.
//! Ours are `startoffset`, as Redis 8 has it, and `replid`; older readers pass over
//! them.

use std::fmt::Write;

/// What a file is to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Base,
    Increment,
    /// Replaced, and to be removed.
    History,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub seq: u64,
    pub role: Role,
    /// Where in the effect stream an increment begins.
    pub start_offset: Option<u64>,
    /// Of which effect stream it is a part.
    pub replication_id: Option<String>,
}

/// All files, in order: the base, increments by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub base: Option<Entry>,
    pub increments: Vec<Entry>,
    pub history: Vec<Entry>,
}

/// What is said of a line that is not one.
const INVALID: &str = "Invalid AOF manifest file format";

/// Longest line of a manifest (Redis: MANIFEST_MAX_LINE).
const LINE_LEN_MAX: usize = 1024;

impl Manifest {
    /// Reads a manifest; the error says which line is wrong and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut manifest = Manifest::default();
        for (index, line) in text.lines().enumerate() {
            if line.starts_with('#') {
                continue;
            }
            let refuse = |why: &str| format!("line {}: {why}", index + 1);
            if line.len() > LINE_LEN_MAX {
                return Err(refuse("The AOF manifest file contains too long line"));
            }
            let entry = parse_line(line).map_err(refuse)?;
            match entry.role {
                Role::Base if manifest.base.is_some() => {
                    return Err(refuse("Found duplicate base file information"));
                }
                Role::Base => manifest.base = Some(entry),
                Role::Increment => {
                    let last = manifest.increments.last().map_or(0, |last| last.seq);
                    if entry.seq <= last {
                        return Err(refuse("Found a non-monotonic sequence number"));
                    }
                    manifest.increments.push(entry);
                }
                Role::History => manifest.history.push(entry),
            }
        }
        // A rewrite that rankd makes leaves an increment behind the base.
        let is_ours = |entry: &&Entry| entry.replication_id.is_some();
        if manifest.increments.is_empty() && manifest.history.iter().any(|entry| is_ours(&entry)) {
            return Err("Found replaced increments and none that replaces them".to_string());
        }
        if text.is_empty() {
            return Err("Found an empty AOF manifest".to_string());
        }
        if !text.ends_with('\n') {
            return Err(format!("{INVALID}: its last line is cut off"));
        }
        Ok(manifest)
    }

    /// The text of the manifest.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let all = self
            .base
            .iter()
            .chain(&self.history)
            .chain(&self.increments);
        for entry in all {
            let role = match entry.role {
                Role::Base => 'b',
                Role::Increment => 'i',
                Role::History => 'h',
            };
            text.push_str("file ");
            push_name(&mut text, &entry.name);
            // Writing to a string does not fail.
            let _ = write!(text, " seq {} type {role}", entry.seq);
            if let Some(offset) = entry.start_offset {
                let _ = write!(text, " startoffset {offset}");
            }
            if let Some(id) = &entry.replication_id {
                let _ = write!(text, " replid {id}");
            }
            text.push('\n');
        }
        text
    }

    /// The files that a reader reads, in order.
    pub fn live(&self) -> impl Iterator<Item = &Entry> {
        self.base.iter().chain(&self.increments)
    }

    /// The number of the next base.
    pub fn next_base_seq(&self) -> u64 {
        self.base.as_ref().map_or(0, |base| base.seq) + 1
    }

    /// The number of the next increment.
    pub fn next_increment_seq(&self) -> u64 {
        self.increments.last().map_or(0, |last| last.seq) + 1
    }
}

fn push_name(text: &mut String, name: &str) {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\'';
    if name.bytes().all(plain) {
        text.push_str(name);
    } else {
        text.push_str(&crate::settings::words::quote(name.as_bytes()));
    }
}

fn parse_line(line: &str) -> Result<Entry, &'static str> {
    let words = crate::settings::words::split(line.as_bytes()).ok_or(INVALID)?;
    if words.len() < 6 || words.len() % 2 != 0 {
        return Err(INVALID);
    }
    let mut entry = Entry {
        name: String::new(),
        seq: 0,
        role: Role::History,
        start_offset: None,
        replication_id: None,
    };
    let mut role = None;
    for pair in words.chunks_exact(2) {
        let value = std::str::from_utf8(&pair[1]).map_err(|_| INVALID)?;
        match pair[0].to_ascii_lowercase().as_slice() {
            b"file" => {
                if value.contains('/') {
                    return Err("File can't be a path, just a filename");
                }
                entry.name = value.to_string();
            }
            b"seq" => entry.seq = value.parse().map_err(|_| INVALID)?,
            b"type" => {
                role = match value {
                    "b" => Some(Role::Base),
                    "i" => Some(Role::Increment),
                    "h" => Some(Role::History),
                    _ => return Err("Unknown AOF file type"),
                }
            }
            b"startoffset" => entry.start_offset = value.parse().ok(),
            b"replid" => entry.replication_id = Some(value.to_string()),
            _ => {}
        }
    }
    match role {
        Some(role) if !entry.name.is_empty() && entry.seq > 0 => {
            entry.role = role;
            Ok(entry)
        }
        _ => Err(INVALID),
    }
}
