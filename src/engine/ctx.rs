//! What a handler is lent: data to read, values to change, the reply to write.
//!
//! After-change chores (creating and dropping keys, WATCH, keyspace events,
//! waking blocked clients, the dirty count, effects) happen here and nowhere
//! else; a handler only says what it did to the value.

use super::blocking::Block;
use super::gates;
use super::notify::{EventClass, notify};
use super::random::Random;
use super::session::{Origin, ReplyMode, Session, Transaction};
use super::time::Moment;
use super::{ChangeLog, Engine};
use crate::resp::args::{Args, OwnedArgs};
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use crate::settings::Settings;
use crate::store::keyspace::{Db, Touch};
use crate::store::value::{Type, Value, ValueRef, ValueType};
use std::sync::atomic::Ordering::Relaxed;

/// For handlers that change no data.
pub struct ReadCtx<'a> {
    pub reply: &'a mut Reply,
    pub session: &'a mut Session,
    pub now: Moment,
    engine: &'a Engine,
}

impl<'a> ReadCtx<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        session: &'a mut Session,
        reply: &'a mut Reply,
        now: Moment,
    ) -> Self {
        Self {
            reply,
            session,
            now,
            engine,
        }
    }

    /// The whole server, to look at (INFO, CLIENT LIST, CONFIG GET).
    pub fn engine(&self) -> &'a Engine {
        self.engine
    }

    pub fn settings(&self) -> &'a Settings {
        &self.engine.settings
    }

    /// The selected database.
    pub fn db(&self) -> &'a Db {
        self.engine.db(self.session.db)
    }

    /// The value of a key; counts a hit or a miss and marks the key as used.
    pub fn value(&mut self, key: &[u8]) -> Option<ValueRef<'a>> {
        let touch = self.engine.touch_for(self.session);
        self.counted(key, touch)
    }

    /// The value of a key; counts a hit or a miss and leaves the mark of its last use.
    pub fn untouched(&mut self, key: &[u8]) -> Option<ValueRef<'a>> {
        self.counted(key, Touch::No)
    }

    fn counted(&mut self, key: &[u8], touch: Touch) -> Option<ValueRef<'a>> {
        let found = self
            .engine
            .db(self.session.db)
            .get_touch(key, self.now.unix_ms(), touch);
        let stats = &self.engine.stats;
        match found {
            Some(_) => super::stats::count(&stats.keyspace_hits, 1),
            None => {
                self.note_expired(key);
                super::stats::count(&stats.keyspace_misses, 1);
                self.engine
                    .notify(EventClass::KEY_MISS, "keymiss", key, self.session.db);
            }
        }
        found
    }

    /// The value of a key that has to be of type `T`.
    pub fn read<T: ValueType + 'a>(&mut self, key: &[u8]) -> Result<Option<&'a T>, CommandError> {
        match self.value(key) {
            None => Ok(None),
            Some(value) => T::from_ref(value).map(Some).ok_or(CommandError::WrongType),
        }
    }

    /// A reader met a key past its deadline: whoever is alone on the engine next removes it.
    pub fn met_expired(&mut self, key: &[u8]) {
        self.session.met_expired.push(key.into());
    }

    /// The value of a key that has to be of type `T`, without counting or marking it.
    pub fn glance<T: ValueType + 'a>(&mut self, key: &[u8]) -> Result<Option<&'a T>, CommandError> {
        match self.peek(key) {
            None => Ok(None),
            Some(value) => T::from_ref(value).map(Some).ok_or(CommandError::WrongType),
        }
    }

    /// The value of a key without counting or marking it.
    pub fn peek(&mut self, key: &[u8]) -> Option<ValueRef<'a>> {
        let found = self.db().get(key, self.now.unix_ms());
        if found.is_none() {
            self.note_expired(key);
        }
        found
    }

    /// A key was not found; if its deadline is why, it is to go. Beside other readers nobody removed it before.
    fn note_expired(&mut self, key: &[u8]) {
        if self.db().is_expired(key, self.now.unix_ms()) {
            self.met_expired(key);
        }
    }
}

/// For handlers that change values of keys.
pub struct WriteCtx<'a> {
    pub reply: &'a mut Reply,
    pub session: &'a mut Session,
    pub now: Moment,
    pub(super) engine: &'a mut Engine,
    pub(super) log: &'a mut ChangeLog,
}

/// What a handler gets beside the value it changes.
pub struct Lent<'a> {
    pub reply: &'a mut Reply,
    pub settings: &'a Settings,
    pub random: &'a mut Random,
    /// The present, also while a log is replayed.
    pub now: Moment,
    db: usize,
    key: &'a [u8],
    created: bool,
    modified: bool,
    wakes: bool,
    dirty: u64,
    wanted_events: EventClass,
    events: Vec<(EventClass, &'static str)>,
    wants_effects: bool,
    effects: Option<Vec<OwnedArgs>>,
}

impl Lent<'_> {
    /// The value changed in `count` places. Without a call with a count over 0 nothing is logged.
    pub fn changed(&mut self, count: u64) {
        self.dirty += count;
        self.modified |= count > 0;
    }

    /// Wakes who waits for the key although its data is the same.
    pub fn wake(&mut self) {
        self.wakes = true;
    }

    /// Announces `name` for the key once the change is in place.
    pub fn event(&mut self, class: EventClass, name: &'static str) {
        // Without a listener for the class, the list costs no memory.
        if self.wanted_events.intersects(class) {
            self.events.push((class, name));
        }
    }

    /// The value was just made for this call.
    pub fn created(&self) -> bool {
        self.created
    }

    /// Replaces the command in the log by the given one (may be called several times; each adds one).
    pub fn effect(&mut self, words: &[&[u8]]) {
        let effects = self.effects.get_or_insert_with(Vec::new);
        if self.wants_effects {
            effects.push(OwnedArgs::from_slices(words));
        }
    }

    /// Whether an effect would be looked at by anyone; if not, it need not be made.
    pub fn wants_effects(&self) -> bool {
        self.wants_effects
    }

    /// The key whose value is lent.
    pub fn key(&self) -> &[u8] {
        self.key
    }
}

impl<'a> WriteCtx<'a> {
    /// The time for what is noted beside data. While a log is replayed, `now` stands still instead, so that no key is
    /// past its deadline.
    pub fn present(&self) -> Moment {
        self.session.present.unwrap_or(self.now)
    }

    /// The whole server, to look at.
    pub fn engine(&self) -> &Engine {
        self.engine
    }

    pub fn settings(&self) -> &Settings {
        &self.engine.settings
    }

    /// The selected database.
    pub fn db(&self) -> &Db {
        self.engine.db(self.session.db)
    }

    /// The database of that index, which exists.
    pub fn db_at(&self, index: usize) -> &Db {
        self.engine.db(index)
    }

    /// The rights of a reader, for what a command looks at before it changes anything.
    pub fn reader(&mut self) -> ReadCtx<'_> {
        ReadCtx::new(self.engine, self.session, self.reply, self.now)
    }

    /// The value of a key, to look at before a change. Marks it as used; counts neither hit nor miss.
    pub fn value(&self, key: &[u8]) -> Option<ValueRef<'_>> {
        let touch = self.engine.touch_for(self.session);
        self.db().get_touch(key, self.now.unix_ms(), touch)
    }

    /// The value of a key that has to be of type `T`, to look at before a change.
    pub fn read<T: ValueType>(&self, key: &[u8]) -> Result<Option<&T>, CommandError> {
        match self.value(key) {
            None => Ok(None),
            Some(value) => T::from_ref(value).map(Some).ok_or(CommandError::WrongType),
        }
    }

    /// Counts what a reading lookup inside a write command counts.
    pub fn count_lookup(&self, found: bool) {
        let stats = &self.engine.stats;
        super::stats::count(
            if found {
                &stats.keyspace_hits
            } else {
                &stats.keyspace_misses
            },
            1,
        );
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.db().get(key, self.now.unix_ms()).is_some()
    }

    /// Lends the value of `key` if it exists; None when it does not.
    pub fn update<T: ValueType, R>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T, &mut Lent<'_>) -> R,
    ) -> Result<Option<R>, CommandError> {
        self.lend(key, false, change)
    }

    /// Lends the value of `key`, made empty if it does not exist; a value that stays empty is not kept.
    pub fn upsert<T: ValueType, R>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T, &mut Lent<'_>) -> R,
    ) -> Result<R, CommandError> {
        let made = self.lend(key, true, change)?;
        Ok(made.expect("a missing value was created"))
    }

    fn lend<T: ValueType, R>(
        &mut self,
        key: &[u8],
        create: bool,
        change: impl FnOnce(&mut T, &mut Lent<'_>) -> R,
    ) -> Result<Option<R>, CommandError> {
        let db = self.session.db;
        let now_ms = self.now.unix_ms();
        let present = self.present();
        let Engine {
            store,
            settings,
            effects,
            notify_classes,
            ..
        } = &mut *self.engine;
        let database = store
            .db_mut(db)
            .expect("sessions select existing databases");
        let (slot, created) = if create {
            database.get_or_insert_with(key, now_ms, || T::empty().into_value())
        } else {
            match database.get_mut(key, now_ms) {
                Some(slot) => (slot, false),
                None => return Ok(None),
            }
        };
        let value = T::from_mut(slot).ok_or(CommandError::WrongType)?;
        let mut lent = Lent {
            reply: self.reply,
            settings,
            random: &mut self.session.random,
            now: present,
            db,
            key,
            created,
            modified: false,
            wakes: false,
            dirty: 0,
            wanted_events: *notify_classes,
            events: Vec::new(),
            wants_effects: effects.enabled(),
            effects: None,
        };
        let result = change(value, &mut lent);
        // A string or a stream without content stays.
        let empty = !matches!(T::TYPE, Type::String | Type::Stream) && value.is_empty();
        let done = Finished {
            created,
            modified: lent.modified,
            wakes: lent.wakes,
            dirty: lent.dirty,
            events: lent.events,
            effects: lent.effects,
            db: lent.db,
            empty,
            kind: T::TYPE,
        };
        self.finish(key, done);
        Ok(Some(result))
    }

    /// The chores after a lent value came back.
    fn finish(&mut self, key: &[u8], done: Finished) {
        let db = done.db;
        self.log.dirty += done.dirty;
        if let Some(effects) = done.effects {
            self.log
                .effects
                .get_or_insert_with(Vec::new)
                .extend(effects.into_iter().map(|args| (db, args)));
        }
        if done.modified {
            self.engine.key_changed(db, key, self.session.author());
        }
        if done.created && !done.empty {
            self.engine.notify(EventClass::NEW, "new", key, db);
        }
        for (class, name) in done.events {
            self.engine.notify(class, name, key, db);
        }
        if done.empty {
            self.engine.db_mut(db).remove(key);
            if !done.created {
                self.engine.notify(EventClass::GENERIC, "del", key, db);
            }
        } else if done.created
            || done.wakes
            || (done.modified && matches!(done.kind, Type::Stream | Type::List | Type::SortedSet))
        {
            self.engine.blocking.signal(db, key);
        }
    }

    /// Sets a key to a new value. `keep_deadline` is for SET KEEPTTL and in-place rewrites.
    /// Counts one change; events are the handler's.
    pub fn set_value(&mut self, key: &[u8], value: Value, keep_deadline: bool) {
        self.set_value_at(self.session.db, key, value, keep_deadline);
    }

    /// As [`WriteCtx::set_value`], in another database.
    pub fn set_value_at(&mut self, db: usize, key: &[u8], value: Value, keep_deadline: bool) {
        let table = self.engine.db_mut(db);
        let old = if keep_deadline {
            table.replace_keeping_deadline(key, value)
        } else {
            table.insert(key, value)
        };
        self.log.dirty += 1;
        self.engine.key_changed(db, key, self.session.author());
        if old.is_none() {
            self.engine.notify(EventClass::NEW, "new", key, db);
        }
        self.engine.blocking.signal(db, key);
        self.engine.discard(old);
    }

    /// Removes a key; false when it does not exist. Counts one change; the event is the handler's.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        self.take_value_at(self.session.db, key)
            .map(|(value, _)| self.engine.discard(Some(value)))
            .is_some()
    }

    /// Takes a key's value and deadline out of database `db`. Counts one change.
    pub fn take_value_at(&mut self, db: usize, key: &[u8]) -> Option<(Value, Option<i64>)> {
        let taken = self.engine.db_mut(db).take(key)?;
        self.log.dirty += 1;
        self.engine.key_changed(db, key, self.session.author());
        self.engine.blocking.signal_loss(db, key);
        Some(taken)
    }

    /// Sets or clears the deadline of a key that exists. Counts one change.
    pub fn set_deadline(&mut self, key: &[u8], deadline_ms: Option<i64>) {
        let db = self.session.db;
        self.set_deadline_at(db, key, deadline_ms);
        self.log.dirty += 1;
        self.engine.key_changed(db, key, self.session.author());
    }

    /// Sets or clears the deadline in database `db` without counting a change (part of a larger one).
    pub fn set_deadline_at(&mut self, db: usize, key: &[u8], deadline_ms: Option<i64>) {
        let table = self.engine.db_mut(db);
        match deadline_ms {
            Some(deadline) => table.set_deadline(key, deadline),
            None => table.clear_deadline(key),
        };
    }

    /// Announces an event of a key in the selected database.
    pub fn event(&mut self, class: EventClass, name: &str, key: &[u8]) {
        let db = self.session.db;
        self.engine.notify(class, name, key, db);
    }

    /// Announces an event of a key in database `db`.
    pub fn event_at(&mut self, db: usize, class: EventClass, name: &str, key: &[u8]) {
        self.engine.notify(class, name, key, db);
    }

    /// Counts `count` changes beyond those that the other methods count; 0 dirty means nothing is logged.
    pub fn changed(&mut self, count: u64) {
        self.log.dirty += count;
    }

    /// Replaces the command in the log by the given one (several calls add up).
    pub fn effect(&mut self, words: &[&[u8]]) {
        let db = self.session.db;
        let wanted = self.engine.effects.enabled();
        let effects = self.log.effects.get_or_insert_with(Vec::new);
        if wanted {
            effects.push((db, OwnedArgs::from_slices(words)));
        }
    }

    /// Replaces the command in the log by nothing.
    pub fn no_effect(&mut self) {
        self.log.effects.get_or_insert_with(Vec::new);
    }

    /// Whether an effect would be looked at by anyone.
    pub fn wants_effects(&self) -> bool {
        self.engine.effects.enabled()
    }

    /// The command cannot be answered yet: the client waits. No reply may have been written.
    pub fn block(&mut self, block: Block) {
        self.log.block = Some(block);
    }

    /// Removes a key of database `db` that is past its deadline, as every key that a command names in its own database
    /// is removed; the log has to say it before what comes to stand in its place.
    pub fn expire_if_due(&mut self, db: usize, key: &[u8]) {
        let now_ms = self.now.unix_ms();
        if !self.keeps_expired_keys() && self.db_at(db).is_expired(key, now_ms) {
            self.engine.expire(db, key);
        }
    }

    /// Whether a key past its deadline stays until its removal is replayed.
    pub fn keeps_expired_keys(&self) -> bool {
        self.session.origin == Origin::Replay || self.engine.read_only_replica
    }

    /// Drops a value where it disturbs nobody (lazy free).
    pub fn discard(&mut self, value: Value) {
        self.engine.discard(Some(value));
    }
}

struct Finished {
    created: bool,
    modified: bool,
    wakes: bool,
    dirty: u64,
    events: Vec<(EventClass, &'static str)>,
    effects: Option<Vec<OwnedArgs>>,
    db: usize,
    empty: bool,
    kind: Type,
}

/// For handlers that change the server or run other commands.
pub struct ControlCtx<'a> {
    pub reply: &'a mut Reply,
    pub session: &'a mut Session,
    pub now: Moment,
    pub engine: &'a mut Engine,
    pub(super) log: &'a mut ChangeLog,
}

impl ControlCtx<'_> {
    pub fn settings(&self) -> &Settings {
        &self.engine.settings
    }

    /// The same call as a write to keys.
    pub fn as_write(&mut self) -> WriteCtx<'_> {
        WriteCtx {
            reply: self.reply,
            session: self.session,
            now: self.now,
            engine: self.engine,
            log: self.log,
        }
    }

    /// Counts `count` changes; 0 dirty means nothing is logged.
    pub fn changed(&mut self, count: u64) {
        self.log.dirty += count;
    }

    /// The command goes to the log also if nothing changed.
    pub fn force_effect(&mut self) {
        self.log.forced = true;
    }

    /// Replaces the command in the log by nothing.
    pub fn no_effect(&mut self) {
        self.log.effects.get_or_insert_with(Vec::new);
    }

    /// The command cannot be answered yet: the client waits. No reply may have been written.
    pub fn block(&mut self, block: Block) {
        self.log.block = Some(block);
    }

    /// Runs a command of a script: the gates of scripts apply, its effects join this call's group, and it answers
    /// into `reply`, whose protocol it follows. `session` is the script's own, with its database and origin.
    pub fn run(&mut self, session: &mut Session, args: Args<'_>, reply: &mut Reply) {
        let mut now = self.now;
        self.engine.run_nested(session, args, reply, &mut now);
    }

    /// Runs the commands of a transaction one after the other into the reply.
    pub fn run_transaction(&mut self, transaction: &Transaction) {
        let table = self.engine.table;
        let origin = std::mem::replace(&mut self.session.origin, Origin::Transaction);
        for (id, args) in &transaction.commands {
            // Time stands still inside a transaction; only durations go on.
            let mut clock = self.now;
            self.reply.set_protocol(self.session.protocol);
            let mark = self.reply.len();
            let (command, args) = (table.get(*id), args.as_args());
            let refusal = gates::check_again(&gates::Call {
                engine: self.engine,
                session: self.session,
                command,
                args,
                now: self.now,
            });
            match refusal {
                Some(text) => self.engine.write_error(self.reply, &text),
                None => {
                    self.engine
                        .call(self.session, command, args, self.reply, &mut clock);
                }
            }
            // CLIENT REPLY OFF holds from the next command on; what is delivered by itself still comes.
            if self.session.reply_mode == ReplyMode::Off
                && !std::mem::take(&mut self.session.reply_is_push)
            {
                self.reply.truncate(mark);
            }
        }
        self.session.origin = origin;
    }

    /// Counts this command as failed although its reply is written; `counted` says that its error is counted already.
    pub fn note_failure(&mut self, counted: bool) {
        self.log.failed = true;
        self.log.error_counted = counted;
    }

    /// Marks the last interaction of the client, for handlers that take long.
    pub fn touch_client(&self) {
        self.session
            .client
            .last_interaction_ms
            .store(self.now.unix_ms(), Relaxed);
    }
}

impl Engine {
    /// How a lookup for a session marks the key as used.
    pub(super) fn touch_for(&self, session: &Session) -> Touch {
        if session
            .client
            .has_flag(super::client::client_flags::NO_TOUCH)
        {
            Touch::No
        } else {
            self.touch
        }
    }

    /// Announces an event if the settings select its class.
    pub fn notify(&self, class: EventClass, name: &str, key: &[u8], db: usize) {
        if self.notify_classes.intersects(class) {
            notify(&self.pubsub, self.notify_classes, class, name, key, db);
        }
    }
}
