//! SIGTERM and SIGINT end the server, SIGHUP opens the log file anew.

use super::{Shared, log};
use crate::engine::ShutdownOptions;
use crate::settings::{Settings, ShutdownFlags};
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals the server answers to. From the moment it exists they end nothing by themselves.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Takes the signals over; within a runtime.
    pub fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

/// Handles signals until the server ends.
pub async fn run(shared: Arc<Shared>, signals: Signals) {
    let Signals {
        mut terminate,
        mut interrupt,
        mut hang_up,
    } = signals;
    loop {
        tokio::select! {
            _ = terminate.recv() => {
                tracing::warn!("Received SIGTERM scheduling shutdown...");
                shut_down(&shared, |settings| &settings.shutdown_on_sigterm).await;
            }
            _ = interrupt.recv() => {
                tracing::warn!("Received SIGINT scheduling shutdown...");
                shut_down(&shared, |settings| &settings.shutdown_on_sigint).await;
            }
            _ = hang_up.recv() => match log::reopen() {
                Ok(()) => tracing::info!("Log file opened anew after SIGHUP"),
                Err(error) => tracing::warn!("Could not open the log file anew: {error}"),
            },
        }
    }
}

async fn shut_down(shared: &Shared, flags: impl Fn(&Settings) -> &ShutdownFlags) {
    let ended = shared
        .with_engine(|engine| {
            let options = options(flags(&engine.settings));
            engine.shut_down(options, shared.time.now())
        })
        .await;
    if ended.is_err() {
        tracing::warn!(
            "A signal asked for a shutdown, but there were errors, check the logs for more information"
        );
    }
}

fn options(flags: &ShutdownFlags) -> ShutdownOptions {
    let save = if flags.save {
        Some(true)
    } else if flags.nosave {
        Some(false)
    } else {
        None
    };
    ShutdownOptions {
        save,
        now: flags.now,
        force: flags.force,
    }
}
