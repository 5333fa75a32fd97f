//! config.toml and docs/SETTINGS.md as texts, from the table.

use super::rewrite_toml::toml_text;
use super::spec::{Change, Kind, Spec};
use super::{default_value, memory_size, table};

/// Directives that are no settings: name, a value for the example in TOML, sentence.
const DIRECTIVES: &[(&str, &str, &str)] = &[
    (
        "include",
        r#"["more.toml", "conf.d/*.conf"]"#,
        "Reads other files, of either syntax, at this place. A pattern may match nothing.",
    ),
    (
        "user",
        r#"["viewer on >secret ~board:* +@read"]"#,
        "Users, each with a name and rules as of ACL SETUSER; `default` is the one of every new connection.",
    ),
    (
        "rename-command",
        r#"{ FLUSHALL = "", CONFIG = "admin-config" }"#,
        "Gives commands another name, or takes them away (empty).",
    ),
    (
        "loadmodule",
        r#"["/path/module.so"]"#,
        "Accepted with a warning: rankd has no modules.",
    ),
];

const TOML_HEAD: &str = "\
# Settings of rankd. Every setting stands here with its default, so that this file
# changes nothing until a value is changed. Start with: rankd config.toml
#
# The names are those of redis.conf, which rankd reads too. On the command line any
# of them is --name value, and wins over the file. Sizes are a number of bytes or a
# text with k, m, g (powers of 1000) or kb, mb, gb (powers of 1024).
";

/// The text of config.toml.
pub fn config_toml() -> String {
    let mut text = String::from(TOML_HEAD);
    for section in table::SECTIONS {
        text.push_str(&format!("\n# ---- {} ----\n", section.title));
        for spec in section.rows {
            let notes = format!("{} {}", spec.doc, facts(spec));
            let value = toml_text(spec, &default_value(spec))
                .expect("the defaults of the table are plain text");
            text.push_str(&format!("\n{}{} = {value}\n", comment(&notes), spec.name));
        }
    }
    text.push_str("\n# ---- Other directives ----\n");
    for (name, example, sentence) in DIRECTIVES {
        text.push_str(&format!("\n{}# {name} = {example}\n", comment(sentence)));
    }
    text
}

const MARKDOWN_HEAD: &str = "\
# Settings

This page is made from the table in `src/settings/table/`; a test holds the two equal.

- `rankd config.toml` or `rankd redis.conf` reads a file; a name that ends in `.toml` is
  TOML, any other is redis.conf.
- `rankd --port 7000 --save \"\"` gives settings as arguments, after a file or without
  one; they win over the file. A lone `-` as first or last argument reads redis.conf lines
  from the standard input.
- `CONFIG GET`, `CONFIG SET` and `CONFIG REWRITE` work on the running server; the rewrite
  keeps comments and order of either kind of file.
- A setting of Redis 7.2 that rankd does not use is accepted; a value other than the
  default gives a warning at the start. A name that Redis does not know is an error with
  file and line.

Sizes are bytes, or a number with k, m, g (powers of 1000) or kb, mb, gb (powers of 1024).
";

/// The text of docs/SETTINGS.md.
pub fn settings_md() -> String {
    let mut text = String::from(MARKDOWN_HEAD);
    for section in table::SECTIONS {
        text.push_str(&format!("\n## {}\n\n", section.title));
        text.push_str("| setting | default | meaning |\n|---|---|---|\n");
        for spec in section.rows {
            let default = if spec.default.is_empty() {
                "\"\""
            } else {
                spec.default
            };
            let notes = format!("{} {}", spec.doc, facts(spec)).replace('|', "\\|");
            text.push_str(&format!("| `{}` | `{default}` | {notes} |\n", spec.name));
        }
    }
    text.push_str(
        "\n## Other directives\n\n| directive | example in TOML | meaning |\n|---|---|---|\n",
    );
    for (name, example, sentence) in DIRECTIVES {
        text.push_str(&format!("| `{name}` | `{example}` | {sentence} |\n"));
    }
    text
}

/// What the row says besides its sentence.
fn facts(spec: &Spec) -> String {
    let mut facts = vec![values(spec.kind)];
    facts.push(match spec.change {
        Change::Anytime => String::new(),
        Change::AtStart => "At start only.".into(),
        Change::NotWhileLoading => "Not while loading.".into(),
        Change::Protected | Change::ProtectedNotWhileLoading => {
            "CONFIG SET needs enable-protected-configs.".into()
        }
    });
    if let Some(alias) = spec.alias {
        facts.push(format!("Also {alias}."));
    }
    if spec.load.is_none() {
        facts.push("Accepted, not used.".into());
    }
    facts.retain(|fact| !fact.is_empty());
    facts.join(" ")
}

fn values(kind: Kind) -> String {
    let most = |max: i64| {
        if max == i64::MAX {
            "no bound".into()
        } else {
            max.to_string()
        }
    };
    match kind {
        Kind::Bool => String::new(),
        Kind::Integer { min, max } => match (min, max) {
            (i64::MIN..=-100, _) => String::new(),
            (_, i64::MAX) => format!("{min} or more."),
            _ => format!("{min} to {}.", most(max)),
        },
        Kind::Threads { max } => format!("`auto`, or 1 to {max}."),
        Kind::Memory { min: 0, .. } => String::new(),
        Kind::Memory { min, .. } => format!("At least {}.", memory_size::show(min.into())),
        Kind::Choice(names) => format!("One of: {}.", names.join(", ")),
        _ => String::new(),
    }
}

/// Widest line of config.toml.
const LINE_WIDTH: usize = 90;

fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > LINE_WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Loader, Settings};
    use std::path::Path;

    /// Compares a file of the repository with its text; `RANKD_BLESS=1` writes it.
    fn hold(file: &str, text: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        if std::env::var_os("RANKD_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "{file} is old: run the tests with RANKD_BLESS=1"
        );
    }

    #[test]
    fn config_toml_is_made_from_the_table() {
        hold("config.toml", &config_toml());
    }

    #[test]
    fn settings_md_is_made_from_the_table() {
        hold("docs/SETTINGS.md", &settings_md());
    }

    #[test]
    fn config_toml_holds_the_built_in_defaults() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, config_toml()).unwrap();
        let mut loader = Loader::default();
        loader.file(&path).unwrap();
        let (settings, warnings) = loader.finish(Path::new("/"));
        assert_eq!(settings, Loader::default().finish(Path::new("/")).0);
        assert_eq!(
            settings.get("maxmemory"),
            Settings::default().get("maxmemory")
        );
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn config_toml_names_every_setting() {
        let text = config_toml();
        for spec in table::rows() {
            assert!(
                text.contains(&format!("\n{} = ", spec.name)),
                "{}",
                spec.name
            );
        }
    }
}
