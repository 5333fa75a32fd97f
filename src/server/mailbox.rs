//! The way to a connection from other connections and threads.
//!
//! Bytes keep their order; what a slow reader leaves unread is bounded by the
//! output limits, beyond which the connection is ended and its bytes dropped.

use super::policy::{ConnectionPolicy, OutputClass};
use crate::engine::client::{Mailbox, MailboxUsage};
use crate::engine::session::Session;
use crate::engine::stats::{Stats, count};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

/// How a connection is to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closing {
    Now,
    AfterReplies,
}

/// One connection's mailbox.
pub struct ConnectionMailbox {
    state: Mutex<State>,
    /// Something is in `state`; lets the connection pass by without the lock.
    has_mail: AtomicBool,
    /// The connection has a subscription, so that the limit of subscribers holds.
    pub subscriber: AtomicBool,
    /// The peer follows the effect stream, so that the limit of replicas holds.
    pub replica: AtomicBool,
    /// Bytes in the connection's own buffers, for CLIENT LIST and the limits.
    pub query_bytes: AtomicUsize,
    pub query_free_bytes: AtomicUsize,
    pub unwritten_bytes: AtomicUsize,
    policy: Arc<ConnectionPolicy>,
    stats: Arc<Stats>,
}

#[derive(Default)]
struct State {
    messages: VecDeque<Bytes>,
    bytes: usize,
    /// What waits until the source was sent.
    held: Option<VecDeque<Bytes>>,
    source: Option<Box<dyn Read + Send>>,
    waker: Option<Waker>,
    session: Option<Box<Session>>,
    wake: bool,
    closing: Option<Closing>,
    over_soft_limit_since: Option<Instant>,
}

/// What was in the mailbox.
#[derive(Default)]
pub struct Mail {
    pub session: Option<Box<Session>>,
    pub closing: Option<Closing>,
    pub wake: bool,
    /// To be sent to its end, and then [`ConnectionMailbox::release`] called.
    pub source: Option<Box<dyn Read + Send>>,
}

impl ConnectionMailbox {
    pub fn new(policy: Arc<ConnectionPolicy>, stats: Arc<Stats>) -> Self {
        Self {
            state: Mutex::default(),
            has_mail: AtomicBool::new(false),
            subscriber: AtomicBool::new(false),
            replica: AtomicBool::new(false),
            query_bytes: AtomicUsize::new(0),
            query_free_bytes: AtomicUsize::new(0),
            unwritten_bytes: AtomicUsize::new(0),
            policy,
            stats,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub fn has_mail(&self) -> bool {
        self.has_mail.load(Relaxed)
    }

    /// Whether there is mail; wakes the task of `cx` when some comes.
    pub fn poll(&self, cx: &Context<'_>) -> bool {
        let mut state = self.lock();
        if self.has_mail.load(Relaxed) {
            return true;
        }
        match &state.waker {
            Some(waker) if waker.will_wake(cx.waker()) => {}
            _ => state.waker = Some(cx.waker().clone()),
        }
        false
    }

    /// Takes everything; bytes go behind `out`.
    pub fn take(&self, out: &mut impl FnMut(&[u8])) -> Mail {
        let mut state = self.lock();
        for message in state.messages.drain(..) {
            out(&message);
        }
        state.messages.shrink_to(64);
        state.bytes = held_bytes(&state);
        self.has_mail.store(false, Relaxed);
        Mail {
            session: state.session.take(),
            closing: state.closing,
            wake: std::mem::take(&mut state.wake),
            source: state.source.take(),
        }
    }

    /// The source was sent: what was held follows.
    pub fn release(&self) {
        let mut state = self.lock();
        if let Some(held) = state.held.take() {
            state.messages.extend(held);
            self.announce(&mut state);
        }
    }

    fn class(&self) -> OutputClass {
        if self.replica.load(Relaxed) {
            OutputClass::Replica
        } else if self.subscriber.load(Relaxed) {
            OutputClass::Subscriber
        } else {
            OutputClass::Normal
        }
    }

    /// Checks what waits to be written against the limits; true when the connection has to end.
    pub fn over_limit(&self, unwritten_bytes: usize) -> bool {
        self.unwritten_bytes.store(unwritten_bytes, Relaxed);
        if unwritten_bytes == 0 {
            return false;
        }
        let mut state = self.lock();
        self.check_limit(&mut state)
    }

    fn check_limit(&self, state: &mut State) -> bool {
        let limit = self.policy.output_limit(self.class());
        let bytes = (state.bytes + self.unwritten_bytes.load(Relaxed)) as u64;
        let over = |max: u64| max > 0 && bytes > max;
        if over(limit.soft_bytes) {
            let since = *state.over_soft_limit_since.get_or_insert_with(Instant::now);
            if since.elapsed().as_secs() > limit.soft_seconds {
                return true;
            }
        } else {
            state.over_soft_limit_since = None;
        }
        over(limit.hard_bytes)
    }

    /// Ends a connection that is over its limits; true when it was.
    fn end_over_limit(&self, state: &mut State) -> bool {
        if !self.check_limit(state) {
            return false;
        }
        count(&self.stats.output_limit_disconnections, 1);
        state.messages.clear();
        state.held = None;
        state.bytes = 0;
        state.closing = Some(Closing::Now);
        true
    }

    fn announce(&self, state: &mut State) {
        self.has_mail.store(true, Relaxed);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

/// Bytes that wait for the source to be sent.
fn held_bytes(state: &State) -> usize {
    let held = state.held.iter().flatten();
    held.map(Bytes::len).sum()
}

/// The shared handle that the engine gets.
pub struct MailboxHandle(pub Arc<ConnectionMailbox>);

impl Mailbox for MailboxHandle {
    fn deliver(&self, bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        let mut state = self.0.lock();
        if state.closing == Some(Closing::Now) {
            return;
        }
        state.bytes += bytes.len();
        match &mut state.held {
            Some(held) => held.push_back(bytes),
            None => state.messages.push_back(bytes),
        }
        self.0.end_over_limit(&mut state);
        self.0.announce(&mut state);
    }

    fn check_limits(&self) {
        let mut state = self.0.lock();
        if state.closing != Some(Closing::Now) && self.0.end_over_limit(&mut state) {
            self.0.announce(&mut state);
        }
    }

    fn hold(&self) {
        let mut state = self.0.lock();
        self.0.replica.store(true, Relaxed);
        state.held.get_or_insert_default();
    }

    fn nudge(&self, bytes: Bytes) {
        let mut state = self.0.lock();
        state.bytes += bytes.len();
        state.messages.push_back(bytes);
        self.0.announce(&mut state);
    }

    fn send(&self, source: Box<dyn Read + Send>) {
        let mut state = self.0.lock();
        state.source = Some(source);
        self.0.announce(&mut state);
    }

    fn unblock(&self, session: Box<Session>) {
        let mut state = self.0.lock();
        state.session = Some(session);
        self.0.announce(&mut state);
    }

    fn wake(&self) {
        let mut state = self.0.lock();
        state.wake = true;
        self.0.announce(&mut state);
    }

    fn close(&self, after_replies: bool) {
        let mut state = self.0.lock();
        if state.closing != Some(Closing::Now) {
            state.closing = Some(if after_replies {
                Closing::AfterReplies
            } else {
                Closing::Now
            });
        }
        self.0.announce(&mut state);
    }

    fn usage(&self) -> MailboxUsage {
        let state = self.0.lock();
        let query_bytes = self.0.query_bytes.load(Relaxed);
        let query_free_bytes = self.0.query_free_bytes.load(Relaxed);
        let output_bytes = state.bytes + self.0.unwritten_bytes.load(Relaxed);
        MailboxUsage {
            query_bytes,
            query_free_bytes,
            output_bytes,
            output_messages: state.messages.len(),
            memory_bytes: query_bytes + query_free_bytes + output_bytes + size_of::<Session>(),
        }
    }
}
