//! Sockets, threads, clocks and signals: the only place with I/O of the network.
//!
//! Each network thread is a tokio current-thread runtime with its own share of
//! the connections; all share one [`Engine`] behind a reader-writer lock.
//! Nothing holds the lock across an await.

pub mod background;
pub mod clock;
pub mod connection;
pub mod garbage;
pub mod listen;
pub mod log;
pub mod mailbox;
pub mod outside;
pub mod signals;
pub mod start;

use crate::engine::client::ClientRegistry;
use crate::engine::random::Random;
use crate::engine::table::CommandTable;
use crate::engine::time::TimeSource;
use crate::engine::{Engine, ShutdownOptions};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::watch;

/// What all threads share.
pub struct Shared {
    engine: RwLock<Engine>,
    pub table: &'static CommandTable,
    pub clients: Arc<ClientRegistry>,
    pub time: Arc<dyn TimeSource>,
    pub limits: Arc<mailbox::OutputPolicy>,
    /// Number of network threads; with one, every batch runs alone on the engine.
    pub threads: usize,
    pub shutdown: watch::Sender<Option<ShutdownOptions>>,
    /// Connections being served, those about to end included.
    pub connections: AtomicUsize,
    /// Most connections at once, as the setting stands.
    pub connections_max: Arc<AtomicU32>,
    random: Mutex<Random>,
}

impl Shared {
    /// The engine, beside other readers. A thread that panicked with the lock left the engine
    /// as consistent as a failed command does, so poison is passed over.
    pub fn read(&self) -> RwLockReadGuard<'_, Engine> {
        self.engine.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine, alone.
    pub fn write(&self) -> RwLockWriteGuard<'_, Engine> {
        self.engine.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A generator for one session.
    pub fn fork_random(&self) -> Random {
        let mut random: MutexGuard<'_, Random> =
            self.random.lock().unwrap_or_else(PoisonError::into_inner);
        random.fork()
    }
}
