//! Snapshots and rewrites in the background: one thread, one job at a time.
//!
//! The data is walked in pieces, each under the engine's lock for a moment, and
//! written between them. When a job ends, however it does, no watch stays behind.

use super::load::Names;
use super::snapshots;
use crate::engine::client::Client;
use crate::engine::followers::FollowTerms;
use crate::engine::persistence::JobEnd;
use crate::engine::{BackgroundJob, Engine, Snapshot};
use crate::persist::aof::files::LogFiles;
use crate::persist::disk::{Disk, RealDisk};
use crate::persist::form::Writer;
use crate::persist::pieces::{DbPieces, Step};
use crate::persist::rdb::snapshot::Head;
use crate::persist::snapshot_file::{SnapshotFile, SnapshotStyle};
use crate::server::Shared;
use parking_lot::Mutex;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How long a job that takes time on purpose does not look whether it was called off.
const DAWDLE_STEP: Duration = Duration::from_millis(10);

/// The way to the thread.
pub struct Jobs {
    sender: Sender<BackgroundJob>,
    receiver: Mutex<Option<Receiver<BackgroundJob>>>,
    /// Held while a snapshot is put in place, so that an older one never replaces a newer one.
    pub placing: Mutex<()>,
    cancelled: AtomicBool,
}

impl Default for Jobs {
    fn default() -> Self {
        let (sender, receiver) = channel();
        Jobs {
            sender,
            receiver: Mutex::new(Some(receiver)),
            placing: Mutex::new(()),
            cancelled: AtomicBool::new(false),
        }
    }
}

impl Jobs {
    /// Hands a job over.
    pub fn start(&self, job: BackgroundJob) {
        self.cancelled.store(false, Ordering::Release);
        // The thread lives as long as the process.
        let _ = self.sender.send(job);
    }

    /// Lets the job under way end without a result.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Starts the thread.
    pub fn serve(shared: Arc<Shared>) -> io::Result<()> {
        let Some(receiver) = shared.jobs.receiver.lock().take() else {
            return Ok(());
        };
        std::thread::Builder::new()
            .name("snapshot".to_string())
            .spawn(move || {
                for job in receiver {
                    run(&shared, job);
                }
            })?;
        Ok(())
    }
}

/// Names of files that are not whole yet.
fn aside(of: &str) -> PathBuf {
    PathBuf::from(format!("temp-bg-{}.{of}", std::process::id()))
}

/// Removes what jobs left that a kill or the end of a server cut off, of this process or an earlier one.
pub fn remove_asides(log_folder: &Path) {
    for folder in [Path::new("."), log_folder] {
        for name in RealDisk.list(folder).unwrap_or_default() {
            let text = name.to_string_lossy();
            let ours = ["rdb", "aof", "base", "incr"].iter().any(|end| {
                text.strip_suffix(end)
                    .is_some_and(|rest| rest.ends_with('.'))
            });
            if ours && text.starts_with("temp-bg-") {
                // Nobody reads it; if it cannot be removed, it only takes room.
                let _ = RealDisk.remove(&folder.join(&name));
            }
        }
    }
}

fn run(shared: &Shared, job: BackgroundJob) {
    let result = match job {
        BackgroundJob::Save => save(shared),
        BackgroundJob::Rewrite => rewrite(shared),
        BackgroundJob::StartLog => start_log(shared),
        BackgroundJob::Sync => sync(shared),
    };
    let cancelled = result.is_err() && shared.jobs.is_cancelled();
    let mut engine = shared.write_patiently();
    let retired = engine.store.end_watches();
    let now_s = shared.time.now().unix_us / 1_000_000;
    let end = match &result {
        Ok(()) => JobEnd::Done,
        Err(_) if cancelled => JobEnd::Cancelled,
        Err(_) => JobEnd::Failed,
    };
    engine.job_ended(job, end, now_s);
    if job == BackgroundJob::StartLog && result.is_err() {
        engine.effects.set_sink(None);
        shared.log.stop();
    }
    super::renew_refusal(shared, &mut engine);
    drop(engine);
    drop(retired);
    let name = match job {
        BackgroundJob::Save => "Background saving",
        BackgroundJob::Rewrite => "Background AOF rewrite",
        BackgroundJob::StartLog => "Starting the append only file",
        BackgroundJob::Sync => "Background saving for replicas",
    };
    match result {
        Ok(()) => tracing::info!("{name} terminated with success"),
        Err(error) => tracing::warn!("{name} failed: {error}"),
    }
}

/// What was fixed when the walk began.
struct Begun {
    head: Head,
    style: SnapshotStyle,
    names: Names,
    /// The databases with keys: their keys, those with deadlines.
    dbs: Vec<(usize, usize, usize, Arc<DbPieces>)>,
    dirty: u64,
    /// For tests: time that each key takes (rdb-key-save-delay).
    delay_us: u64,
}

/// What a walk is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Snapshot,
    /// The base of a log.
    Base,
    /// A follower, which may want a part.
    Follower(FollowTerms),
}

fn begin(shared: &Shared, engine: &mut Engine, purpose: Purpose) -> Begun {
    let started = Instant::now();
    let log_base = purpose == Purpose::Base;
    let (without_data, without_functions) = match purpose {
        Purpose::Follower(terms) => (terms.without_data, terms.without_functions),
        _ => (false, false),
    };
    let now = shared.time.now();
    let snapshot = Snapshot {
        store: &engine.store,
        libraries: &engine.libraries,
        settings: &engine.settings,
        replication_id: &engine.identity.replication_id,
        offset: engine.effects.offset(),
        now,
    };
    let mut head = snapshots::head(&snapshot, log_base);
    if without_functions {
        head.libraries.clear();
    }
    let style = if log_base {
        snapshots::base_style(&engine.settings, now)
    } else {
        snapshots::style(&engine.settings, now)
    };
    let mut dbs = Vec::new();
    for index in 0..engine.store.len() {
        let (keys, deadlines) = (engine.db(index).len(), engine.db(index).expires_len());
        if keys > 0 && !without_data {
            let pieces = DbPieces::begin(
                &mut engine.store,
                index,
                style.clocks,
                style.form,
                style.compress,
            );
            dbs.push((index, keys, deadlines, pieces));
        }
    }
    engine.persistence.keys_processed = 0;
    engine.persistence.keys_total = engine.store.keys_len() as u64;
    engine.persistence.last_begin_us = started.elapsed().as_micros() as u64;
    Begun {
        head,
        style,
        names: Names::of(&engine.settings),
        dbs,
        dirty: engine.dirty,
        delay_us: u64::try_from(engine.settings.rdb_key_save_delay).unwrap_or(0),
    }
}

fn cancelled() -> io::Error {
    io::Error::other("it was called off")
}

/// Takes time, unless the job is called off.
fn dawdle(shared: &Shared, duration_us: u64) {
    let end = Instant::now() + Duration::from_micros(duration_us);
    while !shared.jobs.is_cancelled() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(DAWDLE_STEP));
    }
}

/// Writes everything as it was at the beginning.
fn write(shared: &Shared, begun: &Begun, path: &Path, aside: &Path) -> io::Result<SnapshotFile> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let mut file = SnapshotFile::begin(disk, path, aside, begun.style)?;
    let mut out = Writer::new(begun.style.form, begun.style.compress);
    out.head(&begun.head);
    for (index, keys, deadlines, pieces) in &begun.dbs {
        out.db(*index, *keys, *deadlines);
        file.write(&out.take())?;
        let mut keys_met = 0;
        loop {
            if shared.jobs.is_cancelled() {
                return Err(cancelled());
            }
            let bytes = match pieces.next_step() {
                Step::Read => pieces.read_piece(&shared.read_patiently().store),
                Step::Write => {
                    pieces.write_piece(&mut shared.write_patiently().store);
                    continue;
                }
                Step::Done => break,
            };
            file.write(&bytes)?;
            if begun.delay_us > 0 {
                let met = pieces.keys();
                dawdle(shared, begun.delay_us.saturating_mul(met - keys_met));
                keys_met = met;
            }
        }
        file.write(&pieces.take())?;
        shared.write_patiently().persistence.keys_processed += pieces.keys();
    }
    file.write(&out.take())?;
    Ok(file)
}

fn save(shared: &Shared) -> io::Result<()> {
    let begun = begin(shared, &mut shared.write_patiently(), Purpose::Snapshot);
    let file = write(shared, &begun, &begun.names.snapshot, &aside("rdb"))?;
    let placing = shared.jobs.placing.lock();
    if shared.jobs.is_cancelled() {
        return Err(cancelled());
    }
    file.finish()?;
    drop(placing);
    let mut engine = shared.write_patiently();
    engine.dirty = engine.dirty.saturating_sub(begun.dirty);
    Ok(())
}

/// Writes a snapshot for those who wait to follow, and sends it to them.
fn sync(shared: &Shared) -> io::Result<()> {
    let (begun, clients) = {
        let mut engine = shared.write_patiently();
        let Some((terms, clients)) = engine.begin_following() else {
            return Ok(());
        };
        let begun = begin(shared, &mut engine, Purpose::Follower(terms));
        (begun, clients)
    };
    let path = aside("sync.rdb");
    let written = write(shared, &begun, &path, &aside("sync.part.rdb"))
        .and_then(SnapshotFile::finish)
        .and_then(|len| send(shared, &path, len, &clients));
    // Who reads it has it open.
    let _ = RealDisk.remove(&path);
    if written.is_err() {
        clients
            .iter()
            .for_each(|client| client.mailbox.close(false));
    }
    written
}

/// Lets connections send a file, each at its own pace.
fn send(shared: &Shared, path: &Path, len: u64, clients: &[Arc<Client>]) -> io::Result<()> {
    for client in clients {
        let announced = io::Cursor::new(format!("${len}\r\n").into_bytes());
        let source = Box::new(announced.chain(RealDisk.open(path)?));
        let mut engine = shared.write_patiently();
        let Some(follower) = engine.set_sending(client.id) else {
            continue;
        };
        client.mailbox.send(source);
        if follower.snapshot_only {
            client.mailbox.close(true);
        }
    }
    Ok(())
}

/// Writes a new base while the log goes on in a new increment.
fn rewrite(shared: &Shared) -> io::Result<()> {
    if !shared.log.is_open() {
        return rewrite_closed(shared);
    }
    let (answer, rotated) = channel();
    let begun = {
        let mut engine = shared.write_patiently();
        // A new file has to name its database.
        engine.effects.forget_selected_db();
        let offset = engine.effects.offset();
        shared
            .log
            .rotate(offset, &engine.identity.replication_id, answer);
        begin(shared, &mut engine, Purpose::Base)
    };
    rotated.recv().map_err(|_| log_ended())??;
    let folder = begun.names.folder.clone();
    let base = folder.join(aside("base"));
    write(shared, &begun, &base, &folder.join(aside("aof")))?.finish()?;
    let (answer, exchanged) = channel();
    shared.log.exchange(base, begun.style.form, answer);
    exchanged.recv().map_err(|_| log_ended())?
}

fn log_ended() -> io::Error {
    io::Error::other("the log was closed meanwhile")
}

/// Writes a log's files although none is kept, as BGREWRITEAOF of Redis does.
fn rewrite_closed(shared: &Shared) -> io::Result<()> {
    let begun = begin(shared, &mut shared.write_patiently(), Purpose::Base);
    let (mut files, base) = start_over(shared, &begun)?;
    let increment = files.folder().join(aside("incr"));
    drop(RealDisk.create(&increment)?);
    files.start_over(
        &base,
        begun.style.form,
        &increment,
        begun.head.offset,
        &begun.head.replication_id,
    )?;
    files.remove_history()
}

/// Writes a base that is not in place yet.
fn start_over(shared: &Shared, begun: &Begun) -> io::Result<(LogFiles, PathBuf)> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let (folder, prefix) = (&begun.names.folder, begun.names.prefix());
    disk.create_folder(folder)?;
    let files = match LogFiles::open(disk.clone(), folder, &prefix)? {
        Some(files) => files,
        None => LogFiles::new(disk, folder, &prefix)?,
    };
    let base = folder.join(aside("base"));
    write(shared, begun, &base, &folder.join(aside("aof")))?.finish()?;
    Ok((files, base))
}

/// Begins to keep a log: effects go to an increment that counts once the base is written.
fn start_log(shared: &Shared) -> io::Result<()> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let begun = {
        let mut engine = shared.write_patiently();
        if !engine.settings.appendonly {
            return Err(cancelled());
        }
        let names = Names::of(&engine.settings);
        let prefix = names.prefix();
        disk.create_folder(&names.folder)?;
        let files = match LogFiles::open(disk.clone(), &names.folder, &prefix)? {
            Some(files) => files,
            None => LogFiles::new(disk.clone(), &names.folder, &prefix)?,
        };
        let file = disk.create(&names.folder.join(aside("incr")))?;
        let offset = engine.effects.offset();
        shared.log.start(files, file, offset, 0)?;
        engine.effects.set_sink(Some(shared.log.clone()));
        engine.persistence.log.enabled = true;
        begin(shared, &mut engine, Purpose::Base)
    };
    let folder = begun.names.folder.clone();
    let base = folder.join(aside("base"));
    write(shared, &begun, &base, &folder.join(aside("aof")))?.finish()?;
    let (answer, adopted) = channel();
    let increment = folder.join(aside("incr"));
    let id = &begun.head.replication_id;
    shared.log.adopt(
        base,
        begun.style.form,
        increment,
        begun.head.offset,
        id,
        answer,
    );
    adopted.recv().map_err(|_| log_ended())?
}
