//! Runs commands: the table, the gates, dispatch, effects.
//!
//! No I/O, no clock and no thread of its own: time, chance and the ways to
//! connections come in from outside, so that a whole server can be simulated.
//! Reading order: [`spec`], [`table`], [`ctx`], [`gates`], [`dispatch`].

pub mod acl;
mod ahead;
pub mod blocking;
pub mod client;
pub mod client_line;
pub mod ctx;
pub mod dispatch;
pub mod effects;
pub mod eviction;
pub mod followers;
pub mod gates;
pub mod keys;
pub mod latency;
pub mod notify;
pub mod persistence;
pub mod pubsub;
pub mod random;
pub mod rates;
pub mod secrets;
pub mod session;
#[cfg(test)]
pub mod simulated;
pub mod slow_log;
pub mod spec;
pub mod stats;
pub mod table;
pub mod time;
pub mod tracking;
pub mod transfer;
mod watching;

use crate::resp::args::{Args, OwnedArgs};
use crate::settings::{Access, Extent, MaxmemoryPolicy, SetError, Settings};
use crate::store::keyspace::{Db, Store, Touch};
use crate::store::value::Value;
use acl::Acl;
use client::{Client, ClientId, ClientRegistry};
use notify::EventClass;
use pubsub::{ChannelSpace, PubSub};
use random::Random;
use session::Session;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use table::CommandTable;
use time::{Moment, TimeSource};
use transfer::{Transfer, Transferred};
use watching::{WatchName, Watcher};

/// Keys that one expiry cycle looks at and removes before it lets others run.
const EXPIRE_CYCLE_KEYS_MAX: usize = 400;

/// Values with at least this many heap bytes are dropped off the engine's path.
const LAZY_FREE_BYTES_MIN: usize = 64 * 1024;

/// Nodes of a stream above which it is so dropped, whatever their size (Redis: LAZYFREE_THRESHOLD).
const LAZY_FREE_NODES_MAX: usize = 64;

fn has_many_nodes(value: &Value) -> bool {
    matches!(value, Value::Stream(stream) if stream.log().node_count() > LAZY_FREE_NODES_MAX)
}

/// Databases, settings, and all that commands share.
pub struct Engine {
    pub store: Store,
    pub settings: Settings,
    pub table: &'static CommandTable,
    pub stats: Arc<Stats>,
    pub clients: Arc<ClientRegistry>,
    /// Users and what they may do.
    pub acl: Arc<Acl>,
    pub pubsub: PubSub,
    pub tracking: tracking::Tracking,
    pub blocking: blocking::Blocking,
    pub effects: effects::EffectLog,
    pub slow_log: slow_log::SlowLog,
    pub latency: latency::LatencyMonitor,
    pub monitors: Vec<Arc<Client>>,
    pub time: Arc<dyn TimeSource>,
    pub outside: Box<dyn Outside>,
    /// State of a layer above (the script interpreter), unknown here.
    pub extension: Option<Box<dyn Any + Send + Sync>>,
    pub random: Random,
    /// Changes since the last snapshot.
    pub dirty: u64,
    /// The classes of events that are published.
    pub notify_classes: EventClass,
    /// How lookups mark keys as used; renewed by every cycle, as the clock is in it.
    pub touch: Touch,
    /// Why writes are refused now (a failed snapshot or log), in the words for the client.
    pub write_refusal: Option<String>,
    pub read_only_replica: bool,
    /// Progress while files are read at the start.
    pub loading: Option<Loading>,
    pub identity: Identity,
    /// What is known of snapshots and the log.
    pub persistence: persistence::Persistence,
    /// Bytes in use, sampled by the cycle (asking the allocator costs microseconds).
    pub used_memory_bytes: AtomicU64,
    /// The last round of eviction ended before memory was within its limit, and there is more to give up.
    is_making_room: bool,
    /// Scripts may run what is denied to them (DEBUG SET-DISABLE-DENY-SCRIPTS, for tests).
    pub scripts_may_all: bool,
    /// RESTORE looks at no checksum (DEBUG SET-SKIP-CHECKSUM-VALIDATION, for tests).
    pub skips_checksums: bool,
    /// Peers that get the effect stream.
    pub followers: Vec<followers::Follower>,
    /// The sources of the libraries of functions, in the order of their names, for those who write files.
    pub libraries: Vec<Arc<[u8]>>,
    /// What the scripts take, for INFO.
    pub script_figures: ScriptFigures,
    /// Whether deadlines are looked after by the active cycle (DEBUG SET-ACTIVE-EXPIRE).
    pub active_expire: bool,
    pub rates: rates::Rates,
    /// What became of keys that were sent away, for the clients that wait for it.
    pub transfers: HashMap<ClientId, (Transfer, Transferred)>,
    watchers: HashMap<(usize, Box<[u8]>), Vec<Watcher>>,
    /// Unix milliseconds until which commands are held back, 0 without a pause.
    pause_until_ms: AtomicI64,
    pause_all: AtomicBool,
}

pub use persistence::BackgroundJob;
pub use stats::Stats;

/// Who this process is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// 40 hexadecimal digits, new at every start.
    pub run_id: String,
    /// 40 hexadecimal digits, kept with the data.
    pub replication_id: String,
    pub process_id: u32,
    pub executable: String,
    pub config_file: String,
    /// The port that is listened on, which a setting of 0 leaves open.
    pub tcp_port: u16,
    /// The service manager that is told how far the server is, or "no".
    pub supervised: &'static str,
}

/// How far the files are read.
#[derive(Clone, Copy, Debug)]
pub struct Loading {
    pub started_unix_s: i64,
    pub total_bytes: u64,
    pub loaded_bytes: u64,
}

/// What the engine asks of the world around it.
pub trait Outside: Send + Sync {
    /// Puts one changed setting into force; an error text has it rolled back.
    fn apply_setting(&mut self, name: &str, settings: &Settings) -> Result<(), String>;
    /// The port that is listened on.
    fn tcp_port(&self) -> Option<u16> {
        None
    }
    /// Ends the process in order, once the replies are out.
    fn shut_down(&mut self, options: ShutdownOptions);
    /// Drops a value where it disturbs nobody.
    fn drop_later(&mut self, garbage: Box<dyn Any + Send>);
    /// Objects handed to `drop_later` and not dropped yet.
    fn lazy_free_pending(&self) -> usize;
    /// Bytes in use now, by the allocator's count.
    fn used_memory_bytes(&self) -> u64;
    /// The same, cheaper: what other threads did just now may be missing.
    fn estimate_memory_bytes(&self) -> u64 {
        self.used_memory_bytes()
    }
    /// Memory of the process in more detail; costs more.
    fn memory(&self) -> Memory;
    /// The allocator's own report.
    fn allocator_report(&self) -> String;
    /// A figure of the allocator by its own name.
    fn allocator_number(&self, name: &str) -> Option<i64> {
        let _ = name;
        None
    }
    /// A text of the allocator by its own name.
    fn allocator_text(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }
    /// Ends the process at once and out of order, where there is one.
    fn crash(&mut self, reason: &str) {
        let _ = reason;
    }
    /// Asks the allocator to give free memory back.
    fn purge_memory(&self);
    /// CPU time used so far.
    fn cpu(&self) -> CpuTimes;
    /// Writes the settings to their file. `users` are the lines of all users, or None if they have a file of their own.
    fn rewrite_settings(
        &mut self,
        settings: &Settings,
        users: Option<&[Vec<u8>]>,
        extent: Extent,
    ) -> Result<(), String>;
    /// The content of the file of the users; the error is the system's reason.
    fn read_users(&self, _settings: &Settings) -> Result<Vec<u8>, String> {
        Err("No such file or directory".to_string())
    }
    /// Puts the file of the users in place, whole or not at all.
    fn write_users(&mut self, _settings: &Settings, _text: &[u8]) -> Result<(), String> {
        Err("No such file or directory".to_string())
    }
    /// Fills `bytes` with what nobody can guess.
    fn fill_secret(&mut self, _bytes: &mut [u8]) -> Result<(), String> {
        Err("no source of secrets".to_string())
    }
    /// Writes a line to the server's log.
    fn log(&mut self, text: &str);
    /// Writes a script's line to the server's log; 0 is the least important level, 3 the most.
    fn log_from_script(&mut self, level: u8, text: &str);
    /// A running script lets go for a moment, so that others can be served; true tells it to end.
    fn pause_script(&mut self, script: RunningScript<'_>) -> bool;
    /// Sleeps; only for DEBUG SLEEP and the like.
    fn sleep_us(&mut self, duration_us: u64);
    /// Writes a snapshot of all databases to its file before it returns.
    fn save(&mut self, snapshot: &Snapshot<'_>) -> Result<(), String>;
    /// Begins a job beside commands; its end is told by [`Engine::job_ended`].
    fn start_job(&mut self, job: BackgroundJob);
    /// Ends the log; what was appended is on the disk after it.
    fn stop_log(&mut self);
    /// Lets the job under way end without a result.
    fn cancel_job(&mut self);
    /// Reads the snapshot's file into the databases; the sources of the libraries that it holds. With `replace` a key
    /// that is there already gives way.
    fn load_snapshot(
        &mut self,
        store: &mut Store,
        settings: &Settings,
        replace: bool,
        now: Moment,
    ) -> Result<Vec<Vec<u8>>, String>;
    /// Up to where the log has the effect stream on disk.
    fn durable_offset(&self) -> u64;
    /// [`Engine::serve_acks`] is to be called when more of the stream is on disk.
    fn watch_durable(&mut self);
    /// Sends keys to another server and waits for its answer, for a bounded time; in a world without a network it
    /// is out of reach.
    fn transfer(&mut self, transfer: &Transfer) -> Transferred {
        let _ = transfer;
        Transferred::failed("IOERR error or timeout connecting to the client")
    }
    /// The same beside commands; its end is told by [`Engine::transfer_ended`].
    fn start_transfer(&mut self, transfer: Transfer) {
        let _ = transfer;
    }
    /// The files of the log, to be read back; what was logged so far is in them.
    fn log_files(&mut self, settings: &Settings) -> Box<dyn LogFiles>;
}

/// The files of the log, apart from the engine that they are read into.
pub trait LogFiles {
    /// Replays all of them; the error is for the log.
    fn read_into(&self, engine: &mut Engine) -> Result<(), String>;
}

/// What a snapshot is made of.
pub struct Snapshot<'a> {
    pub store: &'a Store,
    /// The sources of the libraries of functions.
    pub libraries: &'a [Arc<[u8]>],
    pub settings: &'a Settings,
    pub replication_id: &'a str,
    /// Where the effect stream stands.
    pub offset: u64,
    pub now: Moment,
}

/// What scripts and functions take.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptFigures {
    pub scripts: usize,
    pub functions: usize,
    pub libraries: usize,
    /// Memory of the interpreter for scripts, and of the one for functions.
    pub script_lua_bytes: usize,
    pub function_lua_bytes: usize,
    /// The sources of scripts.
    pub source_bytes: usize,
}

/// Which commands started a script, and may end it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScriptKind {
    /// EVAL and its kin.
    Script,
    /// FCALL and its kin.
    Function,
}

/// A script in the middle of its run.
#[derive(Clone, Copy, Debug)]
pub struct RunningScript<'a> {
    pub kind: ScriptKind,
    /// The function's name; empty for a script.
    pub name: &'a [u8],
    /// The command that runs it, word by word.
    pub call: Args<'a>,
    pub libraries: usize,
    pub functions: usize,
    pub running_ms: u64,
    /// Run time from which others are told that the server is busy (busy-reply-threshold).
    pub busy_after_ms: u64,
    /// It changed data and cannot be ended without leaving half of its work.
    pub has_written: bool,
}

/// Memory of the process, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Handed out when the server had just started.
    pub startup_bytes: u64,
    pub allocated_bytes: u64,
    pub active_bytes: u64,
    pub resident_bytes: u64,
    /// Resident set of the process as the system counts it.
    pub process_bytes: u64,
    /// Memory of the machine.
    pub system_bytes: u64,
}

/// CPU seconds of the process and of its main thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTimes {
    pub user_s: f64,
    pub system_s: f64,
    pub main_user_s: f64,
    pub main_system_s: f64,
}

/// How to end (SHUTDOWN, signals).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownOptions {
    /// None follows the save points.
    pub save: Option<bool>,
    pub now: bool,
    pub force: bool,
}

/// Which commands a pause holds back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PauseKind {
    Write,
    All,
}

/// What one call changed, gathered while its handler runs.
#[derive(Default)]
pub struct ChangeLog {
    dirty: u64,
    /// What goes to the log instead of the command.
    effects: Option<Vec<(usize, OwnedArgs)>>,
    /// The command goes to the log although it changed nothing.
    forced: bool,
    block: Option<blocking::Block>,
    /// The reply is an error that the handler wrote itself.
    failed: bool,
    error_counted: bool,
}

impl Engine {
    /// An empty server.
    pub fn new(
        settings: Settings,
        table: &'static CommandTable,
        time: Arc<dyn TimeSource>,
        outside: Box<dyn Outside>,
        identity: Identity,
        mut random: Random,
    ) -> Self {
        let seed = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        let now = time.now();
        let stats = Arc::new(Stats::new(table.positions()));
        stats.started_unix_us.store(now.unix_us, Relaxed);
        let acl = Arc::new(Acl::new(table, stats.clone(), &settings));
        let mut engine = Self {
            store: Store::new(settings.databases, seed),
            stats,
            acl,
            clients: Arc::default(),
            pubsub: PubSub::default(),
            tracking: tracking::Tracking::default(),
            blocking: blocking::Blocking::default(),
            effects: effects::EffectLog::default(),
            slow_log: slow_log::SlowLog::new(
                settings.slowlog_log_slower_than,
                settings.slowlog_max_len,
            ),
            latency: latency::LatencyMonitor::default(),
            monitors: Vec::new(),
            extension: None,
            followers: Vec::new(),
            libraries: Vec::new(),
            random,
            dirty: 0,
            notify_classes: EventClass::empty(),
            touch: Touch::No,
            write_refusal: None,
            read_only_replica: false,
            loading: None,
            persistence: persistence::Persistence::new(now.unix_us / 1_000_000),
            identity,
            used_memory_bytes: AtomicU64::new(outside.used_memory_bytes()),
            is_making_room: false,
            active_expire: true,
            scripts_may_all: false,
            skips_checksums: false,
            script_figures: ScriptFigures::default(),
            rates: rates::Rates::default(),
            transfers: HashMap::new(),
            watchers: HashMap::new(),
            pause_until_ms: AtomicI64::new(0),
            pause_all: AtomicBool::new(false),
            settings,
            table,
            time,
            outside,
        };
        engine.apply_settings();
        engine.renew_touch(now);
        engine
    }

    /// Brings what is derived from the settings up to date.
    pub fn apply_settings(&mut self) {
        self.notify_classes = self.settings.notify_keyspace_events;
        self.slow_log.configure(
            self.settings.slowlog_log_slower_than,
            self.settings.slowlog_max_len,
        );
        self.latency
            .set_threshold_ms(self.settings.latency_monitor_threshold);
        self.acl.configure(&self.settings);
        self.renew_touch(self.time.now());
    }

    /// CONFIG SET: all of the pairs or none; the names whose value changed.
    pub fn set_settings(
        &mut self,
        pairs: &[(&[u8], &[u8])],
        access: Access,
    ) -> Result<Vec<&'static str>, SetError> {
        let Engine {
            settings, outside, ..
        } = self;
        let changed = settings.config_set(pairs, access, |name, settings| {
            outside.apply_setting(name, settings)
        })?;
        self.apply_settings();
        if changed.contains(&"requirepass") {
            self.acl.set_default_password(&self.settings.requirepass);
        }
        if changed.contains(&"appendonly") && self.loading.is_none() {
            self.follow_appendonly(self.time.now());
        }
        self.identity.tcp_port = self.outside.tcp_port().unwrap_or(0);
        Ok(changed)
    }

    /// CONFIG REWRITE; the error is for the client.
    pub fn rewrite_settings(&mut self, extent: Extent) -> Result<(), String> {
        let Engine {
            settings,
            outside,
            acl,
            ..
        } = self;
        let users = settings.aclfile.is_none().then(|| acl.lines());
        outside.rewrite_settings(settings, users.as_deref(), extent)
    }

    /// Writes a snapshot at once; the error is for the log.
    pub fn save(&mut self, now: Moment) -> Result<(), String> {
        let Engine {
            store,
            settings,
            outside,
            identity,
            effects,
            libraries,
            ..
        } = self;
        let saved = outside.save(&Snapshot {
            store,
            libraries,
            settings,
            replication_id: &identity.replication_id,
            offset: effects.offset(),
            now,
        });
        if saved.is_ok() {
            self.persistence.last_save_ok = true;
            self.dirty = 0;
            self.persistence.last_save_unix_s = now.unix_us / 1_000_000;
        }
        saved
    }

    /// Ends the server in order: saves if the options or the save points ask for it, then holds
    /// all commands back until the end. An error means that the server goes on.
    pub fn shut_down(&mut self, options: ShutdownOptions, now: Moment) -> Result<(), String> {
        let wanted = options.save.unwrap_or(!self.settings.save.is_empty());
        if wanted {
            self.outside.cancel_job();
        }
        // What is half loaded must not replace what it is loaded from.
        if wanted
            && self.loading.is_none()
            && let Err(error) = self.save(now)
            && !options.force
        {
            return Err(error);
        }
        self.pause(PauseKind::All, i64::MAX);
        self.outside.shut_down(options);
        Ok(())
    }

    /// Reads the snapshot back; the sources of the libraries of functions in it.
    pub fn reload_snapshot(&mut self, replace: bool, now: Moment) -> Result<Vec<Vec<u8>>, String> {
        let Engine {
            store,
            settings,
            outside,
            ..
        } = self;
        outside.load_snapshot(store, settings, replace, now)
    }

    /// Replays the files of the log.
    pub fn reload_log(&mut self) -> Result<(), String> {
        let files = self.outside.log_files(&self.settings);
        files.read_into(self)
    }

    /// The database of that index, which exists.
    pub fn db(&self, index: usize) -> &Db {
        self.store
            .db(index)
            .expect("sessions select existing databases")
    }

    /// The database of that index, which exists.
    pub fn db_mut(&mut self, index: usize) -> &mut Db {
        self.store
            .db_mut(index)
            .expect("sessions select existing databases")
    }

    /// Puts the present time into the marks that lookups leave.
    pub fn renew_touch(&mut self, now: Moment) {
        let seconds = (now.unix_us / 1_000_000) as u64;
        self.touch = if matches!(
            self.settings.maxmemory_policy,
            MaxmemoryPolicy::AllkeysLfu | MaxmemoryPolicy::VolatileLfu
        ) {
            Touch::Lfu {
                now_minutes: seconds / 60,
                log_factor: self.settings.lfu_log_factor,
                decay_minutes: self.settings.lfu_decay_time,
                random: self.random.next_u64(),
            }
        } else {
            Touch::Lru {
                now_seconds: seconds,
            }
        };
        let touch = self.touch;
        for db in self.store.iter_mut() {
            db.set_write_touch(touch);
        }
    }

    /// A key changed, by a command of `author` if it was a client's own: transactions that watch it are off, and who
    /// holds a copy of it is told.
    pub fn key_changed(&mut self, db: usize, key: &[u8], author: Option<ClientId>) {
        if self.tracking.is_active() {
            self.tracking.key_changed(key, author, &self.clients);
        }
        if self.watchers.is_empty() {
            return;
        }
        let present = self.db(db).entry(key).is_some();
        let Some(watchers) = self.watchers.get_mut(&(db, key) as &dyn WatchName) else {
            return;
        };
        for watcher in watchers {
            if watcher.was_expired && !present {
                // It was past its deadline when the watch began, and only now it is removed.
                watcher.was_expired = false;
            } else {
                watcher.client.watch_broken.store(true, Relaxed);
            }
        }
    }

    /// All keys of a database are about to change (FLUSHDB, SWAPDB), which gets the content of `replacement` if there
    /// is one. A watched key that is missing or expired before and after did not change.
    pub fn db_changes(&mut self, db: usize, replacement: Option<usize>, now: Moment) {
        let Engine {
            store, watchers, ..
        } = self;
        let now_ms = now.unix_ms();
        let present =
            |index: usize, key: &[u8]| store.db(index).is_some_and(|db| db.entry(key).is_some());
        for ((of, key), watchers) in watchers.iter_mut().filter(|((of, _), _)| *of == db) {
            let before = present(*of, key);
            let after = replacement.is_some_and(|index| present(index, key));
            let expired_after = replacement
                .and_then(|index| store.db(index))
                .is_some_and(|db| db.is_expired(key, now_ms));
            if !before && !after {
                continue;
            }
            for watcher in watchers {
                if watcher.was_expired && !after {
                    watcher.was_expired = false;
                } else if watcher.was_expired && expired_after {
                    // Expired it was and expired it stays.
                } else if !before && expired_after {
                    watcher.was_expired = true;
                } else {
                    watcher.client.watch_broken.store(true, Relaxed);
                }
            }
        }
    }

    /// Removes all keys of a database; returns how many.
    pub fn flush_db(&mut self, index: usize, now: Moment) -> usize {
        self.db_changes(index, None, now);
        let old = self.db_mut(index).clear();
        let removed = old.len();
        self.blocking.signal_losses(index);
        if let Some(old) = self.store.retire(old).filter(|old| !old.is_empty()) {
            stats::count(&self.stats.lazy_freed_objects, removed as u64);
            self.outside.drop_later(Box::new(old));
        }
        removed
    }

    /// Exchanges two databases.
    pub fn swap_dbs(&mut self, first: usize, second: usize, now: Moment) {
        if first == second {
            return;
        }
        self.db_changes(first, Some(second), now);
        self.db_changes(second, Some(first), now);
        self.store.swap(first, second);
        for db in [first, second] {
            self.blocking.signal_losses(db);
        }
        for db in [first, second] {
            let is_present = |key: &[u8]| {
                let table = self.store.db(db);
                table.is_some_and(|table| table.entry(key).is_some())
            };
            self.blocking.signal_present(db, is_present);
        }
    }

    /// Removes all subscriptions of a session.
    pub fn unsubscribe_all(&mut self, session: &mut Session) {
        let id = session.client.id;
        for channel in std::mem::take(&mut session.channels) {
            self.pubsub.unsubscribe(ChannelSpace::Plain, &channel, id);
        }
        for channel in std::mem::take(&mut session.shard_channels) {
            self.pubsub.unsubscribe(ChannelSpace::Shard, &channel, id);
        }
        for pattern in std::mem::take(&mut session.patterns) {
            self.pubsub.unsubscribe_pattern(&pattern, id);
        }
    }

    /// Removes an expired key: effect, event, count.
    pub fn expire(&mut self, db: usize, key: &[u8]) {
        let removed = self.db_mut(db).remove(key);
        if removed.is_none() {
            return;
        }
        stats::count(&self.stats.expired_keys, 1);
        self.discard(removed);
        let verb: &[u8] = if self.settings.lazyfree_lazy_expire {
            b"UNLINK"
        } else {
            b"DEL"
        };
        self.effects.push_words(db, &[verb, key]);
        self.key_changed(db, key, None);
        self.blocking.signal_loss(db, key);
        self.notify(EventClass::EXPIRED, "expired", key, db);
    }

    /// One round of the active expiry; true when due keys may be left.
    pub fn expire_cycle(&mut self, now: Moment) -> bool {
        if !self.active_expire || self.loading.is_some() || self.pause_at(now.unix_ms()).is_some() {
            return false;
        }
        let mut more = false;
        for db in 0..self.store.len() {
            if self.db(db).expires_len() == 0 {
                continue;
            }
            let due = self
                .db_mut(db)
                .next_expired(now.unix_ms(), EXPIRE_CYCLE_KEYS_MAX);
            more |= due.more;
            for key in due.keys {
                self.expire(db, &key);
            }
        }
        more
    }

    /// Drops a value; a big one where it disturbs nobody.
    pub fn discard(&mut self, value: Option<Value>) {
        if let Some(value) = value
            && (value.memory_usage() >= LAZY_FREE_BYTES_MIN || has_many_nodes(&value))
        {
            stats::count(&self.stats.lazy_freed_objects, 1);
            self.outside.drop_later(Box::new(value));
        }
    }

    /// Bytes that came in over all connections.
    pub fn net_input_bytes(&self) -> u64 {
        let open: u64 = self
            .clients
            .all()
            .iter()
            .map(|client| client.bytes_in.load(Relaxed))
            .sum();
        self.stats.net_input_bytes.load(Relaxed) + open
    }

    /// Bytes that went out over all connections.
    pub fn net_output_bytes(&self) -> u64 {
        let open: u64 = self
            .clients
            .all()
            .iter()
            .map(|client| client.bytes_out.load(Relaxed))
            .sum();
        self.stats.net_output_bytes.load(Relaxed) + open
    }

    /// Holds commands back until `until_ms`; a running pause is only ever made stricter or longer.
    pub fn pause(&mut self, kind: PauseKind, until_ms: i64) {
        self.pause_until_ms.fetch_max(until_ms, Relaxed);
        self.pause_all.fetch_or(kind == PauseKind::All, Relaxed);
    }

    /// Ends a pause and wakes who waited for it.
    pub fn unpause(&mut self) {
        self.pause_until_ms.store(0, Relaxed);
        self.pause_all.store(false, Relaxed);
        for client in self.clients.all() {
            client.mailbox.wake();
        }
    }

    /// The pause in force at `now_ms`.
    #[inline]
    pub fn pause_at(&self, now_ms: i64) -> Option<PauseKind> {
        if self.pause_until_ms.load(Relaxed) <= now_ms {
            return None;
        }
        Some(if self.pause_all.load(Relaxed) {
            PauseKind::All
        } else {
            PauseKind::Write
        })
    }

    /// When the pause ends, in Unix milliseconds.
    pub fn pause_until_ms(&self) -> i64 {
        self.pause_until_ms.load(Relaxed)
    }

    /// Sends the line of a command to those who watch everything.
    fn feed_monitors(
        &self,
        session: &Session,
        command: &table::Command,
        args: Args<'_>,
        now: Moment,
    ) {
        let source = match session.origin {
            session::Origin::Script => "lua".to_string(),
            _ => session.client.address.clone(),
        };
        let mut line = format!(
            "+{}.{:06} [{} {}]",
            now.unix_us / 1_000_000,
            now.unix_us % 1_000_000,
            session.db,
            source
        )
        .into_bytes();
        let hidden = secrets::positions(command, args);
        for (at, arg) in args.iter().enumerate() {
            line.extend_from_slice(b" \"");
            let shown = if hidden.contains(&at) {
                secrets::HIDDEN
            } else {
                arg
            };
            crate::resp::quote::escape(shown, &mut line);
            line.push(b'"');
        }
        line.extend_from_slice(b"\r\n");
        let line = bytes::Bytes::from(line);
        for client in &self.monitors {
            client.mailbox.deliver(line.clone());
        }
    }
}
