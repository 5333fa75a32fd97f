//! The command line: redis-server's rules, so that what starts redis-server can start
//! rankd, plus the subcommand `check`.

use super::loader::Loader;
use super::words::{quote, split};
use super::{LoadError, RANKD_VERSION, REDIS_VERSION, Settings};
use clap::{Arg, ArgAction};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// Run the server; the warnings are for the log.
    Run {
        settings: Box<Settings>,
        warnings: Vec<String>,
    },
    /// Print this line and end.
    Version(String),
    /// Print this text and end.
    Help(String),
    /// Check data files.
    Check { path: PathBuf, fix: bool },
}

/// Why there is nothing to run. Print it to the standard error and exit with 1.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    Settings(LoadError),
    Usage(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Settings(error) => error.fmt(out),
            Refusal::Usage(text) => out.write_str(text.trim_end()),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<LoadError> for Refusal {
    fn from(error: LoadError) -> Refusal {
        Refusal::Settings(error)
    }
}

/// Reads the arguments, the first of which is the program's name, and the files and the
/// standard input that they name.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, Refusal> {
    let current_dir = std::env::current_dir()
        .map_err(|error| Refusal::Usage(format!("the current folder cannot be read: {error}")))?;
    parse_in(args, &current_dir, &mut std::io::stdin())
}

/// As [`parse`], with the folder and the input as arguments.
pub fn parse_in(
    args: impl IntoIterator<Item = OsString>,
    current_dir: &Path,
    input: &mut dyn Read,
) -> Result<Command, Refusal> {
    let args: Vec<OsString> = args.into_iter().skip(1).collect();
    match args.first().and_then(|first| first.to_str()) {
        Some("-v" | "--version") => return Ok(Command::Version(version())),
        Some("-h" | "--help") => return Ok(Command::Help(help())),
        Some("check") => return check(&args),
        _ => {}
    }
    let mut loader = Loader::default();
    let mut lines_before = 1;
    let mut options = args.as_slice();
    if let Some((first, rest)) = args.split_first()
        && !first.as_bytes().starts_with(b"-")
    {
        let path = std::path::absolute(current_dir.join(first))
            .unwrap_or_else(|_| current_dir.join(first));
        lines_before = loader.file(&path)?;
        loader.remember_file(path);
        options = rest;
    }
    let options = Options::read(options, args.len());
    if options.reads_input {
        let mut text = Vec::new();
        input.read_to_end(&mut text).map_err(|error| {
            LoadError::without_place(format!("the standard input cannot be read: {error}"))
        })?;
        loader.lines(&text, lines_before)?;
        lines_before += text.iter().filter(|&&byte| byte == b'\n').count();
    }
    loader.lines(&options.lines, lines_before + 1)?;
    let (settings, warnings) = loader.finish(current_dir);
    Ok(Command::Run {
        settings: Box::new(settings),
        warnings,
    })
}

/// Options as lines of redis.conf, which is what Redis makes of them.
struct Options {
    lines: Vec<u8>,
    reads_input: bool,
}

impl Options {
    /// `--name` begins a line and the words up to the next `--` follow it; directly behind
    /// a name a word may itself begin with `--`. A lone `-` counts only as the first or the
    /// last of all `count` arguments.
    fn read(options: &[OsString], count: usize) -> Options {
        let mut read = Options {
            lines: Vec::new(),
            reads_input: false,
        };
        let mut value_expected = false;
        for (at, option) in options.iter().enumerate() {
            let word = option.as_bytes();
            let is_first = at == 0 && options.len() == count;
            let next = options.get(at + 1);
            if word == b"-" && (is_first || next.is_none()) {
                read.reads_input = true;
            } else if !value_expected && word.starts_with(b"--") {
                value_expected = read.begin_line(word, next.map(OsString::as_os_str));
            } else {
                read.lines.extend_from_slice(quote(word).as_bytes());
                read.lines.push(b' ');
                value_expected = false;
            }
        }
        read
    }

    /// Begins the line of an option; says whether the next word is its value whatever
    /// it looks like.
    fn begin_line(&mut self, word: &[u8], next: Option<&OsStr>) -> bool {
        if !self.lines.is_empty() {
            self.lines.push(b'\n');
        }
        self.lines.extend_from_slice(&word[2..]);
        self.lines.push(b' ');
        // `--port 7000` in one word has its value already.
        if split(word).is_none_or(|words| words.len() != 1) {
            return false;
        }
        let option_follows = next.is_some_and(|next| next.as_bytes().starts_with(b"--"));
        if word.eq_ignore_ascii_case(b"--save") && (next.is_none() || option_follows) {
            self.lines.extend_from_slice(b"\"\"");
            return false;
        }
        if word.eq_ignore_ascii_case(b"--sentinel") && option_follows {
            return false;
        }
        true
    }
}

fn check(args: &[OsString]) -> Result<Command, Refusal> {
    let words = std::iter::once(OsString::from("rankd")).chain(args.iter().cloned());
    let matches = match command().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) if error.kind() == clap::error::ErrorKind::DisplayHelp => {
            return Ok(Command::Help(error.to_string()));
        }
        Err(error) => return Err(Refusal::Usage(error.to_string())),
    };
    let usage = || Refusal::Usage(command().render_usage().to_string());
    let check = matches.subcommand_matches("check").ok_or_else(usage)?;
    let path = check.get_one::<PathBuf>("path").ok_or_else(usage)?.clone();
    Ok(Command::Check {
        path,
        fix: check.get_flag("fix"),
    })
}

fn command() -> clap::Command {
    let path = Arg::new("path")
        .value_name("FILE|DIR")
        .required(true)
        .value_parser(clap::value_parser!(PathBuf))
        .help("A snapshot, a log file, a manifest, or the folder of the log");
    let fix = Arg::new("fix")
        .long("fix")
        .action(ArgAction::SetTrue)
        .help("Cut a log behind its last whole command");
    clap::Command::new("rankd")
        .about("A leaderboard server that speaks Redis")
        .override_usage(
            "rankd [FILE] [--name value ...] [-]\n       \
             rankd check FILE|DIR [--fix]\n       \
             rankd -v | --version\n       \
             rankd -h | --help",
        )
        .disable_help_subcommand(true)
        .after_help(common_settings())
        .subcommand(
            clap::Command::new("check")
                .about("Checks data files and ends")
                .arg(path)
                .arg(fix),
        )
}

/// Settings that a newcomer looks for first.
const COMMON: &[&str] = &[
    "port",
    "bind",
    "unixsocket",
    "dir",
    "save",
    "appendonly",
    "appendfsync",
    "maxmemory",
    "maxmemory-policy",
    "requirepass",
    "maxclients",
    "io-threads",
    "loglevel",
    "logfile",
];

fn common_settings() -> String {
    let mut text = String::from(
        "FILE is redis.conf or, with a name in .toml, TOML. A lone - as the first or last \
         argument reads\nredis.conf lines from the standard input. Settings behind the file \
         win over it.\n\nCommon settings, with their defaults:\n",
    );
    for spec in COMMON
        .iter()
        .filter_map(|name| super::find(name.as_bytes()))
        .map(|f| f.spec)
    {
        let default = if spec.default.is_empty() {
            "\"\""
        } else {
            spec.default
        };
        text.push_str(&format!("  --{} {default}\n", spec.name));
    }
    text.push_str(
        "\nAll settings stand in config.toml and docs/SETTINGS.md.\n\nExamples:\n  \
         rankd config.toml\n  rankd --port 7000 --save \"\" --appendonly no\n  \
         rankd redis.conf --loglevel verbose\n  echo 'maxmemory 128mb' | rankd -",
    );
    text
}

fn help() -> String {
    command().render_help().to_string()
}

/// Programs that start redis-server read the first number of this line, and what
/// follows `v=`.
fn version() -> String {
    format!(
        "Redis server v={REDIS_VERSION} (compatible) rankd={RANKD_VERSION} malloc=jemalloc bits={}",
        usize::BITS
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{FsyncPolicy, SavePoint};
    use std::path::Path;

    fn command(dir: &Path, args: &[&str], input: &str) -> Result<Command, Refusal> {
        let args = std::iter::once("rankd")
            .chain(args.iter().copied())
            .map(OsString::from);
        parse_in(args, dir, &mut input.as_bytes())
    }

    fn run(dir: &Path, args: &[&str], input: &str) -> (Settings, Vec<String>) {
        match command(dir, args, input) {
            Ok(Command::Run { settings, warnings }) => (*settings, warnings),
            other => panic!("{args:?} gave {other:?}"),
        }
    }

    fn refusal(args: &[&str]) -> String {
        let dir = tempfile::tempdir().unwrap();
        match command(dir.path(), args, "") {
            Err(refusal) => refusal.to_string(),
            other => panic!("{args:?} gave {other:?}"),
        }
    }

    #[test]
    fn no_arguments_give_the_defaults() {
        let dir = tempfile::tempdir().unwrap();
        let (settings, warnings) = run(dir.path(), &[], "");
        assert_eq!(settings.port, 6379);
        assert_eq!(settings.file(), None);
        assert_eq!(settings.dir, std::fs::canonicalize(dir.path()).unwrap());
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn options_as_harnesses_give_them() {
        let dir = tempfile::tempdir().unwrap();
        let args = ["--port", "7000", "--save", "", "--appendonly", "no"];
        let (settings, _) = run(dir.path(), &args, "");
        assert_eq!((settings.port, settings.appendonly), (7000, false));
        assert_eq!(settings.save, []);

        let args = [
            "--SAVE",
            "900",
            "1",
            "300",
            "10",
            "--slowlog-log-slower-than",
            "-1",
        ];
        let (settings, _) = run(dir.path(), &args, "");
        let points = [(900, 1), (300, 10)];
        let points = points.map(|(seconds, changes)| SavePoint { seconds, changes });
        assert_eq!(settings.save, points);
        assert_eq!(settings.slowlog_log_slower_than, -1);

        let args = ["--save", "900 1 300 10", "--bind", "127.0.0.1", "::1"];
        let (settings, _) = run(dir.path(), &args, "");
        assert_eq!(settings.save, points);
        assert_eq!(settings.bind, ["127.0.0.1", "::1"]);
    }

    #[test]
    fn save_without_a_value_saves_never() {
        let dir = tempfile::tempdir().unwrap();
        for args in [
            &["--save"][..],
            &["--save", "--port", "7000"],
            &["--port", "7000", "--save"],
        ] {
            assert_eq!(run(dir.path(), args, "").0.save, [], "{args:?}");
        }
    }

    #[test]
    fn a_value_may_look_like_an_option() {
        let dir = tempfile::tempdir().unwrap();
        let (settings, _) = run(
            dir.path(),
            &["--requirepass", "--secret", "--port", "7000"],
            "",
        );
        assert_eq!(settings.requirepass, b"--secret");
        assert_eq!(settings.port, 7000);
    }

    #[test]
    fn name_and_value_may_be_one_argument() {
        let dir = tempfile::tempdir().unwrap();
        let (settings, _) = run(dir.path(), &["--port 7000", "--appendfsync always"], "");
        assert_eq!(
            (settings.port, settings.appendfsync),
            (7000, FsyncPolicy::Always)
        );
    }

    #[test]
    fn options_win_over_input_and_input_over_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let conf = "port 1\nhz 11\ntimeout 21\nsave 5 6\n";
        std::fs::write(dir.path().join("redis.conf"), conf).unwrap();
        let args = ["redis.conf", "--timeout", "23", "--save", "7 8", "-"];
        let (settings, _) = run(dir.path(), &args, "hz 12\ntimeout 22");
        assert_eq!((settings.port, settings.hz, settings.timeout), (1, 12, 23));
        assert_eq!(settings.get("save").unwrap(), "5 6 7 8");
        assert_eq!(
            settings.file(),
            Some(dir.path().join("redis.conf").as_path())
        );
        let (settings, _) = run(dir.path(), &["-", "--hz", "13"], "hz 12\n");
        assert_eq!(settings.hz, 13);
    }

    #[test]
    fn a_name_in_toml_is_read_as_toml() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join("config.toml"),
            "port = 7001\nappendonly = true\n",
        )
        .unwrap();
        let (settings, _) = run(dir.path(), &["config.toml", "--port", "7002"], "");
        assert_eq!((settings.port, settings.appendonly), (7002, true));
    }

    #[test]
    fn refusals_read_as_redis_writes_them() {
        let frame = "\n*** FATAL CONFIG FILE ERROR (Redis 7.2.4) ***\n\
                     Reading the configuration file, at line ";
        for (args, rest) in [
            (
                &["--port", "x"][..],
                "2\n>>> 'port \"x\"'\nargument couldn't be parsed into an integer",
            ),
            (
                &["--port=7000"],
                "2\n>>> 'port=7000'\nBad directive or wrong number of arguments",
            ),
            (&["--port"], "2\n>>> 'port'\nwrong number of arguments"),
            (
                &["--port", "1", "2"],
                "2\n>>> 'port \"1\" \"2\"'\nwrong number of arguments",
            ),
            (
                &["-p", "1"],
                "2\n>>> '\"-p\" \"1\"'\nBad directive or wrong number of arguments",
            ),
            (
                &["--hz", "5", "--nothing"],
                "3\n>>> 'nothing'\nBad directive or wrong number of arguments",
            ),
        ] {
            assert_eq!(refusal(args), format!("{frame}{rest}"), "{args:?}");
        }
        let missing = refusal(&["missing.conf"]);
        assert!(
            missing.starts_with("Fatal error, can't open config file '/"),
            "{missing}"
        );
        assert!(
            missing.ends_with("missing.conf': No such file or directory"),
            "{missing}"
        );
    }

    #[test]
    fn version_and_help() {
        let dir = tempfile::tempdir().unwrap();
        for word in ["-v", "--version"] {
            let Ok(Command::Version(text)) = command(dir.path(), &[word], "") else {
                panic!("{word} gave no version");
            };
            assert!(text.starts_with("Redis server v=7.2.4 "), "{text}");
            assert!(text.contains(&format!("rankd={RANKD_VERSION}")), "{text}");
        }
        for word in ["-h", "--help"] {
            let Ok(Command::Help(text)) = command(dir.path(), &[word], "") else {
                panic!("{word} gave no help");
            };
            for part in [
                "Usage: rankd",
                "--port 6379",
                "check",
                "config.toml",
                "--version",
            ] {
                assert!(text.contains(part), "no {part} in {text}");
            }
        }
    }

    #[test]
    fn check_takes_a_path_and_fix() {
        let dir = tempfile::tempdir().unwrap();
        let path = PathBuf::from("dump.rdb");
        assert_eq!(
            command(dir.path(), &["check", "dump.rdb"], ""),
            Ok(Command::Check {
                path: path.clone(),
                fix: false
            })
        );
        assert_eq!(
            command(dir.path(), &["check", "--fix", "dump.rdb"], ""),
            Ok(Command::Check { path, fix: true })
        );
        assert!(matches!(
            command(dir.path(), &["check"], ""),
            Err(Refusal::Usage(_))
        ));
        assert!(matches!(
            command(dir.path(), &["check", "--help"], ""),
            Ok(Command::Help(_))
        ));
    }
}
