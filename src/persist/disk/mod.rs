//! The disk as persistence sees it: few operations, each of which can fail.
//!
//! [`RealDisk`] is the file system. Tests have one in memory that fails or stops
//! at any operation they choose.

#[cfg(test)]
pub mod memory;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// A file system.
pub trait Disk: Send + Sync {
    /// Makes an empty file; an old one of the name is emptied.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file, made if absent, to write at its end.
    fn append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>>;
    /// The length of a file; None when there is none of the name.
    fn len(&self, path: &Path) -> io::Result<Option<u64>>;
    /// Cuts a file.
    fn truncate(&self, path: &Path, len: u64) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes a folder; one that is there is fine.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// The names in a folder; none when there is no folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// A file that is written.
pub trait DiskFile: Write + Send {
    /// Makes what was written durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file and goes on writing at its end.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

/// The file system of the machine.
pub struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(RealFile(File::create(path)?)))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(File::open(path)?))
    }

    fn len(&self, path: &Path) -> io::Result<Option<u64>> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(len)?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            other => other,
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        match fs::read_dir(folder) {
            Ok(entries) => entries
                .map(|entry| Ok(PathBuf::from(entry?.file_name())))
                .collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        File::open(folder)?.sync_all()
    }
}

struct RealFile(File);

impl Write for RealFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl DiskFile for RealFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)?;
        self.0.seek(io::SeekFrom::End(0)).map(|_| ())
    }
}

/// Puts a whole new file in the place of another: written aside, synced, renamed, name synced.
/// When it fails, the old file is as it was and nothing is left aside.
pub fn replace_file(
    disk: &dyn Disk,
    path: &Path,
    aside: &Path,
    write: impl FnOnce(&mut dyn DiskFile) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let written = (|| {
        let mut file = disk.create(aside)?;
        write(file.as_mut())?;
        file.sync()?;
        drop(file);
        disk.rename(aside, path)
    })();
    if let Err(error) = written {
        // What is aside is of no use; if it cannot be removed, it does no harm either.
        let _ = disk.remove(aside);
        return Err(error);
    }
    disk.sync_folder(folder)
}
