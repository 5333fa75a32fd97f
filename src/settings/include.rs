//! The files that an `include` names: one path, or all that match a pattern.

use crate::store::glob;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The path itself, or in alphabetical order the existing paths that match it. A
/// pattern that nothing matches names no file, so that an empty folder of additions is
/// allowed; a plain path is given back even if nothing is there.
pub(super) fn paths(pattern: &[u8]) -> Vec<PathBuf> {
    let whole = Path::new(OsStr::from_bytes(pattern));
    if !is_pattern(pattern) {
        return vec![whole.to_path_buf()];
    }
    let mut found = vec![PathBuf::new()];
    for component in whole.components() {
        match component {
            Component::Normal(name) if is_pattern(name.as_bytes()) => {
                found = found
                    .iter()
                    .flat_map(|dir| matching(dir, name.as_bytes()))
                    .collect();
            }
            other => found.iter_mut().for_each(|path| path.push(other)),
        }
    }
    found.retain(|path| path.exists());
    found
}

fn is_pattern(name: &[u8]) -> bool {
    name.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

fn matching(dir: &Path, pattern: &[u8]) -> Vec<PathBuf> {
    let shown = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    let entries = std::fs::read_dir(shown).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name())
        .filter(|name| glob::matches(pattern, name.as_bytes(), false))
        // A leading dot hides a file from patterns that do not begin with one.
        .filter(|name| !name.as_bytes().starts_with(b".") || pattern.starts_with(b"."))
        .collect();
    names.sort();
    names.into_iter().map(|name| dir.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_existing_files_in_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.conf", "a.conf", "a.txt", ".hidden.conf"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/c.conf"), "").unwrap();
        let names = |pattern: &str| -> Vec<String> {
            let pattern = dir.path().join(pattern);
            paths(pattern.as_os_str().as_bytes())
                .iter()
                .map(|path| path.strip_prefix(dir.path()).unwrap().display().to_string())
                .collect()
        };
        assert_eq!(names("*.conf"), ["a.conf", "b.conf"]);
        assert_eq!(names("*/c.conf"), ["sub/c.conf"]);
        assert_eq!(names("none*"), Vec::<String>::new());
        assert_eq!(names("missing.conf"), ["missing.conf"]);
    }
}
