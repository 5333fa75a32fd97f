//! A world without anything, for tests that run an engine alone.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;

use super::client::{Client, ClientId, Mailbox, MailboxUsage};
use super::dispatch::Outcome;
use super::random::Random;
use super::session::Session;
use super::table::CommandTable;
use super::time::{Moment, TimeSource};
use super::{
    CpuTimes, Engine, Identity, LogFiles, Memory, Outside, RunningScript, ShutdownOptions, Snapshot,
};
use crate::resp::args::Args;
use crate::resp::reply::Reply;
use crate::settings::{Extent, Settings};
use crate::store::keyspace::Store;

/// The moment at which the clock stands still.
pub const NOW: Moment = Moment {
    unix_us: 1_800_000_000_000_000,
    monotonic_ns: 1,
};

struct Stopped;

impl TimeSource for Stopped {
    fn now(&self) -> Moment {
        NOW
    }
}

/// Nothing around the engine, and nobody at the other end of the connection.
struct Nothing;

impl Outside for Nothing {
    fn apply_setting(&mut self, _name: &str, _settings: &Settings) -> Result<(), String> {
        Ok(())
    }
    fn shut_down(&mut self, _options: ShutdownOptions) {}
    fn drop_later(&mut self, _garbage: Box<dyn Any + Send>) {}
    fn lazy_free_pending(&self) -> usize {
        0
    }
    fn used_memory_bytes(&self) -> u64 {
        0
    }
    fn memory(&self) -> Memory {
        Memory::default()
    }
    fn allocator_report(&self) -> String {
        String::new()
    }
    fn purge_memory(&self) {}
    fn cpu(&self) -> CpuTimes {
        CpuTimes::default()
    }
    fn rewrite_settings(
        &mut self,
        _settings: &Settings,
        _users: Option<&[Vec<u8>]>,
        _extent: Extent,
    ) -> Result<(), String> {
        Ok(())
    }
    fn log(&mut self, _text: &str) {}
    fn log_from_script(&mut self, _level: u8, _text: &str) {}
    fn pause_script(&mut self, _script: RunningScript<'_>) -> bool {
        false
    }
    fn sleep_us(&mut self, _duration_us: u64) {}
    fn save(&mut self, _snapshot: &Snapshot<'_>) -> Result<(), String> {
        Ok(())
    }
    fn start_job(&mut self, _job: crate::engine::BackgroundJob) {}
    fn stop_log(&mut self) {}
    fn cancel_job(&mut self) {}
    fn load_snapshot(
        &mut self,
        _store: &mut Store,
        _settings: &Settings,
        _replace: bool,
        _now: Moment,
    ) -> Result<Vec<Vec<u8>>, String> {
        Ok(Vec::new())
    }
    fn durable_offset(&self) -> u64 {
        0
    }
    fn watch_durable(&mut self) {}
    fn log_files(&mut self, _settings: &Settings) -> Box<dyn LogFiles> {
        Box::new(Nothing)
    }
}

impl LogFiles for Nothing {
    fn read_into(&self, _engine: &mut Engine) -> Result<(), String> {
        Ok(())
    }
}

impl Mailbox for Nothing {
    fn deliver(&self, _bytes: Bytes) {}
    fn hold(&self) {}
    fn nudge(&self, _bytes: Bytes) {}
    fn send(&self, _source: Box<dyn std::io::Read + Send>) {}
    fn unblock(&self, _session: Box<Session>) {}
    fn wake(&self) {}
    fn close(&self, _after_replies: bool) {}
    fn usage(&self) -> MailboxUsage {
        MailboxUsage::default()
    }
}

/// An engine with one session.
pub struct Simulation {
    pub engine: Engine,
    pub session: Session,
    table: &'static CommandTable,
}

impl Simulation {
    pub fn new(table: &'static CommandTable, settings: Settings, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let session_random = random.fork();
        let identity = Identity {
            run_id: String::new(),
            replication_id: String::new(),
            process_id: 1,
            executable: String::new(),
            config_file: String::new(),
            tcp_port: 0,
            supervised: "no",
        };
        let outside = Box::new(Nothing);
        let engine = Engine::new(
            settings,
            table,
            Arc::new(Stopped),
            outside,
            identity,
            random,
        );
        Simulation {
            session: session(&engine, 1, session_random),
            engine,
            table,
        }
    }

    /// Runs one command; returns its reply. A session that has to wait stays behind, and a new one goes on.
    pub fn run_at(&mut self, args: Args<'_>, mut now: Moment) -> Vec<u8> {
        let mut reply = Reply::default();
        let resolved = self.table.resolve(args);
        let outcome = self
            .engine
            .execute(&mut self.session, resolved, args, &mut reply, &mut now);
        if let Outcome::Block(command, block) = outcome {
            let random = self.session.random.fork();
            let mut next = session(&self.engine, self.session.client.id.0 + 1, random);
            next.set_db(self.session.db);
            let waiting = std::mem::replace(&mut self.session, next);
            self.engine
                .wait(Box::new(waiting), command, args, block, now);
        }
        reply.take()
    }
}

fn session(engine: &Engine, id: u64, random: Random) -> Session {
    let nobody = String::new;
    let client = Client::new(ClientId(id), nobody(), nobody(), 0, Box::new(Nothing));
    Session::new(Arc::new(client), engine.acl.default_user(), true, random)
}
