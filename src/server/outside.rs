//! What the engine asks of the process: shutdown, memory figures, applied settings.

use super::garbage::Garbage;
use super::log;
use super::mailbox::OutputPolicy;
use crate::engine::{Outside, ShutdownOptions};
use crate::settings::Settings;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tokio::sync::watch;

/// The real process.
pub struct Process {
    pub garbage: Garbage,
    pub limits: Arc<OutputPolicy>,
    pub connections_max: Arc<AtomicU32>,
    pub shutdown: watch::Sender<Option<ShutdownOptions>>,
}

impl Outside for Process {
    fn apply_setting(&mut self, name: &str, settings: &Settings) -> Result<(), String> {
        match name {
            "client-output-buffer-limit" => {
                self.limits.set(settings.client_output_buffer_limit.clone())
            }
            "maxclients" => self.connections_max.store(settings.maxclients, Relaxed),
            "loglevel" => log::set_level(settings.loglevel),
            "dir" => std::env::set_current_dir(&settings.dir).map_err(|error| error.to_string())?,
            _ => {}
        }
        Ok(())
    }

    fn shut_down(&mut self, options: ShutdownOptions) {
        self.shutdown.send_replace(Some(options));
    }

    fn drop_later(&mut self, garbage: Box<dyn Any + Send>) {
        self.garbage.hand_over(garbage);
    }

    fn lazy_free_pending(&self) -> usize {
        self.garbage.pending()
    }

    fn used_memory_bytes(&self) -> u64 {
        allocated_bytes()
    }

    fn sleep_us(&mut self, duration_us: u64) {
        std::thread::sleep(std::time::Duration::from_micros(duration_us));
    }
}

/// Bytes that the allocator has handed out.
pub fn allocated_bytes() -> u64 {
    // The figures are a snapshot that has to be renewed first.
    if tikv_jemalloc_ctl::epoch::advance().is_err() {
        return 0;
    }
    tikv_jemalloc_ctl::stats::allocated::read().unwrap_or(0) as u64
}
