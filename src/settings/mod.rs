//! Every setting of the server, from one table.
//!
//! [`table`] lists each setting once. From it follow the reader of redis.conf
//! ([`redis_conf`]) and of config.toml ([`toml_file`]), the command line ([`cli`]),
//! CONFIG GET and SET ([`runtime`]), CONFIG REWRITE ([`rewrite`]), and the texts of
//! config.toml and docs/SETTINGS.md ([`document`]).
//!
//! [`Settings`] holds a value for every row, and copies those that the server uses
//! into plain typed [`Fields`], which it dereferences to. The fields are read-only
//! from outside, so that a field and the answer of CONFIG GET cannot differ.

pub mod choices;
pub mod cli;
pub mod document;
pub mod error;
pub mod fields;
mod include;
pub mod loader;
pub mod memory_size;
mod redis_conf;
pub mod rewrite;
mod rewrite_toml;
pub mod runtime;
pub mod spec;
pub mod special;
pub mod table;
mod toml_file;
pub mod value;
pub mod words;

pub use choices::{
    AclPubsubDefault, FsyncPolicy, LogLevel, MaxmemoryPolicy, ProtectedAction, SanitizePayload,
    ShutdownFlags, Supervision,
};
pub use error::LoadError;
pub use fields::Fields;
pub use loader::{Directive, Loader};
pub use rewrite::Extent;
pub use runtime::{Access, SetError};
pub use special::{EventFlags, OutputLimit, OutputLimits, SavePoint};

use spec::{Kind, Spec};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use value::{Source, Value};

/// The version of Redis whose behaviour and settings these are.
pub const REDIS_VERSION: &str = "7.2.4";

/// The version of this server.
pub const RANKD_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The syntax of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    RedisConf,
    Toml,
}

impl Format {
    /// A file whose name ends in `.toml` is TOML, every other one is redis.conf.
    pub fn of(path: &Path) -> Format {
        let toml = path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("toml"));
        if toml {
            Format::Toml
        } else {
            Format::RedisConf
        }
    }
}

/// The value of every setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    fields: Fields,
    /// One value for each row of the table, in its order.
    values: Vec<Value>,
    /// The file of the command line, as an absolute path.
    file: Option<PathBuf>,
    users: Vec<Directive>,
    renamed_commands: Vec<Directive>,
}

impl Deref for Settings {
    type Target = Fields;

    fn deref(&self) -> &Fields {
        &self.fields
    }
}

impl Default for Settings {
    fn default() -> Settings {
        let mut settings = Settings {
            fields: Fields::default(),
            values: table::rows().map(default_value).collect(),
            file: None,
            users: Vec::new(),
            renamed_commands: Vec::new(),
        };
        for (index, spec) in table::rows().enumerate() {
            settings.load_field(spec, index);
        }
        settings
    }
}

/// The default of a row. The table is ours, so a default that its own row refuses
/// is a fault in the program; a test walks all rows.
fn default_value(spec: &Spec) -> Value {
    let words = if spec.kind.takes_many() {
        words::split(spec.default.as_bytes()).unwrap_or_default()
    } else {
        vec![spec.default.as_bytes().to_vec()]
    };
    let nothing = match spec.kind {
        Kind::OutputLimits => Value::OutputLimits(OutputLimits::default()),
        _ => Value::Text(Vec::new()),
    };
    value::parse(spec, &nothing, &words, Source::Command)
        .expect("a row's default is a value that the row accepts")
}

/// A row of the table under the name by which it was asked for.
#[derive(Clone, Copy)]
pub struct Found {
    pub spec: &'static Spec,
    /// The row's name or its alias, as the table spells it.
    pub shown: &'static str,
    index: usize,
}

/// Looks up a name or an alias, without regard to case.
pub fn find(name: &[u8]) -> Option<Found> {
    table::rows().enumerate().find_map(|(index, spec)| {
        let names = std::iter::once(spec.name).chain(spec.alias);
        let shown = { names }.find(|known| name.eq_ignore_ascii_case(known.as_bytes()))?;
        Some(Found { spec, shown, index })
    })
}

impl Settings {
    /// The file of the command line, if there was one; CONFIG REWRITE writes to it.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The `user` lines, for the access control list.
    pub fn users(&self) -> &[Directive] {
        &self.users
    }

    /// The `rename-command` lines: old name, new name (empty removes the command).
    pub fn renamed_commands(&self) -> &[Directive] {
        &self.renamed_commands
    }

    /// Sets one setting from inside the server, such as the port that the system chose.
    /// Takes settings that clients may not change. The error is the bare reason.
    pub fn set_from_inside(&mut self, name: &str, text: &str) -> Result<(), String> {
        let found = find(name.as_bytes()).ok_or("no such setting")?;
        let words = runtime::command_words(found.spec, text.as_bytes());
        self.store(found, &words, Source::Command)
    }

    /// The text that CONFIG GET answers for one name, or `None` for an unknown name.
    pub fn get(&self, name: &str) -> Option<String> {
        let found = find(name.as_bytes())?;
        let text = value::show(found.spec, self.value(found));
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn value(&self, found: Found) -> &Value {
        &self.values[found.index]
    }

    fn store(&mut self, found: Found, words: &[Vec<u8>], source: Source) -> Result<(), String> {
        let value = value::parse(found.spec, self.value(found), words, source)?;
        self.values[found.index] = value;
        self.load_field(found.spec, found.index);
        Ok(())
    }

    fn load_field(&mut self, spec: &Spec, index: usize) {
        if let Some(load) = spec.load {
            load(&mut self.fields, &self.values[index]);
        }
    }

    /// Turns `dir` into an absolute path, as CONFIG GET shows it.
    fn anchor_dir(&mut self, current_dir: &Path) {
        let Some(found) = find(b"dir") else { return };
        let path = current_dir.join(&self.fields.dir);
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        self.values[found.index] = value::path_value(&path);
        self.load_field(found.spec, found.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_default_is_accepted_and_shown_again() {
        let settings = Settings::default();
        for spec in table::rows() {
            let found = find(spec.name.as_bytes()).unwrap();
            let shown = value::show(spec, settings.value(found));
            let words = runtime::command_words(spec, &shown);
            // What these show is not what they are set with: nothing, and a number for `auto`.
            if matches!(spec.kind, Kind::ReplicaOf | Kind::Threads { .. }) {
                continue;
            }
            let again = value::parse(spec, settings.value(found), &words, Source::Command);
            assert_eq!(again.as_ref(), Ok(settings.value(found)), "{}", spec.name);
        }
    }

    #[test]
    fn names_are_unique_and_lower_case() {
        let mut seen = HashSet::new();
        for spec in table::rows() {
            for name in std::iter::once(spec.name).chain(spec.alias) {
                assert!(seen.insert(name), "{name} stands twice in the table");
                assert_eq!(name, name.to_ascii_lowercase());
            }
            assert!(spec.doc.ends_with('.'), "{} needs a sentence", spec.name);
        }
        assert!(table::RETIRED.iter().all(|name| !seen.contains(name)));
    }

    /// A row whose load function reads another kind of value than the row holds would
    /// leave its field at a fallback: each used row must move its field.
    #[test]
    fn every_used_row_moves_its_field() {
        for spec in table::rows().filter(|spec| spec.load.is_some()) {
            let mut settings = Settings::default();
            let found = find(spec.name.as_bytes()).unwrap();
            let before = settings.fields.clone();
            let other = [
                "yes",
                "no",
                "7",
                "8",
                "always",
                "volatile-lru",
                "debug",
                "local",
            ]
            .into_iter()
            .chain([
                "clients",
                "allchannels",
                "force",
                "5mb",
                "/",
                "1 2",
                "KEA",
                "name",
            ])
            .chain(["pubsub 1 2 3", "50", "auto"])
            .find(|text| {
                let words = runtime::command_words(spec, text.as_bytes());
                settings.store(found, &words, Source::Command).is_ok() && settings.fields != before
            });
            assert!(other.is_some(), "{} does not reach its field", spec.name);
        }
    }

    #[test]
    fn defaults_of_the_fields() {
        let settings = Settings::default();
        assert_eq!(settings.port, 6379);
        assert_eq!(settings.bind, ["127.0.0.1", "-::1"]);
        assert_eq!(settings.zset_max_listpack_entries, 128);
        assert_eq!(settings.proto_max_bulk_len, 512 << 20);
        assert_eq!(
            settings.client_output_buffer_limit.replica.soft_bytes,
            64 << 20
        );
        assert_eq!(settings.appendfsync, FsyncPolicy::EverySecond);
        assert_eq!(settings.maxmemory_policy, MaxmemoryPolicy::NoEviction);
        assert_eq!(
            settings.save[0],
            SavePoint {
                seconds: 3600,
                changes: 1
            }
        );
        assert_eq!(settings.unixsocket, None);
        assert_eq!(settings.list_max_listpack_size, -2);
        assert_eq!(settings.logfile, None);
    }
}
