//! Values of settings: from words, to the text of CONFIG GET, to a line of redis.conf.
//!
//! The texts of refusals are Redis's; clients and scripts compare them.

use super::memory_size;
use super::spec::{Kind, Spec, TextCheck};
use super::special::{self, OutputLimits, SavePoint};
use super::words::quote;
use crate::limits::IO_THREADS_AUTO_MAX;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The value of any setting. The variant follows from the [`Kind`] of its row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Bool(bool),
    /// Wide enough for both signed and unsigned 64-bit settings.
    Number(i128),
    Choice(&'static str),
    Flags(Vec<&'static str>),
    Text(Vec<u8>),
    Save(Vec<SavePoint>),
    OutputLimits(OutputLimits),
    OomScores([i64; 3]),
    Events(special::EventFlags),
    Words(Vec<Vec<u8>>),
    Percentiles(Vec<f64>),
}

/// Typed readers for the rows' load functions. Each row pairs its kind with the
/// right reader, which the test over all rows' defaults holds.
impl Value {
    pub fn bool(&self) -> bool {
        matches!(self, Value::Bool(true))
    }

    /// The number in the width of the field; a value outside of it saturates.
    pub fn number<N: TryFrom<i128> + Bounded>(&self) -> N {
        match *self {
            Value::Number(n) => N::try_from(n).unwrap_or(if n < 0 { N::LEAST } else { N::MOST }),
            _ => N::LEAST,
        }
    }

    /// The number of threads, where `auto` has become one.
    pub fn threads(&self) -> u32 {
        match *self {
            Value::Number(number) => thread_count(number),
            _ => 1,
        }
    }

    pub fn choice(&self) -> &'static str {
        match self {
            Value::Choice(name) => name,
            _ => "",
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Value::Text(bytes) => bytes.clone(),
            _ => Vec::new(),
        }
    }

    pub fn string(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    pub fn path(&self) -> PathBuf {
        use std::os::unix::ffi::OsStringExt;
        PathBuf::from(std::ffi::OsString::from_vec(self.bytes()))
    }

    pub fn optional_path(&self) -> Option<PathBuf> {
        Some(self.path()).filter(|path| !path.as_os_str().is_empty())
    }

    pub fn strings(&self) -> Vec<String> {
        match self {
            Value::Words(words) => words
                .iter()
                .map(|w| String::from_utf8_lossy(w).into_owned())
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// The ends of an integer type, for [`Value::number`].
pub trait Bounded {
    const LEAST: Self;
    const MOST: Self;
}

macro_rules! bounded {
    ($($int:ty)*) => { $(impl Bounded for $int {
        const LEAST: $int = <$int>::MIN;
        const MOST: $int = <$int>::MAX;
    })* };
}
bounded!(u16 u32 u64 usize i32 i64);

/// How words came in: a line of a file adds to `save`, CONFIG SET replaces it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    File { save_seen: bool },
    Command,
}

/// Reads the value of `spec` from `words`. `current` is the value so far: partial
/// settings (output limits, further `save` lines, relative folders) build on it.
/// The error is the reason without Redis's framing.
pub fn parse(
    spec: &Spec,
    current: &Value,
    words: &[Vec<u8>],
    source: Source,
) -> Result<Value, String> {
    match spec.kind {
        Kind::ShutdownFlags(names) => return shutdown_flags(names, words),
        Kind::Save => return special::parse_save(current, words, source),
        Kind::OutputLimits => return special::parse_output_limits(current, words),
        Kind::OomScores => return special::parse_oom_scores(words),
        Kind::Bind => return special::parse_bind(words),
        Kind::ReplicaOf => return special::parse_replica_of(words),
        Kind::Percentiles => return special::parse_percentiles(words),
        _ => {}
    }
    let [word] = words else {
        return Err(WRONG_NUMBER.into());
    };
    match spec.kind {
        Kind::Bool => match_bool(word),
        Kind::Integer { min, max } => {
            if spec.unsigned && strict_integer(word).is_some_and(|number| number < 0) {
                return Err(NOT_BELOW_ZERO.into());
            }
            Ok(Value::Number(integer_between(word, min, max)?.into()))
        }
        Kind::Drawn {
            min,
            max,
            low,
            high,
        } => Ok(Value::Number(
            integer_between(word, min, max)?.clamp(low, high).into(),
        )),
        Kind::Memory { min, max } => memory(word, min, max, spec.unsigned),
        Kind::MemoryOrPercent => memory_or_percent(word),
        Kind::Octal { max } => octal(word, max),
        Kind::Threads { max } => threads(word, max),
        Kind::Choice(names) => match choose(names, word) {
            Some(name) => Ok(Value::Choice(name)),
            None => Err(must_be_one_of(names)),
        },
        Kind::Text { check, .. } => check_text(check, spec.name, word),
        Kind::Directory => directory(current, word),
        Kind::Events => special::parse_events(word),
        _ => Err(WRONG_NUMBER.into()),
    }
}

const NOT_BELOW_ZERO: &str = "argument must be greater or equal to 0";

pub(super) const WRONG_NUMBER: &str = "wrong number of arguments";

fn match_bool(word: &[u8]) -> Result<Value, String> {
    match word {
        _ if word.eq_ignore_ascii_case(b"yes") => Ok(Value::Bool(true)),
        _ if word.eq_ignore_ascii_case(b"no") => Ok(Value::Bool(false)),
        _ => Err("argument must be 'yes' or 'no'".into()),
    }
}

/// Reads a decimal integer as Redis does: no blanks, no plus, no leading zeros.
pub(super) fn strict_integer(word: &[u8]) -> Option<i64> {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let canonical = match digits {
        b"0" => word.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !canonical {
        return None;
    }
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn integer_between(word: &[u8], min: i64, max: i64) -> Result<i64, String> {
    let number = strict_integer(word).ok_or("argument couldn't be parsed into an integer")?;
    if number < min || number > max {
        return Err(format!(
            "argument must be between {min} and {max} inclusive"
        ));
    }
    Ok(number)
}

fn memory(word: &[u8], min: u64, max: u64, unsigned: bool) -> Result<Value, String> {
    let bytes = memory_size::parse(word).ok_or("argument must be a memory value")?;
    // Such a number is negative for Redis.
    if unsigned && bytes > i64::MAX as u64 {
        return Err(NOT_BELOW_ZERO.into());
    }
    if bytes < min || bytes > max {
        return Err(format!(
            "argument must be between {min} and {max} inclusive"
        ));
    }
    Ok(Value::Number(bytes.into()))
}

fn memory_or_percent(word: &[u8]) -> Result<Value, String> {
    if let Some(bytes) = memory_size::parse(word) {
        if bytes > i64::MAX as u64 {
            return Err(format!(
                "argument must be between -100 and {} inclusive",
                i64::MAX
            ));
        }
        return Ok(Value::Number(bytes.into()));
    }
    let percent = word
        .strip_suffix(b"%")
        .and_then(strict_integer)
        .filter(|&share| share >= 0);
    match percent {
        Some(share) if share > 100 => {
            Err("percentage argument must be less or equal to 100".into())
        }
        Some(share) => Ok(Value::Number(-i128::from(share))),
        None => Err("argument must be a memory or percent value".into()),
    }
}

fn octal(word: &[u8], max: i64) -> Result<Value, String> {
    let number = std::str::from_utf8(word)
        .ok()
        .filter(|text| !text.starts_with('+'))
        .and_then(|text| i64::from_str_radix(text, 8).ok())
        .ok_or("argument couldn't be parsed as an octal number")?;
    if number < 0 || number > max {
        return Err(format!("argument must be between 0 and {max:o} inclusive"));
    }
    Ok(Value::Number(number.into()))
}

/// Stands for as many threads as fit the machine.
const AUTO_THREADS: i128 = 0;

fn threads(word: &[u8], max: i64) -> Result<Value, String> {
    if word.eq_ignore_ascii_case(b"auto") {
        return Ok(Value::Number(AUTO_THREADS));
    }
    Ok(Value::Number(integer_between(word, 1, max)?.into()))
}

/// How many threads a number stands for. The processors that the process may use are those of its affinity and
/// its share of them, as far as the system tells.
fn thread_count(number: i128) -> u32 {
    if number != AUTO_THREADS {
        return Value::Number(number).number();
    }
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    let available = AVAILABLE
        .get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    (*available).min(IO_THREADS_AUTO_MAX) as u32
}

fn choose(names: &'static [&'static str], word: &[u8]) -> Option<&'static str> {
    let name = names
        .iter()
        .find(|name| word.eq_ignore_ascii_case(name.as_bytes()))
        .copied()?;
    // oom-score-adj has two words for one thing, and CONFIG GET answers the first.
    let same = name == "relative" && names.contains(&"yes");
    Some(if same { "yes" } else { name })
}

fn must_be_one_of(names: &[&str]) -> String {
    format!(
        "argument(s) must be one of the following: {}",
        names.join(", ")
    )
}

fn shutdown_flags(names: &'static [&'static str], words: &[Vec<u8>]) -> Result<Value, String> {
    let chosen: Option<Vec<&str>> = words.iter().map(|word| choose(names, word)).collect();
    let chosen = chosen
        .filter(|chosen| !chosen.is_empty())
        .ok_or_else(|| must_be_one_of(names))?;
    if chosen.contains(&"save") && chosen.contains(&"nosave") {
        return Err("shutdown options SAVE and NOSAVE can't be used simultaneously".into());
    }
    let kept = names
        .iter()
        .skip(1)
        .copied()
        .filter(|name| chosen.contains(name));
    Ok(Value::Flags(kept.collect()))
}

fn check_text(check: TextCheck, name: &str, word: &[u8]) -> Result<Value, String> {
    let has_path = word.iter().any(|byte| matches!(byte, b'/' | b'\\'));
    let refusal = match check {
        TextCheck::Any => None,
        TextCheck::FileNameNotEmpty | TextCheck::FolderName if word.is_empty() => {
            Some(format!("{name} can't be empty"))
        }
        TextCheck::FileName | TextCheck::FileNameNotEmpty => {
            has_path.then(|| format!("{name} can't be a path, just a filename"))
        }
        TextCheck::FolderName => {
            has_path.then(|| format!("{name} can't be a path, just a dirname"))
        }
        TextCheck::HostName => host_name_refusal(word),
        TextCheck::NodeName => word
            .iter()
            .any(|byte| b"!#$%&()*+:;<>?@[]^{|}~".contains(byte))
            .then(|| "Announced human node name contained invalid character".into()),
        TextCheck::ProcessTitle => (!is_process_title(word))
            .then(|| "template format is invalid or contains unknown variables".into()),
        TextCheck::Locale => {
            let plain =
                |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'@');
            (!word.iter().all(plain)).then(|| "Invalid locale name".into())
        }
    };
    match refusal {
        Some(reason) => Err(reason),
        None => Ok(Value::Text(word.to_vec())),
    }
}

/// Room for a host name and its closing NUL byte in Redis.
const HOST_NAME_LEN: usize = 256;

fn host_name_refusal(word: &[u8]) -> Option<String> {
    if word.len() >= HOST_NAME_LEN {
        return Some(format!(
            "Hostnames must be less than {HOST_NAME_LEN} characters"
        ));
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    (!word.iter().all(plain))
        .then(|| "Hostnames may only contain alphanumeric characters, hyphens or dots".into())
}

const TITLE_VARIABLES: &[&str] = &[
    "title",
    "listen-addr",
    "server-mode",
    "port",
    "tls-port",
    "unixsocket",
    "config-file",
];

fn is_process_title(word: &[u8]) -> bool {
    let text = String::from_utf8_lossy(word);
    let mut rest = text.as_ref();
    while let Some(open) = rest.find('{') {
        let Some(len) = rest[open..].find('}') else {
            return false;
        };
        if !TITLE_VARIABLES.contains(&&rest[open + 1..open + len]) {
            return false;
        }
        rest = &rest[open + len + 1..];
    }
    !text.trim_end().is_empty()
}

fn directory(current: &Value, word: &[u8]) -> Result<Value, String> {
    let path = current.path().join(Value::Text(word.to_vec()).path());
    match std::fs::metadata(&path) {
        Err(error) => Err(os_reason(&error)),
        Ok(found) if !found.is_dir() => {
            Err(os_reason(&std::io::Error::from_raw_os_error(libc::ENOTDIR)))
        }
        // An absolute folder is shown as the system names it, without links and dots.
        Ok(_) if path.is_absolute() => match std::fs::canonicalize(&path) {
            Ok(path) => Ok(path_value(&path)),
            Err(error) => Err(os_reason(&error)),
        },
        Ok(_) => Ok(path_value(&path.components().collect::<PathBuf>())),
    }
}

pub(super) fn path_value(path: &Path) -> Value {
    use std::os::unix::ffi::OsStrExt;
    Value::Text(path.as_os_str().as_bytes().to_vec())
}

/// The system's words for an error, without the number that Rust adds.
pub fn os_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

/// The text that CONFIG GET answers.
pub fn show(spec: &Spec, value: &Value) -> Vec<u8> {
    match value {
        Value::Bool(on) => if *on { "yes" } else { "no" }.into(),
        Value::Number(n) => show_number(spec.kind, *n).into_bytes(),
        Value::Choice(name) => (*name).into(),
        Value::Flags(names) => show_flags(spec.kind, names).into_bytes(),
        Value::Text(bytes) => bytes.clone(),
        Value::Save(points) => special::show_save(points).into_bytes(),
        Value::OutputLimits(limits) => limits.show().into_bytes(),
        Value::OomScores(scores) => scores.map(|n| n.to_string()).join(" ").into_bytes(),
        Value::Events(flags) => flags.show().into_bytes(),
        Value::Words(words) => words.join(&b' '),
        Value::Percentiles(list) => special::show_percentiles(list).into_bytes(),
    }
}

fn show_number(kind: Kind, number: i128) -> String {
    match kind {
        Kind::Octal { .. } => format!("{number:o}"),
        Kind::Threads { .. } => thread_count(number).to_string(),
        Kind::MemoryOrPercent if number < 0 => format!("{}%", -number),
        _ => number.to_string(),
    }
}

fn show_flags(kind: Kind, names: &[&str]) -> String {
    match (kind, names) {
        (Kind::ShutdownFlags([none, ..]), []) => (*none).to_string(),
        _ => names.join(" "),
    }
}

/// The text behind the name in a line of redis.conf. `save` and the output limits
/// take one line for each part and have their own writers in `rewrite`.
pub fn line_text(spec: &Spec, value: &Value) -> String {
    match (spec.kind, value) {
        (Kind::Memory { .. }, Value::Number(n)) => memory_size::show(*n),
        (Kind::MemoryOrPercent, Value::Number(n)) if *n >= 0 => memory_size::show(*n),
        (Kind::Threads { .. }, Value::Number(AUTO_THREADS)) => "auto".into(),
        (_, Value::Text(bytes)) => quote(bytes),
        (_, Value::Events(flags)) => quote(flags.show().as_bytes()),
        _ => {
            let text = show(spec, value);
            if text.is_empty() {
                "\"\"".into()
            } else {
                String::from_utf8_lossy(&text).into_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Loader, Settings};
    use std::path::Path;

    #[test]
    fn threads_that_fit_the_machine_are_shown_as_a_number_and_written_as_auto() {
        let settings = Settings::default();
        let count = settings.io_threads as usize;
        let available = std::thread::available_parallelism().unwrap().get();
        assert_eq!(count, available.min(IO_THREADS_AUTO_MAX));
        assert_eq!(settings.get("io-threads").unwrap(), count.to_string());
        let spec = crate::settings::find(b"io-threads").unwrap().spec;
        assert_eq!(line_text(spec, &Value::Number(AUTO_THREADS)), "auto");
        assert_eq!(line_text(spec, &Value::Number(3)), "3");
    }

    #[test]
    fn a_number_of_threads_is_asked_for_in_either_syntax() {
        let mut loader = Loader::default();
        loader.lines(b"io-threads 3\n", 1).unwrap();
        assert_eq!(loader.finish(Path::new("/")).0.io_threads, 3);
        let mut loader = Loader::default();
        loader.lines(b"io-threads AUTO\n", 1).unwrap();
        let untouched = Loader::default().finish(Path::new("/")).0;
        assert_eq!(loader.finish(Path::new("/")).0, untouched);
        for (line, reason) in [
            (
                "io-threads 0\n",
                "argument must be between 1 and 128 inclusive",
            ),
            (
                "io-threads 129\n",
                "argument must be between 1 and 128 inclusive",
            ),
            (
                "io-threads x\n",
                "argument couldn't be parsed into an integer",
            ),
        ] {
            let error = Loader::default().lines(line.as_bytes(), 1).unwrap_err();
            assert!(error.to_string().ends_with(reason), "{error}");
        }
    }
}
