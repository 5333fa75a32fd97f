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
pub struct Loader {
    settings: Settings,
    warnings: Vec<String>,
    save_seen: bool,
    modules_named: bool,
    depth: usize,
}

impl Default for Loader {
    fn default() -> Loader {
        Loader {
            settings: Settings::default(),
            warnings: Vec::new(),
            save_seen: false,
            modules_named: false,
            depth: 0,
        }
    }
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
