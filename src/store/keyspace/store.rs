//! All databases of a server.

use super::Db;

/// The databases by index.
pub struct Store {
    dbs: Vec<Db>,
    /// Content that was taken out while a snapshot walks over it.
    retired: Vec<Db>,
}

impl Store {
    /// `count` empty databases whose hashes are keyed by `seed`, which must be secret and
    /// differ from process to process.
    pub fn new(count: usize, seed: impl Into<u128>) -> Self {
        let seed = seed.into();
        let dbs = (0..count as u128)
            .map(|index| Db::new(seed ^ (index << 64)))
            .collect();
        Store {
            dbs,
            retired: Vec::new(),
        }
    }

    /// Keeps content that was taken out for the snapshot that walks over it; handed back when there is none.
    pub fn retire(&mut self, old: Db) -> Option<Db> {
        if old.watch_id().is_none() {
            return Some(old);
        }
        self.retired.push(old);
        None
    }

    /// The content that has this watch, wherever it is by now.
    pub fn watched(&self, watch: usize) -> Option<&Db> {
        let all = self.dbs.iter().chain(&self.retired);
        all.into_iter().find(|db| db.watch_id() == Some(watch))
    }

    /// The same, to change it.
    pub fn watched_mut(&mut self, watch: usize) -> Option<&mut Db> {
        let all = self.dbs.iter_mut().chain(&mut self.retired);
        all.into_iter().find(|db| db.watch_id() == Some(watch))
    }

    /// Ends all watches; the content that was kept for them is handed out to be dropped.
    pub fn end_watches(&mut self) -> Vec<Db> {
        self.dbs.iter_mut().for_each(|db| db.set_watch(None));
        std::mem::take(&mut self.retired)
    }

    /// Databases, not keys.
    pub fn len(&self) -> usize {
        self.dbs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.dbs.is_empty()
    }

    /// Keys in all databases.
    pub fn keys_len(&self) -> usize {
        self.dbs.iter().map(Db::len).sum()
    }

    pub fn db(&self, index: usize) -> Option<&Db> {
        self.dbs.get(index)
    }

    pub fn db_mut(&mut self, index: usize) -> Option<&mut Db> {
        self.dbs.get_mut(index)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Db> {
        self.dbs.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Db> {
        self.dbs.iter_mut()
    }

    /// Two different databases at once, for COPY and MOVE; `None` when an index is out of
    /// range or both are the same.
    pub fn two_mut(&mut self, first: usize, second: usize) -> Option<(&mut Db, &mut Db)> {
        let [first, second] = self.dbs.get_disjoint_mut([first, second]).ok()?;
        Some((first, second))
    }

    /// Exchanges the content of two databases; false when an index is out of range.
    pub fn swap(&mut self, first: usize, second: usize) -> bool {
        let known = first < self.dbs.len() && second < self.dbs.len();
        if known {
            self.dbs.swap(first, second);
        }
        known
    }

    /// Empties all databases. The old content is handed out, so that it can be dropped
    /// where it doesn't hold up anyone.
    pub fn clear(&mut self) -> Vec<Db> {
        self.dbs.iter_mut().map(Db::clear).collect()
    }
}

impl std::ops::Index<usize> for Store {
    type Output = Db;

    fn index(&self, index: usize) -> &Db {
        &self.dbs[index]
    }
}

impl std::ops::IndexMut<usize> for Store {
    fn index_mut(&mut self, index: usize) -> &mut Db {
        &mut self.dbs[index]
    }
}
