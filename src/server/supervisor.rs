//! Tells the service manager how far the server is.
//!
//! A unit of systemd with `Type=notify` waits for this, and ends a server that stays silent.

use crate::settings::{Settings, Supervision};
use sd_notify::NotifyState;

const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";

/// The service manager, if there is one to tell.
#[derive(Clone, Copy)]
pub struct Supervisor {
    listens: bool,
}

impl Supervisor {
    pub fn find(settings: &Settings) -> Supervisor {
        let is_there = std::env::var_os(NOTIFY_SOCKET).is_some_and(|socket| !socket.is_empty());
        let listens = match settings.supervised {
            Supervision::Systemd if !is_there => {
                tracing::warn!("systemd supervision requested, but NOTIFY_SOCKET not found");
                false
            }
            Supervision::Systemd | Supervision::Auto => is_there,
            Supervision::Upstart | Supervision::No => false,
        };
        Supervisor { listens }
    }

    /// What INFO says.
    pub fn name(self) -> &'static str {
        if self.listens { "systemd" } else { "no" }
    }

    pub fn ready(self) {
        self.tell(&[
            NotifyState::Status("Ready to accept connections"),
            NotifyState::Ready,
        ]);
    }

    pub fn stopping(self) {
        self.tell(&[NotifyState::Stopping]);
    }

    fn tell(self, states: &[NotifyState<'_>]) {
        if self.listens
            && let Err(error) = sd_notify::notify(states)
        {
            tracing::warn!("systemd could not be told: {error}");
        }
    }
}
