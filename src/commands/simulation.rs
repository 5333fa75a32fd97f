//! A whole engine inside a test: no sockets, no threads, a clock that stands still.
//!
//! Effects are on, so that a test can replay what a program left in the stream.

use super::FAMILIES;
use crate::engine::client::{Client, ClientId, Mailbox, MailboxUsage};
use crate::engine::dispatch::Outcome;
use crate::engine::random::Random;
use crate::engine::session::{Origin, Session};
use crate::engine::table::CommandTable;
use crate::engine::time::{Moment, TimeSource};
use crate::engine::{
    CpuTimes, Engine, Identity, LogFiles, Memory, Outside, RunningScript, ShutdownOptions, Snapshot,
};
use crate::resp::args::OwnedArgs;
use crate::resp::reply::{Protocol, Reply};
use crate::resp::request::{Decoded, RequestDecoder};
use crate::settings::{Extent, Settings};
use crate::store::keyspace::Store;
use bytes::Bytes;
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// The instant at which everything happens.
const NOW: Moment = Moment {
    unix_us: 1_700_000_000_000_000,
    monotonic_ns: 1,
};

struct StandingClock;

impl TimeSource for StandingClock {
    fn now(&self) -> Moment {
        NOW
    }
}

struct Nobody;

impl Mailbox for Nobody {
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

struct Nowhere;

impl LogFiles for Nowhere {
    fn read_into(&self, _engine: &mut Engine) -> Result<(), String> {
        Ok(())
    }
}

impl Outside for Nowhere {
    fn apply_setting(&mut self, _name: &str, _settings: &Settings) -> Result<(), String> {
        Ok(())
    }
    fn shut_down(&mut self, _options: ShutdownOptions) {}
    fn drop_later(&mut self, garbage: Box<dyn Any + Send>) {
        drop(garbage);
    }
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
        Box::new(Nowhere)
    }
}

/// An engine with one client.
pub struct Simulation {
    table: &'static CommandTable,
    engine: Engine,
    session: Session,
}

impl Simulation {
    pub fn new() -> Self {
        static TABLE: OnceLock<CommandTable> = OnceLock::new();
        let identity = Identity {
            run_id: "0".repeat(40),
            replication_id: "0".repeat(40),
            process_id: 1,
            executable: String::new(),
            config_file: String::new(),
            tcp_port: 0,
            supervised: "no",
        };
        let table = TABLE.get_or_init(|| CommandTable::new(FAMILIES));
        let mut engine = Engine::new(
            Settings::default(),
            table,
            Arc::new(StandingClock),
            Box::new(Nowhere),
            identity,
            Random::new(1),
        );
        engine.effects.set_enabled(true);
        let client = Client::new(
            ClientId(1),
            String::new(),
            String::new(),
            NOW.unix_ms(),
            Box::new(Nobody),
        );
        let user = engine.acl.default_user();
        let session = Session::new(Arc::new(client), user, true, Random::new(2));
        Self {
            table,
            engine,
            session,
        }
    }

    /// What the client gets for one command; nothing when it would have to wait.
    pub fn call(&mut self, words: &[&[u8]]) -> Vec<u8> {
        let args = OwnedArgs::from_slices(words);
        let mut reply = Reply::new(Protocol::Resp2);
        let mut now = NOW;
        let outcome = self.engine.execute(
            &mut self.session,
            self.table.resolve(args.as_args()),
            args.as_args(),
            &mut reply,
            &mut now,
        );
        assert!(matches!(outcome, Outcome::Done | Outcome::Block(..)));
        reply.take()
    }

    /// [`Simulation::call`] with words between spaces, for tests that read better so.
    pub fn run(&mut self, line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        String::from_utf8_lossy(&self.call(&words)).into_owned()
    }

    /// Takes the effects since the last call, each as its words.
    pub fn take_effects(&mut self) -> Vec<Vec<Vec<u8>>> {
        let bytes = self.engine.effects.take_pending();
        let mut decoder = RequestDecoder::new();
        let mut effects = Vec::new();
        let mut offset = 0;
        while offset < bytes.len() {
            let Ok(Decoded::Request { consumed }) = decoder.decode(&bytes[offset..]) else {
                panic!("the stream holds whole requests");
            };
            let args = decoder.args(&bytes[offset..]);
            effects.push(args.iter().map(<[u8]>::to_vec).collect());
            offset += consumed;
        }
        effects
    }

    /// Applies effects as a replay does.
    pub fn replay(&mut self, effects: &[Vec<Vec<u8>>]) {
        self.session.origin = Origin::Replay;
        for words in effects {
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            let reply = self.call(&words);
            assert!(
                !reply.starts_with(b"-"),
                "{words:?}: {}",
                reply.escape_ascii()
            );
        }
        self.session.origin = Origin::Client;
    }
}
