//! What the engine knows of snapshots and the log: figures that others write and INFO shows.

use super::time::Moment;
use super::{Engine, Loading};

/// Work on the data that goes on beside commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackgroundJob {
    /// Write a snapshot.
    Save,
    /// Write a new base of the log.
    Rewrite,
    /// Begin to keep a log.
    StartLog,
    /// Write a snapshot for followers.
    Sync,
}

/// How a job ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobEnd {
    Done,
    Failed,
    /// It was called off, which is no fault of the disk.
    Cancelled,
}

/// The state of snapshots and of the append-only log.
#[derive(Clone, Debug)]
pub struct Persistence {
    /// When the last snapshot was written, or the server started.
    pub last_save_unix_s: i64,
    pub last_save_ok: bool,
    /// Seconds that the last background snapshot took, -1 before the first.
    pub last_save_duration_s: i64,
    /// When the snapshot in the background began.
    pub save_started_unix_s: Option<i64>,
    /// When a snapshot was last tried; one that failed is not tried again at once.
    pub last_try_unix_s: i64,
    /// When the snapshot for followers began.
    pub sync_started_unix_s: Option<i64>,
    /// A snapshot is to begin as soon as a rewrite of the log has ended.
    pub save_scheduled: bool,
    /// Snapshots written since the start.
    pub saves: u64,
    pub keys_processed: u64,
    pub keys_total: u64,
    /// Jobs begun since the start.
    pub jobs: u64,
    /// How long commands stood still when the last job began, in microseconds.
    pub last_begin_us: u64,
    pub load_keys_loaded: u64,
    pub load_keys_expired: u64,
    pub log: LogFigures,
}

/// The state of the append-only log.
#[derive(Clone, Debug)]
pub struct LogFigures {
    pub enabled: bool,
    /// Its first base is not written, so that it does not count yet.
    pub starting: bool,
    pub rewrite_started_unix_s: Option<i64>,
    pub rewrite_scheduled: bool,
    /// When a rewrite was last begun.
    pub last_try_unix_s: i64,
    pub last_rewrite_duration_s: i64,
    pub last_rewrite_ok: bool,
    pub rewrites: u64,
    pub rewrite_failures_in_row: u64,
    pub last_write_ok: bool,
    pub current_bytes: u64,
    pub base_bytes: u64,
    pub waiting_bytes: u64,
    pub delayed_syncs: u64,
}

impl Persistence {
    /// The state of a server that starts now.
    pub fn new(now_unix_s: i64) -> Self {
        Persistence {
            last_save_unix_s: now_unix_s,
            last_save_ok: true,
            last_save_duration_s: -1,
            save_started_unix_s: None,
            last_try_unix_s: 0,
            sync_started_unix_s: None,
            save_scheduled: false,
            saves: 0,
            keys_processed: 0,
            keys_total: 0,
            jobs: 0,
            last_begin_us: 0,
            load_keys_loaded: 0,
            load_keys_expired: 0,
            log: LogFigures {
                enabled: false,
                starting: false,
                rewrite_started_unix_s: None,
                rewrite_scheduled: false,
                last_try_unix_s: 0,
                last_rewrite_duration_s: -1,
                last_rewrite_ok: true,
                rewrites: 0,
                rewrite_failures_in_row: 0,
                last_write_ok: true,
                current_bytes: 0,
                base_bytes: 0,
                waiting_bytes: 0,
                delayed_syncs: 0,
            },
        }
    }
}

impl Engine {
    /// Notes how far a file is read at the start.
    pub fn note_loaded(&mut self, bytes: u64) -> Option<Loading> {
        let loading = self.loading.as_mut()?;
        loading.loaded_bytes = bytes;
        Some(*loading)
    }

    /// Whether a snapshot or a rewrite is under way; there is one at a time.
    pub fn job_is_running(&self) -> bool {
        self.persistence.save_started_unix_s.is_some()
            || self.persistence.sync_started_unix_s.is_some()
            || self.persistence.log.rewrite_started_unix_s.is_some()
    }

    /// Begins a snapshot in the background. No job is running.
    pub fn start_save(&mut self, now: Moment) {
        let now_s = now.unix_us / 1_000_000;
        let state = &mut self.persistence;
        state.save_scheduled = false;
        state.save_started_unix_s = Some(now_s);
        state.last_try_unix_s = now_s;
        state.saves += 1;
        state.jobs += 1;
        self.outside.start_job(BackgroundJob::Save);
    }

    /// Begins a rewrite of the log. No job is running.
    pub fn start_rewrite(&mut self, now: Moment) {
        self.begin_rewrite(now);
        self.outside.start_job(BackgroundJob::Rewrite);
    }

    /// Begins to keep a log. No job is running.
    pub fn start_log(&mut self, now: Moment) {
        self.begin_rewrite(now);
        self.persistence.log.starting = true;
        self.outside.start_job(BackgroundJob::StartLog);
    }

    /// Begins a snapshot for followers. No job is running.
    pub fn start_sync(&mut self, now: Moment) {
        let state = &mut self.persistence;
        state.sync_started_unix_s = Some(now.unix_us / 1_000_000);
        state.jobs += 1;
        self.outside.start_job(BackgroundJob::Sync);
    }

    fn begin_rewrite(&mut self, now: Moment) {
        let now_s = now.unix_us / 1_000_000;
        self.persistence.jobs += 1;
        let log = &mut self.persistence.log;
        log.rewrite_scheduled = false;
        log.rewrite_started_unix_s = Some(now_s);
        log.last_try_unix_s = now_s;
        log.rewrites += 1;
    }

    /// All data went. A snapshot under way would bring it back, and so would the last one, if there are save points.
    pub fn save_emptiness(&mut self, now: Moment) {
        if self.persistence.save_started_unix_s.is_some() {
            self.outside.cancel_job();
        }
        if !self.settings.save.is_empty() && self.save(now).is_err() {
            self.persistence.last_save_ok = false;
        }
    }

    /// Follows the setting appendonly, as far as that goes at once.
    pub(super) fn follow_appendonly(&mut self, now: Moment) {
        let log = &self.persistence.log;
        if self.settings.appendonly && !log.enabled {
            self.outside.log("AOF background was scheduled");
            if self.job_is_running() {
                self.persistence.log.rewrite_scheduled = true;
            } else {
                self.start_log(now);
            }
        } else if !self.settings.appendonly && log.enabled {
            if log.rewrite_started_unix_s.is_some() {
                self.outside.cancel_job();
            }
            self.persistence.log.rewrite_scheduled = false;
            self.persistence.log.enabled = false;
            self.effects.set_sink(None);
            self.outside.stop_log();
        }
    }

    /// Notes how a job ended.
    pub fn job_ended(&mut self, job: BackgroundJob, end: JobEnd, now_s: i64) {
        let ok = end == JobEnd::Done;
        let state = &mut self.persistence;
        if job == BackgroundJob::Save {
            let started_s = state.save_started_unix_s.take().unwrap_or(now_s);
            if end == JobEnd::Cancelled {
                return;
            }
            state.last_save_ok = ok;
            state.last_save_duration_s = now_s - started_s;
            if ok {
                state.last_save_unix_s = now_s;
            }
            return;
        }
        if job == BackgroundJob::Sync {
            state.sync_started_unix_s = None;
            return;
        }
        let log = &mut state.log;
        log.starting = false;
        let started_s = log.rewrite_started_unix_s.take().unwrap_or(now_s);
        if job == BackgroundJob::StartLog && !ok {
            log.enabled = false;
        }
        if end == JobEnd::Cancelled {
            return;
        }
        log.last_rewrite_duration_s = now_s - started_s;
        log.last_rewrite_ok = ok;
        log.rewrite_failures_in_row = if ok {
            0
        } else {
            log.rewrite_failures_in_row + 1
        };
    }
}
