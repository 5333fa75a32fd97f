//! One connection: reads, runs every complete request as one batch, writes once.

use super::Shared;
use super::mailbox::{Closing, ConnectionMailbox, MailboxHandle};
use crate::engine::client::{Client, ClientId, client_flags};
use crate::engine::dispatch::{Access, Outcome, access_for};
use crate::engine::session::Session;
use crate::engine::time::Moment;
use crate::engine::{Engine, stats};
use crate::limits;
use crate::resp::reply::{Protocol, Reply};
use crate::resp::request::{Decoded, RequestDecoder};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};
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
}

/// Whether requests may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    /// A command waits in the engine.
    Blocked,
    /// The server is paused; the request at the front waits.
    Paused,
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
    connection.close();
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    fn open(stream: S, shared: Arc<Shared>, addresses: Addresses) -> Self {
        let id = shared.clients.next_id();
        let mailbox = Arc::new(ConnectionMailbox::new(shared.limits.clone()));
        let now = shared.time.now();
        let handle = Box::new(MailboxHandle(mailbox.clone()));
        let mut client = Client::new(id, addresses.peer, addresses.local, now.unix_ms(), handle);
        client.file_descriptor = addresses.file_descriptor;
        client.unix_socket = addresses.unix_socket;
        let client = Arc::new(client);
        shared.clients.add(client.clone());
        let (authenticated, decoder) = {
            let engine = shared.read();
            stats::count(&engine.stats.connections_received, 1);
            let authenticated = engine.settings.requirepass.is_empty();
            let mut decoder = RequestDecoder::new();
            decoder.limits_mut().bulk_len_max = engine.settings.proto_max_bulk_len;
            decoder.limits_mut().authenticated = authenticated;
            (authenticated, decoder)
        };
        let session = Box::new(Session::new(
            client.clone(),
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
        }
    }

    async fn run(&mut self) {
        loop {
            match poll_fn(|cx| self.poll_event(cx)).await {
                Event::Failed => return,
                Event::Read(count) => {
                    self.client.bytes_in.fetch_add(count as u64, Relaxed);
                    if self.state == State::Open {
                        self.run_batch();
                    } else if self.input.len() > limits::QUERY_BUFFER_WHILE_WAITING_MAX {
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
            if self.output.len() > self.written
                && self.mailbox.over_limit(self.output.len() - self.written)
            {
                self.shared.limits.disconnections.fetch_add(1, Relaxed);
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
        while self.written < self.output.len() {
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
                self.output.clear();
                self.output.shrink_to(limits::OUTPUT_KEPT_MAX);
                self.written = 0;
                self.mailbox.unwritten_bytes.store(0, Relaxed);
            }
            if self.state == State::Closing {
                return Poll::Ready(Event::Failed);
            }
        }
        if self.mailbox.poll(cx) {
            return Poll::Ready(Event::Mail);
        }
        if let Some(timer) = &mut self.timer {
            if timer.as_mut().poll(cx).is_ready() {
                self.timer = None;
                return Poll::Ready(Event::Timer);
            }
        }
        if self.state == State::Closing {
            return Poll::Pending;
        }
        self.make_room();
        let read = pin!(self.stream.read_buf(&mut self.input));
        match read.poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => Poll::Ready(Event::Failed),
            Poll::Ready(Ok(count)) => Poll::Ready(Event::Read(count)),
        }
    }

    fn make_room(&mut self) {
        if self.input.is_empty() && self.input.capacity() > limits::INPUT_KEPT_MAX {
            self.input = Vec::new();
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
            self.state = State::Open;
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
                self.shared.write().stop_waiting(self.id, None);
            }
            State::Paused => {
                self.state = State::Open;
                self.run_batch();
            }
            State::Open | State::Closing => {}
        }
    }

    /// Runs every complete request of the input.
    fn run_batch(&mut self) {
        let shared = self.shared.clone();
        let mut guard = Guard {
            shared: &shared,
            held: Held::None,
        };
        let mut now = shared.time.now();
        self.client
            .last_interaction_ms
            .store(now.unix_ms(), Relaxed);
        self.mailbox.query_bytes.store(self.input.len(), Relaxed);
        let mut position = 0;
        let mut requests = 0;
        while self.state == State::Open {
            match self.decoder.decode(&self.input[position..]) {
                Ok(Decoded::Incomplete) => break,
                Ok(Decoded::Request { consumed }) => {
                    if self.run_request(&mut guard, position, &mut now) {
                        position += consumed;
                        requests += 1;
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
                    let stats = match guard.hold(Access::Shared) {
                        Hold::Shared(engine) => &engine.stats,
                        Hold::Exclusive(engine) => &engine.stats,
                    };
                    stats::count(&stats.error_replies, 1);
                    self.state = State::Closing;
                    position = self.input.len();
                }
            }
        }
        drop(guard);
        self.consume(position);
    }

    fn consume(&mut self, position: usize) {
        if position >= self.input.len() {
            self.input.clear();
        } else if position > 0 {
            self.input.drain(..position);
        }
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
        if is_http(args.arg(0)) {
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
        let access = if self.shared.threads == 1 {
            Access::Exclusive
        } else {
            access_for(self.shared.table, session, args)
        };
        if self.mailbox.has_mail() {
            let output = &mut self.output;
            let mail = self.mailbox.take(&mut |bytes| output.raw(bytes));
            if let Some(closing) = mail.closing {
                self.state = State::Closing;
                if closing == Closing::Now {
                    self.written = self.output.len();
                }
                return true;
            }
        }
        self.output.set_protocol(session.protocol);
        let outcome = match guard.hold(access) {
            Hold::Shared(engine) => engine.execute_shared(session, args, &mut self.output, now),
            Hold::Exclusive(engine) => {
                let outcome = engine.execute(session, args, &mut self.output, now);
                match outcome {
                    Outcome::Block(command, block) => {
                        let deadline_ms = block.deadline_ms;
                        let now_ms = now.unix_ms();
                        if let Some(session) = self.session.take() {
                            engine.wait(session, command, args, block, *now);
                        }
                        self.state = State::Blocked;
                        self.timer =
                            deadline_ms.map(|deadline_ms| timer_in_ms(deadline_ms - now_ms));
                        return true;
                    }
                    other => other,
                }
            }
        };
        if matches!(outcome, Outcome::Paused) {
            let until_ms = match guard.hold(access) {
                Hold::Shared(engine) => engine.pause_until_ms(),
                Hold::Exclusive(engine) => engine.pause_until_ms(),
            };
            self.state = State::Paused;
            let wait_ms = until_ms - now.unix_ms();
            self.timer = Some(timer_in_ms(wait_ms));
            return false;
        }
        self.after_request();
        true
    }

    /// Takes over what the command changed about the connection.
    fn after_request(&mut self) {
        let Some(session) = self.session.as_ref() else {
            return;
        };
        self.decoder.limits_mut().authenticated = session.authenticated;
        if session.is_subscriber() != self.mailbox.subscriber.load(Relaxed) {
            self.mailbox
                .subscriber
                .store(session.is_subscriber(), Relaxed);
        }
        if session.close {
            self.state = State::Closing;
        }
    }

    /// Takes the connection out of the engine.
    fn close(&mut self) {
        let shared = self.shared.clone();
        let mut engine = shared.write();
        if engine.forget_waiting(self.id) {
            return;
        }
        let output = &mut self.output;
        let mail = self.mailbox.take(&mut |bytes| output.raw(bytes));
        if let Some(mut session) = self.session.take().or(mail.session) {
            engine.forget(&mut session);
        }
        shared.clients.remove(self.id);
        self.client.set_flag(client_flags::CLOSE_AFTER_REPLY, true);
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

/// The engine's lock as far as a batch has needed it.
struct Guard<'s> {
    shared: &'s Shared,
    held: Held<'s>,
}

enum Held<'s> {
    None,
    Shared(RwLockReadGuard<'s, Engine>),
    Exclusive(RwLockWriteGuard<'s, Engine>),
}

enum Hold<'g> {
    Shared(&'g Engine),
    Exclusive(&'g mut Engine),
}

impl<'s> Guard<'s> {
    /// The engine with at least the given access; what is held already is kept.
    fn hold(&mut self, access: Access) -> Hold<'_> {
        match (&self.held, access) {
            (Held::Exclusive(_), _) | (Held::Shared(_), Access::Shared) => {}
            (_, Access::Exclusive) => {
                self.held = Held::None;
                self.held = Held::Exclusive(self.shared.write());
            }
            (Held::None, Access::Shared) => self.held = Held::Shared(self.shared.read()),
        }
        match &mut self.held {
            Held::Exclusive(engine) => Hold::Exclusive(engine),
            Held::Shared(engine) => Hold::Shared(engine),
            Held::None => unreachable!("a guard was just taken"),
        }
    }
}
