//! Reads the log at the start: base, then increments, each group applied whole.

use super::load::{Progress, read_snapshot};
use super::reach::Reach;
use crate::engine::Engine;
use crate::engine::client::{Client, ClientId, Mailbox, MailboxUsage};
use crate::engine::dispatch::Outcome;
use crate::engine::session::{Origin, Session};
use crate::engine::table::Resolved;
use crate::engine::time::Moment;
use crate::persist::aof::files::LogFiles;
use crate::persist::aof::manifest::{Entry, Role};
use crate::persist::aof::reader::{Group, LogFault, LogReader};
use crate::persist::load::Facts;
use crate::persist::rdb::Input;
use crate::resp::args::{Args, OwnedArgs};
use crate::resp::reply::{Protocol, Reply};
use std::io::{self, Read};
use std::sync::Arc;

/// Commands that are applied before others get a look at the engine.
const BATCH_COMMANDS: usize = 1_000;

/// What the log told of the stream that it is a part of.
#[derive(Default)]
pub struct Replayed {
    pub facts: Facts,
    pub keys: u64,
    pub commands: u64,
    /// Bytes of the effect stream in the last increment.
    pub last_stream_len: u64,
}

/// Reads all files of a log. The last one may be cut off where the settings allow it.
pub fn run(reach: &mut impl Reach, files: &LogFiles, allow_cut: bool) -> io::Result<Replayed> {
    let live: Vec<Entry> = files.manifest().live().cloned().collect();
    let mut replayed = Replayed::default();
    let mut progress = Progress::new();
    let mut session = reach.with(replay_session);
    for (index, entry) in live.iter().enumerate() {
        let is_last = index + 1 == live.len();
        let outcome = read_file(
            reach,
            files,
            entry,
            &mut session,
            &mut replayed,
            &mut progress,
        )?;
        match outcome {
            Ended::Whole => {}
            Ended::CutOff(good_len) if is_last && allow_cut => {
                tracing::warn!(
                    "!!! Warning: short read while loading the AOF file {}!!! Truncating it at offset {good_len}",
                    entry.name
                );
                files.cut(entry, good_len)?;
            }
            Ended::CutOff(good_len) => {
                return Err(refuse(&format!(
                    "Unexpected end of file reading the append only file {}: it is whole up to offset {good_len}. \
                     You can: 1) Make a backup of your AOF file, then use rankd check --fix <filename>. \
                     2) Alternatively you can set the 'aof-load-truncated' configuration option to yes and restart \
                     the server, which cuts the last file.",
                    entry.name
                )));
            }
        };
    }
    Ok(replayed)
}

enum Ended {
    Whole,
    CutOff(u64),
}

fn read_file(
    reach: &mut impl Reach,
    files: &LogFiles,
    entry: &Entry,
    session: &mut Session,
    replayed: &mut Replayed,
    progress: &mut Progress,
) -> io::Result<Ended> {
    let mut source = files.read(entry)?;
    let mut start = Vec::new();
    (&mut source).take(5).read_to_end(&mut start)?;
    let is_snapshot = start == b"REDIS" || start == b"VALKE";
    if entry.role == Role::Base && entry.name.ends_with(".rdb") && !is_snapshot {
        return Err(refuse(&format!(
            "Bad file format reading the append only file {} at offset 0: it does not begin as a snapshot does",
            entry.name
        )));
    }
    let source = io::Cursor::new(start).chain(source);
    let mut reader = if is_snapshot {
        let (taken, facts, rest) =
            read_snapshot(reach, source, false, progress).map_err(|fault| {
                refuse(&format!(
                    "Error reading the RDB part of the AOF file {}: {fault}",
                    entry.name
                ))
            })?;
        load_libraries(reach, &facts.libraries).map_err(|why| refuse(&why))?;
        replayed.facts = facts;
        replayed.keys += taken.loaded;
        LogReader::after(rest)
    } else {
        LogReader::after(Input::new(source))
    };
    let mut batch = Vec::new();
    loop {
        let next = reader.next_group();
        let more = matches!(next, Ok(Some(_)));
        let mut ended = None;
        match next {
            Ok(Some(group)) => batch.push(group),
            Ok(None) => ended = Some(Ended::Whole),
            Err(LogFault::CutOff {
                good_len,
                unfinished,
            }) => {
                refuse_strangers(reach, entry, good_len, &unfinished)?;
                ended = Some(Ended::CutOff(good_len));
            }
            Err(LogFault::Io(error)) => return Err(error),
            Err(LogFault::Broken { offset, what }) => {
                return Err(refuse(&format!(
                    "Bad file format reading the append only file {} at offset {offset}: {what}. Make a backup of \
                     your AOF file, then look at it with rankd check <filename>.",
                    entry.name
                )));
            }
        }
        if !more || batch.len() >= BATCH_COMMANDS {
            apply(reach, entry, session, &batch, replayed)?;
            batch.clear();
            replayed.last_stream_len = reader.good_len() - reader.remarks_len();
            let loading = reach.with(|engine| engine.note_loaded(reader.good_len()));
            if let Some(loading) = loading {
                progress.tell(loading);
            }
        }
        if let Some(ended) = ended {
            return Ok(ended);
        }
    }
}

/// A group without an end may be one whose end was damaged, and then what stands behind it is no torn end. An end that
/// became another word shows as a command that nobody knows.
fn refuse_strangers(
    reach: &mut impl Reach,
    entry: &Entry,
    good_len: u64,
    unfinished: &[OwnedArgs],
) -> io::Result<()> {
    reach.with(|engine| {
        let is_known = |name| engine.table.find(name).is_some();
        let names = unfinished.iter().map(|command| command.as_args().arg(0));
        match names.into_iter().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(name) => Err(refuse(&format!(
                "Unknown command '{}' reading the append only file {} in a group that begins at offset {good_len} and \
                 does not end",
                String::from_utf8_lossy(name),
                entry.name
            ))),
        }
    })
}

fn apply(
    reach: &mut impl Reach,
    entry: &Entry,
    session: &mut Session,
    batch: &[Group],
    replayed: &mut Replayed,
) -> io::Result<()> {
    reach.with(|engine| {
        let real = engine.time.now();
        session.present = Some(real);
        for group in batch {
            for command in &group.commands {
                let args = command.as_args();
                run_one(engine, session, args, real).map_err(|why| {
                    let name = String::from_utf8_lossy(args.arg(0));
                    let (offset, file) = (group.offset, &entry.name);
                    refuse(&if engine.table.find(args.arg(0)).is_none() {
                        format!("Unknown command '{name}' reading the append only file {file} at or after offset {offset}")
                    } else {
                        format!("The command {name} at or after offset {offset} of the append only file {file} cannot be applied: {why}")
                    })
                })?;
                replayed.commands += 1;
            }
        }
        Ok(())
    })
}

/// Loads the libraries of functions of a snapshot, whatever name the command for it was given.
pub fn load_libraries(reach: &mut impl Reach, sources: &[Vec<u8>]) -> Result<(), String> {
    if sources.is_empty() {
        return Ok(());
    }
    reach.with(|engine| {
        let mut session = replay_session(engine);
        let command = engine
            .table
            .iter()
            .find(|command| &*command.full_name == "function|load");
        let command = command.ok_or("libraries of functions cannot be loaded")?;
        for source in sources {
            let args = OwnedArgs::from_slices(&[b"FUNCTION", b"LOAD", source]);
            let now = engine.time.now();
            run_command(engine, &mut session, Ok(command), args.as_args(), now)
                .map_err(|why| format!("Failed loading a library of functions: {why}"))?;
        }
        Ok(())
    })
}

/// Runs one command as it was run when it was logged.
fn run_one(
    engine: &mut Engine,
    session: &mut Session,
    args: Args<'_>,
    real: Moment,
) -> Result<(), String> {
    let resolved = engine.table.resolve(args);
    if resolved.is_err() {
        let error = resolved
            .err()
            .map(|error| engine.table.describe(&error, args));
        return Err(String::from_utf8_lossy(&error.unwrap_or_default()).into_owned());
    }
    // No key is past its deadline while a log is read: what expired says so itself. Only what
    // counts from the present, which nobody logs since long, needs the present.
    let now = if counts_from_now(args) {
        real
    } else {
        Moment {
            unix_us: 0,
            monotonic_ns: real.monotonic_ns,
        }
    };
    run_command(engine, session, resolved, args, now)
}

fn run_command(
    engine: &mut Engine,
    session: &mut Session,
    resolved: Resolved,
    args: Args<'_>,
    mut now: Moment,
) -> Result<(), String> {
    let mut reply = Reply::new(Protocol::Resp2);
    match engine.execute(session, resolved, args, &mut reply, &mut now) {
        Outcome::Done => {}
        Outcome::Block(..) | Outcome::Paused | Outcome::MustWrite => {
            return Err("it would have to wait".to_string());
        }
    }
    match reply.as_bytes().strip_prefix(b"-") {
        Some(error) => {
            let line = error.split(|&byte| byte == b'\r').next().unwrap_or(error);
            Err(String::from_utf8_lossy(line).into_owned())
        }
        None => Ok(()),
    }
}

/// Whether a command sets a deadline as a distance from now.
fn counts_from_now(args: Args<'_>) -> bool {
    let name = args.arg(0).to_ascii_lowercase();
    match name.as_slice() {
        b"expire" | b"pexpire" | b"setex" | b"psetex" | b"eval" | b"evalsha" => true,
        b"set" | b"getex" => args
            .iter()
            .skip(2)
            .any(|word| word.eq_ignore_ascii_case(b"ex") || word.eq_ignore_ascii_case(b"px")),
        b"restore" => !args.iter().any(|word| word.eq_ignore_ascii_case(b"absttl")),
        _ => false,
    }
}

/// Nobody: what a replayed command tells its client is dropped.
struct Nobody;

impl Mailbox for Nobody {
    fn deliver(&self, _bytes: bytes::Bytes) {}

    fn hold(&self) {}

    fn nudge(&self, _bytes: bytes::Bytes) {}

    fn send(&self, _source: Box<dyn Read + Send>) {}

    fn unblock(&self, _session: Box<Session>) {}

    fn wake(&self) {}

    fn close(&self, _after_replies: bool) {}

    fn usage(&self) -> MailboxUsage {
        MailboxUsage::default()
    }
}

fn replay_session(engine: &mut Engine) -> Session {
    let now_ms = engine.time.now().unix_ms();
    let client = Client::new(
        ClientId(0),
        String::new(),
        String::new(),
        now_ms,
        Box::new(Nobody),
    );
    let user = engine.acl.default_user();
    let mut session = Session::new(Arc::new(client), user, true, engine.random.fork());
    session.origin = Origin::Replay;
    session
}

fn refuse(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_string())
}
