//! Rules about the source text that no compiler holds: the layers, the heads of files, sizes, and documents that
//! speak of what exists.
//!
//! Each rule is one test that names every place that breaks it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which module may use which; all may use `limits`, and all but the leaves `settings`.  An arrow that is not here is
/// refused.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "server",
        &[
            "commands",
            "replicate",
            "persist",
            "script",
            "engine",
            "store",
            "resp",
            "settings",
            "limits",
        ],
    ),
    (
        "commands",
        // Of persist only what is without a disk: payloads of DUMP, digests.
        &[
            "script", "persist", "engine", "store", "resp", "settings", "limits",
        ],
    ),
    ("script", &["engine", "store", "resp", "settings", "limits"]),
    ("engine", &["store", "resp", "settings", "limits"]),
    (
        "replicate",
        &["persist", "store", "resp", "settings", "limits"],
    ),
    ("persist", &["store", "resp", "settings", "limits"]),
    // Names and values of settings are found by the patterns that find keys.
    ("settings", &["store", "limits"]),
    ("store", &["limits"]),
    ("resp", &["limits"]),
    ("limits", &[]),
];

/// A file beyond this wants to be two; the aim is 600 lines.
const FILE_LINES_MAX: usize = 900;

/// A function beyond this wants to be two; the aim is 70 lines.
const FUNCTION_LINES_MAX: usize = 120;

/// Text that must not stand in Rust code, in pieces so that this file does not hold it either.
const FORBIDDEN_CODE: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
    concat!("#[ig", "nore"),
];

/// Paths of one machine, which mean nothing on another.
const MACHINE_PATHS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/tmp", "/wt"),
    concat!("/tmp", "/real"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder of the tree whose names end in one of these, as paths relative to the root.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                if ![
                    "target",
                    ".git",
                    "node_modules",
                    "corpus",
                    "artifacts",
                    "__pycache__",
                ]
                .contains(&name.as_str())
                {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let relative = path
                    .strip_prefix(root())
                    .expect("the walk starts at the root");
                found.push(relative.to_path_buf());
            }
        }
    }
    found.sort();
    found
}

fn rust_files() -> Vec<PathBuf> {
    let found = files(".", &[".rs"]);
    assert!(found.len() > 5, "the walk found only {found:?}");
    found
}

fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn none(broken: Vec<String>) {
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

/// The modules that a piece of code names behind `crate::`, alone or in braces.
fn crate_paths(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => found.extend(identifier(rest)),
            Some(list) => {
                let mut depth = 0;
                let mut expect_name = true;
                for (index, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => expect_name = true,
                        c if expect_name && (c.is_alphabetic() || c == '_') => {
                            found.extend(identifier(&list[index..]));
                            expect_name = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

fn identifier(text: &str) -> Option<String> {
    let name: String = text
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (!name.is_empty()).then_some(name)
}

/// The text without its `//` comments.
fn code_of(text: &str) -> String {
    text.lines()
        .map(|line| {
            if line.trim_start().starts_with("//") {
                ""
            } else {
                line
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn no_arrow_points_against_the_layers() {
    let mut broken = Vec::new();
    for path in files("src", &[".rs"]) {
        let below_src = path.strip_prefix("src").expect("the walk starts at src");
        let first = below_src.components().next().expect("a file has a name");
        let module = Path::new(first.as_os_str()).with_extension("");
        let module = module.to_string_lossy();
        if module == "main" || module == "lib" {
            continue;
        }
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == module) else {
            broken.push(format!(
                "{}: module {module} has no place in the layers",
                path.display()
            ));
            continue;
        };
        for used in crate_paths(&code_of(&text(&path))) {
            if used != module && !allowed.contains(&used.as_str()) {
                broken.push(format!("{}: {module} may not use {used}", path.display()));
            }
        }
    }
    none(broken);
}

#[test]
fn a_crate_path_is_found_in_every_form() {
    let code = "use crate::store::{a, b};\nuse crate::{resp::{X, y::Z}, limits};\nlet a = crate::engine::run();";
    let found: Vec<String> = crate_paths(code).into_iter().collect();
    assert_eq!(found, ["engine", "limits", "resp", "store"]);
}

#[test]
fn every_file_opens_with_what_it_is() {
    let without = |path: &PathBuf| !text(path).starts_with("//!");
    none(
        rust_files()
            .into_iter()
            .filter(without)
            .map(|path| format!("{}: does not open with //!", path.display()))
            .collect(),
    );
}

#[test]
fn nothing_unfinished_is_left_in_the_code() {
    let mut broken = Vec::new();
    for path in rust_files() {
        for (index, line) in text(&path).lines().enumerate() {
            for word in FORBIDDEN_CODE.iter().filter(|word| line.contains(**word)) {
                broken.push(format!("{}:{}: {word}", path.display(), index + 1));
            }
        }
    }
    none(broken);
}

#[test]
fn no_test_sleeps_to_wait_for_something() {
    let sleep = concat!("thread::", "sleep");
    let mut broken = Vec::new();
    for path in files("tests", &[".rs"]) {
        if text(&path).contains(sleep) {
            broken.push(format!(
                "{}: {sleep}; wait for the event instead",
                path.display()
            ));
        }
    }
    none(broken);
}

#[test]
fn no_file_or_function_is_too_long() {
    let mut broken = Vec::new();
    for path in rust_files() {
        let text = text(&path);
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > FILE_LINES_MAX {
            broken.push(format!("{}: {} lines", path.display(), lines.len()));
        }
        for (start, line) in lines.iter().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_function = words.iter().take(5).any(|word| *word == "fn");
            if !is_function
                || line.trim_start().starts_with("//")
                || line.trim_end().ends_with(['}', ';'])
            {
                continue;
            }
            let closing = format!("{}}}", " ".repeat(indent));
            let signature_end = format!("{})", " ".repeat(indent));
            let without_body = |line: &str| line.starts_with(&signature_end) && line.ends_with(';');
            let len = lines[start..]
                .iter()
                .position(|line| *line == closing || without_body(line))
                .unwrap_or(0);
            if len > FUNCTION_LINES_MAX {
                broken.push(format!(
                    "{}:{}: a function of {len} lines",
                    path.display(),
                    start + 1
                ));
            }
        }
    }
    none(broken);
}

#[test]
fn no_path_of_one_machine_stands_in_the_tree() {
    let endings = [
        ".rs",
        ".md",
        ".sh",
        ".py",
        ".mjs",
        ".toml",
        ".txt",
        ".yml",
        "Dockerfile",
        "run",
        ".json",
    ];
    let mut broken = Vec::new();
    for path in files(".", &endings) {
        for (index, line) in text(&path).lines().enumerate() {
            for word in MACHINE_PATHS.iter().filter(|word| line.contains(**word)) {
                broken.push(format!("{}:{}: {word}", path.display(), index + 1));
            }
        }
    }
    none(broken);
}

/// The targets of `[text](target)` in a document that are files of the tree.
fn links(document: &str) -> Vec<String> {
    document
        .match_indices("](")
        .filter_map(|(at, _)| document[at + 2..].split(')').next())
        .map(|target| target.split('#').next().unwrap_or("").to_string())
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

#[test]
fn every_link_of_the_documents_leads_to_a_file() {
    let mut documents = files("docs", &[".md"]);
    documents.extend(["README.md", "CHANGELOG.md"].map(PathBuf::from));
    let mut broken = Vec::new();
    for path in documents {
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        for link in links(&text(&path)) {
            if !root().join(&folder).join(&link).exists() {
                broken.push(format!("{}: {link} does not exist", path.display()));
            }
        }
    }
    none(broken);
}

/// The paths in backquotes at the head of a row of the code map, such as "| `src/resp/` | ...".
fn code_map() -> Vec<String> {
    let rows = text("docs/ARCHITECTURE.md");
    let paths = rows.lines().filter_map(|line| {
        line.strip_prefix("| `")?
            .split('`')
            .next()
            .map(str::to_string)
    });
    paths
        .filter(|path| path.contains('/') || path.contains('.'))
        .collect()
}

#[test]
fn the_code_map_names_what_exists_and_all_that_exists() {
    let map = code_map();
    assert!(map.len() > 5, "the code map holds only {map:?}");
    let mut broken: Vec<String> = map
        .iter()
        .filter(|path| !root().join(path).exists())
        .map(|path| format!("the code map names {path}, which does not exist"))
        .collect();
    for entry in fs::read_dir(root().join("src"))
        .expect("src can be read")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if entry.path().is_dir() {
            format!("src/{name}/")
        } else {
            format!("src/{name}")
        };
        if !map.contains(&path) {
            broken.push(format!("the code map does not name {path}"));
        }
    }
    none(broken);
}

#[test]
fn the_changelog_names_this_version() {
    let heading = format!("## {}", env!("CARGO_PKG_VERSION"));
    let named = text("CHANGELOG.md")
        .lines()
        .any(|line| line.starts_with(&heading));
    assert!(named, "CHANGELOG.md has no heading {heading}");
}
