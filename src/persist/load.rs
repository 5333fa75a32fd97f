//! Puts what was read from a snapshot into the databases.

use super::rdb::snapshot::{Item, Loaded, Reader};
use super::rdb::{Limits, RdbError};
use crate::store::keyspace::{AccessClock, Store};
use std::fmt;
use std::io::Read;

/// How keys of a snapshot are taken in.
#[derive(Clone, Copy, Debug)]
pub struct Intake {
    /// Unix milliseconds.
    pub now_ms: i64,
    /// Keys past their deadline are left out; the base of a log keeps them, as its commands expect them.
    pub drop_expired: bool,
    /// The eviction policy counts accesses.
    pub counts_accesses: bool,
    /// A key that is there already gives way; else it makes the file unreadable.
    pub replace: bool,
}

/// What became of the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    pub loaded: u64,
    pub expired: u64,
}

/// A fact of the head that matters to a server.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub replication_id: Option<String>,
    pub offset: Option<u64>,
    pub used_memory_bytes: Option<u64>,
    pub log_base: bool,
    /// The sources of libraries of functions, which whoever can run them loads.
    pub libraries: Vec<Vec<u8>>,
}

impl Facts {
    /// Takes note of one fact.
    pub fn note(&mut self, name: &[u8], value: &[u8]) {
        let text = String::from_utf8_lossy(value);
        match name {
            b"repl-id" if text.len() == 40 => self.replication_id = Some(text.into_owned()),
            b"repl-offset" => self.offset = text.parse().ok(),
            b"used-mem" => self.used_memory_bytes = text.parse().ok(),
            b"aof-base" => self.log_base = text == "1",
            _ => {}
        }
    }
}

/// Why a snapshot was refused, and where.
#[derive(Debug)]
pub struct LoadFault {
    pub offset: u64,
    pub error: RdbError,
}

impl fmt::Display for LoadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at offset {})", self.error, self.offset)
    }
}

impl std::error::Error for LoadFault {}

/// Puts one key into a database; false when it was there already.
pub fn take_in(
    store: &mut Store,
    db: usize,
    item: Loaded,
    intake: Intake,
    taken: &mut Taken,
) -> Result<(), RdbError> {
    let db = store.db_mut(db).ok_or(RdbError::Corrupt(
        "a database number beyond the setting databases",
    ))?;
    if intake.drop_expired
        && item
            .deadline
            .is_some_and(|deadline| deadline < intake.now_ms)
    {
        taken.expired += 1;
        return Ok(());
    }
    if db.insert(&item.key, item.value).is_some() && !intake.replace {
        return Err(RdbError::Corrupt("a key that is there twice"));
    }
    if let Some(deadline) = item.deadline {
        db.set_deadline(&item.key, deadline);
    }
    let seconds = u64::try_from(intake.now_ms / 1000).unwrap_or(0);
    if intake.counts_accesses {
        if let Some(counter) = item.counter {
            db.set_access(&item.key, AccessClock::lfu(seconds / 60, counter));
        }
    } else if let Some(idle_s) = item.idle_s {
        db.set_access(&item.key, AccessClock::lru_idle(seconds, idle_s));
    }
    taken.loaded += 1;
    Ok(())
}

/// Reads a whole snapshot into databases that are empty.
pub fn read_all<R: Read>(
    source: R,
    limits: Limits,
    store: &mut Store,
    intake: Intake,
) -> Result<(Taken, Facts), LoadFault> {
    let mut reader = Reader::new(source, limits).map_err(|error| LoadFault { offset: 0, error })?;
    let mut taken = Taken::default();
    let mut facts = Facts::default();
    let mut db = 0;
    loop {
        let step = reader.next_item().and_then(|item| match item {
            None => Ok(false),
            Some(Item::Aux(name, value)) => {
                facts.note(&name, &value);
                Ok(true)
            }
            Some(Item::Library(source)) => {
                facts.libraries.push(source);
                Ok(true)
            }
            Some(Item::Db(index)) => {
                db = index;
                Ok(true)
            }
            Some(Item::Size { .. }) => Ok(true),
            Some(Item::Entry(item)) => take_in(store, db, item, intake, &mut taken).map(|()| true),
        });
        match step {
            Ok(true) => {}
            Ok(false) => return Ok((taken, facts)),
            Err(error) => {
                return Err(LoadFault {
                    offset: reader.offset(),
                    error,
                });
            }
        }
    }
}
