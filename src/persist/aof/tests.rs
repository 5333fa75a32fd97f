//! The log's files: manifests there and back, readers at every cut, exchanges at every crash.

use super::files::LogFiles;
use super::manifest::Manifest;
use super::reader::{LogFault, LogReader};
use crate::persist::disk::memory::{MemoryDisk, Survival, Trouble};
use crate::persist::disk::{Disk, DiskFile};
use crate::persist::form::Form;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

#[test]
fn manifests_come_back_and_strangers_are_passed_over() {
    let text = "file appendonly.aof.2.base.rdb seq 2 type b\n\
                file appendonly.aof.1.incr.aof seq 1 type h\n\
                file appendonly.aof.4.incr.aof seq 4 type i startoffset 17 replid abc\n\
                file \"with space.5.incr.aof\" seq 5 type i startoffset 20\n";
    let manifest = Manifest::parse(text).expect("a manifest");
    assert_eq!(Manifest::parse(&manifest.to_text()).as_ref(), Ok(&manifest));
    assert_eq!(manifest.live().count(), 3);
    assert_eq!(manifest.increments[1].name, "with space.5.incr.aof");
    let of_redis_8 = "# a remark\nfile a.1.incr.aof seq 1 type i startoffset 0 endoffset 0\n";
    let manifest = Manifest::parse(of_redis_8).expect("a manifest");
    assert_eq!(manifest.increments[0].start_offset, Some(0));
}

#[test]
fn broken_manifests_are_refused() {
    let cases = [
        "",
        "file a seq 1 type b",
        "file a seq 1\n",
        "file a seq 1 type x\n",
        "file a seq x type b\n",
        "file ../a seq 1 type b\n",
        "seq 1 type b other x\n",
        "file a seq 1 type b\nfile b seq 2 type b\n",
        "file a seq 2 type i\nfile b seq 1 type i\n",
        "\n",
    ];
    for case in cases {
        assert!(Manifest::parse(case).is_err(), "{case:?}");
    }
}

/// Reads all groups; how many commands there were and how it ended.
fn read(bytes: &[u8]) -> (usize, u64, Option<LogFault>) {
    let mut reader = LogReader::new(bytes);
    let mut commands = 0;
    loop {
        match reader.next_group() {
            Ok(Some(group)) => commands += group.commands.len(),
            Ok(None) => return (commands, reader.good_len(), None),
            Err(fault) => return (commands, reader.good_len(), Some(fault)),
        }
    }
}

const LOG: &[u8] = b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n#TS:12345\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n\
    *1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n$4\r\nEXEC\r\n";

#[test]
fn every_cut_is_found_at_the_last_whole_group() {
    assert!(matches!(read(LOG), (4, len, None) if len == LOG.len() as u64));
    let mut commands_before = 0;
    for at in 0..LOG.len() {
        let (commands, good_len, fault) = read(&LOG[..at]);
        assert!(commands >= commands_before);
        commands_before = commands;
        match fault {
            None => assert_eq!(good_len, at as u64),
            Some(LogFault::CutOff { good_len: cut, .. }) => {
                assert_eq!(good_len, cut);
                // What is left after the cut is whole.
                let (again, _, none) = read(&LOG[..cut as usize]);
                assert!(none.is_none());
                assert_eq!(again, commands);
            }
            Some(other) => panic!("cut at {at}: {other:?}"),
        }
    }
}

#[test]
fn broken_bytes_never_panic_and_framing_faults_tell_their_offset() {
    let mut starts: Vec<usize> = (0..LOG.len())
        .filter(|&at| b"*#".contains(&LOG[at]))
        .collect();
    starts.push(LOG.len());
    for at in 0..LOG.len() {
        for bit in 0..8 {
            let mut broken = LOG.to_vec();
            broken[at] ^= 1 << bit;
            let (_, _, fault) = read(&broken);
            // A MULTI that became another word is missed only at its EXEC.
            let is_framing = |what| what != "EXEC without MULTI";
            if let Some(LogFault::Broken { offset, what }) = fault
                && is_framing(what)
            {
                // A smaller count is noticed where the command should have ended, and a
                // remark that lost its end takes a line of the next command along.
                let next = starts.partition_point(|&start| start <= at);
                let latest = starts[(next + 1).min(starts.len() - 1)];
                assert!(offset <= latest as u64, "byte {at}");
            }
        }
    }
    let (_, _, fault) = read(b"*1\r\n$4\r\nPING\r\nxyz");
    assert!(matches!(fault, Some(LogFault::Broken { offset: 14, .. })));
    let (_, _, fault) = read(b"*1\r\n$99999999999\r\n");
    assert!(matches!(fault, Some(LogFault::Broken { offset: 0, .. })));
}

fn write(file: &mut dyn DiskFile, text: &str) -> std::io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.sync()
}

/// Writes, rewrites and goes on; `done` counts the pieces that were acknowledged.
fn live(disk: &MemoryDisk, done: &mut usize) -> std::io::Result<()> {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut files = LogFiles::new(shared, Path::new("dir"), "a")?;
    let mut file = files.resume(0, "id")?;
    for round in 0..3 {
        write(file.as_mut(), &format!("[{}]", *done))?;
        *done += 1;
        let so_far = *done;
        let mut next = files.start_increment(so_far as u64, "id")?;
        write(next.as_mut(), &format!("[{so_far}]"))?;
        *done += 1;
        file = next;
        if round != 1 {
            let aside = files.base_aside();
            let mut base = disk.create(&aside)?;
            let all: String = (0..so_far).map(|number| format!("[{number}]")).collect();
            write(base.as_mut(), &all)?;
            files.exchange_base(&aside, Form::Snapshot)?;
            files.remove_history()?;
        }
    }
    Ok(())
}

#[test]
fn nothing_acknowledged_is_lost_whatever_operation_the_disk_stops_at() {
    let mut crashes = 0;
    for at in 0.. {
        let disk = MemoryDisk::default();
        disk.trouble_at(at, Trouble::Crash);
        let mut done = 0;
        let ended = live(&disk, &mut done);
        for survival in [Survival::Nothing, Survival::Half, Survival::All] {
            let found: Arc<dyn Disk> = Arc::new(disk.after_crash(survival));
            let files = LogFiles::open(found, Path::new("dir"), "a").expect("a whole manifest");
            let mut text = String::new();
            if let Some(files) = files {
                for entry in files.manifest().live() {
                    let mut file = files.read(entry).expect("a file");
                    file.read_to_string(&mut text).expect("text");
                }
            } else {
                assert_eq!(done, 0);
            }
            let wanted: String = (0..done).map(|number| format!("[{number}]")).collect();
            assert!(
                text.starts_with(&wanted),
                "crash {at} {survival:?}: {text} instead of {wanted}"
            );
        }
        if ended.is_ok() {
            break;
        }
        crashes += 1;
    }
    assert!(crashes > 30, "{crashes}");
}
