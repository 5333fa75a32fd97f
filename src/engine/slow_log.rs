//! Commands that took long (SLOWLOG).

use super::secrets;
use super::session::Session;
use super::spec::Flags;
use super::table::Command;
use super::time::Moment;
use crate::resp::args::Args;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most arguments of a command that an entry keeps, the note about the rest included (Redis: SLOWLOG_ENTRY_MAX_ARGC).
const ENTRY_ARGS_MAX: usize = 32;

/// Most bytes of an argument that an entry keeps (Redis: SLOWLOG_ENTRY_MAX_STRING).
const ENTRY_ARG_LEN_MAX: usize = 128;

/// One slow command.
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: u64,
    pub unix_s: i64,
    pub duration_us: u64,
    pub args: Vec<Vec<u8>>,
    pub address: String,
    pub name: Vec<u8>,
}

/// The newest slow commands, newest first. Readers beside each other may add.
pub struct SlowLog {
    /// Microseconds from which a command is slow; negative for never, 0 for always.
    threshold_us: AtomicI64,
    entries_max: AtomicUsize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    entries: VecDeque<Entry>,
    next_id: u64,
}

impl SlowLog {
    pub fn new(threshold_us: i64, entries_max: usize) -> Self {
        Self {
            threshold_us: AtomicI64::new(threshold_us),
            entries_max: AtomicUsize::new(entries_max),
            inner: Mutex::default(),
        }
    }

    /// Applies changed settings.
    pub fn configure(&self, threshold_us: i64, entries_max: usize) {
        self.threshold_us.store(threshold_us, Relaxed);
        self.entries_max.store(entries_max, Relaxed);
        self.lock().entries.truncate(entries_max);
    }

    /// Adds the command if it was slow.
    #[inline]
    pub fn offer(
        &self,
        command: &Command,
        args: Args<'_>,
        duration_ns: u64,
        session: &Session,
        now: Moment,
    ) {
        let threshold_us = self.threshold_us.load(Relaxed);
        if threshold_us < 0
            || duration_ns / 1_000 < threshold_us as u64
            || command.flags.contains(Flags::SKIP_SLOWLOG)
        {
            return;
        }
        let hidden = secrets::positions(command, args);
        self.add(args, &hidden, duration_ns / 1_000, session, now);
    }

    fn add(
        &self,
        args: Args<'_>,
        hidden: &[usize],
        duration_us: u64,
        session: &Session,
        now: Moment,
    ) {
        let entries_max = self.entries_max.load(Relaxed);
        if entries_max == 0 {
            return;
        }
        let name = session.client.names().name.clone();
        let mut inner = self.lock();
        let id = inner.next_id;
        inner.next_id += 1;
        inner.entries.push_front(Entry {
            id,
            unix_s: now.unix_us / 1_000_000,
            duration_us,
            args: shortened(args, hidden),
            address: session.client.address.clone(),
            name,
        });
        inner.entries.truncate(entries_max);
    }

    /// The newest `count` entries.
    pub fn newest(&self, count: usize) -> Vec<Entry> {
        self.lock().entries.iter().take(count).cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn reset(&self) {
        self.lock().entries.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shortened(args: Args<'_>, hidden: &[usize]) -> Vec<Vec<u8>> {
    let shown = if args.len() > ENTRY_ARGS_MAX {
        ENTRY_ARGS_MAX - 1
    } else {
        args.len()
    };
    let mut out: Vec<Vec<u8>> = args
        .iter()
        .take(shown)
        .enumerate()
        .map(|(at, arg)| {
            if hidden.contains(&at) {
                return secrets::HIDDEN.to_vec();
            }
            if arg.len() <= ENTRY_ARG_LEN_MAX {
                return arg.to_vec();
            }
            let mut cut = arg[..ENTRY_ARG_LEN_MAX].to_vec();
            cut.extend_from_slice(
                format!("... ({} more bytes)", arg.len() - ENTRY_ARG_LEN_MAX).as_bytes(),
            );
            cut
        })
        .collect();
    if shown < args.len() {
        out.push(format!("... ({} more arguments)", args.len() - shown).into_bytes());
    }
    out
}
