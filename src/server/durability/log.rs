//! The append-only log of a running server: a queue, a thread that writes it, a gate for replies.
//!
//! The engine appends effects to the queue in their order, under its lock. One
//! thread takes what is there, writes it and forces it to disk as appendfsync says,
//! so that many connections share one force. With `always`, a connection keeps its
//! replies back until the effects that they may tell of are durable.
//!
//! A write that fails is cut off again and tried once a second, while clients are
//! told and writes are refused. With `always` it ends the process, as in Redis:
//! nothing that waits was acknowledged.

use crate::engine::effects::EffectSink;
use crate::engine::time::TimeSource;
use crate::limits::LOG_QUEUE_BYTES_MAX;
use crate::persist::aof::files::LogFiles;
use crate::persist::disk::DiskFile;
use crate::persist::form::Form;
use crate::settings::FsyncPolicy;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::task::Waker;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Time between two forces with everysec, and between two tries after a fault.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// What the thread has to do, in order.
enum Piece {
    /// Effects, and where in the stream they end.
    Bytes(Vec<u8>, u64),
    /// Go on in a new increment.
    Rotate {
        offset: u64,
        replication_id: String,
        answer: Sender<io::Result<()>>,
    },
    /// Put a new base in place, which stands where the last increment begins.
    Exchange {
        aside: PathBuf,
        form: Form,
        answer: Sender<io::Result<()>>,
    },
    /// Let the file that is written, which did not count so far, follow a new base in the place of all others.
    Adopt {
        base: PathBuf,
        form: Form,
        increment: PathBuf,
        offset: u64,
        replication_id: String,
        answer: Sender<io::Result<()>>,
    },
    /// Write everything before it, so that it can be read back.
    Flush(Sender<io::Result<()>>),
    /// Remove what was replaced.
    Clean,
}

#[derive(Default)]
struct Queue {
    pieces: VecDeque<Piece>,
    bytes: usize,
    stop: bool,
}

/// The way to the log's thread. Lives as long as the server; open while a log is kept.
pub struct Log {
    queue: Mutex<Queue>,
    wake: Condvar,
    room: Condvar,
    policy: Mutex<FsyncPolicy>,
    time: Arc<dyn TimeSource>,
    /// Effects are preceded by remarks that tell the time.
    timed: AtomicBool,
    /// Files that were replaced stay (aof-disable-auto-gc).
    keeps_history: AtomicBool,
    /// The second that the last remark told.
    told_s: AtomicI64,
    /// Replies wait for the disk.
    gated: AtomicBool,
    open: AtomicBool,
    appended: AtomicU64,
    durable: AtomicU64,
    waiters: Mutex<Vec<(u64, Waker)>>,
    /// Someone wants to know when more is durable.
    watched: AtomicBool,
    /// Told then.
    pub more_durable: Notify,
    fault: Mutex<Option<String>>,
    has_fault: AtomicBool,
    current_bytes: AtomicU64,
    /// Bytes of all files after the last rewrite, or at the start.
    base_bytes: AtomicU64,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Log {
    /// A log that is not kept yet.
    pub fn new(policy: FsyncPolicy, timed: bool, time: Arc<dyn TimeSource>) -> Self {
        Log {
            queue: Mutex::default(),
            wake: Condvar::new(),
            room: Condvar::new(),
            policy: Mutex::new(policy),
            time,
            timed: AtomicBool::new(timed),
            keeps_history: AtomicBool::new(false),
            told_s: AtomicI64::new(0),
            gated: AtomicBool::new(false),
            open: AtomicBool::new(false),
            appended: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            waiters: Mutex::default(),
            watched: AtomicBool::new(false),
            more_durable: Notify::new(),
            fault: Mutex::default(),
            has_fault: AtomicBool::new(false),
            current_bytes: AtomicU64::new(0),
            base_bytes: AtomicU64::new(0),
            thread: Mutex::default(),
        }
    }

    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Follows the setting appendfsync.
    pub fn set_policy(&self, policy: FsyncPolicy) {
        *self.policy.lock() = policy;
        self.gated.store(
            self.is_open() && policy == FsyncPolicy::Always,
            Ordering::Release,
        );
        self.wake.notify_one();
        self.wake_waiters();
    }

    /// Follows the setting aof-timestamp-enabled.
    pub fn set_timed(&self, timed: bool) {
        self.timed.store(timed, Ordering::Release);
    }

    /// Follows the setting aof-disable-auto-gc; files that may go, go.
    pub fn set_keeps_history(&self, keeps: bool) {
        self.keeps_history.store(keeps, Ordering::Release);
        if !keeps {
            self.order(Piece::Clean);
        }
    }

    /// Starts the thread, which goes on at `offset` of the stream in `file`, behind its `file_len` bytes.
    pub fn start(
        self: &Arc<Self>,
        files: LogFiles,
        file: Box<dyn DiskFile>,
        offset: u64,
        file_len: u64,
    ) -> io::Result<()> {
        self.queue.lock().stop = false;
        self.appended.store(offset, Ordering::Release);
        self.durable.store(offset, Ordering::Release);
        let (current, _) = files.sizes()?;
        self.current_bytes.store(current, Ordering::Relaxed);
        self.base_bytes.store(current, Ordering::Relaxed);
        let mut writer = LogWriter {
            log: self.clone(),
            files,
            file,
            good_len: file_len,
            waiting: Vec::new(),
            written: offset,
            unsynced: false,
            last_sync: Instant::now(),
        };
        let thread = std::thread::Builder::new()
            .name("log".to_string())
            .spawn(move || writer.run())?;
        *self.thread.lock() = Some(thread);
        self.open.store(true, Ordering::Release);
        let policy = *self.policy.lock();
        self.set_policy(policy);
        Ok(())
    }

    /// Writes and forces what is queued, and ends the thread.
    pub fn stop(&self) {
        self.open.store(false, Ordering::Release);
        self.gated.store(false, Ordering::Release);
        self.queue.lock().stop = true;
        self.wake.notify_one();
        let thread = self.thread.lock().take();
        if let Some(Err(_)) = thread.map(|thread| thread.join()) {
            tracing::warn!("The log's thread panicked");
        }
        let mut queue = self.queue.lock();
        queue.pieces.clear();
        queue.bytes = 0;
        drop(queue);
        self.clear_fault();
        self.wake_waiters();
    }

    /// The offset that has to be durable before the replies made so far may leave; None without `always`.
    #[inline]
    pub fn gate(&self) -> Option<u64> {
        if !self.gated.load(Ordering::Acquire) {
            return None;
        }
        let appended = self.appended.load(Ordering::Acquire);
        (appended > self.durable.load(Ordering::Acquire)).then_some(appended)
    }

    /// Whether the stream is durable up to `offset`; if not, `waker` is woken when it is.
    pub fn poll_durable(&self, offset: u64, waker: &Waker) -> bool {
        let passed = || {
            self.durable.load(Ordering::Acquire) >= offset || !self.gated.load(Ordering::Acquire)
        };
        if passed() {
            return true;
        }
        self.waiters.lock().push((offset, waker.clone()));
        // It may have become durable before the waiter was seen.
        passed()
    }

    /// Up to where the stream is durable.
    pub fn durable_offset(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// `more_durable` is told once when the stream is durable further on.
    pub fn watch(&self) {
        self.watched.store(true, Ordering::SeqCst);
    }

    /// What is wrong with the log, in words for clients.
    pub fn fault(&self) -> Option<String> {
        if !self.has_fault.load(Ordering::Acquire) {
            return None;
        }
        self.fault.lock().clone()
    }

    pub fn current_bytes(&self) -> u64 {
        self.current_bytes.load(Ordering::Relaxed)
    }

    pub fn base_bytes(&self) -> u64 {
        self.base_bytes.load(Ordering::Relaxed)
    }

    pub fn waiting_bytes(&self) -> u64 {
        self.queue.lock().bytes as u64
    }

    /// Goes on in a new increment, from here in the stream on.
    pub fn rotate(&self, offset: u64, replication_id: &str, answer: Sender<io::Result<()>>) {
        self.order(Piece::Rotate {
            offset,
            replication_id: replication_id.to_string(),
            answer,
        });
    }

    /// Puts a new base in place.
    pub fn exchange(&self, aside: PathBuf, form: Form, answer: Sender<io::Result<()>>) {
        self.order(Piece::Exchange {
            aside,
            form,
            answer,
        });
    }

    /// Waits until everything appended so far is in the file.
    pub fn flush(&self) -> io::Result<()> {
        if !self.is_open() {
            return Ok(());
        }
        let (answer, flushed) = channel();
        self.order(Piece::Flush(answer));
        flushed
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("the log was closed meanwhile")))
    }

    /// Makes the increment that is written count, behind a new base.
    pub fn adopt(
        &self,
        base: PathBuf,
        form: Form,
        increment: PathBuf,
        offset: u64,
        replication_id: &str,
        answer: Sender<io::Result<()>>,
    ) {
        self.order(Piece::Adopt {
            base,
            form,
            increment,
            offset,
            replication_id: replication_id.to_string(),
            answer,
        });
    }

    /// Without a thread the order is dropped, and with it the sender of the answer.
    fn order(&self, piece: Piece) {
        let mut queue = self.queue.lock();
        if !queue.stop && self.is_open() {
            queue.pieces.push_back(piece);
        }
        drop(queue);
        self.wake.notify_one();
    }

    /// The remark that stands before the first effects of a second, if remarks are wanted.
    fn remark(&self) -> String {
        if !self.timed.load(Ordering::Acquire) {
            return String::new();
        }
        let now_s = self.time.now().unix_us / 1_000_000;
        if self.told_s.swap(now_s, Ordering::Relaxed) >= now_s {
            return String::new();
        }
        format!("#TS:{now_s}\r\n")
    }

    fn wake_waiters(&self) {
        let durable = self.durable.load(Ordering::Acquire);
        let all = !self.gated.load(Ordering::Acquire);
        let mut waiters = self.waiters.lock();
        waiters.retain(|(offset, waker)| {
            let keep = !all && *offset > durable;
            if !keep {
                waker.wake_by_ref();
            }
            keep
        });
    }

    fn set_fault(&self, error: &io::Error) {
        let text = format!("MISCONF Errors writing to the AOF file: {}", plain(error));
        *self.fault.lock() = Some(text);
        self.has_fault.store(true, Ordering::Release);
    }

    fn clear_fault(&self) {
        *self.fault.lock() = None;
        self.has_fault.store(false, Ordering::Release);
    }
}

/// The words of the system for an error, without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

impl EffectSink for Log {
    fn append(&self, bytes: &[u8], end_offset: u64) {
        let mut queue = self.queue.lock();
        // A writer that outruns the disk waits here, with all others behind it. While the disk is
        // at fault writes are refused, and what still comes (expired keys) is little.
        while queue.bytes > LOG_QUEUE_BYTES_MAX
            && !self.has_fault.load(Ordering::Acquire)
            && !queue.stop
        {
            self.room.wait_for(&mut queue, SYNC_INTERVAL);
        }
        let remark = self.remark();
        queue.bytes += remark.len() + bytes.len();
        match queue.pieces.back_mut() {
            Some(Piece::Bytes(last, end)) => {
                last.extend_from_slice(remark.as_bytes());
                last.extend_from_slice(bytes);
                *end = end_offset;
            }
            _ => queue.pieces.push_back(Piece::Bytes(
                [remark.as_bytes(), bytes].concat(),
                end_offset,
            )),
        }
        self.appended.store(end_offset, Ordering::Release);
        drop(queue);
        self.wake.notify_one();
    }
}

/// What the thread holds.
struct LogWriter {
    log: Arc<Log>,
    files: LogFiles,
    file: Box<dyn DiskFile>,
    /// Bytes of the file that are whole.
    good_len: u64,
    /// Taken from the queue and not in the file yet.
    waiting: Vec<u8>,
    /// Where in the stream the file ends, once `waiting` is in it.
    written: u64,
    unsynced: bool,
    last_sync: Instant,
}

impl LogWriter {
    fn run(&mut self) {
        loop {
            let (pieces, stop) = self.next_pieces();
            for piece in pieces {
                self.perform(piece);
            }
            let policy = *self.log.policy.lock();
            self.write_and_sync(policy, stop);
            if stop {
                return;
            }
        }
    }

    /// Waits for something to do.
    fn next_pieces(&self) -> (VecDeque<Piece>, bool) {
        let mut queue = self.log.queue.lock();
        if queue.pieces.is_empty() && !queue.stop {
            let faulty = self.log.has_fault.load(Ordering::Acquire);
            let everysec = *self.log.policy.lock() == FsyncPolicy::EverySecond;
            if faulty || (self.unsynced && everysec) {
                let until = self.last_sync + SYNC_INTERVAL;
                self.log.wake.wait_until(&mut queue, until);
            } else {
                self.log.wake.wait(&mut queue);
            }
        }
        let pieces = std::mem::take(&mut queue.pieces);
        queue.bytes = 0;
        let stop = queue.stop;
        drop(queue);
        self.log.room.notify_all();
        (pieces, stop)
    }

    fn perform(&mut self, piece: Piece) {
        match piece {
            Piece::Bytes(bytes, end) => {
                if self.waiting.is_empty() {
                    self.waiting = bytes;
                } else {
                    self.waiting.extend_from_slice(&bytes);
                }
                self.written = end;
            }
            Piece::Rotate {
                offset,
                replication_id,
                answer,
            } => {
                let rotated = self.rotate(offset, &replication_id);
                // Who asked may have given up.
                let _ = answer.send(rotated);
            }
            Piece::Exchange {
                aside,
                form,
                answer,
            } => {
                let exchanged = self.files.exchange_base(&aside, form);
                self.after_exchange(exchanged, &answer);
            }
            Piece::Clean => self.clean(),
            Piece::Flush(answer) => {
                // Who asked may have given up.
                let _ = answer.send(self.write());
            }
            Piece::Adopt {
                base,
                form,
                increment,
                offset,
                replication_id,
                answer,
            } => {
                let adopted = self.write().and_then(|()| self.file.sync()).and_then(|()| {
                    self.files
                        .start_over(&base, form, &increment, offset, &replication_id)
                });
                self.after_exchange(adopted, &answer);
            }
        }
    }

    fn after_exchange(&mut self, exchanged: io::Result<()>, answer: &Sender<io::Result<()>>) {
        if exchanged.is_ok() {
            self.clean();
            self.count_bytes();
        }
        let _ = answer.send(exchanged);
    }

    fn clean(&mut self) {
        if self.log.keeps_history.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = self.files.remove_history() {
            tracing::warn!("Can't remove old files of the log: {error}");
        }
    }

    fn count_bytes(&self) {
        if let Ok((current, _)) = self.files.sizes() {
            self.log.current_bytes.store(current, Ordering::Relaxed);
            self.log.base_bytes.store(current, Ordering::Relaxed);
        }
    }

    fn rotate(&mut self, offset: u64, replication_id: &str) -> io::Result<()> {
        // What is before the new file has to be durable before anything in it is.
        self.write()?;
        self.file.sync()?;
        self.file = self.files.start_increment(offset, replication_id)?;
        self.good_len = 0;
        self.unsynced = false;
        Ok(())
    }

    /// Puts `waiting` into the file, whole or not at all.
    fn write(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.file.write_all(&self.waiting) {
            // A part may be there. If it cannot be cut off now, it is before the next try.
            self.file.cut(self.good_len)?;
            return Err(error);
        }
        let len = self.waiting.len() as u64;
        self.good_len += len;
        self.log.current_bytes.fetch_add(len, Ordering::Relaxed);
        self.waiting.clear();
        self.unsynced = true;
        Ok(())
    }

    fn write_and_sync(&mut self, policy: FsyncPolicy, stop: bool) {
        let faulty = self.log.has_fault.load(Ordering::Acquire);
        if faulty && !stop && self.last_sync.elapsed() < SYNC_INTERVAL {
            return;
        }
        let mut result = if faulty && !self.waiting.is_empty() {
            self.file.cut(self.good_len)
        } else {
            Ok(())
        };
        result = result.and_then(|()| self.write());
        let due = match policy {
            FsyncPolicy::Always => true,
            FsyncPolicy::EverySecond => self.last_sync.elapsed() >= SYNC_INTERVAL,
            FsyncPolicy::Never => false,
        };
        if result.is_ok() && self.unsynced && (due || stop || faulty) {
            result = self.file.sync();
            self.last_sync = Instant::now();
            if result.is_ok() {
                self.unsynced = false;
            }
        }
        match result {
            Ok(()) => {
                if !self.unsynced {
                    self.log.durable.store(self.written, Ordering::SeqCst);
                    self.log.wake_waiters();
                    if self.log.watched.swap(false, Ordering::SeqCst) {
                        self.log.more_durable.notify_one();
                    }
                }
                if faulty {
                    tracing::warn!("AOF write error looks solved, the server can write again.");
                    self.log.clear_fault();
                }
            }
            Err(error) => self.fail(policy, &error, faulty),
        }
    }

    fn fail(&mut self, policy: FsyncPolicy, error: &io::Error, again: bool) {
        if policy == FsyncPolicy::Always {
            tracing::error!(
                "Can't recover from AOF write error when the AOF fsync policy is 'always': {error}. Exiting..."
            );
            std::process::exit(1);
        }
        if !again {
            tracing::error!("Error writing to the AOF file: {error}");
        }
        self.last_sync = Instant::now();
        self.log.set_fault(error);
    }
}
