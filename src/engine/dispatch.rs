//! From a request to its reply: resolve, gates, queue or call, chores, wake-ups.

use super::blocking::{Block, TimeoutReply, Waiting};
use super::client::{Client, ClientId, client_flags};
use super::ctx::{ControlCtx, ReadCtx, WriteCtx};
use super::gates::{self, Refusal};
use super::keys;
use super::session::{Origin, ReplyMode, Session};
use super::spec::{Attempt, Flags, Handled, Run};
use super::stats::count;
use super::table::{Command, CommandId, CommandTable, ResolveError, Resolved};
use super::time::Moment;
use super::{ChangeLog, Engine};
use crate::resp::args::{Args, OwnedArgs};
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Which side of the engine's lock a request needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Shared,
    Exclusive,
}

/// What the connection has to do after a request.
pub enum Outcome {
    /// The reply is written (or there is none to write).
    Done,
    /// No reply yet: the connection hands its session over with [`Engine::wait`].
    Block(CommandId, Block),
    /// Nothing happened: ask again when the pause is over.
    Paused,
    /// Nothing happened beside other readers: run it alone.
    MustWrite,
}

/// Access that the request needs; cheap, and without the engine's lock.
pub fn access_for(session: &Session, resolved: Resolved) -> Access {
    // What a client reads is noted down where it tracks.
    if session.client.tracks_reads() {
        return Access::Exclusive;
    }
    let Ok(command) = resolved else {
        return Access::Shared;
    };
    if session.transaction.is_some() && !runs_inside_transaction(command) {
        return Access::Shared;
    }
    match command.spec.run {
        Run::Read(_) | Run::Container(_) | Run::ReadOrContainer(..) | Run::ReadOrWrite(..) => {
            Access::Shared
        }
        Run::Write(_) | Run::Control(_) => Access::Exclusive,
    }
}

/// Whether the request may run a script, which may take long.
pub fn may_run_script(table: &CommandTable, session: &Session, resolved: Resolved) -> bool {
    let Ok(command) = resolved else {
        return false;
    };
    match &session.transaction {
        None => command.runs_scripts(),
        Some(transaction) => {
            command.spec.name == "exec"
                && transaction
                    .commands
                    .iter()
                    .any(|(id, _)| table.get(*id).runs_scripts())
        }
    }
}

/// Commands that run at once although a transaction is being queued.
fn runs_inside_transaction(command: &Command) -> bool {
    matches!(
        command.spec.name,
        "exec" | "discard" | "multi" | "watch" | "quit" | "reset"
    ) && command.parent.is_none()
}

impl Engine {
    /// Runs one request alone on the engine.
    pub fn execute(
        &mut self,
        session: &mut Session,
        resolved: Resolved,
        args: Args<'_>,
        reply: &mut Reply,
        now: &mut Moment,
    ) -> Outcome {
        if self.tracking.is_active() {
            return self.execute_tracked(session, resolved, args, reply, now);
        }
        if self.wants_room() {
            self.make_room(*now);
        }
        self.run_request(session, resolved, args, reply, now)
    }

    /// [`Engine::execute`] with what clients that track are to see: what making room invalidates comes before the
    /// reply, what the command invalidates behind it.
    fn execute_tracked(
        &mut self,
        session: &mut Session,
        resolved: Resolved,
        args: Args<'_>,
        reply: &mut Reply,
        now: &mut Moment,
    ) -> Outcome {
        let id = session.client.id;
        self.tracking.begin(Some(id), &self.clients);
        if self.wants_room() {
            self.make_room(*now);
        }
        self.make_tracking_room();
        self.tracking.send_pending(&self.clients, Some(reply));
        let outcome = self.run_request(session, resolved, args, reply, now);
        self.tracking.begin(None, &self.clients);
        let is_over = matches!(outcome, Outcome::Done) && session.transaction.is_none();
        if is_over && !self.is_about_client(resolved) {
            let client = &session.client;
            client.set_flag(client_flags::TRACKING_CACHING, false);
        }
        outcome
    }

    /// Whether a request is of CLIENT, which leaves alone what CLIENT CACHING said.
    fn is_about_client(&self, resolved: Resolved) -> bool {
        let command = match resolved {
            Ok(command) => command,
            Err(ResolveError::Arity(id)) => self.table.get(id),
            Err(ResolveError::Unknown | ResolveError::UnknownSubcommand(_)) => return false,
        };
        let parent = command.parent.map(|id| self.table.get(id));
        parent.is_some_and(|parent| parent.spec.name == "client")
    }

    /// Notes which keys a client that tracks has read.
    fn remember_reads(&mut self, session: &Session, command: &Command, args: Args<'_>) {
        let client = &session.client;
        if !command.flags.contains(Flags::READONLY)
            || command.flags.contains(Flags::PUBSUB)
            || command.runs_scripts()
            || !client.tracks_reads()
        {
            return;
        }
        let caching_given = client.has_flag(client_flags::TRACKING_CACHING);
        if client.has_flag(client_flags::TRACKING_OPTIN) && !caching_given
            || client.has_flag(client_flags::TRACKING_OPTOUT) && caching_given
        {
            return;
        }
        keys::for_each_key(command, args, |key, _| {
            self.tracking.remember(client.id, key);
        });
    }

    fn run_request(
        &mut self,
        session: &mut Session,
        resolved: Resolved,
        args: Args<'_>,
        reply: &mut Reply,
        now: &mut Moment,
    ) -> Outcome {
        let mark = reply.len();
        let command = match self.admit(session, resolved, args, reply, *now) {
            Admission::Run(command) => command,
            Admission::Answered => {
                self.drop_unwanted_reply(session, reply, mark);
                return Outcome::Done;
            }
            Admission::Paused => return Outcome::Paused,
        };
        let block = self.call(session, command, args, reply, now);
        if self.blocking.has_ready() {
            self.serve_ready(now);
        }
        match block {
            Some(block) => Outcome::Block(command.id, block),
            None => {
                self.drop_unwanted_reply(session, reply, mark);
                Outcome::Done
            }
        }
    }

    /// Runs one request beside other readers. The request needs no more than [`Access::Shared`].
    pub fn execute_shared(
        &self,
        session: &mut Session,
        resolved: Resolved,
        args: Args<'_>,
        reply: &mut Reply,
        now: &mut Moment,
    ) -> Outcome {
        // Every command makes room first, those that read too.
        if self.wants_room() {
            return Outcome::MustWrite;
        }
        let mark = reply.len();
        match self.admit(session, resolved, args, reply, *now) {
            Admission::Run(command) => {
                let started = *now;
                self.begin(session, command, args, *now);
                let handled = match command.spec.run {
                    Run::Read(handler) | Run::ReadOrContainer(handler, _) => {
                        handler(&mut ReadCtx::new(self, session, reply, *now), args)
                    }
                    Run::ReadOrWrite(attempt, _) => {
                        match attempt(&mut ReadCtx::new(self, session, reply, *now), args) {
                            Ok(Attempt::MustWrite) => return Outcome::MustWrite,
                            Ok(Attempt::Answered) => Ok(()),
                            Err(error) => Err(error),
                        }
                    }
                    Run::Container(_) => Err(CommandError::wrong_arity(&command.full_name)),
                    Run::Write(_) | Run::Control(_) => {
                        unreachable!("only readers need shared access")
                    }
                };
                self.end(
                    session,
                    command,
                    args,
                    reply,
                    mark,
                    handled,
                    started,
                    now,
                    Access::Shared,
                );
            }
            Admission::Answered => {}
            Admission::Paused => return Outcome::Paused,
        }
        self.drop_unwanted_reply(session, reply, mark);
        Outcome::Done
    }

    /// Resolve, gates, and queueing inside a transaction.
    fn admit(
        &self,
        session: &mut Session,
        resolved: Resolved,
        args: Args<'_>,
        reply: &mut Reply,
        now: Moment,
    ) -> Admission {
        let command = match resolved {
            Ok(command) => command,
            Err(error) => {
                if let ResolveError::Arity(id) = error {
                    count(&self.stats.command(id).rejected, 1);
                }
                refuse_transaction(session);
                self.write_error_bytes(reply, &self.table.describe(&error, args));
                return Admission::Answered;
            }
        };
        let refusal = gates::check(&gates::Call {
            engine: self,
            session,
            command,
            args,
            now,
        });
        match refusal {
            None => {}
            Some(Refusal::Paused) => return Admission::Paused,
            Some(Refusal::Error(text)) => {
                count(&self.stats.command(command.id).rejected, 1);
                refuse_transaction(session);
                if command.spec.name == "exec" {
                    // A refused EXEC ends its transaction.
                    let reason = text.strip_prefix('-').unwrap_or(&text);
                    session.transaction = None;
                    session.publish_counts();
                    self.write_error(
                        reply,
                        &format!("EXECABORT Transaction discarded because of: {reason}"),
                    );
                } else {
                    self.write_error(reply, &text);
                }
                return Admission::Answered;
            }
        }
        if session.origin == Origin::Client
            && session.transaction.is_some()
            && !runs_inside_transaction(command)
        {
            self.queue(session, command.id, args);
            session.client.last_command.store(command.id.0, Relaxed);
            reply.queued();
            return Admission::Answered;
        }
        Admission::Run(command)
    }

    fn queue(&self, session: &mut Session, id: CommandId, args: Args<'_>) {
        if let Some(transaction) = &mut session.transaction
            && !transaction.refused
        {
            let owned = OwnedArgs::from_args(args);
            transaction.bytes += args.iter().map(<[u8]>::len).sum::<usize>();
            transaction.commands.push((id, owned));
        }
        session.publish_counts();
    }

    /// Runs a command that passed its gates; its effects are in the stream when this returns.
    pub(super) fn call(
        &mut self,
        session: &mut Session,
        command: &Command,
        args: Args<'_>,
        reply: &mut Reply,
        now: &mut Moment,
    ) -> Option<Block> {
        let started = *now;
        let mark = reply.len();
        let db = session.db;
        let offset = self.effects.offset();
        self.effects.begin_group();
        self.expire_named_keys(session, command, args, *now);
        self.begin(session, command, args, *now);
        let mut log = ChangeLog::default();
        let handled = match command.spec.run {
            Run::Read(handler) | Run::ReadOrContainer(handler, _) => {
                handler(&mut ReadCtx::new(self, session, reply, *now), args)
            }
            Run::Write(handler) | Run::ReadOrWrite(_, handler) => {
                let mut ctx = WriteCtx {
                    reply,
                    session,
                    now: *now,
                    engine: self,
                    log: &mut log,
                };
                handler(&mut ctx, args)
            }
            Run::Control(handler) => {
                let mut ctx = ControlCtx {
                    reply,
                    session,
                    now: *now,
                    engine: self,
                    log: &mut log,
                };
                handler(&mut ctx, args)
            }
            Run::Container(_) => Err(CommandError::wrong_arity(&command.full_name)),
        };
        if log.failed {
            count(&self.stats.command(command.id).failed, 1);
            if !log.error_counted {
                self.stats.record_error(&String::from_utf8_lossy(
                    reply.as_bytes().get(mark + 1..).unwrap_or_default(),
                ));
            }
        }
        if handled.is_err() {
            log.block = None;
        }
        if log.block.is_some() && !session.must_not_block() {
            self.show(session, command, args, started);
            // A call counts once it is answered.
            *now = self.time.now();
        } else {
            self.end(
                session,
                command,
                args,
                reply,
                mark,
                handled,
                started,
                now,
                Access::Exclusive,
            );
        }
        if self.tracking.is_active() {
            self.remember_reads(session, command, args);
        }
        if session.must_not_block()
            && let Some(block) = log.block.take()
        {
            block.timeout_reply.write(reply);
        }
        self.dirty += log.dirty;
        if session.origin != Origin::Replay {
            match log.effects {
                Some(effects) => {
                    for (db, words) in &effects {
                        self.effects.push(*db, words.as_args());
                    }
                }
                None if log.dirty > 0 || log.forced => self.effects.push(db, args),
                None => {}
            }
        }
        self.effects.end_group();
        if !session.met_expired.is_empty() {
            self.expire_met_keys(session, started);
        }
        if log.block.is_none() && self.effects.offset() != offset {
            session.write_offset = self.effects.offset();
        }
        log.block
    }

    /// Runs a command of a script.
    pub(super) fn run_nested(
        &mut self,
        session: &mut Session,
        args: Args<'_>,
        reply: &mut Reply,
        now: &mut Moment,
    ) {
        let table = self.table;
        let command = match table.resolve(args) {
            Ok(command) => command,
            Err(error) => {
                let text = match error {
                    ResolveError::Unknown | ResolveError::UnknownSubcommand(_) => {
                        "ERR Unknown Redis command called from script"
                    }
                    ResolveError::Arity(_) => {
                        "ERR Wrong number of args calling Redis command from script"
                    }
                };
                self.write_error(reply, text);
                return;
            }
        };
        match gates::check(&gates::Call {
            engine: self,
            session,
            command,
            args,
            now: *now,
        }) {
            Some(Refusal::Error(text)) => {
                count(&self.stats.command(command.id).rejected, 1);
                self.write_error(reply, &text);
            }
            Some(Refusal::Paused) | None => {
                session.script_has_written |= command.flags.contains(Flags::WRITE);
                // Time stands still inside a script or a transaction; only durations go on.
                let mut clock = *now;
                self.call(session, command, args, reply, &mut clock);
            }
        }
    }

    /// What is noted before a handler runs.
    fn begin(&self, session: &Session, command: &Command, args: Args<'_>, now: Moment) {
        let client = &session.client;
        client.last_command.store(command.id.0, Relaxed);
        // A script is shown before what it calls; other commands when they have run, so that
        // EXEC stands behind its commands.
        if !self.monitors.is_empty() && command.runs_scripts() {
            self.feed_monitors(session, command, args, now);
        }
    }

    /// Shows a command that ran to those who watch everything, unless it is none of their business.
    fn show(&self, session: &Session, command: &Command, args: Args<'_>, started: Moment) {
        // One that waited was shown when it began to wait.
        if !self.monitors.is_empty()
            && session.origin != Origin::Unblocked
            && !command.flags.intersects(Flags::SKIP_MONITOR | Flags::ADMIN)
        {
            self.feed_monitors(session, command, args, started);
        }
    }

    /// What is noted after a handler ran; writes its error.
    #[allow(clippy::too_many_arguments)]
    fn end(
        &self,
        session: &mut Session,
        command: &Command,
        args: Args<'_>,
        reply: &mut Reply,
        mark: usize,
        handled: Handled,
        started: Moment,
        now: &mut Moment,
        access: Access,
    ) {
        if let Err(error) = handled {
            reply.truncate(mark);
            error.write(reply);
            self.stats.record_error(&error.to_string());
            count(&self.stats.command(command.id).failed, 1);
        }
        self.show(session, command, args, started);
        *now = self.time.now();
        let duration_ns = now.monotonic_ns.saturating_sub(started.monotonic_ns);
        self.stats.record_call(command.id, duration_ns, access);
        // Only the connection itself counts here.
        Access::Exclusive.count(&session.client.commands, 1);
        self.slow_log
            .offer(command, args, duration_ns, session, *now);
        self.latency.offer_command(command, duration_ns, *now);
    }

    fn drop_unwanted_reply(&self, session: &mut Session, reply: &mut Reply, mark: usize) {
        if std::mem::take(&mut session.reply_is_push) {
            if session.reply_mode == ReplyMode::SkipThis {
                session.reply_mode = ReplyMode::On;
            }
            return;
        }
        match session.reply_mode {
            ReplyMode::On => {}
            ReplyMode::Off => reply.truncate(mark),
            ReplyMode::SkipThis => {
                reply.truncate(mark);
                session.reply_mode = ReplyMode::On;
            }
            ReplyMode::SkipNext => {
                reply.truncate(mark);
                session.reply_mode = ReplyMode::SkipThis;
            }
        }
    }

    /// Writes an error that no handler raised.
    pub fn write_error(&self, reply: &mut Reply, text: &str) {
        self.write_error_bytes(reply, text.as_bytes());
    }

    fn write_error_bytes(&self, reply: &mut Reply, text: &[u8]) {
        self.stats.record_error(&String::from_utf8_lossy(text));
        reply.error_bytes(text);
    }

    /// Removes the keys that the command names and whose deadline has passed.
    fn expire_named_keys(
        &mut self,
        session: &Session,
        command: &Command,
        args: Args<'_>,
        now: Moment,
    ) {
        if self.db(session.db).expires_len() == 0 || self.keeps_expired_keys(session, now) {
            return;
        }
        let now_ms = now.unix_ms();
        let mut due: Vec<Box<[u8]>> = Vec::new();
        keys::for_each_key(command, args, |key, _| {
            if self.db(session.db).is_expired(key, now_ms) {
                due.push(key.into());
            }
        });
        for key in due {
            self.expire(session.db, &key);
        }
    }

    /// Removes the expired keys that a walk met. Each stands for itself in the effect stream, unless a transaction
    /// or a script is under way.
    pub fn expire_met_keys(&mut self, session: &mut Session, now: Moment) {
        let keys = std::mem::take(&mut session.met_expired);
        if self.keeps_expired_keys(session, now) {
            return;
        }
        for key in keys {
            // Between a shared and an exclusive hold of the engine it may have been set anew.
            if self.db(session.db).is_expired(&key, now.unix_ms()) {
                self.expire(session.db, &key);
            }
        }
    }

    /// Whether keys past their deadline stay: their removal is to come from elsewhere, or nothing may change now.
    fn keeps_expired_keys(&self, session: &Session, now: Moment) -> bool {
        session.origin == Origin::Replay
            || self.read_only_replica
            || self.pause_at(now.unix_ms()).is_some()
    }

    /// Lets a client wait for the keys of `block`.
    pub fn wait(
        &mut self,
        session: Box<Session>,
        command: CommandId,
        args: Args<'_>,
        mut block: Block,
        now: Moment,
    ) {
        let retry = block.retry.take();
        session.client.set_flag(client_flags::BLOCKED, true);
        self.blocking.add(
            session,
            command,
            retry.unwrap_or_else(|| OwnedArgs::from_args(args)),
            block,
            now.monotonic_ns,
        );
    }

    /// Serves the clients that wait for keys that changed, who waited longest first.
    pub fn serve_ready(&mut self, now: &mut Moment) {
        while let Some(name) = self.blocking.next_ready() {
            for id in self.blocking.queue(&name) {
                self.try_unblock(id, &name, now);
            }
        }
    }

    fn try_unblock(&mut self, id: ClientId, name: &(usize, Box<[u8]>), now: &mut Moment) {
        let Some(waiting) = self.blocking.take(id) else {
            return;
        };
        if self.db(name.0).is_expired(&name.1, now.unix_ms())
            && !self.keeps_expired_keys(&waiting.session, *now)
        {
            self.expire(name.0, &name.1);
        }
        let kind = self
            .db(name.0)
            .get(&name.1, now.unix_ms())
            .map(|value| value.kind());
        if kind != Some(waiting.block.waits_for) && !waiting.block.wakes_on_loss {
            self.blocking.put_back(waiting);
            return;
        }
        let refusal = gates::check_again(&gates::Call {
            engine: self,
            session: &waiting.session,
            command: self.table.get(waiting.command),
            args: waiting.args.as_args(),
            now: *now,
        });
        match refusal {
            Some(text) => self.refuse_waiting(waiting, &text),
            None => self.run_again(waiting, now),
        }
    }

    /// Ends the wait of a client that lost its permission meanwhile.
    fn refuse_waiting(&mut self, waiting: Waiting, text: &str) {
        let mut reply = Reply::new(waiting.session.protocol);
        count(&self.stats.command(waiting.command).rejected, 1);
        self.write_error(&mut reply, text);
        let id = waiting.session.client.id;
        self.blocking
            .leave_queues(id, waiting.session.db, &waiting.block.keys);
        self.finish_wait(waiting, reply);
    }

    /// Runs the command of a client that waits again.
    pub(super) fn retry_wait(&mut self, id: ClientId, now: &mut Moment) {
        if let Some(waiting) = self.blocking.take(id) {
            self.run_again(waiting, now);
        }
    }

    fn run_again(&mut self, mut waiting: Waiting, now: &mut Moment) {
        let id = waiting.session.client.id;
        let table = self.table;
        let command = table.get(waiting.command);
        let mut reply = Reply::new(waiting.session.protocol);
        waiting.session.origin = Origin::Unblocked;
        let interrupted = self.tracking.begin(Some(id), &self.clients);
        let args = std::mem::take(&mut waiting.args);
        let again = self.call(
            &mut waiting.session,
            command,
            args.as_args(),
            &mut reply,
            now,
        );
        waiting.session.origin = Origin::Client;
        waiting.args = args;
        if again.is_some() {
            self.blocking.put_back(waiting);
        } else {
            self.blocking
                .leave_queues(id, waiting.session.db, &waiting.block.keys);
            self.finish_wait(waiting, reply);
        }
        self.tracking.begin(interrupted, &self.clients);
    }

    fn finish_wait(&mut self, waiting: Waiting, mut reply: Reply) {
        let mut session = waiting.session;
        self.drop_unwanted_reply(&mut session, &mut reply, 0);
        count(&self.stats.unblocked_clients, 1);
        let client = Arc::clone(&session.client);
        client.set_flag(
            client_flags::BLOCKED | client_flags::TRACKING_CACHING,
            false,
        );
        client.mailbox.deliver(Bytes::from(reply.take()));
        client.mailbox.unblock(session);
    }

    /// Ends a wait without data: the timeout reply, or the error of CLIENT UNBLOCK. False when the client does not wait.
    pub fn stop_waiting(&mut self, id: ClientId, error: Option<&str>) -> bool {
        let Some(waiting) = self.blocking.remove(id) else {
            return false;
        };
        let mut reply = Reply::new(waiting.session.protocol);
        match error {
            Some(text) => {
                self.write_error(&mut reply, text);
                count(&self.stats.command(waiting.command).failed, 1);
            }
            None => match waiting.block.timeout_reply {
                TimeoutReply::Acks(wait) => self.write_acks(wait, &mut reply),
                other => other.write(&mut reply),
            },
        }
        self.stats
            .record_call(waiting.command, 0, Access::Exclusive);
        self.finish_wait(waiting, reply);
        true
    }

    /// Ends the waits whose time is over.
    pub fn stop_overdue(&mut self, now: Moment) {
        for id in self.blocking.overdue(now.unix_ms()) {
            self.stop_waiting(id, None);
        }
    }

    /// A connection is gone: nothing of it stays behind.
    pub fn forget(&mut self, session: &mut Session) {
        let id = session.client.id;
        self.blocking.remove(id);
        self.unwatch(session);
        self.unsubscribe_all(session);
        self.monitors.retain(|client| client.id != id);
        self.tracking.forget(&session.client);
        self.unfollow(id);
        self.clients.remove(id);
        count(
            &self.stats.net_input_bytes,
            session.client.bytes_in.load(Relaxed),
        );
        count(
            &self.stats.net_output_bytes,
            session.client.bytes_out.load(Relaxed),
        );
    }

    /// Ends a connection from outside: nobody sees it any more, and it gets nothing, from now on. That of `session`
    /// ends when it has its reply.
    pub fn end_connection(&mut self, client: &Client, session: &mut Session) {
        let id = client.id;
        if id == session.client.id {
            session.close = true;
            return;
        }
        let transfers = self
            .blocking
            .get(id)
            .is_some_and(|waiting| waiting.block.timeout_reply == TimeoutReply::Transfer);
        if transfers || !self.forget_waiting(id) {
            self.pubsub.forget(id);
            self.monitors.retain(|monitor| monitor.id != id);
            self.unfollow(id);
            self.clients.remove(id);
        }
        client.mailbox.close(false);
    }

    /// A connection is gone while its session waits here.
    pub fn forget_waiting(&mut self, id: ClientId) -> bool {
        let Some(mut waiting) = self.blocking.remove(id) else {
            return false;
        };
        self.forget(&mut waiting.session);
        if waiting.block.timeout_reply == TimeoutReply::Transfer {
            // Keys that have arrived elsewhere must not stay here, whoever is left to be told.
            self.blocking.put_back(waiting);
        }
        true
    }
}

enum Admission {
    Run(&'static Command),
    Answered,
    Paused,
}

/// A command that could not be queued makes EXEC refuse the transaction.
pub fn refuse_transaction(session: &mut Session) {
    if session.origin == Origin::Client
        && let Some(transaction) = &mut session.transaction
    {
        transaction.refused = true;
    }
}
