//! Why a file or the command line was refused, in Redis's form.

use super::REDIS_VERSION;
use std::fmt;
use std::path::PathBuf;

/// A line of a file or of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `None` for options of the command line, which Redis numbers behind the file.
    pub file: Option<PathBuf>,
    pub line: usize,
    pub text: String,
}

/// A setting, a file or an argument that the server cannot start with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    Refused {
        place: Option<Place>,
        reason: String,
    },
    Unreadable {
        file: PathBuf,
        reason: String,
    },
}

impl LoadError {
    pub(super) fn at(place: &Place, reason: impl Into<String>) -> LoadError {
        LoadError::Refused {
            place: Some(place.clone()),
            reason: reason.into(),
        }
    }

    /// A fault that belongs to no line.
    pub fn without_place(reason: impl Into<String>) -> LoadError {
        LoadError::Refused {
            place: None,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, reason) = match self {
            LoadError::Unreadable { file, reason } => {
                let file = file.display();
                return write!(
                    out,
                    "Fatal error, can't open config file '{file}': {reason}"
                );
            }
            LoadError::Refused { place, reason } => (place, reason),
        };
        writeln!(
            out,
            "\n*** FATAL CONFIG FILE ERROR (Redis {REDIS_VERSION}) ***"
        )?;
        if let Some(Place { file, line, text }) = place {
            write!(out, "Reading the configuration file, at line {line}")?;
            if let Some(file) = file {
                write!(out, " of {}", file.display())?;
            }
            writeln!(out, "\n>>> '{text}'")?;
        }
        write!(out, "{reason}")
    }
}

impl std::error::Error for LoadError {}
