//! Logs with one byte changed, or cut at any byte: what a start makes of them.
//!
//! A log has no checksum but that of a snapshot in front. What is asked of it is that damage to its frame is refused,
//! that damage inside an argument changes nothing but that argument, and that only the last group can be taken for torn.

use super::replay;
use crate::commands::FAMILIES;
use crate::engine::session::Origin;
use crate::engine::simulated::{NOW, Simulation};
use crate::engine::table::CommandTable;
use crate::engine::time::Moment;
use crate::persist::aof::files::LogFiles;
use crate::persist::disk::Disk;
use crate::persist::disk::memory::MemoryDisk;
use crate::persist::form::Form;
use crate::persist::rdb::snapshot::{Clocks, Head};
use crate::persist::snapshot_file::{SnapshotStyle, write_all};
use crate::resp::args::OwnedArgs;
use crate::resp::number::write_g17;
use crate::settings::Settings;
use crate::store::digest::Digest;
use crate::store::keyspace::Store;
use std::path::Path;
use std::sync::Arc;

type Command = Vec<Vec<u8>>;

/// What is in the base: a value of each type.
const DATA: &[&str] = &[
    "SET text value",
    "SET number 12345",
    "RPUSH list a bb 7",
    "SADD set x 12",
    "HSET hash f v",
    "ZADD board 1.5 m 2 n",
    "XADD feed 5-1 f v",
    "PEXPIREAT text 1900000000000",
];

/// What is behind it; words in brackets are one group.
const CHANGES: &[&str] = &[
    "SELECT 0",
    "SET k v",
    "#TS:1800000000",
    "[",
    "ZADD board 4 o",
    "INCR number",
    "]",
    "SADD set yy",
    "[",
    "RPUSH list 11111111111",
    "PEXPIREAT list 1900000000001",
    "DEL hash",
    "]",
];

/// The changes at one whole group after the other; the last is all of them.
fn increment() -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let mut ends = vec![0];
    let mut in_group = false;
    for line in CHANGES {
        let words = match *line {
            "[" => "MULTI",
            "]" => "EXEC",
            other => other,
        };
        if words.starts_with('#') {
            bytes.extend_from_slice(format!("{words}\r\n").as_bytes());
        } else {
            let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
            OwnedArgs::from_slices(&words).encode(&mut bytes);
        }
        in_group = (in_group || *line == "[") && *line != "]";
        if !in_group {
            ends.push(bytes.len());
        }
    }
    (bytes, ends)
}

/// All data and deadlines.
type State = Vec<(usize, Vec<u8>, Digest, Option<i64>)>;

/// A reader of logs.
struct Bench {
    simulation: Simulation,
}

impl Bench {
    fn new() -> Self {
        let table = CommandTable::new(FAMILIES).keep();
        let mut simulation = Simulation::new(table, Settings::default(), 1);
        simulation.session.origin = Origin::Replay;
        Bench { simulation }
    }

    fn clear(&mut self) {
        self.simulation.engine.store = Store::new(16, 5u128);
        self.simulation.session.set_db(0);
    }

    fn state(&self) -> State {
        let mut state = Vec::new();
        for (index, db) in self.simulation.engine.store.iter().enumerate() {
            for entry in db.iter() {
                let digest = Digest::of_value(entry.value, false, write_g17);
                state.push((index, entry.key.to_vec(), digest, entry.deadline));
            }
        }
        state.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        state
    }

    /// What a start reads from these files, and the length of the increment then; or why it refuses.
    fn load(
        &mut self,
        base: (&str, &[u8]),
        increment: &[u8],
        allow_cut: bool,
    ) -> Result<(State, usize), String> {
        self.clear();
        let manifest = format!(
            "file {} seq 1 type b\nfile a.1.incr.aof seq 1 type i\n",
            base.0
        );
        let disk = MemoryDisk::default();
        disk.put(Path::new("dir/a.manifest"), manifest.as_bytes());
        disk.put(&Path::new("dir").join(base.0), base.1);
        disk.put(Path::new("dir/a.1.incr.aof"), increment);
        self.read(&disk, allow_cut)?;
        let left = disk
            .bytes(Path::new("dir/a.1.incr.aof"))
            .expect("the increment");
        Ok((self.state(), left.len()))
    }

    fn read(&mut self, disk: &MemoryDisk, allow_cut: bool) -> Result<(), String> {
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let files = LogFiles::open(shared, Path::new("dir"), "a").map_err(|why| why.to_string())?;
        let files = files.expect("a manifest");
        let mut engine = &mut self.simulation.engine;
        let read = replay::run(&mut engine, &files, allow_cut);
        read.map(drop).map_err(|why| why.to_string())
    }

    /// What the commands make, one after the other.
    fn play(&mut self, commands: &[Command]) -> State {
        self.clear();
        let nothing_expires = Moment { unix_us: 0, ..NOW };
        for command in commands {
            let words: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
            let args = OwnedArgs::from_slices(&words);
            // The one command here that counts from the present, if its time is not zero any more.
            let counts = command[0].eq_ignore_ascii_case(b"RESTORE");
            let now = if counts { NOW } else { nothing_expires };
            self.simulation.run_at(args.as_args(), now);
        }
        self.state()
    }

    /// The base in one of the forms.
    fn base(&mut self, form: Form) -> (&'static str, Vec<u8>) {
        let data: Vec<Command> = DATA.iter().map(|line| words(line)).collect();
        self.play(&data);
        let memory = MemoryDisk::default();
        let style = SnapshotStyle {
            form,
            compress: true,
            checksum: true,
            clocks: Clocks::None,
            incremental_sync: false,
        };
        let disk: Arc<dyn Disk> = Arc::new(memory.clone());
        let (path, aside) = (Path::new("base"), Path::new("aside"));
        let store = &self.simulation.engine.store;
        write_all(disk, path, aside, style, &Head::default(), store).expect("a disk that works");
        let name = match form {
            Form::Snapshot => "a.1.base.rdb",
            Form::Commands => "a.1.base.aof",
        };
        (name, memory.bytes(path).expect("a file"))
    }
}

fn words(line: &str) -> Command {
    line.split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

/// The commands of a log by the letter of the format; None when it is anything else.
fn strictly(mut bytes: &[u8]) -> Option<Vec<Command>> {
    fn line<'a>(bytes: &mut &'a [u8], mark: u8) -> Option<&'a [u8]> {
        let end = bytes.windows(2).position(|part| part == b"\r\n")?;
        let line = bytes[..end].strip_prefix(&[mark])?;
        *bytes = &bytes[end + 2..];
        Some(line)
    }
    fn number(text: &[u8]) -> Option<usize> {
        std::str::from_utf8(text).ok()?.parse().ok()
    }
    let mut commands = Vec::new();
    while let Some(&first) = bytes.first() {
        if first == b'#' {
            line(&mut bytes, b'#')?;
            continue;
        }
        let mut command = Vec::new();
        for _ in 0..number(line(&mut bytes, b'*')?)? {
            let len = number(line(&mut bytes, b'$')?)?;
            command.push(bytes.get(..len)?.to_vec());
            bytes = bytes[len..].strip_prefix(b"\r\n")?;
        }
        commands.push(command);
    }
    Some(commands)
}

/// How many words of two logs differ; None when they have different shapes.
fn words_that_differ(one: &[Command], other: &[Command]) -> Option<usize> {
    let same_shape =
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.len() == b.len());
    let pairs = one.iter().flatten().zip(other.iter().flatten());
    same_shape.then(|| pairs.filter(|(a, b)| a != b).count())
}

fn flips(bytes: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..bytes.len() * 8).map(|number| {
        let mut flipped = bytes.to_vec();
        flipped[number / 8] ^= 1 << (number % 8);
        (number / 8, flipped)
    })
}

#[test]
fn a_changed_byte_of_an_increment_is_refused_or_changes_one_argument_or_tears_the_last_group() {
    let mut bench = Bench::new();
    let (name, base) = bench.base(Form::Snapshot);
    let (whole, ends) = increment();
    let last_group = ends[ends.len() - 2];
    let data: Vec<Command> = DATA.iter().map(|line| words(line)).collect();
    let original = strictly(&whole).expect("whole");
    let before_last = strictly(&whole[..last_group]).expect("whole");
    let (mut refused, mut taken, mut torn) = (0, 0, 0);
    for (at, flipped) in flips(&whole) {
        let Ok((state, len)) = bench.load((name, &base), &flipped, true) else {
            refused += 1;
            continue;
        };
        let commands = if len == whole.len() {
            taken += 1;
            let commands = strictly(&flipped).unwrap_or_else(|| panic!("byte {at} is taken"));
            let differ = words_that_differ(&commands, &original);
            // A remark may say anything.
            assert!(differ.is_some_and(|count| count <= 1), "byte {at}");
            commands
        } else {
            torn += 1;
            assert!(
                at >= last_group && len == last_group,
                "byte {at} cut to {len}"
            );
            before_last.clone()
        };
        let wanted = bench.play(&[data.clone(), commands].concat());
        assert_eq!(state, wanted, "byte {at}: {}", flipped.escape_ascii());
    }
    assert!(
        refused > taken && taken > 100 && torn > 0,
        "{refused} {taken} {torn}"
    );
}

#[test]
fn a_changed_byte_of_a_base_is_refused_or_changes_one_argument_of_a_command() {
    let mut bench = Bench::new();
    let (increment, _) = increment();
    let (name, snapshot) = bench.base(Form::Snapshot);
    for (at, flipped) in flips(&snapshot) {
        let loaded = bench.load((name, &flipped), &increment, true);
        assert!(loaded.is_err(), "byte {at} of a snapshot");
    }
    let (name, base) = bench.base(Form::Commands);
    let original = strictly(&base).expect("whole");
    let mut taken = 0;
    for (at, flipped) in flips(&base) {
        let Ok((state, len)) = bench.load((name, &flipped), &increment, true) else {
            continue;
        };
        taken += 1;
        let commands = strictly(&flipped).unwrap_or_else(|| panic!("byte {at} is taken"));
        let differ = words_that_differ(&commands, &original);
        assert!(differ.is_some_and(|count| count <= 1), "byte {at}");
        let behind = strictly(&increment).expect("whole");
        assert_eq!(state, bench.play(&[commands, behind].concat()), "byte {at}");
        assert_eq!(len, increment.len());
    }
    assert!(taken > 100, "{taken}");
}

#[test]
fn a_cut_is_mended_in_the_last_file_and_refused_in_the_others() {
    let mut bench = Bench::new();
    let (whole, ends) = increment();
    let data: Vec<Command> = DATA.iter().map(|line| words(line)).collect();
    for form in [Form::Snapshot, Form::Commands] {
        let (name, base) = bench.base(form);
        for cut in 0..whole.len() {
            let good = *ends.iter().rfind(|&&end| end <= cut).expect("zero is one");
            let (state, len) = bench
                .load((name, &base), &whole[..cut], true)
                .unwrap_or_else(|why| panic!("cut at {cut}: {why}"));
            assert_eq!(len, good);
            let kept = strictly(&whole[..good]).expect("whole");
            assert_eq!(
                state,
                bench.play(&[data.clone(), kept].concat()),
                "cut at {cut}"
            );
            let strict = bench.load((name, &base), &whole[..cut], false);
            assert_eq!(strict.is_ok(), cut == good, "cut at {cut}");
        }
        for cut in 0..base.len() {
            let loaded = bench.load((name, &base[..cut]), &whole, true);
            // Whole commands are all that can be asked of a base without a checksum.
            let is_whole = form == Form::Commands && strictly(&base[..cut]).is_some();
            assert_eq!(loaded.is_ok(), is_whole, "{form:?} cut at {cut}");
        }
    }
}

#[test]
fn a_changed_byte_of_a_manifest_is_refused_or_leaves_the_data() {
    let mut bench = Bench::new();
    let (name, base) = bench.base(Form::Snapshot);
    let (increment, _) = increment();
    let (wanted, _) = bench
        .load((name, &base), &increment, true)
        .expect("whole files");
    let id = "0123456789abcdef0123456789abcdef01234567";
    let manifest = format!(
        "file {name} seq 1 type b\nfile a.1.incr.aof seq 1 type i startoffset 9 replid {id}\n"
    );
    let mut refused = 0;
    for (at, flipped) in flips(manifest.as_bytes()) {
        bench.clear();
        let disk = MemoryDisk::default();
        disk.put(Path::new("dir/a.manifest"), &flipped);
        disk.put(&Path::new("dir").join(name), &base);
        disk.put(Path::new("dir/a.1.incr.aof"), &increment);
        match bench.read(&disk, true) {
            Ok(()) => assert_eq!(bench.state(), wanted, "{}", flipped.escape_ascii()),
            Err(why) => {
                assert!(!why.is_empty(), "byte {at}");
                refused += 1;
            }
        }
    }
    assert!(refused > 200, "{refused}");
}
