//! Reads commands from a log file, and says exactly how far it is good.
//!
//! Commands between MULTI and EXEC come as one group: a group without its end
//! counts as cut off from its beginning on.

use crate::limits::{ARGUMENT_LEN_MAX, LOG_ARGUMENTS_MAX};
use crate::persist::rdb::{Input, RdbError};
use crate::resp::args::OwnedArgs;
use std::io::{self, Read};

/// Longest line of a header (`*3`, `$12`); numbers are below it.
const HEADER_LEN_MAX: usize = 32;

/// Longest line of a remark.
const REMARK_LEN_MAX: usize = 1024;

/// Why reading stopped before the end.
#[derive(Debug)]
pub enum LogFault {
    /// The file ends inside a command or a group, which begins at `good_len`.
    CutOff {
        good_len: u64,
        /// The commands of the group that are whole.
        unfinished: Vec<OwnedArgs>,
    },
    /// The bytes at this offset are no command.
    Broken {
        offset: u64,
        what: &'static str,
    },
    Io(io::Error),
}

/// Commands that are applied together.
pub struct Group {
    pub commands: Vec<OwnedArgs>,
    /// Where the first of them begins.
    pub offset: u64,
}

/// Reads one file.
pub struct LogReader<R> {
    input: Input<R>,
    /// Up to here the file is whole.
    good_len: u64,
    /// Bytes of remarks, which are no part of the effect stream.
    remarks_len: u64,
}

impl<R: Read> LogReader<R> {
    pub fn new(source: R) -> Self {
        LogReader::after(Input::new(source))
    }

    /// Goes on behind a snapshot at the beginning of the file.
    pub fn after(input: Input<R>) -> Self {
        LogReader {
            good_len: input.offset(),
            remarks_len: 0,
            input,
        }
    }

    /// Bytes of whole commands and groups that were read.
    pub fn good_len(&self) -> u64 {
        self.good_len
    }

    /// Bytes of remarks below [`LogReader::good_len`].
    pub fn remarks_len(&self) -> u64 {
        self.remarks_len
    }

    /// The next group; None at the end of a whole file.
    pub fn next_group(&mut self) -> Result<Option<Group>, LogFault> {
        let mut commands = Vec::new();
        let mut in_group = false;
        let mut group_remarks_len = 0;
        let mut offset = self.good_len;
        loop {
            let start = self.input.offset();
            if self
                .input
                .is_at_end()
                .map_err(|error| self.fault(error, start, Vec::new()))?
            {
                if in_group {
                    return Err(LogFault::CutOff {
                        good_len: self.good_len,
                        unfinished: commands,
                    });
                }
                return Ok(None);
            }
            let command = match self.command() {
                Ok(Some(command)) => command,
                Ok(None) => {
                    group_remarks_len += self.input.offset() - start;
                    if !in_group {
                        self.remarks_len += std::mem::take(&mut group_remarks_len);
                        self.good_len = self.input.offset();
                        offset = self.good_len;
                    }
                    continue;
                }
                Err(error) => return Err(self.fault(error, start, commands)),
            };
            let name = command.as_args().arg(0);
            if name.eq_ignore_ascii_case(b"MULTI") {
                if in_group {
                    return Err(LogFault::Broken {
                        offset: start,
                        what: "MULTI inside MULTI",
                    });
                }
                in_group = true;
                continue;
            }
            let ends = name.eq_ignore_ascii_case(b"EXEC");
            if ends && !in_group {
                return Err(LogFault::Broken {
                    offset: start,
                    what: "EXEC without MULTI",
                });
            }
            if !ends {
                commands.push(command);
            }
            if ends || !in_group {
                self.remarks_len += group_remarks_len;
                self.good_len = self.input.offset();
                return Ok(Some(Group { commands, offset }));
            }
        }
    }

    fn fault(&self, error: RdbError, offset: u64, unfinished: Vec<OwnedArgs>) -> LogFault {
        match error {
            RdbError::Short if ends_in_commands(self.input.rest()) => LogFault::Broken {
                offset,
                what: "a length that reaches beyond the end, where whole commands stand",
            },
            RdbError::Short => LogFault::CutOff {
                good_len: self.good_len,
                unfinished,
            },
            RdbError::Io(error) => LogFault::Io(error),
            RdbError::Corrupt(what) => LogFault::Broken { offset, what },
            _ => LogFault::Broken {
                offset,
                what: "not a command",
            },
        }
    }

    /// One command; None for a remark.
    fn command(&mut self) -> Result<Option<OwnedArgs>, RdbError> {
        match self.input.byte()? {
            b'#' => {
                self.line(REMARK_LEN_MAX)?;
                return Ok(None);
            }
            b'*' => {}
            _ => return Err(RdbError::Corrupt("a command that does not begin with *")),
        }
        let count = self.number()?;
        if count == 0 || count > LOG_ARGUMENTS_MAX {
            return Err(RdbError::Corrupt("an impossible number of arguments"));
        }
        let mut args = OwnedArgs::new();
        for _ in 0..count {
            if self.input.byte()? != b'$' {
                return Err(RdbError::Corrupt("an argument that does not begin with $"));
            }
            let len = self.number()?;
            if len > ARGUMENT_LEN_MAX {
                return Err(RdbError::Corrupt(
                    "an argument longer than any that is taken",
                ));
            }
            let bytes = self.input.take(len + 2)?;
            if &bytes[len..] != b"\r\n" {
                return Err(RdbError::Corrupt("an argument that does not end its line"));
            }
            args.try_push(&bytes[..len])
                .map_err(|_| RdbError::Corrupt("a command longer than any that is taken"))?;
        }
        Ok(Some(args))
    }

    fn number(&mut self) -> Result<usize, RdbError> {
        let line = self.line(HEADER_LEN_MAX)?;
        crate::resp::number::parse_u64(&line)
            .and_then(|number| usize::try_from(number).ok())
            .ok_or(RdbError::Corrupt("a length that is no number"))
    }

    /// The rest of a line, without its end.
    fn line(&mut self, len_max: usize) -> Result<Vec<u8>, RdbError> {
        let mut line = Vec::new();
        loop {
            match self.input.byte()? {
                b'\n' if line.last() == Some(&b'\r') => {
                    line.pop();
                    return Ok(line);
                }
                byte if line.len() < len_max => line.push(byte),
                _ => return Err(RdbError::Corrupt("a line without an end")),
            }
        }
    }
}

/// Whether commands begin at one of the lines, and fill the bytes to their end. So ends no file that was torn while it
/// was written, but one with a length in its middle that grew.
fn ends_in_commands(bytes: &[u8]) -> bool {
    let mut from = 0;
    while let Some(at) = bytes[from..].windows(3).position(|part| part == b"\r\n*") {
        let mut end = from + at + 2;
        while let Some(len) = command_len(&bytes[end..]) {
            end += len;
        }
        if end == bytes.len() {
            return true;
        }
        // What looks like a command inside of what was passed is none, or is found to be none as this was.
        from = end;
    }
    false
}

/// The length of the command at the beginning.
fn command_len(bytes: &[u8]) -> Option<usize> {
    let (count, mut len) = header(bytes, b'*')?;
    for _ in 0..count {
        let (argument_len, header_len) = header(&bytes[len..], b'$')?;
        len = len.checked_add(header_len)?.checked_add(argument_len)?;
        if bytes.get(len..len.checked_add(2)?)? != b"\r\n" {
            return None;
        }
        len += 2;
    }
    (count > 0).then_some(len)
}

/// The number in a line behind its mark, and the length of the line.
fn header(bytes: &[u8], mark: u8) -> Option<(usize, usize)> {
    let line = &bytes[..bytes.len().min(HEADER_LEN_MAX)];
    let end = line.windows(2).position(|part| part == b"\r\n")?;
    let digits = line[..end].strip_prefix(&[mark])?;
    let number = crate::resp::number::parse_u64(digits)?;
    Some((usize::try_from(number).ok()?, end + 2))
}
