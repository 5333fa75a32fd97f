//! A disk in memory that fails or stops at the operation a test chooses.
//!
//! What was written and not synced is in danger: after a crash it is there, gone,
//! or there by half, as [`Survival`] says. Names (created, renamed, removed) are
//! in danger until their folder is synced.

use super::{Disk, DiskFile};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a crash leaves of things that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    Nothing,
    Half,
    All,
}

/// What happens at the chosen operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// This operation fails, the next ones work.
    Fault,
    /// This operation and all later ones fail, as if the machine had stopped.
    Crash,
}

type Content = Arc<Mutex<Bytes>>;

#[derive(Clone, Default)]
struct Bytes {
    written: Vec<u8>,
    synced: Vec<u8>,
}

#[derive(Default)]
struct State {
    names: BTreeMap<PathBuf, Content>,
    synced_names: BTreeMap<PathBuf, Content>,
    operations: usize,
    trouble: Option<(usize, Trouble)>,
    crashed: bool,
}

/// A disk in memory; clones are the same disk.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<State>>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryDisk {
    /// Lets the operation number `at`, counted from now and from 0, go wrong.
    pub fn trouble_at(&self, at: usize, trouble: Trouble) {
        let mut state = lock(&self.0);
        let at = state.operations + at;
        state.trouble = Some((at, trouble));
    }

    /// Changing operations so far.
    pub fn operations(&self) -> usize {
        lock(&self.0).operations
    }

    pub fn has_crashed(&self) -> bool {
        lock(&self.0).crashed
    }

    /// The disk as the next start finds it.
    pub fn after_crash(&self, survival: Survival) -> MemoryDisk {
        let state = lock(&self.0);
        let names = match survival {
            Survival::All => &state.names,
            Survival::Nothing | Survival::Half => &state.synced_names,
        };
        let found: BTreeMap<PathBuf, Content> = names
            .iter()
            .map(|(name, content)| {
                let content = lock(content);
                let bytes = match survival {
                    Survival::All => content.written.clone(),
                    Survival::Nothing => content.synced.clone(),
                    Survival::Half if content.written.len() > content.synced.len() => {
                        let half = (content.written.len() + content.synced.len()) / 2;
                        content.written[..half].to_vec()
                    }
                    Survival::Half => content.synced.clone(),
                };
                let bytes = Bytes {
                    synced: bytes.clone(),
                    written: bytes,
                };
                (name.clone(), Arc::new(Mutex::new(bytes)))
            })
            .collect();
        MemoryDisk(Arc::new(Mutex::new(State {
            synced_names: found.clone(),
            names: found,
            ..State::default()
        })))
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let content = lock(&self.0).names.get(path).cloned()?;
        let bytes = lock(&content).written.clone();
        Some(bytes)
    }

    /// Puts a file there, durable.
    pub fn put(&self, path: &Path, bytes: &[u8]) {
        let content = Arc::new(Mutex::new(Bytes {
            written: bytes.to_vec(),
            synced: bytes.to_vec(),
        }));
        let mut state = lock(&self.0);
        state.names.insert(path.to_path_buf(), content.clone());
        state.synced_names.insert(path.to_path_buf(), content);
    }

    /// Counts an operation that changes something; an error when it is to fail.
    fn step(&self) -> io::Result<()> {
        let mut state = lock(&self.0);
        let number = state.operations;
        state.operations += 1;
        if state.crashed {
            return Err(io::Error::other("the disk is gone"));
        }
        match state.trouble {
            Some((at, Trouble::Fault)) if at == number => {
                Err(io::Error::from_raw_os_error(libc::EIO))
            }
            Some((at, Trouble::Crash)) if at == number => {
                state.crashed = true;
                Err(io::Error::other("the disk is gone"))
            }
            _ => Ok(()),
        }
    }

    fn file(&self, content: Content) -> Box<dyn DiskFile> {
        Box::new(MemoryFile {
            disk: self.clone(),
            content,
        })
    }

    fn find(&self, path: &Path) -> io::Result<Content> {
        lock(&self.0)
            .names
            .get(path)
            .cloned()
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

impl Disk for MemoryDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.step()?;
        let content = Content::default();
        lock(&self.0)
            .names
            .insert(path.to_path_buf(), content.clone());
        Ok(self.file(content))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.step()?;
        let content = lock(&self.0)
            .names
            .entry(path.to_path_buf())
            .or_default()
            .clone();
        Ok(self.file(content))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let content = self.find(path)?;
        let bytes = lock(&content).written.clone();
        Ok(Box::new(io::Cursor::new(bytes)))
    }

    fn len(&self, path: &Path) -> io::Result<Option<u64>> {
        Ok(self
            .find(path)
            .ok()
            .map(|content| lock(&content).written.len() as u64))
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.step()?;
        let content = self.find(path)?;
        let mut bytes = lock(&content);
        bytes.written.truncate(len as usize);
        bytes.synced = bytes.written.clone();
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        let mut state = lock(&self.0);
        let content = state
            .names
            .remove(from)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        state.names.insert(to.to_path_buf(), content);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        lock(&self.0)
            .names
            .remove(path)
            .map(|_| ())
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn create_folder(&self, _path: &Path) -> io::Result<()> {
        self.step()
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(lock(&self.0)
            .names
            .keys()
            .filter(|path| path.parent() == Some(folder))
            .filter_map(|path| path.file_name())
            .map(PathBuf::from)
            .collect())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step()?;
        let mut state = lock(&self.0);
        state
            .synced_names
            .retain(|path, _| path.parent() != Some(folder));
        let present: Vec<_> = state
            .names
            .iter()
            .filter(|(path, _)| path.parent() == Some(folder))
            .map(|(path, content)| (path.clone(), content.clone()))
            .collect();
        state.synced_names.extend(present);
        Ok(())
    }
}

struct MemoryFile {
    disk: MemoryDisk,
    content: Content,
}

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.disk.step() {
            // A write that fails may leave a part behind.
            let part = &bytes[..bytes.len() / 2];
            lock(&self.content).written.extend_from_slice(part);
            return Err(error);
        }
        lock(&self.content).written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        self.disk.step()?;
        let mut bytes = lock(&self.content);
        bytes.synced = bytes.written.clone();
        Ok(())
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.disk.step()?;
        lock(&self.content).written.truncate(len as usize);
        Ok(())
    }
}
