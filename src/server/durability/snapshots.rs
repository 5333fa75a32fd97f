//! Writes and reads the snapshot's file as the settings say.

use crate::engine::Snapshot;
use crate::engine::time::Moment;
use crate::persist::disk::{Disk, RealDisk};
use crate::persist::form::Form;
use crate::persist::load::{self, Intake};
use crate::persist::rdb::Limits;
use crate::persist::rdb::snapshot::{Clocks, Head};
use crate::persist::snapshot_file::{self, SnapshotStyle};
use crate::settings::{MaxmemoryPolicy, Settings};
use crate::store::keyspace::Store;
use std::path::PathBuf;
use std::sync::Arc;

/// How the settings want snapshots.
pub fn style(settings: &Settings, now: Moment) -> SnapshotStyle {
    let now_s = u64::try_from(now.unix_us / 1_000_000).unwrap_or(0);
    let clocks = match settings.maxmemory_policy {
        MaxmemoryPolicy::AllkeysLru | MaxmemoryPolicy::VolatileLru => Clocks::Idle { now_s },
        MaxmemoryPolicy::AllkeysLfu | MaxmemoryPolicy::VolatileLfu => Clocks::Counter {
            now_minutes: now_s / 60,
            decay_minutes: settings.lfu_decay_time,
        },
        _ => Clocks::None,
    };
    SnapshotStyle {
        form: Form::Snapshot,
        compress: settings.rdbcompression,
        checksum: settings.rdbchecksum,
        clocks,
        incremental_sync: settings.rdb_save_incremental_fsync,
    }
}

/// How the settings want the base of a log.
pub fn base_style(settings: &Settings, now: Moment) -> SnapshotStyle {
    SnapshotStyle {
        form: if settings.aof_use_rdb_preamble {
            Form::Snapshot
        } else {
            Form::Commands
        },
        incremental_sync: settings.aof_rewrite_incremental_fsync,
        ..style(settings, now)
    }
}

/// How the keys of a file are taken in.
pub fn intake(settings: &Settings, now: Moment, drop_expired: bool) -> Intake {
    Intake {
        now_ms: now.unix_ms(),
        drop_expired,
        replace: false,
        counts_accesses: matches!(
            settings.maxmemory_policy,
            MaxmemoryPolicy::AllkeysLfu | MaxmemoryPolicy::VolatileLfu
        ),
    }
}

/// The facts in the head of a snapshot.
pub fn head(snapshot: &Snapshot<'_>, log_base: bool) -> Head {
    Head {
        unix_s: snapshot.now.unix_us / 1_000_000,
        used_memory_bytes: super::super::allocated::sample(),
        log_base,
        replication_id: snapshot.replication_id.to_string(),
        offset: snapshot.offset,
        libraries: snapshot.libraries.to_vec(),
        timed: snapshot.settings.aof_timestamp_enabled,
    }
}

/// The name of a snapshot that is not whole yet.
pub fn aside() -> PathBuf {
    PathBuf::from(format!("temp-{}.rdb", std::process::id()))
}

/// Writes a snapshot in one go.
pub fn save(snapshot: &Snapshot<'_>) -> Result<(), String> {
    let settings = snapshot.settings;
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let saved = snapshot_file::write_all(
        disk,
        &settings.dbfilename,
        &aside(),
        style(settings, snapshot.now),
        &head(snapshot, false),
        snapshot.store,
    );
    match saved {
        Ok(_) => {
            tracing::info!("DB saved on disk");
            Ok(())
        }
        Err(error) => {
            let text = format!(
                "Error saving the DB to {}: {error}",
                settings.dbfilename.display()
            );
            tracing::warn!("{text}");
            Err(text)
        }
    }
}

/// Reads the snapshot's file into the databases; the sources of the libraries that it holds.
pub fn load(
    store: &mut Store,
    settings: &Settings,
    replace: bool,
    now: Moment,
) -> Result<Vec<Vec<u8>>, String> {
    let intake = Intake {
        replace,
        ..intake(settings, now, true)
    };
    let read = RealDisk
        .open(&settings.dbfilename)
        .map_err(|error| error.to_string())
        .and_then(|source| {
            load::read_all(source, Limits::from(settings), store, intake)
                .map_err(|fault| fault.to_string())
        });
    match read {
        Ok((_, facts)) => Ok(facts.libraries),
        Err(error) => {
            let text = format!(
                "Error loading the DB from {}: {error}",
                settings.dbfilename.display()
            );
            tracing::warn!("{text}");
            Err(text)
        }
    }
}
