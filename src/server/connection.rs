//! One connection: reads, runs every complete request as one batch, writes once.

use super::Shared;
use super::busy;
use super::fiber::{Done, Fiber, Job, OwnedGuard};
use super::guard::{Guard, Hold};
use super::mailbox::{Closing, ConnectionMailbox, MailboxHandle};
use super::names::NameMemory;
use super::spare;
use crate::engine::client::{Client, ClientId, client_flags};
use crate::engine::dispatch::{Access, Outcome, access_for, may_run_script};
use crate::engine::session::Session;
use crate::engine::stats;
use crate::engine::table::Resolved;
use crate::engine::time::Moment;
use crate::limits;
use crate::resp::args::OwnedArgs;
use crate::resp::reply::{Protocol, Reply};
use crate::resp::request::{Decoded, RequestDecoder};
use std::future::poll_fn;
use std::io::Read;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::{Instant, Sleep};

/// The addresses of a connection, as CLIENT LIST shows them.
pub struct Addresses {
    pub peer: String,
    pub local: String,
    pub file_descriptor: i64,
    pub unix_socket: bool,
}

/// Ends the count of a connection when it is dropped, whichever way.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Relaxed);
    }
}

struct Connection<S> {
    stream: S,
    shared: Arc<Shared>,
    id: ClientId,
    client: Arc<Client>,
    mailbox: Arc<ConnectionMailbox>,
    /// Away while a command of it waits in the engine.
    session: Option<Box<Session>>,
    input: Vec<u8>,
    decoder: RequestDecoder,
    output: Reply,
    written: usize,
    state: State,
    timer: Option<Pin<Box<Sleep>>>,
    /// The script of this connection that let go of the thread.
    fiber: Option<Fiber>,
    names: NameMemory,
    /// Kept for the arguments of the next script.
    script_args: OwnedArgs,
    /// Where the effect stream has to be durable before the output may leave.
    gate: Option<u64>,
    /// Output for which the gate was asked.
    gated_len: usize,
    /// What is sent ahead of everything that is delivered.
    source: Option<Box<dyn Read + Send>>,
}

/// Whether requests may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    /// A command waits in the engine.
    Blocked,
    /// The server is paused, or kept by a script; the request at the front waits.
    Paused,
    /// A script of this connection runs in turns with other connections.
    Scripting,
    /// No more requests; ends when the output is written.
    Closing,
}

enum Event {
    Read(usize),
    Mail,
    Timer,
    Failed,
}

/// Serves one connection to its end. The connection is already counted in [`Shared::connections`].
pub async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    shared: Arc<Shared>,
    addresses: Addresses,
) {
    let _counted = Counted(shared.clone());
    let mut connection = Connection::open(stream, shared, addresses);
    connection.run().await;
    connection.finish_script().await;
    connection.leave().await;
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    fn open(stream: S, shared: Arc<Shared>, addresses: Addresses) -> Self {
        let id = shared.clients.next_id();
        let mailbox = Arc::new(ConnectionMailbox::new(
            shared.policy.clone(),
            shared.stats.clone(),
        ));
        let now = shared.time.now();
        let handle = Box::new(MailboxHandle(mailbox.clone()));
        let mut client = Client::new(id, addresses.peer, addresses.local, now.unix_ms(), handle);
        client.file_descriptor = addresses.file_descriptor;
        client.unix_socket = addresses.unix_socket;
        let client = Arc::new(client);
        shared.clients.add(client.clone());
        stats::count(&shared.stats.connections_received, 1);
        let authenticated = shared.acl.default_is_open();
        let mut decoder = RequestDecoder::new();
        decoder.limits_mut().authenticated = authenticated;
        let session = Box::new(Session::new(
            client.clone(),
            shared.acl.default_user(),
            authenticated,
            shared.fork_random(),
        ));
        Self {
            stream,
            shared,
            id,
            client,
            mailbox,
            session: Some(session),
            input: Vec::new(),
            decoder,
            output: Reply::new(Protocol::Resp2),
            written: 0,
            state: State::Open,
            timer: None,
            fiber: None,
            names: NameMemory::default(),
            script_args: OwnedArgs::new(),
            gate: None,
            gated_len: 0,
            source: None,
        }
    }

    async fn run(&mut self) {
        loop {
            if self.state == State::Scripting {
                self.resume_script();
                // The reactor gets its turn, and with it all other connections of this thread.
                tokio::task::yield_now().await;
                continue;
            }
            match poll_fn(|cx| self.poll_event(cx)).await {
                Event::Failed => return,
                Event::Read(count) => {
                    self.client.bytes_in.fetch_add(count as u64, Relaxed);
                    if self.state == State::Open {
                        self.run_batch();
                    }
                    self.note_input();
                    if self.input.len() > self.shared.policy.query_len_max() {
                        stats::count(&self.shared.stats.query_limit_disconnections, 1);
                        tracing::warn!(
                            "Closing client that reached max query buffer length: id={}",
                            self.id.0
                        );
                        return;
                    }
                }
                Event::Mail => {
                    if !self.take_mail() {
                        return;
                    }
                }
                Event::Timer => self.on_timer(),
            }
            // Whoever hears that a client is gone finds it gone, on another thread too.
            if self.session.as_ref().is_some_and(|session| session.close) {
                self.leave().await;
            }
            if self.output.len() > self.written
                && self.mailbox.over_limit(self.output.len() - self.written)
            {
                stats::count(&self.shared.stats.output_limit_disconnections, 1);
                tracing::warn!(
                    "Client id={} addr={} scheduled to be closed ASAP for overcoming of output buffer limits.",
                    self.id.0,
                    self.client.address
                );
                return;
            }
        }
    }

    /// Writes what is to be written and waits for the next thing to do.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        let may_leave = self.may_leave(cx);
        let mut chunks = 0;
        while may_leave && (self.written < self.output.len() || self.source.is_some()) {
            if self.written == self.output.len() {
                // Others get their turn.
                if chunks == limits::SOURCE_CHUNKS_MAX {
                    cx.waker().wake_by_ref();
                    break;
                }
                chunks += 1;
                if !self.refill() {
                    return Poll::Ready(Event::Failed);
                }
                continue;
            }
            match Pin::new(&mut self.stream).poll_write(cx, &self.output.as_bytes()[self.written..])
            {
                Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Poll::Ready(Event::Failed),
                Poll::Ready(Ok(count)) => {
                    self.written += count;
                    self.client.bytes_out.fetch_add(count as u64, Relaxed);
                }
                Poll::Pending => break,
            }
        }
        if self.written == self.output.len() {
            if self.written > 0 {
                spare::give_output(self.output.take());
                self.written = 0;
                self.gated_len = 0;
                self.mailbox.unwritten_bytes.store(0, Relaxed);
            }
            if self.state == State::Closing && self.source.is_none() {
                return Poll::Ready(Event::Failed);
            }
        }
        if self.mailbox.poll(cx) {
            return Poll::Ready(Event::Mail);
        }
        if let Some(timer) = &mut self.timer
            && timer.as_mut().poll(cx).is_ready()
        {
            self.timer = None;
            return Poll::Ready(Event::Timer);
        }
        if self.state == State::Closing {
            return Poll::Pending;
        }
        self.make_room();
        let read = pin!(self.stream.read_buf(&mut self.input));
        match read.poll(cx) {
            Poll::Pending => {
                if self.input.is_empty() {
                    spare::give_input(std::mem::take(&mut self.input));
                    self.mailbox.query_free_bytes.store(0, Relaxed);
                }
                Poll::Pending
            }
            Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => Poll::Ready(Event::Failed),
            Poll::Ready(Ok(count)) => Poll::Ready(Event::Read(count)),
        }
    }

    /// Takes the next bytes of the source into the output, which is written. False when it cannot be read.
    fn refill(&mut self) -> bool {
        let Some(source) = &mut self.source else {
            return true;
        };
        let mut chunk = vec![0; limits::SOURCE_CHUNK_LEN];
        let Ok(len) = source.read(&mut chunk) else {
            return false;
        };
        self.output.clear();
        self.written = 0;
        self.output.raw(&chunk[..len]);
        if len == 0 {
            self.source = None;
            self.client.set_flag(client_flags::REPLICA_ONLINE, true);
            self.mailbox.release();
        }
        true
    }

    /// Whether what the output tells of is as durable as appendfsync promises. The effects of every
    /// request that was answered are in the stream already, those of others that it may show too.
    fn may_leave(&mut self, cx: &Context<'_>) -> bool {
        if self.output.len() != self.gated_len {
            self.gated_len = self.output.len();
            self.gate = self.shared.log.gate();
        }
        match self.gate {
            Some(offset) if !self.shared.log.poll_durable(offset, cx.waker()) => false,
            _ => {
                self.gate = None;
                true
            }
        }
    }

    fn make_room(&mut self) {
        if self.input.capacity() == 0 {
            self.input = spare::take_input();
        }
        let free = self.input.capacity() - self.input.len();
        if free < limits::READ_LEN_MIN {
            self.input.reserve(limits::READ_LEN);
        }
    }

    /// Takes what others sent. False when the connection is to end now.
    fn take_mail(&mut self) -> bool {
        let output = &mut self.output;
        let mail = self.mailbox.take(&mut |bytes| output.raw(bytes));
        if let Some(source) = mail.source {
            self.source = Some(source);
        }
        if let Some(session) = mail.session {
            self.session = Some(session);
            self.timer = None;
            if self.state == State::Blocked {
                self.state = State::Open;
            }
        }
        match mail.closing {
            Some(Closing::Now) => return false,
            Some(Closing::AfterReplies) => self.state = State::Closing,
            None => {}
        }
        if mail.wake && self.state == State::Paused {
            self.timer = None;
            self.resume();
        }
        if self.state == State::Open && !self.input.is_empty() {
            self.run_batch();
        }
        true
    }

    fn on_timer(&mut self) {
        match self.state {
            State::Blocked => {
                // If it was served meanwhile, the mail is on its way.
                match self.shared.write() {
                    Some(mut engine) => {
                        engine.stop_waiting(self.id, None);
                    }
                    None => self.timer = Some(timer_in_ms(busy::RETRY_MS)),
                }
            }
            State::Paused => {
                self.resume();
                self.run_batch();
            }
            State::Open | State::Closing | State::Scripting => {}
        }
    }

    /// Ends a wait in place.
    fn resume(&mut self) {
        self.state = State::Open;
        self.client.set_flag(client_flags::BLOCKED, false);
    }

    /// Runs every complete request of the input.
    fn run_batch(&mut self) {
        let shared = self.shared.clone();
        let mut guard = Guard::new(&shared);
        if self.output.capacity() == 0 {
            self.output = Reply::with_buffer(spare::take_output(), self.output.protocol());
        }
        let mut now = shared.time.now();
        self.client
            .last_interaction_ms
            .store(now.unix_ms(), Relaxed);
        self.decoder.limits_mut().bulk_len_max = shared.policy.bulk_len_max();
        self.mailbox.query_bytes.store(self.input.len(), Relaxed);
        let mut position = 0;
        let mut requests = 0;
        let mut look_ahead_at = 1;
        while self.state == State::Open {
            match self.decoder.decode(&self.input[position..]) {
                Ok(Decoded::Incomplete) => break,
                Ok(Decoded::Request { consumed }) => {
                    if self.run_request(&mut guard, position, &mut now) {
                        position += consumed;
                        requests += 1;
                        if requests == look_ahead_at && position < self.input.len() {
                            look_ahead_at += self.look_ahead(&guard, position, now);
                        }
                    }
                    let pending = self.output.len() - self.written;
                    if requests >= limits::BATCH_REQUESTS_MAX || pending >= limits::BATCH_OUTPUT_MAX
                    {
                        // Others get their turn; the rest of the input is taken up when the mailbox wakes us.
                        let rest = self.input.len() > position;
                        if rest && self.state == State::Open {
                            self.client.mailbox.wake();
                        }
                        break;
                    }
                }
                Err(error) => {
                    error.write(&mut self.output);
                    stats::count(&shared.stats.error_replies, 1);
                    self.state = State::Closing;
                    position = self.input.len();
                }
            }
        }
        drop(guard);
        self.consume(position);
    }

    /// Asks for the memory of the requests at `position`; returns after how many to do so again.
    fn look_ahead(&self, guard: &Guard<'_>, position: usize, now: Moment) -> usize {
        match (guard.held(), &self.session, self.names.command) {
            (Some(engine), Some(session), Some(command)) => {
                engine.look_ahead(session.db, command, &self.input[position..], now.unix_ms())
            }
            _ => limits::LOOK_AHEAD_REQUESTS_MAX,
        }
    }

    fn consume(&mut self, position: usize) {
        if position >= self.input.len() {
            self.input.clear();
        } else if position > 0 {
            self.input.drain(..position);
        }
        self.note_input();
    }

    /// Shows others how much of the input waits.
    fn note_input(&self) {
        self.mailbox.query_bytes.store(self.input.len(), Relaxed);
        self.mailbox
            .query_free_bytes
            .store(self.input.capacity() - self.input.len(), Relaxed);
    }

    /// Runs the request just decoded at `position`. False when it has to wait for a pause to end.
    fn run_request(&mut self, guard: &mut Guard<'_>, position: usize, now: &mut Moment) -> bool {
        let args = self.decoder.args(&self.input[position..]);
        if args.is_empty() {
            return true;
        }
        let resolved = self.names.resolve(self.shared.table, args);
        if resolved.is_err() && is_http(args.arg(0)) {
            tracing::warn!(
                "A client sends HTTP, perhaps by the will of a page it shows: closing its connection"
            );
            // Replies to what came before would only feed the page.
            self.written = self.output.len();
            self.state = State::Closing;
            return true;
        }
        let Some(session) = self.session.as_mut() else {
            return false;
        };
        let mut access = if self.shared.threads == 1 {
            Access::Exclusive
        } else {
            access_for(session, resolved)
        };
        if self.mailbox.has_mail() {
            let output = &mut self.output;
            let mail = self.mailbox.take(&mut |bytes| output.raw(bytes));
            if let Some(source) = mail.source {
                self.source = Some(source);
            }
            if let Some(closing) = mail.closing {
                self.state = State::Closing;
                if closing == Closing::Now {
                    self.written = self.output.len();
                }
                return true;
            }
        }
        self.output.set_protocol(session.protocol);
        if may_run_script(self.shared.table, session, resolved)
            && let Some(engine) = guard.take_owned()
        {
            return self.start_script(guard, engine, resolved, position, now);
        }
        let paused_ms = loop {
            match guard.hold(access) {
                Hold::Shared(engine) => {
                    match engine.execute_shared(session, resolved, args, &mut self.output, now) {
                        Outcome::MustWrite => {
                            access = Access::Exclusive;
                            continue;
                        }
                        // A reader does not see how long the pause is; it asks again soon.
                        Outcome::Paused => break Some(busy::RETRY_MS),
                        Outcome::Done | Outcome::Block(..) => break None,
                    }
                }
                Hold::Exclusive(engine) => {
                    match engine.execute(session, resolved, args, &mut self.output, now) {
                        Outcome::Block(command, block) => {
                            let wait_ms = block
                                .deadline_ms
                                .map(|deadline_ms| deadline_ms - now.unix_ms());
                            if let Some(session) = self.session.take() {
                                engine.wait(session, command, args, block, *now);
                            }
                            self.state = State::Blocked;
                            self.timer = wait_ms.map(timer_in_ms);
                            return true;
                        }
                        Outcome::Paused => break Some(engine.pause_until_ms() - now.unix_ms()),
                        Outcome::Done | Outcome::MustWrite => break None,
                    }
                }
                Hold::Busy => {
                    match busy::answer(&self.shared, session, resolved, args, &mut self.output) {
                        busy::Answer::Done => break None,
                        busy::Answer::Later => {
                            self.wait_in_place(busy::RETRY_MS);
                            return false;
                        }
                    }
                }
            }
        };
        if !session.met_expired.is_empty() {
            match guard.hold(Access::Exclusive) {
                Hold::Exclusive(engine) => engine.expire_met_keys(session, *now),
                // The expiry cycle will find them.
                Hold::Shared(_) | Hold::Busy => session.met_expired.clear(),
            }
        }
        if let Some(wait_ms) = paused_ms {
            self.client.set_flag(client_flags::BLOCKED, true);
            self.wait_in_place(wait_ms);
            return false;
        }
        self.after_request();
        true
    }

    /// The request at the front is tried again in so many milliseconds.
    fn wait_in_place(&mut self, wait_ms: i64) {
        self.state = State::Paused;
        self.timer = Some(timer_in_ms(wait_ms));
    }

    /// Runs the request just decoded, which may run a script, on a fiber.
    fn start_script(
        &mut self,
        guard: &mut Guard<'_>,
        engine: OwnedGuard,
        resolved: Resolved,
        position: usize,
        now: &mut Moment,
    ) -> bool {
        let Some(session) = self.session.take() else {
            return false;
        };
        let mut args = std::mem::take(&mut self.script_args);
        args.copy_from(self.decoder.args(&self.input[position..]));
        let reply = std::mem::take(&mut self.output);
        let fiber = Fiber::new(Job {
            guard: engine,
            session,
            resolved,
            args,
            reply,
            now: *now,
        });
        let mut fiber = match fiber {
            Ok(fiber) => fiber,
            Err(error) => {
                // The job is gone with its session and its replies.
                tracing::error!("No memory for the stack of a script: {error}");
                self.state = State::Closing;
                return true;
            }
        };
        match fiber.resume(&self.shared.busy) {
            Some(done) => {
                *now = done.job.now;
                let paused = matches!(done.outcome, Outcome::Paused);
                let engine = self.take_back(done);
                if paused {
                    self.client.set_flag(client_flags::BLOCKED, true);
                    self.wait_in_place(engine.pause_until_ms() - now.unix_ms());
                }
                guard.give_back(engine);
                return !paused;
            }
            None => {
                self.fiber = Some(fiber);
                self.state = State::Scripting;
            }
        }
        true
    }

    /// Takes over what a finished script leaves; the engine's lock is the caller's again.
    fn take_back(&mut self, done: Done) -> OwnedGuard {
        let Job {
            guard,
            session,
            args,
            reply,
            ..
        } = done.job;
        self.session = Some(session);
        self.output = reply;
        self.script_args = args;
        self.after_request();
        guard
    }

    /// Lets the script of this connection run on for a moment.
    fn resume_script(&mut self) {
        let Some(mut fiber) = self.fiber.take() else {
            self.state = State::Open;
            return;
        };
        match fiber.resume(&self.shared.busy) {
            Some(done) => {
                self.state = State::Open;
                let mut engine = self.take_back(done);
                engine.broadcast_invalidations();
                drop(engine);
                if self.state == State::Open && !self.input.is_empty() {
                    self.run_batch();
                }
            }
            None => self.fiber = Some(fiber),
        }
    }

    /// A connection that is to end waits for its script: what it does to data is done whole.
    async fn finish_script(&mut self) {
        while self.fiber.is_some() {
            self.state = State::Closing;
            if let Some(mut fiber) = self.fiber.take() {
                match fiber.resume(&self.shared.busy) {
                    Some(done) => self.take_back(done).broadcast_invalidations(),
                    None => self.fiber = Some(fiber),
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// Takes over what the command changed about the connection.
    fn after_request(&mut self) {
        let Some(session) = self.session.as_ref() else {
            return;
        };
        self.decoder.limits_mut().authenticated =
            session.authenticated || self.shared.acl.default_is_open();
        if session.is_subscriber() != self.mailbox.subscriber.load(Relaxed) {
            self.mailbox
                .subscriber
                .store(session.is_subscriber(), Relaxed);
        }
        if session.close {
            self.state = State::Closing;
        }
    }

    /// Takes the connection out of the engine; its last replies may still be on their way.
    async fn leave(&mut self) {
        let shared = self.shared.clone();
        self.client.set_flag(client_flags::CLOSE_AFTER_REPLY, true);
        shared
            .with_engine(|engine| {
                if engine.forget_waiting(self.id) {
                    return;
                }
                let mail = self.mailbox.take(&mut |_| {});
                if let Some(mut session) = self.session.take().or(mail.session) {
                    engine.forget(&mut session);
                }
            })
            .await;
        shared.clients.remove(self.id);
    }
}

/// Whether a request's first word is one that only HTTP sends. A web page can make a browser post
/// commands to a server on the same machine; Redis closes such connections too.
fn is_http(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"POST") || word.eq_ignore_ascii_case(b"Host:")
}

fn timer_in_ms(wait_ms: i64) -> Pin<Box<Sleep>> {
    let wait = std::time::Duration::from_millis(wait_ms.clamp(0, limits::WAIT_MS_MAX) as u64);
    Box::pin(tokio::time::sleep_until(Instant::now() + wait))
}
