//! CONFIG REWRITE for config.toml: only the values that have changed are replaced.

use super::rewrite::{HEADING, limit_text};
use super::spec::{Kind, Spec};
use super::toml_file::{Entry, entries, setting_words};
use super::value::{Source, Value, line_text, parse, show};
use super::{Settings, default_value, find, memory_size, table};
use std::ops::Range;

/// The new text of the file; the error is the bare reason.
pub(super) fn rewrite(
    settings: &Settings,
    existing: &[u8],
    users: Option<&[Vec<u8>]>,
) -> Result<String, String> {
    let source = std::str::from_utf8(existing).map_err(|_| "the file is not UTF-8 text")?;
    let entries = entries(source).map_err(|(_, reason)| reason)?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut added = String::new();
    for spec in table::rows() {
        let Some(found) = find(spec.name.as_bytes()) else {
            continue;
        };
        let value = settings.value(found);
        let entry = entries
            .iter()
            .find(|entry| find(entry.key.as_bytes()).is_some_and(|f| f.spec.name == spec.name));
        match entry {
            Some(entry) if stands_for(spec, entry).as_ref() == Some(value) => {}
            Some(entry) => edits.push((entry.value_span.clone(), toml_text(spec, value)?)),
            None if *value == default_value(spec) => {}
            None => added.push_str(&format!("{} = {}\n", spec.name, toml_text(spec, value)?)),
        }
    }
    let old_users = entries
        .iter()
        .find(|entry| entry.key.eq_ignore_ascii_case("user"));
    let mut users_text = Vec::new();
    for line in users.unwrap_or_default() {
        let line = std::str::from_utf8(line).map_err(|_| "a user's rules are not UTF-8 text")?;
        users_text.push(line.strip_prefix("user ").unwrap_or(line));
    }
    let user_list = texts(users_text.into_iter());
    match old_users {
        Some(entry) => edits.push((entry.value_span.clone(), user_list)),
        None if users.is_some_and(|users| !users.is_empty()) => {
            added.push_str(&format!("user = {user_list}\n"));
        }
        None => {}
    }
    if !added.is_empty() {
        let at = top_level_end(source, &entries);
        let heading = if source.contains(HEADING) {
            ""
        } else {
            HEADING
        };
        let before = if at > 0 && !source[..at].ends_with('\n') {
            "\n"
        } else {
            ""
        };
        let after = if heading.is_empty() { "" } else { "\n" };
        edits.push((at..at, format!("{before}{heading}{after}{added}")));
    }
    Ok(apply(source, edits))
}

fn stands_for(spec: &Spec, entry: &Entry) -> Option<Value> {
    let words = setting_words(spec, &entry.value).ok()?;
    parse(spec, &default_value(spec), &words, Source::Command).ok()
}

/// Where a key can be added that belongs to no table: before the first header.
fn top_level_end(source: &str, entries: &[Entry]) -> usize {
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        let within = |entry: &Entry| entry.value_span.contains(&at);
        if line.trim_start().starts_with('[') && !entries.iter().any(within) {
            return at;
        }
        // The header of a table lies within the span of its value.
        let opens_table = |entry: &Entry| entry.value_span.start == at && at > 0;
        if line.trim_start().starts_with('[') && entries.iter().any(opens_table) {
            return at;
        }
        at += line.len();
    }
    source.len()
}

fn apply(source: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(span, _)| span.start);
    let mut text = String::with_capacity(source.len());
    let mut at = 0;
    for (span, new) in edits {
        text.push_str(&source[at..span.start]);
        text.push_str(&new);
        at = span.end;
    }
    text.push_str(&source[at..]);
    text
}

/// A value in TOML's own types; the error is for bytes that TOML has no text for.
pub(super) fn toml_text(spec: &Spec, value: &Value) -> Result<String, String> {
    Ok(match (spec.kind, value) {
        (_, Value::Bool(on)) => on.to_string(),
        (Kind::Integer { .. } | Kind::Drawn { .. }, Value::Number(n)) => n.to_string(),
        (Kind::Threads { .. }, Value::Number(1..)) => line_text(spec, value),
        (Kind::Threads { .. }, _) => text_literal(&line_text(spec, value)),
        (Kind::Memory { .. }, Value::Number(n))
        | (Kind::MemoryOrPercent, Value::Number(n @ 0..)) => {
            let text = memory_size::show(*n);
            if text.bytes().all(|b| b.is_ascii_digit()) {
                text
            } else {
                text_literal(&text)
            }
        }
        (_, Value::Save(points)) if !points.is_empty() => {
            let lines: Vec<String> = points
                .iter()
                .map(|point| format!("{} {}", point.seconds, point.changes))
                .collect();
            texts(lines.iter().map(String::as_str))
        }
        (_, Value::OutputLimits(limits)) => {
            let lines = limits
                .by_class()
                .map(|(class, limit)| limit_text(class, limit));
            texts(lines.iter().map(String::as_str))
        }
        (_, Value::OomScores(scores)) => format!("[{}]", scores.map(|n| n.to_string()).join(", ")),
        (Kind::Bind, Value::Words(words)) if !words.is_empty() => {
            let words: Result<Vec<&str>, String> =
                words.iter().map(|w| readable(spec, w)).collect();
            texts(words?.into_iter())
        }
        (_, Value::Percentiles(list)) if !list.is_empty() => {
            let shown = String::from_utf8_lossy(&show(spec, value)).replace(' ', ", ");
            format!("[{shown}]")
        }
        _ => text_literal(readable(spec, &show(spec, value))?),
    })
}

fn readable<'a>(spec: &Spec, text: &'a [u8]) -> Result<&'a str, String> {
    std::str::from_utf8(text)
        .map_err(|_| format!("'{}' holds bytes that TOML cannot write", spec.name))
}

fn text_literal(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

fn texts<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    format!(
        "[{}]",
        lines.map(text_literal).collect::<Vec<_>>().join(", ")
    )
}
