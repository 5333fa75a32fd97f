//! Reads the files at the start, while clients are told to wait.
//!
//! The file is parsed without the engine's lock and taken in by small batches, so
//! that a client which asks meanwhile is answered. A file that cannot be read ends
//! the start: a server never goes on empty over data that it did not understand.

use super::log::Log;
use super::reach::Reach;
use super::{jobs, replay, snapshots};
use crate::engine::Loading;
use crate::persist::aof::files::LogFiles;
use crate::persist::disk::{Disk, RealDisk};
use crate::persist::load::{Facts, LoadFault, Taken, take_in};
use crate::persist::rdb::snapshot::{Item, Loaded, Reader};
use crate::persist::rdb::{Input, Limits};
use crate::persist::snapshot_file;
use crate::server::Shared;
use crate::settings::Settings;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Keys that are taken in at once, and the bytes of a file after which a batch ends.
const BATCH_KEYS: usize = 256;
const BATCH_BYTES: u64 = 1024 * 1024;

/// Seconds between two lines that tell how far loading is.
const PROGRESS_S: u64 = 1;

/// Reads what the settings say; the databases are empty before. Then the log, if one is kept, goes on.
pub fn run(shared: &Shared) -> io::Result<()> {
    let (appendonly, settings) = {
        let engine = shared.write_patiently();
        (engine.settings.appendonly, Names::of(&engine.settings))
    };
    jobs::remove_asides(&settings.folder);
    if appendonly {
        load_log(shared, &settings)?;
    } else {
        load_snapshot_file(shared, &settings.snapshot)?;
    }
    shared.write_patiently().loading = None;
    Ok(())
}

/// The names of the files, as the settings give them.
pub struct Names {
    pub snapshot: PathBuf,
    pub folder: PathBuf,
    pub log: PathBuf,
}

impl Names {
    pub fn of(settings: &Settings) -> Self {
        Names {
            snapshot: settings.dbfilename.clone(),
            folder: settings.appenddirname.clone(),
            log: settings.appendfilename.clone(),
        }
    }

    /// First part of the names of the log's files.
    pub fn prefix(&self) -> String {
        self.log.to_string_lossy().into_owned()
    }
}

/// Reads the snapshot's file; false when there is none.
fn load_snapshot_file(shared: &Shared, path: &Path) -> io::Result<bool> {
    if path.as_os_str().is_empty() {
        return Ok(false);
    }
    let Some(len) = RealDisk.len(path)? else {
        return Ok(false);
    };
    begin(shared, len);
    let started = Instant::now();
    let (taken, facts) = snapshot(shared, path, true)?;
    let mut engine = shared.write_patiently();
    engine.persistence.load_keys_loaded = taken.loaded;
    engine.persistence.load_keys_expired = taken.expired;
    if let (Some(id), Some(offset)) = (facts.replication_id, facts.offset) {
        engine.identity.replication_id = id;
        engine.effects.set_offset(offset);
    }
    engine.dirty = 0;
    drop(engine);
    tracing::info!(
        "Done loading RDB, keys loaded: {}, keys expired: {}.",
        taken.loaded,
        taken.expired
    );
    tracing::info!(
        "DB loaded from disk: {:.3} seconds",
        started.elapsed().as_secs_f64()
    );
    Ok(true)
}

fn load_log(shared: &Shared, names: &Names) -> io::Result<()> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let prefix = names.prefix();
    LogFiles::finish_adoption(disk.as_ref(), &names.folder, &prefix, &names.log)?;
    let found = LogFiles::open(disk.clone(), &names.folder, &prefix)?;
    let mut files = match found {
        Some(files) => {
            read_log(shared, &files)?;
            files
        }
        None => {
            let mut files = LogFiles::new(disk.clone(), &names.folder, &prefix)?;
            if disk.len(&names.log)?.is_some() {
                files.adopt(&names.log)?;
                read_log(shared, &files)?;
            } else {
                // What was only in a snapshot is in the log from now on; without one the base is empty.
                load_snapshot_file(shared, &names.snapshot)?;
                write_base(shared, disk, &mut files)?;
            }
            files
        }
    };
    go_on(shared, &mut files)
}

fn read_log(shared: &Shared, files: &LogFiles) -> io::Result<()> {
    let (total, _) = files.sizes()?;
    begin(shared, total);
    let started = Instant::now();
    let allow_cut = shared.write_patiently().settings.aof_load_truncated;
    let replayed = replay::run(&mut &*shared, files, allow_cut)?;
    let mut engine = shared.write_patiently();
    engine.dirty = 0;
    engine.persistence.load_keys_loaded = replayed.keys;
    let last = files.manifest().increments.last();
    let offset = last
        .and_then(|last| last.start_offset)
        .or(replayed.facts.offset)
        .map_or(total, |start| start + replayed.last_stream_len);
    engine.effects.set_offset(offset);
    let id = last
        .and_then(|last| last.replication_id.clone())
        .or(replayed.facts.replication_id);
    if let Some(id) = id.filter(|id| id.len() == 40) {
        engine.identity.replication_id = id;
    }
    drop(engine);
    tracing::info!(
        "DB loaded from append only file: {:.3} seconds ({} keys of the base, {} commands)",
        started.elapsed().as_secs_f64(),
        replayed.keys,
        replayed.commands
    );
    Ok(())
}

/// Writes all data as the base of a log that has none.
fn write_base(shared: &Shared, disk: Arc<dyn Disk>, files: &mut LogFiles) -> io::Result<()> {
    let aside = files.base_aside();
    disk.create_folder(files.folder())?;
    let engine = shared.write_patiently();
    let now = shared.time.now();
    let snapshot = crate::engine::Snapshot {
        store: &engine.store,
        libraries: &engine.libraries,
        settings: &engine.settings,
        replication_id: &engine.identity.replication_id,
        offset: engine.effects.offset(),
        now,
    };
    let style = snapshots::base_style(&engine.settings, now);
    snapshot_file::write_all(
        disk,
        &aside,
        &files.folder().join("temp-base.rdb"),
        style,
        &snapshots::head(&snapshot, true),
        &engine.store,
    )?;
    files.exchange_base(&aside, style.form)
}

/// Opens the log to write on.
fn go_on(shared: &Shared, files: &mut LogFiles) -> io::Result<()> {
    let mut engine = shared.write_patiently();
    let offset = engine.effects.offset();
    let file = files.resume(offset, &engine.identity.replication_id)?;
    let file_len = match files.manifest().increments.last() {
        Some(last) => files.len(last)?.unwrap_or(0),
        None => 0,
    };
    shared.log.start(files.clone(), file, offset, file_len)?;
    let log: Arc<Log> = shared.log.clone();
    engine.effects.set_sink(Some(log));
    engine.persistence.log.enabled = true;
    Ok(())
}

/// From here on clients are told that they have to wait.
pub fn begin(shared: &Shared, total_bytes: u64) {
    let started_unix_s = shared.time.now().unix_us / 1_000_000;
    shared.write_patiently().loading = Some(Loading {
        started_unix_s,
        total_bytes,
        loaded_bytes: 0,
    });
}

/// Tells the log, once in a while, how far a file is read.
pub struct Progress {
    next: std::time::Instant,
}

impl Progress {
    pub(super) fn new() -> Self {
        Progress {
            next: std::time::Instant::now() + std::time::Duration::from_secs(PROGRESS_S),
        }
    }

    pub fn tell(&mut self, loading: Loading) {
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
    let refuse = |fault: &dyn std::fmt::Display| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "Fatal error loading the DB, check {}: {fault}. The file is left as it is; not starting.",
                path.display()
            ),
        )
    };
    let read = read_snapshot(&mut &*shared, source, drop_expired, &mut progress);
    let (taken, facts, _) = read.map_err(|fault| refuse(&fault))?;
    replay::load_libraries(&mut &*shared, &facts.libraries).map_err(|why| refuse(&why))?;
    Ok((taken, facts))
}

/// Reads a snapshot from anywhere.
pub fn read_snapshot<R: Read>(
    reach: &mut impl Reach,
    source: R,
    drop_expired: bool,
    progress: &mut Progress,
) -> Result<(Taken, Facts, Input<R>), LoadFault> {
    let (limits, intake, delay_us) = reach.with(|engine| {
        let intake = snapshots::intake(&engine.settings, engine.time.now(), drop_expired);
        let delay_us = u64::try_from(engine.settings.key_load_delay).unwrap_or(0);
        (Limits::from(&engine.settings), intake, delay_us)
    });
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
            Some(Item::Library(source)) => facts.libraries.push(source),
            Some(Item::Db(index)) => db = index,
            Some(Item::Entry(entry)) => batch.push((db, entry)),
            Some(Item::Size { .. }) | None => {}
        }
        let full = batch.len() >= BATCH_KEYS || offset - batch_start >= BATCH_BYTES;
        if full || !more {
            batch_start = offset;
            // For tests: loading that takes long enough to be looked at.
            let pause_us = delay_us.saturating_mul(batch.len() as u64);
            std::thread::sleep(Duration::from_micros(pause_us));
            let loading = reach.with(|engine| {
                for (db, entry) in batch.drain(..) {
                    take_in(&mut engine.store, db, entry, intake, &mut taken)?;
                }
                Ok(engine.note_loaded(reader.offset()))
            });
            if let Some(loading) = loading.map_err(|error| LoadFault { offset, error })? {
                progress.tell(loading);
            }
        }
        if !more {
            return Ok((taken, facts, reader.into_input()));
        }
    }
}
