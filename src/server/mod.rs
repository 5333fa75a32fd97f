//! Sockets, threads, clocks and signals: the only place with I/O of the network.
//!
//! Each network thread is a tokio current-thread runtime with its own share of
//! the connections; all share one [`Engine`] behind a reader-writer lock.
//! Nothing holds the lock across an await.

pub mod allocated;
pub mod background;
pub mod busy;
pub mod check;
pub mod clock;
pub mod connection;
pub mod daemon;
pub mod descriptors;
pub mod durability;
pub mod eviction;
pub mod fiber;
pub mod garbage;
pub mod guard;
pub mod listen;
pub mod log;
pub mod mailbox;
pub mod names;
pub mod outside;
pub mod policy;
pub mod signals;
#[cfg(any(test, feature = "fuzzing"))]
pub mod simulation;
pub mod spare;
pub mod start;
pub mod supervisor;
pub mod title;
pub mod transfers;
pub mod users;

use crate::engine::acl::Acl;
use crate::engine::client::ClientRegistry;
use crate::engine::random::Random;
use crate::engine::table::CommandTable;
use crate::engine::time::TimeSource;
use crate::engine::{Engine, ShutdownOptions, Stats};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long a thread waits for the engine before it looks whether a long script keeps it.
const LOCK_WAIT: Duration = Duration::from_micros(500);

/// How long a task that must have the engine sleeps while a long script keeps it.
const BUSY_RETRY: Duration = Duration::from_millis(5);

/// What all threads share.
pub struct Shared {
    engine: Arc<RwLock<Engine>>,
    pub table: &'static CommandTable,
    pub clients: Arc<ClientRegistry>,
    pub acl: Arc<Acl>,
    pub stats: Arc<Stats>,
    pub time: Arc<dyn TimeSource>,
    pub policy: Arc<policy::ConnectionPolicy>,
    /// The append-only log.
    pub log: Arc<durability::log::Log>,
    /// Snapshots and rewrites in the background.
    pub jobs: Arc<durability::jobs::Jobs>,
    /// Keys on their way to other servers.
    pub transfers: Arc<transfers::Transfers>,
    /// The script that keeps the engine beyond its time limit.
    pub busy: Arc<fiber::Busy>,
    /// Number of network threads; with one, every batch runs alone on the engine.
    pub threads: usize,
    pub shutdown: watch::Sender<Option<ShutdownOptions>>,
    pub supervisor: supervisor::Supervisor,
    pub listeners: Arc<listen::Listeners>,
    /// Connections being served, those about to end included.
    pub connections: AtomicUsize,
    /// Most connections at once, as the setting stands.
    pub connections_max: Arc<AtomicU32>,
    random: Mutex<Random>,
}

impl Shared {
    /// The engine, beside other readers; None while a long script keeps it.
    pub fn read(&self) -> Option<RwLockReadGuard<'_, Engine>> {
        loop {
            if let Some(guard) = self.engine.try_read_for(LOCK_WAIT) {
                return Some(guard);
            }
            if self.busy.is_active() {
                return None;
            }
        }
    }

    /// The engine, alone; None while a long script keeps it.
    pub fn write(&self) -> Option<RwLockWriteGuard<'_, Engine>> {
        loop {
            if let Some(guard) = self.engine.try_write_for(LOCK_WAIT) {
                return Some(guard);
            }
            if self.busy.is_active() {
                return None;
            }
        }
    }

    /// The engine, alone, in a form that a fiber can keep; None while a long script keeps it.
    pub fn write_owned(&self) -> Option<fiber::OwnedGuard> {
        loop {
            if let Some(guard) = self.engine.try_write_arc_for(LOCK_WAIT) {
                return Some(guard);
            }
            if self.busy.is_active() {
                return None;
            }
        }
    }

    /// The engine, beside other readers, for a thread that has nothing else to do than to wait for it.
    pub fn read_patiently(&self) -> RwLockReadGuard<'_, Engine> {
        self.engine.read()
    }

    /// The engine, alone, for a thread that has nothing else to do than to wait for it.
    pub fn write_patiently(&self) -> RwLockWriteGuard<'_, Engine> {
        self.engine.write()
    }

    /// Runs something alone on the engine, when no long script keeps it any more.
    pub async fn with_engine<R>(&self, run: impl FnOnce(&mut Engine) -> R) -> R {
        loop {
            if let Some(mut guard) = self.write() {
                return run(&mut guard);
            }
            tokio::time::sleep(BUSY_RETRY).await;
        }
    }

    /// A generator for one session.
    pub fn fork_random(&self) -> Random {
        let mut random: MutexGuard<'_, Random> =
            self.random.lock().unwrap_or_else(PoisonError::into_inner);
        random.fork()
    }
}
