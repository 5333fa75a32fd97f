//! What the engine asks of the process: shutdown, memory figures, applied settings.

use super::allocated;
use super::descriptors;
use super::durability::jobs::Jobs;
use super::durability::load::Names;
use super::durability::log::Log;
use super::durability::{replay, snapshots};
use super::fiber::Busy;
use super::garbage::Garbage;
use super::listen::Listeners;
use super::log;
use super::policy::ConnectionPolicy;
use super::title::ProcessTitle;
use super::transfers::{self, Transfers};
use super::users;
use crate::engine::time::Moment;
use crate::engine::transfer::{Transfer, Transferred};
use crate::engine::{
    BackgroundJob, CpuTimes, Engine, LogFiles, Memory, Outside, RunningScript, ShutdownOptions,
    Snapshot,
};
use crate::limits;
use crate::persist::aof::files;
use crate::persist::disk::{Disk, RealDisk};
use crate::settings::{Extent, Settings};
use crate::store::keyspace::Store;
use std::any::Any;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::watch;

/// The real process.
pub struct Process {
    pub garbage: Garbage,
    pub policy: Arc<ConnectionPolicy>,
    pub connections_max: Arc<AtomicU32>,
    pub shutdown: watch::Sender<Option<ShutdownOptions>>,
    pub startup_bytes: u64,
    pub busy: Arc<Busy>,
    pub log: Arc<Log>,
    pub jobs: Arc<Jobs>,
    pub transfers: Arc<Transfers>,
    pub listeners: Arc<Listeners>,
    pub title: ProcessTitle,
}

impl Outside for Process {
    fn apply_setting(&mut self, name: &str, settings: &Settings) -> Result<(), String> {
        match name {
            "client-output-buffer-limit"
            | "client-query-buffer-limit"
            | "proto-max-bulk-len"
            | "protected-mode"
            | "tcp-keepalive" => self.policy.follow(settings),
            "proc-title-template" => self.title.show(settings, self.listeners.port()),
            "port" => self.listeners.follow(settings, true).map_err(|error| {
                tracing::warn!("{error}");
                "Unable to listen on this port. Check server logs."
            })?,
            "bind" => self.listeners.follow(settings, false).map_err(|error| {
                tracing::warn!("{error}");
                "Failed to bind to specified addresses."
            })?,
            "maxclients" => {
                let fit = descriptors::make_room(settings.maxclients);
                if fit < settings.maxclients {
                    return Err(descriptors::too_many(fit));
                }
                self.connections_max.store(settings.maxclients, Relaxed);
            }
            "appendfsync" => self.log.set_policy(settings.appendfsync),
            "aof-timestamp-enabled" => self.log.set_timed(settings.aof_timestamp_enabled),
            "aof-disable-auto-gc" => self.log.set_keeps_history(settings.aof_disable_auto_gc),
            "loglevel" => log::set_level(settings.loglevel),
            "dir" => std::env::set_current_dir(&settings.dir).map_err(|error| error.to_string())?,
            _ => {}
        }
        Ok(())
    }

    fn tcp_port(&self) -> Option<u16> {
        self.listeners.port()
    }

    fn shut_down(&mut self, options: ShutdownOptions) {
        self.listeners.close();
        self.shutdown.send_replace(Some(options));
    }

    fn drop_later(&mut self, garbage: Box<dyn Any + Send>) {
        self.garbage.hand_over(garbage);
    }

    fn lazy_free_pending(&self) -> usize {
        self.garbage.pending()
    }

    fn used_memory_bytes(&self) -> u64 {
        allocated::sample()
    }

    fn estimate_memory_bytes(&self) -> u64 {
        allocated::estimate()
    }

    fn memory(&self) -> Memory {
        let allocated_bytes = allocated::sample();
        Memory {
            startup_bytes: self.startup_bytes,
            allocated_bytes,
            active_bytes: tikv_jemalloc_ctl::stats::active::read().unwrap_or(0) as u64,
            resident_bytes: tikv_jemalloc_ctl::stats::resident::read().unwrap_or(0) as u64,
            process_bytes: process_bytes(),
            system_bytes: system_bytes(),
        }
    }

    fn allocator_report(&self) -> String {
        let mut report = Vec::new();
        match tikv_jemalloc_ctl::stats_print::stats_print(&mut report, Default::default()) {
            Ok(()) => String::from_utf8_lossy(&report).into_owned(),
            Err(error) => format!("The allocator gave no report: {error}"),
        }
    }

    fn allocator_number(&self, name: &str) -> Option<i64> {
        let name = std::ffi::CString::new(name).ok()?;
        let name = name.as_bytes_with_nul();
        // The allocator refuses a size that is not the figure's.
        // SAFETY: the name ends in 0, and every pattern of these types is a value.
        let numbers = unsafe {
            [
                tikv_jemalloc_ctl::raw::read::<u64>(name).ok(),
                tikv_jemalloc_ctl::raw::read::<u32>(name)
                    .ok()
                    .map(u64::from),
                tikv_jemalloc_ctl::raw::read::<u8>(name).ok().map(u64::from),
            ]
        };
        numbers
            .into_iter()
            .flatten()
            .next()
            .map(|number| number as i64)
    }

    fn allocator_text(&self, name: &str) -> Option<String> {
        /// The names that stand for a text: what else is read as one is an address of anything.
        const TEXTS: &[&str] = &[
            "version",
            "config.malloc_conf",
            "opt.dss",
            "opt.metadata_thp",
        ];
        let name = TEXTS.iter().find(|text| **text == name)?;
        let name = std::ffi::CString::new(*name).ok()?;
        // SAFETY: the name ends in 0 and stands for a text that the allocator keeps for ever.
        let text = unsafe { tikv_jemalloc_ctl::raw::read_str(name.as_bytes_with_nul()) };
        let text = text.ok()?;
        let text = text.strip_suffix(b"\0").unwrap_or(text);
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn crash(&mut self, reason: &str) {
        tracing::error!("Crashing by {reason}");
        std::process::abort();
    }

    fn purge_memory(&self) {
        /// MALLCTL_ARENAS_ALL of jemalloc.
        const PURGE_ALL: &[u8] = b"arena.4096.purge\0";
        // SAFETY: this control takes and returns nothing.
        let purged = unsafe { tikv_jemalloc_ctl::raw::write(PURGE_ALL, ()) };
        if let Err(error) = purged {
            tracing::debug!("The allocator did not purge: {error}");
        }
    }

    fn cpu(&self) -> CpuTimes {
        let (user_s, system_s) = cpu_seconds(libc::RUSAGE_SELF);
        let (main_user_s, main_system_s) = cpu_seconds(libc::RUSAGE_THREAD);
        CpuTimes {
            user_s,
            system_s,
            main_user_s,
            main_system_s,
        }
    }

    fn rewrite_settings(
        &mut self,
        settings: &Settings,
        users: Option<&[Vec<u8>]>,
        extent: Extent,
    ) -> Result<(), String> {
        settings
            .rewrite_file(users, extent)
            .map_err(|error| error.wire_text())
    }

    fn read_users(&self, settings: &Settings) -> Result<Vec<u8>, String> {
        users::read(settings)
    }

    fn write_users(&mut self, settings: &Settings, text: &[u8]) -> Result<(), String> {
        users::write(settings, text)
    }

    fn fill_secret(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        std::fs::File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(bytes))
            .map_err(|error| error.to_string())
    }

    fn log(&mut self, text: &str) {
        tracing::info!("{text}");
    }

    fn log_from_script(&mut self, level: u8, text: &str) {
        match level {
            0 => tracing::trace!("{text}"),
            1 => tracing::debug!("{text}"),
            2 => tracing::info!("{text}"),
            _ => tracing::warn!("{text}"),
        }
    }

    fn pause_script(&mut self, script: RunningScript<'_>) -> bool {
        self.busy.pause(script)
    }

    fn sleep_us(&mut self, duration_us: u64) {
        std::thread::sleep(std::time::Duration::from_micros(duration_us));
    }

    fn save(&mut self, snapshot: &Snapshot<'_>) -> Result<(), String> {
        let _placing = self.jobs.placing.lock();
        snapshots::save(snapshot)
    }

    fn start_job(&mut self, job: BackgroundJob) {
        self.jobs.start(job);
    }

    fn stop_log(&mut self) {
        self.log.stop();
    }

    fn cancel_job(&mut self) {
        self.jobs.cancel();
    }

    fn load_snapshot(
        &mut self,
        store: &mut Store,
        settings: &Settings,
        replace: bool,
        now: Moment,
    ) -> Result<Vec<Vec<u8>>, String> {
        snapshots::load(store, settings, replace, now)
    }

    fn durable_offset(&self) -> u64 {
        self.log.durable_offset()
    }

    fn watch_durable(&mut self) {
        self.log.watch();
    }

    fn transfer(&mut self, transfer: &Transfer) -> Transferred {
        let longest = Duration::from_millis(limits::TRANSFER_TIMEOUT_MS_MAX);
        transfers::send(transfer, Some(longest))
    }

    fn start_transfer(&mut self, transfer: Transfer) {
        self.transfers.start(transfer);
    }

    fn log_files(&mut self, settings: &Settings) -> Box<dyn LogFiles> {
        Box::new(RealLogFiles {
            log: self.log.clone(),
            names: Names::of(settings),
        })
    }
}

/// The log's files on the disk.
struct RealLogFiles {
    log: Arc<Log>,
    names: Names,
}

impl LogFiles for RealLogFiles {
    fn read_into(&self, engine: &mut Engine) -> Result<(), String> {
        let (folder, prefix) = (&self.names.folder, self.names.prefix());
        let read = self.log.flush().and_then(|()| {
            let disk: Arc<dyn Disk> = Arc::new(RealDisk);
            match files::LogFiles::open(disk, folder, &prefix)? {
                Some(files) => replay::run(&mut &mut *engine, &files, false).map(|_| ()),
                None => Ok(()),
            }
        });
        read.map_err(|error| {
            let text = error.to_string();
            tracing::warn!("{text}");
            text
        })
    }
}

/// The resident set, from the process file system; 0 where there is none.
fn process_bytes() -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/statm") else {
        return 0;
    };
    let pages: u64 = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * system_value(libc::_SC_PAGESIZE)
}

fn system_bytes() -> u64 {
    system_value(libc::_SC_PHYS_PAGES) * system_value(libc::_SC_PAGESIZE)
}

fn system_value(name: libc::c_int) -> u64 {
    // SAFETY: sysconf only looks at its argument.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).unwrap_or(0)
}

/// User and system CPU seconds.
fn cpu_seconds(who: libc::c_int) -> (f64, f64) {
    // SAFETY: `usage` is plain data, and the pointer is valid for the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}
