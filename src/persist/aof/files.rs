//! The files of the log: which there are, and how they are exchanged.
//!
//! Every change writes its files first and the manifest last. What is not in the
//! manifest any more is removed afterwards; a crash in between leaves files that
//! nobody reads.

use super::manifest::{Entry, Manifest, Role};
use crate::persist::disk::{Disk, DiskFile, replace_file};
use crate::persist::form::Form;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files below one folder.
#[derive(Clone)]
pub struct LogFiles {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// First part of all names.
    prefix: String,
    manifest: Manifest,
}

impl LogFiles {
    /// Reads the manifest; None when there is no log.
    pub fn open(disk: Arc<dyn Disk>, folder: &Path, prefix: &str) -> io::Result<Option<Self>> {
        let path = folder.join(format!("{prefix}.manifest"));
        if disk.len(&path)?.is_none() {
            return Ok(None);
        }
        let mut text = String::new();
        disk.open(&path)?.read_to_string(&mut text)?;
        let manifest = Manifest::parse(&text).map_err(|why| {
            invalid(format!(
                "Error reading the manifest {}: {why}",
                path.display()
            ))
        })?;
        let files = LogFiles {
            disk,
            folder: folder.to_path_buf(),
            prefix: prefix.to_string(),
            manifest,
        };
        for entry in files.manifest.live() {
            if files.len(entry)?.is_none() {
                return Err(invalid(format!(
                    "The AOF file {} is in the manifest and cannot be opened: No such file or directory",
                    entry.name
                )));
            }
        }
        Ok(Some(files))
    }

    /// A log without files yet. Non-empty files of its names that no manifest tells of are refused.
    pub fn new(disk: Arc<dyn Disk>, folder: &Path, prefix: &str) -> io::Result<Self> {
        for name in disk.list(folder)? {
            let text = name.to_string_lossy();
            let ours = text.starts_with(&format!("{prefix}."))
                && (text.ends_with(".aof") || text.ends_with(".rdb"));
            if ours && disk.len(&folder.join(&name))?.unwrap_or(0) > 0 {
                return Err(invalid(format!(
                    "There is a log file {text} in {} and no manifest that tells what it is; not starting over it",
                    folder.display()
                )));
            }
        }
        Ok(LogFiles {
            disk,
            folder: folder.to_path_buf(),
            prefix: prefix.to_string(),
            manifest: Manifest::default(),
        })
    }

    /// Takes a log of one file, as Redis before version 7 wrote it, as the base.
    pub fn adopt(&mut self, old: &Path) -> io::Result<()> {
        self.disk.create_folder(&self.folder)?;
        let name = self.prefix.clone();
        let entry = Entry {
            name: name.clone(),
            seq: 1,
            role: Role::Base,
            start_offset: None,
            replication_id: None,
        };
        let manifest = Manifest {
            base: Some(entry),
            ..Manifest::default()
        };
        // The manifest first: a crash before the file is moved is mended by the next start.
        self.write_manifest(&manifest)?;
        self.disk.rename(old, &self.folder.join(name))?;
        self.disk.sync_folder(&self.folder)?;
        self.manifest = manifest;
        Ok(())
    }

    /// Ends an adoption that a crash cut off between its two steps.
    pub fn finish_adoption(
        disk: &dyn Disk,
        folder: &Path,
        prefix: &str,
        old: &Path,
    ) -> io::Result<()> {
        let manifest = folder.join(format!("{prefix}.manifest"));
        let place = folder.join(prefix);
        if disk.len(&manifest)?.is_none() || disk.len(&place)?.is_some() || disk.len(old)?.is_none()
        {
            return Ok(());
        }
        let mut text = String::new();
        disk.open(&manifest)?.read_to_string(&mut text)?;
        let names_it = Manifest::parse(&text)
            .is_ok_and(|manifest| manifest.base.is_some_and(|base| base.name == prefix));
        if names_it {
            disk.rename(old, &place)?;
            disk.sync_folder(folder)?;
        }
        Ok(())
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub fn path(&self, entry: &Entry) -> PathBuf {
        self.folder.join(&entry.name)
    }

    /// The length of a file.
    pub fn len(&self, entry: &Entry) -> io::Result<Option<u64>> {
        self.disk.len(&self.path(entry))
    }

    pub fn read(&self, entry: &Entry) -> io::Result<Box<dyn Read + Send>> {
        self.disk.open(&self.path(entry))
    }

    /// Cuts a file.
    pub fn cut(&self, entry: &Entry, len: u64) -> io::Result<()> {
        self.disk.truncate(&self.path(entry), len)
    }

    /// Bytes of all files that count, and of the base.
    pub fn sizes(&self) -> io::Result<(u64, u64)> {
        let mut all = 0;
        for entry in self.manifest.live() {
            all += self.len(entry)?.unwrap_or(0);
        }
        let base = match &self.manifest.base {
            Some(base) => self.len(base)?.unwrap_or(0),
            None => 0,
        };
        Ok((all, base))
    }

    /// Opens the last increment to go on with it; a new one when there is none.
    pub fn resume(&mut self, offset: u64, replication_id: &str) -> io::Result<Box<dyn DiskFile>> {
        match self.manifest.increments.last() {
            Some(last) => self.disk.append(&self.path(last)),
            None => self.start_increment(offset, replication_id),
        }
    }

    /// Starts a new increment, which begins at `offset` of the effect stream.
    pub fn start_increment(
        &mut self,
        offset: u64,
        replication_id: &str,
    ) -> io::Result<Box<dyn DiskFile>> {
        self.disk.create_folder(&self.folder)?;
        let seq = self.manifest.next_increment_seq();
        let entry = Entry {
            name: format!("{}.{seq}.incr.aof", self.prefix),
            seq,
            role: Role::Increment,
            start_offset: Some(offset),
            replication_id: Some(replication_id.to_string()),
        };
        let file = self.disk.create(&self.path(&entry))?;
        self.disk.sync_folder(&self.folder)?;
        let mut manifest = self.manifest.clone();
        manifest.increments.push(entry);
        self.write_manifest(&manifest)?;
        self.manifest = manifest;
        Ok(file)
    }

    /// Where a base is written before it counts.
    pub fn base_aside(&self) -> PathBuf {
        self.folder
            .join(format!("temp-rewriteaof-{}.aof", std::process::id()))
    }

    /// Puts a new base, which stands where the last increment begins, in the place of everything before it.
    pub fn exchange_base(&mut self, aside: &Path, form: Form) -> io::Result<()> {
        let seq = self.manifest.next_base_seq();
        let entry = Entry {
            name: format!("{}.{seq}.base.{}", self.prefix, ending(form)),
            seq,
            role: Role::Base,
            start_offset: None,
            replication_id: None,
        };
        self.disk.rename(aside, &self.path(&entry))?;
        self.disk.sync_folder(&self.folder)?;
        let mut manifest = self.manifest.clone();
        let last = manifest.increments.pop();
        let old = manifest.base.take();
        for mut entry in old.into_iter().chain(manifest.increments.drain(..)) {
            entry.role = Role::History;
            manifest.history.push(entry);
        }
        manifest.base = Some(entry);
        manifest.increments.extend(last);
        self.write_manifest(&manifest)?;
        self.manifest = manifest;
        Ok(())
    }

    /// Puts a base and an increment behind it in the place of all files.
    pub fn start_over(
        &mut self,
        base_aside: &Path,
        form: Form,
        increment_aside: &Path,
        offset: u64,
        replication_id: &str,
    ) -> io::Result<()> {
        let seq = self.manifest.next_increment_seq();
        let increment = Entry {
            name: format!("{}.{seq}.incr.aof", self.prefix),
            seq,
            role: Role::Increment,
            start_offset: Some(offset),
            replication_id: Some(replication_id.to_string()),
        };
        let path = self.path(&increment);
        self.disk.rename(increment_aside, &path)?;
        let before = self.manifest.clone();
        self.manifest.increments.push(increment);
        let exchanged = self.exchange_base(base_aside, form);
        if exchanged.is_err() {
            self.manifest = before;
        }
        exchanged
    }

    /// Removes what was replaced. A file that cannot be removed is tried again the next time.
    pub fn remove_history(&mut self) -> io::Result<()> {
        if self.manifest.history.is_empty() {
            return Ok(());
        }
        let mut manifest = self.manifest.clone();
        let disk = &self.disk;
        let folder = &self.folder;
        manifest
            .history
            .retain(|entry| match disk.remove(&folder.join(&entry.name)) {
                Ok(()) => false,
                Err(error) => error.kind() != io::ErrorKind::NotFound,
            });
        self.write_manifest(&manifest)?;
        self.manifest = manifest;
        Ok(())
    }

    fn write_manifest(&self, manifest: &Manifest) -> io::Result<()> {
        let path = self.folder.join(format!("{}.manifest", self.prefix));
        let aside = self.folder.join(format!("temp-{}.manifest", self.prefix));
        let text = manifest.to_text();
        replace_file(self.disk.as_ref(), &path, &aside, |file| {
            file.write_all(text.as_bytes())
        })
    }
}

/// How the name of a base ends.
fn ending(form: Form) -> &'static str {
    match form {
        Form::Snapshot => "rdb",
        Form::Commands => "aof",
    }
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
