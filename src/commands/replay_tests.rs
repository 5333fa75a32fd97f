//! The effects of random programs, replayed into an empty engine, give the same data.
//!
//! What a command leaves for the log may not depend on chance, on the clock, or on what
//! a reader would have to guess; replaying it tells. In between the log is rewritten: a
//! new engine begins with all the data in one of the two forms and goes on from there.

mod programs;

use super::FAMILIES;
use crate::engine::session::Origin;
use crate::engine::simulated::{NOW, Simulation};
use crate::engine::spec::Flags;
use crate::engine::table::CommandTable;
use crate::engine::time::Moment;
use crate::persist::disk::Disk;
use crate::persist::disk::memory::MemoryDisk;
use crate::persist::form::Form;
use crate::persist::load::{Intake, read_all};
use crate::persist::rdb::Limits;
use crate::persist::rdb::snapshot::{Clocks, Head};
use crate::persist::snapshot_file::{SnapshotStyle, write_all};
use crate::resp::args::{Args, OwnedArgs};
use crate::resp::number::write_g17;
use crate::resp::request::{Decoded, RequestDecoder};
use crate::settings::Settings;
use crate::store::digest::Digest;
use crate::store::stream::{Stream, StreamId};
use crate::store::value::ValueRef;
use programs::{Author, Step};
use std::path::Path;
use std::sync::Arc;

/// Programs that the test plays.
const PROGRAMS: u64 = 1_000;

/// Steps of a program.
const STEPS: usize = 60;

/// The instant at which commands of a log are applied: no deadline has passed.
const REPLAYED_AT: Moment = Moment {
    unix_us: 0,
    monotonic_ns: 1,
};

/// When the log is read, after all that it tells of.
const READ_AT: Moment = Moment {
    unix_us: NOW.unix_us + 86_400_000_000,
    monotonic_ns: 1,
};

/// All that a stream keeps but when its consumers were seen, which is no effect.
fn told(stream: &Stream) -> String {
    let log = stream.log();
    let mut text = format!(
        "{} {} {} {}\n",
        log.len(),
        log.last_id,
        log.max_deleted_id,
        log.entries_added
    );
    for entry in log.range(StreamId::MIN, StreamId::MAX) {
        let fields: Vec<_> = entry.fields().collect();
        text += &format!("{} {fields:?}\n", entry.id);
    }
    for (name, group) in stream.groups() {
        let mut consumers: Vec<_> = group
            .consumers()
            .map(|consumer| (&consumer.name, consumer.pending()))
            .collect();
        consumers.sort();
        text += &format!(
            "{name:?} {} {:?} {consumers:?}\n",
            group.last_id, group.entries_read
        );
        for (id, one) in group.pending() {
            text += &format!("{id} {} {}\n", one.delivered_ms, one.deliveries);
        }
    }
    text
}

/// All that a log has to keep: values, deadlines, groups of streams, libraries of functions.
fn picture(simulation: &mut Simulation) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, db) in simulation.engine.store.iter().enumerate() {
        for entry in db.iter() {
            let digest = Digest::of_value(entry.value, false, write_g17);
            let more = match entry.value {
                ValueRef::Stream(stream) => told(stream),
                _ => String::new(),
            };
            let (kind, deadline) = (entry.value.kind(), entry.deadline);
            lines.push(format!(
                "{index} {} {kind:?} {digest} {deadline:?} {more}",
                entry.key.escape_ascii()
            ));
        }
    }
    lines.sort();
    for library in &simulation.engine.libraries {
        lines.push(library.escape_ascii().to_string());
    }
    lines
}

/// A program under way, and what a reader of its log has so far.
struct Play {
    table: &'static CommandTable,
    original: Simulation,
    copy: Simulation,
    author: Author,
    now: Moment,
    seed: u64,
}

impl Play {
    fn new(table: &'static CommandTable, seed: u64) -> Self {
        let mut original = Simulation::new(table, Settings::default(), seed);
        original.engine.effects.set_enabled(true);
        Play {
            table,
            original,
            copy: reader(table),
            author: Author::new(seed),
            now: NOW,
            seed,
        }
    }

    /// Does one step; what it was.
    fn step(&mut self) -> String {
        let pause_us = self.author.random().below(3_000) as u64;
        self.pass(pause_us);
        match self.author.step() {
            Step::Run(args) => {
                self.original.run_at(args.as_args(), self.now);
                format!("{:?}", args.as_args())
            }
            Step::Copy(args) => {
                let args = args.as_args();
                let dump = OwnedArgs::from_slices(&[b"DUMP", args.arg(0)]);
                let reply = self.original.run_at(dump.as_args(), self.now);
                if let Some(payload) = bulk(&reply) {
                    let mut restore = OwnedArgs::from_slices(&[b"RESTORE", args.arg(1)]);
                    restore.push(args.arg(2));
                    restore.push(payload);
                    args.iter().skip(3).for_each(|word| restore.push(word));
                    self.original.run_at(restore.as_args(), self.now);
                }
                format!("RESTORE of {args:?}")
            }
            Step::Rewrite => {
                self.follow("what came before a rewrite");
                let is_snapshot = self.author.random().below(2) == 0;
                let form = if is_snapshot {
                    Form::Snapshot
                } else {
                    Form::Commands
                };
                self.copy = rewritten(self.table, &self.original, form);
                self.original.engine.effects.forget_selected_db();
                format!("a rewrite as {form:?}")
            }
            Step::Pause(ms) => {
                self.pass(ms * 1_000);
                self.original.engine.stop_overdue(self.now);
                self.original.engine.expire_cycle(self.now);
                format!("a pause of {ms} ms")
            }
        }
    }

    fn pass(&mut self, us: u64) {
        self.now.unix_us += us as i64;
        self.now.monotonic_ns += us * 1_000;
    }

    /// Replays what is new.
    fn follow(&mut self, step: &str) -> Vec<u8> {
        let effects = self.original.engine.effects.take_pending();
        replay(
            &effects,
            &mut self.copy,
            &format!("seed {} {step}", self.seed),
        );
        effects
    }

    fn agrees(&mut self) -> bool {
        picture(&mut self.original) == picture(&mut self.copy)
    }
}

fn bulk(reply: &[u8]) -> Option<&[u8]> {
    let end = reply.iter().position(|&byte| byte == b'\n')? + 1;
    let is_there = reply.starts_with(b"$") && !reply.starts_with(b"$-");
    is_there.then(|| &reply[end..reply.len() - 2])
}

fn reader(table: &'static CommandTable) -> Simulation {
    let mut copy = Simulation::new(table, Settings::default(), 99);
    copy.session.origin = Origin::Replay;
    copy.session.present = Some(READ_AT);
    copy
}

/// What a server has that reads the base that is written now.
fn rewritten(table: &'static CommandTable, original: &Simulation, form: Form) -> Simulation {
    let memory = MemoryDisk::default();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let style = SnapshotStyle {
        form,
        compress: true,
        checksum: true,
        clocks: Clocks::None,
        incremental_sync: false,
    };
    let head = Head {
        libraries: original.engine.libraries.clone(),
        ..Head::default()
    };
    let path = Path::new("base");
    write_all(
        disk,
        path,
        Path::new("aside"),
        style,
        &head,
        &original.engine.store,
    )
    .expect("a disk that works");
    let bytes = memory.bytes(path).expect("a file");
    let mut copy = reader(table);
    if form == Form::Commands {
        replay(&bytes, &mut copy, "a base of commands");
        return copy;
    }
    let intake = Intake {
        now_ms: 0,
        drop_expired: false,
        counts_accesses: false,
        replace: false,
    };
    let limits = Limits::from(&Settings::default());
    let read = read_all(&bytes[..], limits, &mut copy.engine.store, intake);
    let (_, facts) = read.expect("a whole snapshot");
    for source in facts.libraries {
        let load = OwnedArgs::from_slices(&[b"FUNCTION", b"LOAD", &source]);
        apply(load.as_args(), &mut copy, "a library");
    }
    copy
}

fn apply(args: Args<'_>, into: &mut Simulation, what: &str) {
    let reply = into.run_at(args, REPLAYED_AT);
    // An infinite score is a text that begins like an error.
    let is_error = |part: &[u8]| part.starts_with(b"\r\n-") && part[3].is_ascii_uppercase();
    let has_failed = reply.starts_with(b"-") || reply.windows(4).any(is_error);
    let shown = reply.escape_ascii();
    assert!(!has_failed, "{what}: replayed {args:?}: {shown}");
}

fn replay(bytes: &[u8], into: &mut Simulation, what: &str) {
    let mut decoder = RequestDecoder::new();
    let mut rest = bytes;
    while let Ok(Decoded::Request { consumed }) = decoder.decode(rest) {
        apply(decoder.args(rest), into, what);
        rest = &rest[consumed..];
    }
    assert!(rest.is_empty(), "the effects are whole requests");
}

/// Plays a program again, step by step, and tells at which one the reader went astray.
fn first_difference(table: &'static CommandTable, seed: u64) -> String {
    let mut play = Play::new(table, seed);
    for number in 0..STEPS {
        let step = play.step();
        let effects = play.follow(&step);
        if !play.agrees() {
            let (ours, theirs) = (picture(&mut play.original), picture(&mut play.copy));
            let here: Vec<_> = ours.iter().filter(|line| !theirs.contains(line)).collect();
            let there: Vec<_> = theirs.iter().filter(|line| !ours.contains(line)).collect();
            let left = effects.escape_ascii();
            return format!("step {number}: {step} left {left}\nhere {here:#?}\nthere {there:#?}");
        }
    }
    "only when not looked at in between".to_string()
}

#[test]
fn programs_replayed_from_their_log_give_the_same_data() {
    let table = CommandTable::new(FAMILIES).keep();
    let first: u64 = std::env::var("RANKD_SEED")
        .ok()
        .map_or(0, |text| text.parse().expect("RANKD_SEED is a number"));
    for seed in first..first + PROGRAMS {
        let mut play = Play::new(table, seed);
        for _ in 0..STEPS {
            play.step();
        }
        play.follow("a whole program");
        assert!(
            play.agrees(),
            "RANKD_SEED={seed} {}",
            first_difference(table, seed)
        );
    }
}

#[test]
fn the_programs_know_every_command_that_writes() {
    let table = CommandTable::new(FAMILIES);
    // Those that a program runs in its own way, and one that is EVAL of a stored script.
    let others = [
        "restore",
        "function|load",
        "function|restore",
        "restore-asking",
        // It needs another server, and tests/it/migrate.rs has one.
        "migrate",
    ];
    let mut missing = Vec::new();
    for command in table.iter() {
        let name = command.full_name.replace('|', " ").to_uppercase();
        let known = programs::TEMPLATES
            .iter()
            .chain(programs::SELDOM)
            .any(|template| format!("{template} ").starts_with(&format!("{name} ")));
        let writes = command.flags.contains(Flags::WRITE);
        if writes && !known && !others.contains(&&*command.full_name) {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
