//! Takes one directive after the other, from any syntax, into [`Settings`].

use super::error::{LoadError, Place};
use super::table;
use super::value::{Source, WRONG_NUMBER};
use super::{Format, Settings, default_value, find, include, redis_conf, toml_file, words};
use crate::limits::INCLUDE_DEPTH_MAX;
use std::path::{Path, PathBuf};

/// A line that is no setting of its own: a user or a renamed command. Who knows users
/// and commands checks it, and refuses it with [`Directive::refusal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The words behind the directive's name.
    pub words: Vec<Vec<u8>>,
    place: Place,
}

impl Directive {
    pub fn refusal(&self, reason: impl Into<String>) -> LoadError {
        LoadError::at(&self.place, reason)
    }
}

pub(super) const BAD_DIRECTIVE: &str = "Bad directive or wrong number of arguments";

/// Reads files, standard input and options on top of the defaults.
#[derive(Default)]
pub struct Loader {
    settings: Settings,
    warnings: Vec<String>,
    save_seen: bool,
    modules_named: bool,
    depth: usize,
}

impl Loader {
    /// Reads a file of either syntax; gives the number of its lines.
    pub fn file(&mut self, path: &Path) -> Result<usize, LoadError> {
        if self.depth >= INCLUDE_DEPTH_MAX {
            let reason = format!("more than {INCLUDE_DEPTH_MAX} files include each other");
            return Err(LoadError::Unreadable {
                file: path.to_path_buf(),
                reason,
            });
        }
        let text = std::fs::read(path).map_err(|error| LoadError::Unreadable {
            file: path.to_path_buf(),
            reason: super::value::os_reason(&error),
        })?;
        self.depth += 1;
        match Format::of(path) {
            Format::RedisConf => redis_conf::read(self, Some(path), 1, &text)?,
            Format::Toml => toml_file::read(self, path, &text)?,
        }
        self.depth -= 1;
        Ok(text.iter().filter(|&&byte| byte == b'\n').count() + 1)
    }

    /// Reads lines in redis.conf's syntax that come from no file; `first_line` is the
    /// number that errors give to the first of them.
    pub fn lines(&mut self, text: &[u8], first_line: usize) -> Result<(), LoadError> {
        redis_conf::read(self, None, first_line, text)
    }

    /// Remembers the file that CONFIG REWRITE will write to.
    pub(super) fn remember_file(&mut self, path: PathBuf) {
        self.settings.file = Some(path);
    }

    /// Ends the reading: the settings, and what the operator should hear.
    pub fn finish(mut self, current_dir: &Path) -> (Settings, Vec<String>) {
        self.settings.anchor_dir(current_dir);
        (self.settings, self.warnings)
    }

    /// Takes one directive with its words.
    pub(super) fn directive(
        &mut self,
        place: &Place,
        name: &[u8],
        args: &[Vec<u8>],
    ) -> Result<(), LoadError> {
        if let Some(found) = find(name) {
            return self
                .setting(found, args)
                .map(|()| self.warn_if_unused(place, found))
                .map_err(|reason| LoadError::at(place, reason));
        }
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        match (name.as_str(), args) {
            (retired, [_]) if table::RETIRED.contains(&retired) => Ok(()),
            ("include", [pattern]) => self.include(pattern),
            ("rename-command", [_, _]) => {
                self.settings.renamed_commands.push(note(place, args));
                Ok(())
            }
            ("user", [_, ..]) => {
                self.settings.users.push(note(place, args));
                Ok(())
            }
            ("loadmodule", [path, ..]) => {
                self.modules_named = true;
                let path = String::from_utf8_lossy(path);
                self.warn(
                    place,
                    format!("module '{path}' is not loaded: rankd has no modules"),
                );
                Ok(())
            }
            ("sentinel", []) => Err(LoadError::at(place, "rankd has no sentinel mode")),
            ("sentinel", _) => Err(LoadError::at(
                place,
                "sentinel directive while not in sentinel mode",
            )),
            (dotted, []) if dotted.contains('.') => Err(LoadError::at(
                place,
                "Module config specified without value",
            )),
            (dotted, _) if dotted.contains('.') && self.modules_named => {
                self.warn(
                    place,
                    format!("'{dotted}' is a setting of a module and has no effect"),
                );
                Ok(())
            }
            _ => Err(LoadError::at(place, BAD_DIRECTIVE)),
        }
    }

    fn setting(&mut self, found: super::Found, args: &[Vec<u8>]) -> Result<(), String> {
        let spec = found.spec;
        if !spec.kind.takes_many() && args.len() != 1 {
            return Err(WRONG_NUMBER.into());
        }
        let source = Source::File {
            save_seen: self.save_seen,
        };
        // One quoted word may hold all the words of such a setting, but the empty one
        // is a value: `save ""`.
        let spread = match args {
            [word] if spec.kind.takes_many() && !word.is_empty() => words::split(word),
            _ => None,
        };
        self.settings
            .store(found, spread.as_deref().unwrap_or(args), source)?;
        self.save_seen |= spec.name == "save";
        Ok(())
    }

    fn include(&mut self, pattern: &[u8]) -> Result<(), LoadError> {
        for path in include::paths(pattern) {
            self.file(&path)?;
        }
        Ok(())
    }

    /// The default has the effect that it describes, so only other values need a word.
    fn warn_if_unused(&mut self, place: &Place, found: super::Found) {
        let spec = found.spec;
        if spec.load.is_none() && *self.settings.value(found) != default_value(spec) {
            self.warn(
                place,
                format!("'{}' is accepted but has no effect in rankd", spec.name),
            );
        }
    }

    fn warn(&mut self, place: &Place, text: String) {
        self.warnings.push(match &place.file {
            Some(file) => format!("{}:{}: {text}", file.display(), place.line),
            None => text,
        });
    }
}

fn note(place: &Place, args: &[Vec<u8>]) -> Directive {
    Directive {
        words: args.to_vec(),
        place: place.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn folder(files: &[(&str, &str)]) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.replace("DIR", dir.path().to_str().unwrap())).unwrap();
        }
        dir
    }

    fn load(dir: &TempDir, name: &str) -> Result<(Settings, Vec<String>), String> {
        let mut loader = Loader::default();
        loader
            .file(&dir.path().join(name))
            .map_err(|error| error.to_string())?;
        Ok(loader.finish(dir.path()))
    }

    #[test]
    fn a_redis_conf() {
        let dir = folder(&[(
            "redis.conf",
            "# comment\r\n\r\n  PORT 7000\r\nmaxmemory 1gb\nrequirepass \"a b\\x00\"\n\
             zset-max-ziplist-entries 7\nsave 900 1\nsave 300 10\nrename-command FLUSHALL \"\"\n\
             user bob on >pw ~* +@all\nlist-max-ziplist-entries 512\nunixsocketperm 770\n",
        )]);
        let (settings, warnings) = load(&dir, "redis.conf").unwrap();
        assert_eq!(settings.port, 7000);
        assert_eq!(settings.maxmemory, 1 << 30);
        assert_eq!(settings.requirepass, b"a b\0");
        assert_eq!(settings.zset_max_listpack_entries, 7);
        assert_eq!(settings.get("save").unwrap(), "900 1 300 10");
        assert_eq!(settings.unixsocketperm, 0o770);
        assert_eq!(
            settings.renamed_commands()[0].words,
            [b"FLUSHALL".to_vec(), b"".to_vec()]
        );
        assert_eq!(settings.users()[0].words[0], b"bob");
        assert_eq!(warnings, [""; 0]);
    }

    #[test]
    fn a_config_toml() {
        let dir = folder(&[(
            "config.toml",
            "port = 7000\nmaxmemory = \"1gb\"\nproto-max-bulk-len = 2_000_000\nappendonly = true\n\
             save = [\"900 1\", [300, 10]]\nbind = [\"127.0.0.1\"]\nunixsocketperm = 0o770\n\
             latency-tracking-info-percentiles = [50, 99.5]\nenable-debug-command = \"local\"\n\
             maxmemory-clients = \"5%\"\nsupervised = false\nnotify-keyspace-events = \"KEA\"\n\
             user = [\"bob on >pw\"]\n[rename-command]\nFLUSHALL = \"\"\n",
        )]);
        let (settings, warnings) = load(&dir, "config.toml").unwrap();
        assert_eq!((settings.port, settings.appendonly), (7000, true));
        assert_eq!(settings.maxmemory, 1 << 30);
        assert_eq!(settings.proto_max_bulk_len, 2_000_000);
        assert_eq!(settings.get("save").unwrap(), "900 1 300 10");
        assert_eq!(settings.bind, ["127.0.0.1"]);
        assert_eq!(settings.unixsocketperm, 0o770);
        assert_eq!(settings.latency_tracking_info_percentiles, [50.0, 99.5]);
        assert_eq!(settings.get("maxmemory-clients").unwrap(), "5%");
        assert_eq!(settings.get("notify-keyspace-events").unwrap(), "AKE");
        assert_eq!(settings.users()[0].words.len(), 3);
        assert_eq!(
            settings.renamed_commands()[0].words,
            [b"FLUSHALL".to_vec(), b"".to_vec()]
        );
        assert_eq!(settings.maxmemory_clients, -5);
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn errors_tell_file_and_line() {
        for (name, text, line, shown, reason) in [
            (
                "a.conf",
                "port 1\nnothing 2\n",
                2,
                "nothing 2",
                BAD_DIRECTIVE,
            ),
            (
                "a.conf",
                "\n\nhz \"1\n",
                3,
                "hz \"1",
                "Unbalanced quotes in configuration line",
            ),
            (
                "a.toml",
                "port = 1\n\nnothing = 2\n",
                3,
                "nothing = 2",
                BAD_DIRECTIVE,
            ),
            ("a.toml", "port = [1]\n", 1, "port = [1]", WRONG_NUMBER),
            (
                "a.toml",
                "hz = 1\nport = \"x\"\n",
                2,
                "port = \"x\"",
                "argument couldn't be parsed into an integer",
            ),
            (
                "a.toml",
                "[network]\nport = 1\n",
                1,
                "[network]",
                BAD_DIRECTIVE,
            ),
            (
                "a.toml",
                "appendonly = 1979-05-27\n",
                1,
                "appendonly = 1979-05-27",
                WRONG_NUMBER,
            ),
        ] {
            let dir = folder(&[(name, text)]);
            let error = load(&dir, name).unwrap_err();
            let path = dir.path().join(name);
            let expected = format!(
                "at line {line} of {}\n>>> '{shown}'\n{reason}",
                path.display()
            );
            assert!(error.ends_with(&expected), "{error}\nbut not\n{expected}");
        }
    }

    #[test]
    fn broken_toml_is_refused_at_its_line() {
        for text in [
            "port = 1\nhz = \n",
            "port = 1\nport = 2\n",
            "port = 1\n= 3\n",
        ] {
            let dir = folder(&[("a.toml", text)]);
            let error = load(&dir, "a.toml").unwrap_err();
            assert!(error.contains("at line 2 of "), "{error}");
        }
        let dir = folder(&[]);
        std::fs::write(dir.path().join("a.toml"), b"port = 1\nlogfile = \"\xff\"\n").unwrap();
        assert!(load(&dir, "a.toml").unwrap_err().contains("at line 2 of "));
    }

    #[test]
    fn included_files_are_read_at_their_place() {
        let dir = folder(&[
            (
                "redis.conf",
                "hz 20\ninclude DIR/conf.d/*.conf\ninclude DIR/more.toml\ntimeout 5\n",
            ),
            ("conf.d/1.conf", "hz 21\ntimeout 1\n"),
            ("conf.d/2.conf", "hz 22\n"),
            ("more.toml", "maxclients = 7\ninclude = \"DIR/none*\"\n"),
        ]);
        let (settings, _) = load(&dir, "redis.conf").unwrap();
        assert_eq!(
            (settings.hz, settings.timeout, settings.maxclients),
            (22, 5, 7)
        );

        let dir = folder(&[
            ("redis.conf", "include DIR/b.conf\n"),
            ("b.conf", "\nnothing\n"),
        ]);
        let error = load(&dir, "redis.conf").unwrap_err();
        assert!(
            error.contains("at line 2 of ") && error.contains("b.conf"),
            "{error}"
        );

        let dir = folder(&[("redis.conf", "include DIR/missing.conf\n")]);
        assert!(
            load(&dir, "redis.conf")
                .unwrap_err()
                .starts_with("Fatal error, can't open")
        );
    }

    #[test]
    fn a_file_that_includes_itself_is_refused() {
        let dir = folder(&[("redis.conf", "include DIR/redis.conf\n")]);
        let error = load(&dir, "redis.conf").unwrap_err();
        assert!(error.contains("files include each other"), "{error}");
    }

    #[test]
    fn unused_settings_warn_when_they_ask_for_something() {
        let dir = folder(&[(
            "redis.conf",
            "activedefrag no\nactivedefrag yes\nloadmodule /m.so\nm.size 3\n",
        )]);
        let (settings, warnings) = load(&dir, "redis.conf").unwrap();
        assert_eq!(settings.get("activedefrag").unwrap(), "yes");
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert!(warnings[0].ends_with(":2: 'activedefrag' is accepted but has no effect in rankd"));
        let dir = folder(&[("redis.conf", "m.size 3\n")]);
        assert!(load(&dir, "redis.conf").is_err());
    }
}
