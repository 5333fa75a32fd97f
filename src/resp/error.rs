//! What a client can be told when a command fails: one enum, the wire text beside it.
//!
//! Texts are complete: the code word first, no `-`, no line end. A text that only
//! one command uses stays in that command's file as [`CommandError::Text`].

use std::borrow::Cow;
use std::fmt;

use crate::resp::reply::Reply;

/// A failed command; the texts are those of Redis 7.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    WrongType,
    Syntax,
    NotInteger,
    NotFloat,
    NotPositive,
    NoSuchKey,
    OutOfRange,
    StringTooLong,
    Overflow,
    NanOrInfinity,
    ResultingNan,
    MinMaxNotFloat,
    MinMaxNotString,
    InvalidCursor,
    DbOutOfRange,
    SameObject,
    TimeoutNotFloat,
    TimeoutOutOfRange,
    TimeoutNegative,
    NumkeysNotPositive,
    KeyExists,
    NoAuth,
    NoScript,
    Busy,
    Loading,
    OutOfMemory,
    MasterDown,
    ReadOnly,
    ExecAbort,
    CrossSlot,
    /// A whole text, code word first, known when the program was written.
    Text(&'static str),
    /// A whole text, code word first, made for this failure.
    Owned(String),
}

/// A result travels through every handler; it must stay in three words.
const _: () = assert!(size_of::<CommandError>() <= 24);

impl CommandError {
    /// The arity error of the command `name` (lower case, `parent|child` for a subcommand).
    pub fn wrong_arity(name: &str) -> Self {
        Self::Owned(format!(
            "ERR wrong number of arguments for '{name}' command"
        ))
    }

    /// What Redis says when a subcommand got more words than it takes: `word` as the client sent it.
    pub fn subcommand_syntax(command: &str, word: &[u8]) -> Self {
        let shown = String::from_utf8_lossy(word);
        Self::Owned(format!(
            "ERR unknown subcommand or wrong number of arguments for '{shown:.128}'. Try {command} HELP."
        ))
    }

    /// `ERR invalid expire time in '<name>' command`.
    pub fn invalid_expire(name: &str) -> Self {
        Self::Owned(format!("ERR invalid expire time in '{name}' command"))
    }

    /// The whole text of the error, code word first, without `-` and line end.
    pub fn text(&self) -> &str {
        match self {
            Self::WrongType => "WRONGTYPE Operation against a key holding the wrong kind of value",
            Self::Syntax => "ERR syntax error",
            Self::NotInteger => "ERR value is not an integer or out of range",
            Self::NotFloat => "ERR value is not a valid float",
            Self::NotPositive => "ERR value is out of range, must be positive",
            Self::NoSuchKey => "ERR no such key",
            Self::OutOfRange => "ERR index out of range",
            Self::StringTooLong => "ERR string exceeds maximum allowed size (proto-max-bulk-len)",
            Self::Overflow => "ERR increment or decrement would overflow",
            Self::NanOrInfinity => "ERR increment would produce NaN or Infinity",
            Self::ResultingNan => "ERR resulting score is not a number (NaN)",
            Self::MinMaxNotFloat => "ERR min or max is not a float",
            Self::MinMaxNotString => "ERR min or max not valid string range item",
            Self::InvalidCursor => "ERR invalid cursor",
            Self::DbOutOfRange => "ERR DB index is out of range",
            Self::SameObject => "ERR source and destination objects are the same",
            Self::TimeoutNotFloat => "ERR timeout is not a float or out of range",
            Self::TimeoutOutOfRange => "ERR timeout is out of range",
            Self::TimeoutNegative => "ERR timeout is negative",
            Self::NumkeysNotPositive => "ERR numkeys should be greater than 0",
            Self::KeyExists => "BUSYKEY Target key name already exists.",
            Self::NoAuth => "NOAUTH Authentication required.",
            Self::NoScript => "NOSCRIPT No matching script. Please use EVAL.",
            Self::Busy => {
                "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
            }
            Self::Loading => "LOADING Redis is loading the dataset in memory",
            Self::OutOfMemory => "OOM command not allowed when used memory > 'maxmemory'.",
            Self::MasterDown => {
                "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
            }
            Self::ReadOnly => "READONLY You can't write against a read only replica.",
            Self::ExecAbort => "EXECABORT Transaction discarded because of previous errors.",
            Self::CrossSlot => "CROSSSLOT Keys in request don't hash to the same slot",
            Self::Text(text) => text,
            Self::Owned(text) => text,
        }
    }

    /// Appends the error to `reply`.
    pub fn write(&self, reply: &mut Reply) {
        reply.error(self.text());
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for CommandError {}

impl From<&'static str> for CommandError {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

impl From<String> for CommandError {
    fn from(text: String) -> Self {
        Self::Owned(text)
    }
}

impl From<Cow<'static, str>> for CommandError {
    fn from(text: Cow<'static, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Text(text),
            Cow::Owned(text) => Self::Owned(text),
        }
    }
}
