//! Reads the files at the start, while clients are told to wait.
//!
//! The file is parsed without the engine's lock and taken in by small batches, so
//! that a client which asks meanwhile is answered. A file that cannot be read ends
//! the start: a server never goes on empty over data that it did not understand.

use super::snapshots;
use crate::engine::Loading;
use crate::persist::disk::{Disk, RealDisk};
use crate::persist::load::{Facts, LoadFault, Taken, take_in};
use crate::persist::rdb::Limits;
use crate::persist::rdb::snapshot::{Item, Loaded, Reader};
use crate::server::Shared;
use std::io::{self, Read};
use std::path::Path;

/// Keys that are taken in at once, and the bytes of a file after which a batch ends.
const BATCH_KEYS: usize = 256;
const BATCH_BYTES: u64 = 1024 * 1024;

/// Seconds between two lines that tell how far loading is.
const PROGRESS_S: u64 = 1;

/// Reads what the settings say; the databases are empty before.
pub fn run(shared: &Shared) -> io::Result<()> {
    let path = shared.write_patiently().settings.dbfilename.clone();
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    match RealDisk.len(&path)? {
        None => return Ok(()),
        Some(len) => begin(shared, len),
    }
    let started = std::time::Instant::now();
    let loaded = snapshot(shared, &path, true);
    end(shared);
    let (taken, facts) = loaded?;
    {
        let mut engine = shared.write_patiently();
        engine.persistence.load_keys_loaded = taken.loaded;
        engine.persistence.load_keys_expired = taken.expired;
        if let (Some(id), Some(offset)) = (facts.replication_id, facts.offset) {
            engine.identity.replication_id = id;
            engine.effects.set_offset(offset);
        }
        engine.dirty = 0;
    }
    tracing::info!(
        "Done loading RDB, keys loaded: {}, keys expired: {}.",
        taken.loaded,
        taken.expired
    );
    tracing::info!(
        "DB loaded from disk: {:.3} seconds",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

fn begin(shared: &Shared, total_bytes: u64) {
    let started_unix_s = shared.time.now().unix_us / 1_000_000;
    shared.write_patiently().loading = Some(Loading {
        started_unix_s,
        total_bytes,
        loaded_bytes: 0,
    });
}

fn end(shared: &Shared) {
    shared.write_patiently().loading = None;
}

/// Tells the log, once in a while, how far a file is read.
pub struct Progress {
    next: std::time::Instant,
}

impl Progress {
    pub fn new() -> Self {
        Progress {
            next: std::time::Instant::now() + std::time::Duration::from_secs(PROGRESS_S),
        }
    }

    fn tell(&mut self, loading: Loading) {
        let now = std::time::Instant::now();
        if now >= self.next && loading.total_bytes > 0 {
            self.next = now + std::time::Duration::from_secs(PROGRESS_S);
            tracing::info!(
                "Loading: {} of {} bytes ({:.1}%)",
                loading.loaded_bytes,
                loading.total_bytes,
                loading.loaded_bytes as f64 * 100.0 / loading.total_bytes as f64
            );
        }
    }
}

/// Reads one snapshot file.
fn snapshot(shared: &Shared, path: &Path, drop_expired: bool) -> io::Result<(Taken, Facts)> {
    let source = RealDisk.open(path)?;
    let mut progress = Progress::new();
    read_snapshot(shared, source, drop_expired, &mut progress).map_err(|fault| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "Fatal error loading the DB, check {}: {fault}. The file is left as it is; not starting.",
                path.display()
            ),
        )
    })
}

/// Reads a snapshot from anywhere.
pub fn read_snapshot<R: Read>(
    shared: &Shared,
    source: R,
    drop_expired: bool,
    progress: &mut Progress,
) -> Result<(Taken, Facts), LoadFault> {
    let (limits, intake) = {
        let engine = shared.write_patiently();
        let now = shared.time.now();
        (
            Limits::from(&engine.settings),
            snapshots::intake(&engine.settings, now, drop_expired),
        )
    };
    let mut reader = Reader::new(source, limits).map_err(|error| LoadFault { offset: 0, error })?;
    let mut taken = Taken::default();
    let mut facts = Facts::default();
    let mut batch: Vec<(usize, Loaded)> = Vec::new();
    let mut batch_start = 0;
    let mut db = 0;
    loop {
        let offset = reader.offset();
        let item = reader.next_item().map_err(|error| LoadFault {
            offset: reader.offset(),
            error,
        })?;
        let more = item.is_some();
        match item {
            Some(Item::Aux(name, value)) => facts.note(&name, &value),
            Some(Item::Db(index)) => db = index,
            Some(Item::Entry(entry)) => batch.push((db, entry)),
            Some(Item::Size { .. }) | None => {}
        }
        let full = batch.len() >= BATCH_KEYS || offset - batch_start >= BATCH_BYTES;
        if full || !more {
            batch_start = offset;
            let mut engine = shared.write_patiently();
            for (db, entry) in batch.drain(..) {
                take_in(&mut engine.store, db, entry, intake, &mut taken)
                    .map_err(|error| LoadFault { offset, error })?;
            }
            if let Some(loading) = &mut engine.loading {
                loading.loaded_bytes = reader.offset();
                let loading = *loading;
                drop(engine);
                progress.tell(loading);
            }
        }
        if !more {
            return Ok((taken, facts));
        }
    }
}
