//! Why bytes are refused.

use std::fmt;
use std::io;

/// What is wrong with the bytes, or with reading them.
#[derive(Debug)]
pub enum RdbError {
    /// The bytes end inside something.
    Short,
    /// The bytes contradict the format or themselves.
    Corrupt(&'static str),
    /// A layout, opcode or module that we have no place for.
    Foreign(String),
    /// A version beyond those that we read.
    Version(String),
    Checksum,
    Io(io::Error),
}

impl fmt::Display for RdbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RdbError::Short => f.write_str("the bytes end too early"),
            RdbError::Corrupt(what) => f.write_str(what),
            RdbError::Foreign(what) => write!(f, "it holds what this server does not have: {what}"),
            RdbError::Version(what) => f.write_str(what),
            RdbError::Checksum => f.write_str("RDB CRC error: wrong checksum"),
            RdbError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RdbError {}

impl From<io::Error> for RdbError {
    fn from(error: io::Error) -> Self {
        RdbError::Io(error)
    }
}
