//! ACL LOG: what was refused of late, the newest first.

use crate::limits::{ACL_LOG_GROUP_MS, ACL_LOG_GROUP_SCAN_MAX};
use std::collections::VecDeque;

/// What was missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    Command,
    Key,
    Channel,
    Auth,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::Command => "command",
            Reason::Key => "key",
            Reason::Channel => "channel",
            Reason::Auth => "auth",
        }
    }
}

/// Where a call came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    TopLevel,
    Multi,
    Script,
}

impl Context {
    pub fn name(self) -> &'static str {
        match self {
            Context::TopLevel => "toplevel",
            Context::Multi => "multi",
            Context::Script => "lua",
        }
    }
}

/// A refusal, before it has a place in the log.
pub struct Refused {
    pub reason: Reason,
    pub context: Context,
    /// The command, key or channel that was refused.
    pub object: Vec<u8>,
    pub user: Vec<u8>,
    /// The client's line of CLIENT LIST.
    pub client: Vec<u8>,
    pub at_ms: i64,
}

/// One line of the log, which may stand for several refusals of the same kind.
#[derive(Clone)]
pub struct Entry {
    pub id: u64,
    pub count: u64,
    pub reason: Reason,
    pub context: Context,
    pub object: Vec<u8>,
    pub user: Vec<u8>,
    pub client: Vec<u8>,
    pub created_ms: i64,
    pub updated_ms: i64,
}

/// The log; its length is bounded.
#[derive(Default)]
pub struct AclLog {
    entries: VecDeque<Entry>,
    next_id: u64,
    len_max: usize,
}

impl AclLog {
    /// acllog-max-len.
    pub fn set_len_max(&mut self, len_max: usize) {
        self.len_max = len_max;
        self.entries.truncate(len_max);
    }

    /// Notes a refusal. One like those of the last minute that still stand near the top is counted with them.
    pub fn note(&mut self, refused: Refused) {
        let alike = |entry: &Entry| {
            entry.reason == refused.reason
                && entry.context == refused.context
                && (refused.at_ms - entry.updated_ms).abs() <= ACL_LOG_GROUP_MS
                && entry.object == refused.object
                && entry.user == refused.user
        };
        let known = self
            .entries
            .iter()
            .take(ACL_LOG_GROUP_SCAN_MAX)
            .position(alike);
        if let Some(mut entry) = known.and_then(|at| self.entries.remove(at)) {
            entry.count += 1;
            entry.client = refused.client;
            entry.updated_ms = refused.at_ms;
            self.entries.push_front(entry);
            return;
        }
        self.entries.push_front(Entry {
            id: self.next_id,
            count: 1,
            reason: refused.reason,
            context: refused.context,
            object: refused.object,
            user: refused.user,
            client: refused.client,
            created_ms: refused.at_ms,
            updated_ms: refused.at_ms,
        });
        self.next_id += 1;
        self.entries.truncate(self.len_max);
    }

    /// The newest entries.
    pub fn newest(&self, count: usize) -> Vec<Entry> {
        self.entries.iter().take(count).cloned().collect()
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(object: &str, at_ms: i64) -> Refused {
        Refused {
            reason: Reason::Key,
            context: Context::TopLevel,
            object: object.into(),
            user: b"ann".to_vec(),
            client: format!("id={at_ms}").into_bytes(),
            at_ms,
        }
    }

    fn shown(log: &AclLog) -> Vec<(u64, u64, String)> {
        let shown = |entry: Entry| {
            let object = String::from_utf8(entry.object).unwrap();
            (entry.id, entry.count, object)
        };
        log.newest(usize::MAX).into_iter().map(shown).collect()
    }

    #[test]
    fn the_same_refusal_is_counted_and_comes_to_the_top() {
        let mut log = AclLog::default();
        log.set_len_max(8);
        log.note(refused("a", 1_000));
        log.note(refused("b", 2_000));
        log.note(refused("a", 61_000));
        assert_eq!(shown(&log), [(0, 2, "a".into()), (1, 1, "b".into())]);
        let top = &log.newest(1)[0];
        assert_eq!((top.created_ms, top.updated_ms), (1_000, 61_000));
        assert_eq!(top.client, b"id=61000");
        log.note(refused("a", 121_001));
        assert_eq!(shown(&log)[0], (2, 1, "a".into()));
    }

    #[test]
    fn other_reasons_contexts_and_users_stand_apart() {
        let mut log = AclLog::default();
        log.set_len_max(8);
        log.note(refused("a", 1));
        let others = [
            Refused {
                reason: Reason::Channel,
                ..refused("a", 1)
            },
            Refused {
                context: Context::Script,
                ..refused("a", 1)
            },
            Refused {
                user: b"bob".to_vec(),
                ..refused("a", 1)
            },
        ];
        for other in others {
            log.note(other);
        }
        assert_eq!(log.newest(9).len(), 4);
    }

    #[test]
    fn only_entries_near_the_top_are_joined() {
        let mut log = AclLog::default();
        log.set_len_max(100);
        log.note(refused("a", 1));
        for other in 0..ACL_LOG_GROUP_SCAN_MAX {
            log.note(refused(&format!("other {other}"), 1));
        }
        log.note(refused("a", 1));
        assert_eq!(log.newest(1)[0].count, 1);
    }

    #[test]
    fn the_log_keeps_its_bound() {
        let mut log = AclLog::default();
        log.set_len_max(2);
        for name in ["a", "b", "c"] {
            log.note(refused(name, 1));
        }
        assert_eq!(shown(&log), [(2, 1, "c".into()), (1, 1, "b".into())]);
        log.set_len_max(1);
        assert_eq!(log.newest(9).len(), 1);
        log.set_len_max(0);
        log.note(refused("d", 1));
        assert!(log.newest(9).is_empty());
    }
}
