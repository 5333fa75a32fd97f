//! A snapshot on its way to its file: written aside, and put in place when it is whole.

use super::disk::{Disk, DiskFile};
use super::form::{Form, Writer};
use super::rdb::opcode;
use super::rdb::snapshot::{CHECKSUM_LEN, Clocks, Head};
use crate::limits::{SNAPSHOT_PIECE_LEN, SNAPSHOT_SYNC_LEN};
use crate::store::keyspace::Store;
use crc_fast::{CrcAlgorithm, Digest};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a snapshot is written.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotStyle {
    pub form: Form,
    pub compress: bool,
    pub checksum: bool,
    pub clocks: Clocks,
    /// Bytes go to disk bit by bit instead of all at the end.
    pub incremental_sync: bool,
}

/// The file under way. Dropped before [`SnapshotFile::finish`], it leaves nothing behind.
pub struct SnapshotFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    aside: PathBuf,
    file: Option<Box<dyn DiskFile>>,
    form: Form,
    digest: Option<Digest>,
    incremental_sync: bool,
    written: u64,
    unsynced: usize,
}

impl SnapshotFile {
    /// Starts a file that will be `path` and is `aside` until it is whole.
    pub fn begin(
        disk: Arc<dyn Disk>,
        path: &Path,
        aside: &Path,
        style: SnapshotStyle,
    ) -> io::Result<Self> {
        let file = disk.create(aside)?;
        Ok(SnapshotFile {
            disk,
            path: path.to_path_buf(),
            aside: aside.to_path_buf(),
            file: Some(file),
            form: style.form,
            digest: style
                .checksum
                .then(|| Digest::new(CrcAlgorithm::Crc64Redis)),
            incremental_sync: style.incremental_sync,
            written: 0,
            unsynced: 0,
        })
    }

    /// Appends a piece.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        self.write_raw(bytes)
    }

    fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = self.file.as_mut().ok_or_else(finished)?;
        file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        self.unsynced += bytes.len();
        if self.incremental_sync && self.unsynced >= SNAPSHOT_SYNC_LEN {
            self.unsynced = 0;
            file.sync()?;
        }
        Ok(())
    }

    /// Writes the end and puts the file in place; its length.
    pub fn finish(mut self) -> io::Result<u64> {
        if self.form == Form::Snapshot {
            self.write(&[opcode::EOF])?;
            let checksum = self.digest.as_ref().map_or(0, Digest::finalize);
            let footer: [u8; CHECKSUM_LEN] = checksum.to_le_bytes();
            self.write_raw(&footer)?;
        }
        let mut file = self.file.take().ok_or_else(finished)?;
        let placed = file.sync().and_then(|()| {
            drop(file);
            self.disk.rename(&self.aside, &self.path)
        });
        if let Err(error) = placed {
            // What is aside is of no use; if it cannot be removed, it does no harm either.
            let _ = self.disk.remove(&self.aside);
            return Err(error);
        }
        self.disk
            .sync_folder(self.path.parent().unwrap_or(Path::new("")))?;
        Ok(self.written)
    }
}

fn finished() -> io::Error {
    io::Error::other("the snapshot is finished already")
}

impl Drop for SnapshotFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = self.disk.remove(&self.aside);
        }
    }
}

/// Writes a whole snapshot in one go; its length.
pub fn write_all(
    disk: Arc<dyn Disk>,
    path: &Path,
    aside: &Path,
    style: SnapshotStyle,
    head: &Head,
    store: &Store,
) -> io::Result<u64> {
    let mut file = SnapshotFile::begin(disk, path, aside, style)?;
    let mut out = Writer::new(style.form, style.compress);
    out.head(head);
    for (index, db) in store.iter().enumerate().filter(|(_, db)| !db.is_empty()) {
        out.db(index, db.len(), db.expires_len());
        for entry in db.iter() {
            out.entry(&entry, style.clocks);
            if out.bytes().len() >= SNAPSHOT_PIECE_LEN {
                file.write(out.bytes())?;
                out.clear();
            }
        }
    }
    file.write(out.bytes())?;
    file.finish()
}
