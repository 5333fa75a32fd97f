//! Snapshots and the log of a running server: when they are written and read.

#[cfg(test)]
mod damage_tests;
pub mod jobs;
pub mod load;
pub mod log;
pub mod reach;
pub mod replay;
pub mod snapshots;

use super::Shared;
use crate::engine::Engine;
use crate::engine::time::Moment;

/// Seconds until a snapshot that failed is tried again (Redis: CONFIG_BGSAVE_RETRY_DELAY).
const RETRY_S: i64 = 5;

/// What writers are told while snapshots cannot be written.
const SNAPSHOT_FAILED: &str = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist \
to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors \
during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details \
about the RDB error.";

/// What is due by the clock: a log to start or to end, save points, rewrites, figures for INFO.
pub fn tick(shared: &Shared, engine: &mut Engine, now: Moment) {
    if engine.loading.is_some() {
        return;
    }
    follow_appendonly(shared, engine, now);
    if !engine.job_is_running() {
        start_due(shared, engine, now);
    }
    let figures = &mut engine.persistence.log;
    figures.current_bytes = shared.log.current_bytes();
    figures.base_bytes = shared.log.base_bytes();
    figures.waiting_bytes = shared.log.waiting_bytes();
    renew_refusal(shared, engine);
}

fn follow_appendonly(shared: &Shared, engine: &mut Engine, now: Moment) {
    let wanted = engine.settings.appendonly;
    if wanted && !shared.log.is_open() && !engine.job_is_running() {
        let now_s = now.unix_us / 1_000_000;
        let failed_s = now_s - engine.persistence.log.last_try_unix_s;
        if engine.persistence.log.last_rewrite_ok || failed_s >= RETRY_S {
            engine.start_log(now);
        }
    }
    if !wanted && engine.persistence.log.enabled {
        engine.effects.set_sink(None);
        engine.persistence.log.enabled = false;
        shared.log.stop();
    }
}

fn start_due(shared: &Shared, engine: &mut Engine, now: Moment) {
    let now_s = now.unix_us / 1_000_000;
    let state = &engine.persistence;
    if state.log.rewrite_scheduled && (shared.log.is_open() || !engine.settings.appendonly) {
        engine.start_rewrite(now);
        return;
    }
    let may_try = state.last_save_ok || now_s - state.last_try_unix_s > RETRY_S;
    let due = engine.settings.save.iter().find(|point| {
        engine.dirty >= point.changes && now_s - state.last_save_unix_s > point.seconds as i64
    });
    if engine.someone_waits_to_follow() {
        engine.start_sync(now);
    } else if state.save_scheduled && may_try {
        engine.start_save(now);
    } else if let Some(point) = due.filter(|_| may_try) {
        tracing::info!(
            "{} changes in {} seconds. Saving...",
            point.changes,
            point.seconds
        );
        engine.start_save(now);
    } else if shared.log.is_open() && rewrite_is_due(shared, engine, now_s) {
        engine.start_rewrite(now);
    }
}

fn rewrite_is_due(shared: &Shared, engine: &Engine, now_s: i64) -> bool {
    let percentage = engine.settings.auto_aof_rewrite_percentage as u64;
    let current = shared.log.current_bytes();
    let state = &engine.persistence.log;
    if percentage == 0 || current <= engine.settings.auto_aof_rewrite_min_size {
        return false;
    }
    if !state.last_rewrite_ok && now_s - state.last_try_unix_s <= RETRY_S {
        return false;
    }
    let base = shared.log.base_bytes().max(1);
    let growth = (current.saturating_mul(100) / base).saturating_sub(100);
    let due = growth >= percentage;
    if due {
        tracing::info!("Starting automatic rewriting of AOF on {growth}% growth");
    }
    due
}

/// Says why writes are refused, or that they are not any more.
pub fn renew_refusal(shared: &Shared, engine: &mut Engine) {
    let fault = shared.log.fault();
    engine.persistence.log.last_write_ok = fault.is_none();
    let snapshot_failed = engine.settings.stop_writes_on_bgsave_error
        && !engine.settings.save.is_empty()
        && !engine.persistence.last_save_ok;
    engine.write_refusal = fault.or_else(|| snapshot_failed.then(|| SNAPSHOT_FAILED.to_string()));
}
