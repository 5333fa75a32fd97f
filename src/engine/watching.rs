//! Watched keys: who watches what, and whether a watch still holds.
//!
//! That a key changed is noted where it changes ([`Engine::key_changed`](super::Engine::key_changed)).

use super::Engine;
use super::client::Client;
use super::session::Session;
use super::time::Moment;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A client that watches a key.
pub(super) struct Watcher {
    pub client: Arc<Client>,
    /// The key was past its deadline already, so that its removal is no change.
    pub was_expired: bool,
}

impl Engine {
    /// Starts to watch a key of the session's database.
    pub fn watch(&mut self, session: &mut Session, key: &[u8], now: Moment) {
        let name = (session.db, Box::from(key));
        if session.watched.contains(&name) {
            return;
        }
        let was_expired = self.db(session.db).is_expired(key, now.unix_ms());
        session.watched.push(name.clone());
        let watcher = Watcher {
            client: session.client.clone(),
            was_expired,
        };
        self.watchers.entry(name).or_default().push(watcher);
    }

    /// Forgets all watched keys of a session.
    pub fn unwatch(&mut self, session: &mut Session) {
        for name in std::mem::take(&mut session.watched) {
            if let Some(watchers) = self.watchers.get_mut(&name) {
                watchers.retain(|watcher| watcher.client.id != session.client.id);
                if watchers.is_empty() {
                    self.watchers.remove(&name);
                }
            }
        }
        session.client.watch_broken.store(false, Relaxed);
    }

    /// Whether a watched key changed, or fell to its deadline since the watch began.
    pub fn watch_is_broken(&self, session: &Session, now: Moment) -> bool {
        let fell = |name: &(usize, Box<[u8]>)| {
            let me = |watcher: &&Watcher| watcher.client.id == session.client.id;
            let watcher = self
                .watchers
                .get(name)
                .and_then(|watchers| watchers.iter().find(me));
            watcher.is_some_and(|watcher| !watcher.was_expired)
                && self.db(name.0).is_expired(&name.1, now.unix_ms())
        };
        session.client.watch_broken.load(Relaxed) || session.watched.iter().any(fell)
    }

    /// Number of keys that someone watches.
    pub fn watched_key_count(&self) -> usize {
        self.watchers.len()
    }
}

/// Looks up a watched key without owning its name.
pub(super) trait WatchName {
    fn parts(&self) -> (usize, &[u8]);
}

impl WatchName for (usize, Box<[u8]>) {
    fn parts(&self) -> (usize, &[u8]) {
        (self.0, &self.1)
    }
}

impl WatchName for (usize, &[u8]) {
    fn parts(&self) -> (usize, &[u8]) {
        (self.0, self.1)
    }
}

impl<'a> std::borrow::Borrow<dyn WatchName + 'a> for (usize, Box<[u8]>) {
    fn borrow(&self) -> &(dyn WatchName + 'a) {
        self
    }
}

impl PartialEq for dyn WatchName + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn WatchName + '_ {}

impl std::hash::Hash for dyn WatchName + '_ {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let (db, key) = self.parts();
        db.hash(state);
        key.hash(state);
    }
}
