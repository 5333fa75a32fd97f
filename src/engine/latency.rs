//! Latency events above a threshold (LATENCY HISTORY, LATEST, GRAPH, DOCTOR).

use super::spec::Flags;
use super::table::Command;
use super::time::Moment;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Samples kept for each event (Redis: LATENCY_TS_LEN).
const SAMPLES_MAX: usize = 160;

/// The duration in microseconds that `percentile` percent of the calls do not exceed, by the upper bound of its
/// power-of-two bucket.
pub fn percentile_us(buckets: &[AtomicU64], percentile: f64) -> f64 {
    let counts: Vec<u64> = buckets.iter().map(|bucket| bucket.load(Relaxed)).collect();
    let total: u64 = counts.iter().sum();
    let rank = (percentile / 100.0 * total as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    for (bucket, count) in counts.iter().enumerate() {
        seen += count;
        if seen >= rank {
            return ((1u64 << bucket) - 1) as f64 / 1_000.0;
        }
    }
    0.0
}

/// The time series of one event.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// (Unix seconds, milliseconds), oldest first; one for each second.
    pub samples: VecDeque<(i64, u64)>,
    pub max_ms: u64,
}

/// All events.
#[derive(Default)]
pub struct LatencyMonitor {
    threshold_ms: AtomicU64,
    events: Mutex<BTreeMap<String, Series>>,
}

impl LatencyMonitor {
    /// 0 turns the monitor off.
    pub fn set_threshold_ms(&self, threshold_ms: u64) {
        self.threshold_ms.store(threshold_ms, Relaxed);
    }

    pub fn threshold_ms(&self) -> u64 {
        self.threshold_ms.load(Relaxed)
    }

    /// Adds a sample for the kind of a command that ran long.
    #[inline]
    pub fn offer_command(&self, command: &Command, duration_ns: u64, now: Moment) {
        let threshold_ms = self.threshold_ms.load(Relaxed);
        if threshold_ms == 0
            || duration_ns < threshold_ms * 1_000_000
            || command.flags.contains(Flags::BLOCKING)
        {
            return;
        }
        let event = if command.flags.contains(Flags::FAST) {
            "fast-command"
        } else {
            "command"
        };
        self.add(event, duration_ns / 1_000_000, now);
    }

    /// Adds a sample if it reaches the threshold.
    pub fn offer(&self, event: &str, duration_ms: u64, now: Moment) {
        let threshold_ms = self.threshold_ms.load(Relaxed);
        if threshold_ms > 0 && duration_ms >= threshold_ms {
            self.add(event, duration_ms, now);
        }
    }

    fn add(&self, event: &str, duration_ms: u64, now: Moment) {
        let unix_s = now.unix_us / 1_000_000;
        let mut events = self.lock();
        let series = events.entry(event.to_string()).or_default();
        series.max_ms = series.max_ms.max(duration_ms);
        match series.samples.back_mut() {
            Some((second, longest_ms)) if *second == unix_s => {
                *longest_ms = (*longest_ms).max(duration_ms)
            }
            _ => {
                if series.samples.len() == SAMPLES_MAX {
                    series.samples.pop_front();
                }
                series.samples.push_back((unix_s, duration_ms));
            }
        }
    }

    /// A copy of all series by event.
    pub fn events(&self) -> BTreeMap<String, Series> {
        self.lock().clone()
    }

    /// Drops the named events, or all; the number dropped.
    pub fn reset(&self, names: &[&str]) -> usize {
        let mut events = self.lock();
        if names.is_empty() {
            let count = events.len();
            events.clear();
            return count;
        }
        names
            .iter()
            .filter(|name| events.remove(**name).is_some())
            .count()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Series>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
