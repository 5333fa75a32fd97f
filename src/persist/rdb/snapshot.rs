//! A whole snapshot: what stands around the values.
//!
//! Writing is split into pieces that append to an [`Encoder`], so that a snapshot
//! can be made bit by bit; reading is a stream of [`Item`]s whose end is checked.

use super::encode::{Encoder, kind_of};
use super::error::RdbError;
use super::input::Input;
use super::{Limits, VALKEY_VERSION, VERSION, VERSION_MAX, decode_value, opcode};
use crate::store::keyspace::Entry;
use crate::store::value::Value;
use std::io::Read;
use std::sync::Arc;

const MAGIC: &[u8] = b"REDIS";
const VALKEY_MAGIC: &[u8] = b"VALKEY";

/// Bytes that a checksum takes at the end.
pub const CHECKSUM_LEN: usize = 8;

/// Facts about the server that stand in the head of a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Head {
    pub unix_s: i64,
    pub used_memory_bytes: u64,
    /// The snapshot is the base of an append-only log.
    pub log_base: bool,
    pub replication_id: String,
    /// Where in the effect stream the snapshot stands.
    pub offset: u64,
    /// The sources of the libraries of functions.
    pub libraries: Vec<Arc<[u8]>>,
    /// The time is noted where the form has no place of its own for it.
    pub timed: bool,
}

/// Which access clocks are worth keeping, by the eviction policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    None,
    /// Seconds since the last access, seen from this second of the Unix clock.
    Idle {
        now_s: u64,
    },
    /// Access counters, seen from this minute.
    Counter {
        now_minutes: u64,
        decay_minutes: u32,
    },
}

/// Writes the head.
pub fn write_head(out: &mut Encoder, head: &Head) {
    out.raw(MAGIC);
    out.raw(format!("{VERSION:04}").as_bytes());
    let mut aux = |name: &str, value: &str| {
        out.byte(opcode::AUX);
        out.string(name.as_bytes());
        out.string(value.as_bytes());
    };
    aux("redis-ver", crate::settings::REDIS_VERSION);
    aux("redis-bits", "64");
    aux("ctime", &head.unix_s.to_string());
    aux("used-mem", &head.used_memory_bytes.to_string());
    if !head.replication_id.is_empty() {
        aux("repl-stream-db", "0");
        aux("repl-id", &head.replication_id);
        aux("repl-offset", &head.offset.to_string());
    }
    aux("aof-base", if head.log_base { "1" } else { "0" });
    for library in &head.libraries {
        out.byte(opcode::FUNCTION2);
        out.string(library);
    }
}

/// Writes that the entries of a database follow, and about how many.
pub fn write_db(out: &mut Encoder, index: usize, keys: usize, deadlines: usize) {
    out.byte(opcode::SELECT_DB);
    out.len(index as u64);
    out.byte(opcode::RESIZE_DB);
    out.len(keys as u64);
    out.len(deadlines as u64);
}

/// Writes what stands before the value of a key.
pub fn write_key(out: &mut Encoder, entry: &Entry<'_>, clocks: Clocks) {
    if let Some(deadline_ms) = entry.deadline {
        out.byte(opcode::EXPIRE_MS);
        out.raw(&deadline_ms.to_le_bytes());
    }
    match clocks {
        Clocks::None => {}
        Clocks::Idle { now_s } => {
            out.byte(opcode::IDLE);
            out.len(entry.access.idle_seconds(now_s));
        }
        Clocks::Counter {
            now_minutes,
            decay_minutes,
        } => {
            out.byte(opcode::FREQ);
            out.byte(entry.access.counter(now_minutes, decay_minutes));
        }
    }
    out.byte(kind_of(entry.value.kind()));
    out.string(entry.key);
}

/// Writes a key with its value.
pub fn write_entry(out: &mut Encoder, entry: &Entry<'_>, clocks: Clocks) {
    write_key(out, entry, clocks);
    out.value(entry.value);
}

/// What a snapshot holds, in order.
pub enum Item {
    /// A fact of the head.
    Aux(Vec<u8>, Vec<u8>),
    /// The source of a library of functions.
    Library(Vec<u8>),
    /// The entries that follow are of this database.
    Db(usize),
    /// About so many keys follow, and so many with deadlines.
    Size {
        keys: u64,
        deadlines: u64,
    },
    Entry(Loaded),
}

/// A key as it was read.
pub struct Loaded {
    pub key: Vec<u8>,
    pub value: Value,
    /// Unix milliseconds.
    pub deadline: Option<i64>,
    pub idle_s: Option<u64>,
    pub counter: Option<u8>,
}

/// Reads a snapshot item by item.
pub struct Reader<R> {
    input: Input<R>,
    limits: Limits,
    version: u32,
}

impl<R: Read> Reader<R> {
    /// Reads the magic and the version.
    pub fn new(source: R, limits: Limits) -> Result<Self, RdbError> {
        let mut input = Input::new(source).with_checksum();
        let magic: [u8; 9] = input.take(9)?.try_into().map_err(|_| RdbError::Short)?;
        let (valkey, digits) = match (magic.strip_prefix(MAGIC), magic.strip_prefix(VALKEY_MAGIC)) {
            (Some(digits), _) => (false, digits),
            (None, Some(digits)) => (true, digits),
            _ => return Err(RdbError::Corrupt("wrong signature: this is no snapshot")),
        };
        let version: Option<u32> = std::str::from_utf8(digits)
            .ok()
            .and_then(|text| text.parse().ok());
        let readable = match version {
            Some(version) if valkey => version == VALKEY_VERSION,
            Some(version) => (1..=VERSION_MAX).contains(&version),
            None => false,
        };
        let Some(version) = version.filter(|_| readable) else {
            return Err(RdbError::Version(format!(
                "can't handle RDB format version {}{}",
                if valkey { "VALKEY " } else { "" },
                String::from_utf8_lossy(digits)
            )));
        };
        Ok(Reader {
            input,
            limits,
            version,
        })
    }

    /// The version in the file's head.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Bytes read so far.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// The next item; None at the end, whose checksum was right.
    pub fn next_item(&mut self) -> Result<Option<Item>, RdbError> {
        let mut deadline = None;
        let mut idle_s = None;
        let mut counter = None;
        loop {
            match self.input.byte()? {
                opcode::EXPIRE_S => {
                    deadline = Some(i64::from(self.input.u32()? as i32) * 1000);
                }
                opcode::EXPIRE_MS => deadline = Some(self.input.i64()?),
                opcode::IDLE => idle_s = Some(self.input.len()?),
                opcode::FREQ => counter = Some(self.input.byte()?),
                opcode::AUX => {
                    let name = self.input.string()?.to_vec();
                    let value = self.input.string()?.to_vec();
                    return Ok(Some(Item::Aux(name, value)));
                }
                opcode::SELECT_DB => {
                    let index = self.input.len()?;
                    let index = usize::try_from(index)
                        .map_err(|_| RdbError::Corrupt("a database number out of range"))?;
                    return Ok(Some(Item::Db(index)));
                }
                opcode::RESIZE_DB => {
                    let keys = self.input.len()?;
                    let deadlines = self.input.len()?;
                    return Ok(Some(Item::Size { keys, deadlines }));
                }
                opcode::SLOT_INFO => {
                    // Only a hint of sizes.
                    for _ in 0..3 {
                        self.input.len()?;
                    }
                }
                opcode::FUNCTION2 => {
                    return Ok(Some(Item::Library(self.input.string()?.to_vec())));
                }
                opcode::FUNCTION_PRE_GA => {
                    return Err(RdbError::Version(
                        "Pre-release function format not supported.".to_string(),
                    ));
                }
                opcode::MODULE_AUX => {
                    let id = self.input.len()?;
                    let name = module_name(id);
                    return Err(RdbError::Foreign(format!("data of the module {name}")));
                }
                opcode::EOF => return self.end().map(|()| None),
                kind => {
                    let key = self.input.string()?.to_vec();
                    let value = decode_value(kind, &mut self.input, &self.limits)?;
                    return Ok(Some(Item::Entry(Loaded {
                        key,
                        value,
                        deadline,
                        idle_s,
                        counter,
                    })));
                }
            }
        }
    }

    fn end(&mut self) -> Result<(), RdbError> {
        // Checksums came with version 5.
        if self.version < 5 {
            return Ok(());
        }
        let made = self.input.checksum();
        let stored = self.input.u64()?;
        // Zero means that none was made.
        if stored != 0 && stored != made {
            return Err(RdbError::Checksum);
        }
        Ok(())
    }

    /// The input behind the snapshot: a log with a snapshot in front goes on there.
    pub fn into_input(self) -> Input<R> {
        self.input
    }
}

/// The name inside a module's id: nine letters of six bits above ten bits of version.
fn module_name(id: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..9)
        .map(|index| {
            let bits = id >> (10 + 6 * (8 - index)) & 0x3f;
            char::from(LETTERS[bits as usize])
        })
        .collect()
}
