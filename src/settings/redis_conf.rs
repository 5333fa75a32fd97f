//! The syntax of redis.conf: one directive a line, `#` comments, quoted words.

use super::error::{LoadError, Place};
use super::loader::Loader;
use super::words;
use std::path::Path;

pub(super) fn read(
    loader: &mut Loader,
    file: Option<&Path>,
    first_line: usize,
    text: &[u8],
) -> Result<(), LoadError> {
    for (offset, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = trim(line);
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let place = Place {
            file: file.map(Path::to_path_buf),
            line: first_line + offset,
            text: String::from_utf8_lossy(line).into_owned(),
        };
        let Some(words) = words::split(line) else {
            return Err(LoadError::at(
                &place,
                "Unbalanced quotes in configuration line",
            ));
        };
        if let [name, args @ ..] = words.as_slice() {
            loader.directive(&place, name, args)?;
        }
    }
    Ok(())
}

/// Cuts the blanks that Redis cuts at both ends of a line.
pub(super) fn trim(line: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let start = line.iter().position(|b| !blank(b)).unwrap_or(line.len());
    let end = line
        .iter()
        .rposition(|b| !blank(b))
        .map_or(start, |last| last + 1);
    &line[start..end]
}
