//! Says whether data files are whole, without a server.

use super::aof::manifest::Manifest;
use super::aof::reader::{LogFault, LogReader};
use super::disk::Disk;
use super::rdb::snapshot::{Item, Reader};
use super::rdb::{Input, Limits};
use crate::settings::Settings;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What was found in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileReport {
    pub path: PathBuf,
    pub len: u64,
    /// Keys of a snapshot, or of one in front of a log.
    pub keys: u64,
    pub keys_with_deadline: u64,
    /// Libraries of functions in a snapshot.
    pub libraries: u64,
    /// Commands of a log.
    pub commands: u64,
    /// Up to here the file is whole.
    pub good_len: u64,
    /// What is wrong there, in words.
    pub fault: Option<String>,
    /// The file ends too early, and would be whole if it ended at `good_len`.
    pub torn: bool,
}

impl FileReport {
    pub fn is_whole(&self) -> bool {
        self.fault.is_none()
    }
}

impl fmt::Display for FileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} bytes, {} keys ({} with a deadline), {} libraries of functions, {} commands: ",
            self.path.display(),
            self.len,
            self.keys,
            self.keys_with_deadline,
            self.libraries,
            self.commands
        )?;
        match &self.fault {
            None => f.write_str("whole"),
            Some(fault) => write!(f, "{fault}, at offset {}", self.good_len),
        }
    }
}

/// Checks a snapshot, a log file, a manifest with its files, or a folder with a manifest.
pub fn check(disk: &dyn Disk, path: &Path) -> io::Result<Vec<FileReport>> {
    let names = disk.list(path).unwrap_or_default();
    let manifests: Vec<_> = names
        .iter()
        .filter(|name| {
            let name = name.to_string_lossy();
            name.ends_with(".manifest") && !name.starts_with("temp-")
        })
        .collect();
    if !manifests.is_empty() {
        let mut reports = Vec::new();
        for name in manifests {
            reports.extend(check_manifest(disk, &path.join(name))?);
        }
        return Ok(reports);
    }
    let mut start = [0; 6];
    let len = read_start(disk, path, &mut start)?;
    if start[..len].starts_with(b"file ") || path.extension().is_some_and(|end| end == "manifest") {
        return check_manifest(disk, path);
    }
    Ok(vec![check_file(disk, path)?])
}

fn read_start(disk: &dyn Disk, path: &Path, start: &mut [u8]) -> io::Result<usize> {
    let mut bytes = Vec::new();
    let wanted = start.len() as u64;
    disk.open(path)?.take(wanted).read_to_end(&mut bytes)?;
    start[..bytes.len()].copy_from_slice(&bytes);
    Ok(bytes.len())
}

fn check_manifest(disk: &dyn Disk, path: &Path) -> io::Result<Vec<FileReport>> {
    let mut text = String::new();
    disk.open(path)?.read_to_string(&mut text)?;
    let mut own = FileReport {
        path: path.to_path_buf(),
        len: text.len() as u64,
        good_len: text.len() as u64,
        ..FileReport::default()
    };
    let manifest = match Manifest::parse(&text) {
        Ok(manifest) => manifest,
        Err(why) => {
            own.good_len = 0;
            own.fault = Some(why);
            return Ok(vec![own]);
        }
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut reports = vec![own];
    let live: Vec<_> = manifest.live().collect();
    for (index, entry) in live.iter().enumerate() {
        let path = folder.join(&entry.name);
        let mut report = match disk.len(&path)? {
            Some(_) => check_file(disk, &path)?,
            None => FileReport {
                path,
                fault: Some("it is in the manifest and not on the disk".to_string()),
                ..FileReport::default()
            },
        };
        // Only the last file of a log can be torn by a crash.
        report.torn &= index + 1 == live.len();
        reports.push(report);
    }
    Ok(reports)
}

fn check_file(disk: &dyn Disk, path: &Path) -> io::Result<FileReport> {
    let mut report = FileReport {
        path: path.to_path_buf(),
        len: disk.len(path)?.unwrap_or(0),
        ..FileReport::default()
    };
    let mut start = [0; 6];
    let len = read_start(disk, path, &mut start)?;
    let source = disk.open(path)?;
    let is_snapshot = start[..len].starts_with(b"REDIS") || start[..len].starts_with(b"VALKEY");
    let input = if is_snapshot {
        match check_snapshot(source, &mut report) {
            Some(input) => input,
            None => return Ok(report),
        }
    } else {
        Input::new(source)
    };
    let named_snapshot = path.extension().is_some_and(|end| end == "rdb");
    if named_snapshot && !is_snapshot {
        report.fault = Some("it does not begin as a snapshot does".to_string());
        return Ok(report);
    }
    check_log(LogReader::after(input), &mut report)?;
    Ok(report)
}

fn check_snapshot<R: Read>(source: R, report: &mut FileReport) -> Option<Input<R>> {
    let limits = Limits::from(&Settings::default());
    let mut reader = match Reader::new(source, limits) {
        Ok(reader) => reader,
        Err(error) => {
            report.fault = Some(error.to_string());
            return None;
        }
    };
    loop {
        match reader.next_item() {
            Ok(Some(Item::Entry(entry))) => {
                report.keys += 1;
                report.keys_with_deadline += u64::from(entry.deadline.is_some());
            }
            Ok(Some(Item::Library(_))) => report.libraries += 1,
            Ok(Some(_)) => {}
            Ok(None) => {
                report.good_len = reader.offset();
                return Some(reader.into_input());
            }
            Err(error) => {
                report.good_len = reader.offset();
                report.fault = Some(error.to_string());
                return None;
            }
        }
    }
}

fn check_log<R: Read>(mut reader: LogReader<R>, report: &mut FileReport) -> io::Result<()> {
    loop {
        let next = reader.next_group();
        report.good_len = reader.good_len();
        match next {
            Ok(Some(group)) => report.commands += group.commands.len() as u64,
            Ok(None) => return Ok(()),
            Err(LogFault::Io(error)) => return Err(error),
            Err(LogFault::CutOff { good_len, .. }) => {
                report.good_len = good_len;
                report.torn = true;
                report.fault = Some("it ends inside a command or a group".to_string());
                return Ok(());
            }
            Err(LogFault::Broken { offset, what }) => {
                report.good_len = offset;
                report.fault = Some(what.to_string());
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persist::disk::memory::MemoryDisk;

    const COMMAND: &[u8] = b"*1\r\n$4\r\nPING\r\n";

    #[test]
    fn files_of_a_folder_are_checked_in_the_order_of_the_manifest() {
        let disk = MemoryDisk::default();
        let text = b"file a.1.incr.aof seq 1 type i\nfile a.2.incr.aof seq 2 type i\n";
        disk.put(Path::new("dir/a.manifest"), text);
        disk.put(Path::new("dir/a.1.incr.aof"), COMMAND);
        let torn = [COMMAND, b"*1\r\n$4\r\nPI"].concat();
        disk.put(Path::new("dir/a.2.incr.aof"), &torn);
        let reports = check(&disk, Path::new("dir")).expect("a folder");
        let brief: Vec<_> = reports
            .iter()
            .map(|report| (report.commands, report.is_whole(), report.torn))
            .collect();
        assert_eq!(
            brief,
            [(0, true, false), (1, true, false), (1, false, true)]
        );
        assert_eq!(reports[2].good_len, COMMAND.len() as u64);
        disk.put(Path::new("dir/a.1.incr.aof"), &torn);
        let reports = check(&disk, Path::new("dir")).expect("a folder");
        assert!(!reports[1].is_whole() && !reports[1].torn);
    }

    #[test]
    fn a_broken_middle_tells_its_offset_and_is_not_torn() {
        let disk = MemoryDisk::default();
        let bytes = [COMMAND, b"garbage", COMMAND].concat();
        disk.put(Path::new("a.aof"), &bytes);
        let reports = check(&disk, Path::new("a.aof")).expect("a file");
        assert_eq!(reports[0].good_len, COMMAND.len() as u64);
        assert!(!reports[0].torn && !reports[0].is_whole());
    }

    #[test]
    fn what_is_named_a_snapshot_has_to_be_one() {
        let disk = MemoryDisk::default();
        disk.put(Path::new("dump.rdb"), COMMAND);
        let reports = check(&disk, Path::new("dump.rdb")).expect("a file");
        assert!(!reports[0].is_whole());
        disk.put(
            Path::new("dump.rdb"),
            b"REDIS0010\xff\x00\x00\x00\x00\x00\x00\x00\x00",
        );
        let reports = check(&disk, Path::new("dump.rdb")).expect("a file");
        assert!(reports[0].is_whole(), "{}", reports[0]);
        assert!(check(&disk, Path::new("absent")).is_err());
    }
}
