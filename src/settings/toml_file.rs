//! config.toml: the settings as keys, in TOML's own types.
//!
//! `maxmemory = "64mb"` or a number of bytes, `appendonly = true`, lists as arrays:
//! `save = ["900 1", "300 10"]`. `user`, `include` and `loadmodule` take a text or an
//! array of texts, `rename-command` a table of old and new names.

use super::error::{LoadError, Place};
use super::find;
use super::loader::{BAD_DIRECTIVE, Loader};
use super::spec::{Kind, Spec};
use super::value::WRONG_NUMBER;
use super::words;
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};

pub(super) fn read(loader: &mut Loader, file: &Path, text: &[u8]) -> Result<(), LoadError> {
    let place = |at: usize| place_of(file, &String::from_utf8_lossy(text), at);
    let source = std::str::from_utf8(text)
        .map_err(|error| LoadError::at(&place(error.valid_up_to()), "not UTF-8 text"))?;
    let entries = entries(source).map_err(|(at, reason)| LoadError::at(&place(at), reason))?;
    for entry in &entries {
        let place = place_of(file, source, entry.key_span.start);
        let lines =
            lines_of(&entry.key, &entry.value).map_err(|reason| LoadError::at(&place, reason))?;
        for args in lines {
            loader.directive(&place, entry.key.as_bytes(), &args)?;
        }
    }
    Ok(())
}

/// A key of the file and its value, with the bytes that they take.
pub(super) struct Entry<'a> {
    pub key: String,
    pub key_span: Range<usize>,
    pub value: DeValue<'a>,
    pub value_span: Range<usize>,
}

/// The top-level keys in the order of the file; the error says where and why.
pub(super) fn entries(source: &str) -> Result<Vec<Entry<'_>>, (usize, String)> {
    let table = DeTable::parse(source).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (at, error.message().to_string())
    })?;
    let mut entries: Vec<Entry> = table
        .into_inner()
        .into_iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_span: key.span(),
            value_span: value.span(),
            value: value.into_inner(),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    Ok(entries)
}

fn place_of(file: &Path, source: &str, at: usize) -> Place {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    let start = source[..at].rfind('\n').map_or(0, |end| end + 1);
    Place {
        file: Some(file.to_path_buf()),
        line: source[..at].matches('\n').count() + 1,
        text: source[start..]
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_string(),
    }
}

/// The words of each directive that a key stands for.
fn lines_of(key: &str, value: &DeValue) -> Result<Vec<Vec<Vec<u8>>>, String> {
    if let Some(found) = find(key.as_bytes()) {
        return Ok(vec![setting_words(found.spec, value)?]);
    }
    let key = key.to_ascii_lowercase();
    match (key.as_str(), value) {
        ("rename-command", DeValue::Table(names)) => names
            .iter()
            .map(|(old, new)| {
                let new = new.get_ref().as_str().ok_or(BAD_DIRECTIVE)?;
                Ok(vec![
                    old.get_ref().as_bytes().to_vec(),
                    new.as_bytes().to_vec(),
                ])
            })
            .collect(),
        ("include", _) => Ok(texts(value)?
            .iter()
            .map(|path| vec![path.as_bytes().to_vec()])
            .collect()),
        ("user" | "loadmodule", _) => texts(value)?
            .iter()
            .map(|line| words::split(line.as_bytes()).ok_or_else(|| BAD_DIRECTIVE.to_string()))
            .collect(),
        _ => Err(BAD_DIRECTIVE.into()),
    }
}

fn texts<'a>(value: &'a DeValue) -> Result<Vec<&'a str>, String> {
    match value {
        DeValue::String(text) => Ok(vec![text]),
        DeValue::Array(items) => items
            .iter()
            .map(|item| {
                item.get_ref()
                    .as_str()
                    .ok_or_else(|| BAD_DIRECTIVE.to_string())
            })
            .collect(),
        _ => Err(BAD_DIRECTIVE.into()),
    }
}

/// A value as the words that redis.conf would give.
pub(super) fn setting_words(spec: &Spec, value: &DeValue) -> Result<Vec<Vec<u8>>, String> {
    let mut found = Vec::new();
    collect(spec, value, &mut found)?;
    if spec.kind == Kind::ReplicaOf && found.iter().all(Vec::is_empty) {
        return Ok(vec![b"no".to_vec(), b"one".to_vec()]);
    }
    if found.is_empty() {
        found.push(Vec::new());
    }
    Ok(found)
}

fn collect(spec: &Spec, value: &DeValue, found: &mut Vec<Vec<u8>>) -> Result<(), String> {
    match value {
        DeValue::Boolean(on) => found.push(if *on { b"yes".to_vec() } else { b"no".to_vec() }),
        DeValue::Integer(number) => {
            let text = number.as_str();
            let whole = i128::from_str_radix(text, number.radix()).map_err(|e| e.to_string())?;
            // `0o700` and 700 both mean the file mode rwx------.
            let word = match spec.kind {
                Kind::Octal { .. } if number.radix() != 10 => format!("{whole:o}"),
                _ => whole.to_string(),
            };
            found.push(word.into_bytes());
        }
        DeValue::Float(number) => found.push(number.as_str().as_bytes().to_vec()),
        DeValue::String(text) if spec.kind.takes_many() && !text.is_empty() => {
            let words = words::split(text.as_bytes());
            found.extend(words.ok_or("Unbalanced quotes in configuration line")?);
        }
        DeValue::String(text) => found.push(text.as_bytes().to_vec()),
        DeValue::Array(items) if spec.kind.takes_many() => {
            for item in items {
                collect(spec, item.get_ref(), found)?;
            }
        }
        _ => return Err(WRONG_NUMBER.into()),
    }
    Ok(())
}
