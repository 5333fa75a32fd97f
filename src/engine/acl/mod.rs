//! Access control: users, what they may do, and what was refused.
//!
//! [`Rights`] are plain values, and a [`User`] is a name with the rights of the
//! moment; [`Acl`] holds all users and the log of refusals. It has locks of its
//! own, so that a client can log in while a script keeps the engine. Whoever may
//! do everything is known by one flag, which is all that a request then costs.

mod connections;
pub mod file;
pub mod log;
pub mod rights;
pub mod selector;
#[cfg(test)]
mod tests;

use super::session::{Origin, Session};
use super::stats::{Stats, count};
use super::table::{Command, CommandTable};
use super::time::Moment;
use crate::resp::args::Args;
use crate::settings::{AclPubsubDefault, Settings};
use log::{AclLog, Context, Entry, Reason, Refused};
use parking_lot::{Mutex, RwLock};
use rights::{BadRule, Rights, Scope};
use selector::Denied;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The user that every connection is at first, and who cannot be deleted.
pub const DEFAULT_USER: &[u8] = b"default";

/// Why a rule is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleError {
    Syntax,
    /// No such command or category.
    Unknown,
    KeysAreAll,
    ChannelsAreAll,
    NoSuchPassword,
    BadHash,
    WordOfSubcommand,
    DuplicateUser,
}

impl RuleError {
    pub fn text(self) -> &'static str {
        match self {
            RuleError::Syntax => "Syntax error",
            RuleError::Unknown => "Unknown command or category name in ACL",
            RuleError::KeysAreAll => {
                "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any \
                 effect. Try 'resetkeys' to start with an empty list of patterns"
            }
            RuleError::ChannelsAreAll => {
                "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any \
                 effect. Try 'resetchannels' to start with an empty list of channels"
            }
            RuleError::NoSuchPassword => {
                "The password you are trying to remove from the user does not exist"
            }
            RuleError::BadHash => {
                "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
            }
            RuleError::WordOfSubcommand => "Allowing first-arg of a subcommand is not supported",
            RuleError::DuplicateUser => {
                "Duplicate user found. A user can only be defined once in config files"
            }
        }
    }
}

/// Whether a name can be a user's.
pub fn is_user_name(name: &[u8]) -> bool {
    !selector::has_blanks(name)
}

/// A user, as connections hold on to it.
pub struct User {
    name: Box<[u8]>,
    unrestricted: AtomicBool,
    rights: RwLock<Arc<Rights>>,
}

impl User {
    fn new(name: &[u8], rights: Rights) -> Self {
        Self {
            name: name.into(),
            unrestricted: AtomicBool::new(rights.is_unrestricted()),
            rights: RwLock::new(Arc::new(rights)),
        }
    }

    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Whether the user may do everything, so that nothing needs to be looked at.
    #[inline]
    pub fn is_unrestricted(&self) -> bool {
        self.unrestricted.load(Relaxed)
    }

    /// The rights of this moment.
    pub fn rights(&self) -> Arc<Rights> {
        self.rights.read().clone()
    }

    fn set_rights(&self, rights: Rights) {
        let mut held = self.rights.write();
        self.unrestricted.store(rights.is_unrestricted(), Relaxed);
        *held = Arc::new(rights);
    }

    /// Whether the user may make the call.
    pub fn check(&self, command: &Command, args: Args<'_>) -> Result<(), Denied> {
        if self.is_unrestricted() {
            return Ok(());
        }
        self.rights().check(command, args)
    }

    /// Whether the user may make the call and read any key in it.
    pub fn may_read_all(&self, command: &Command, args: Args<'_>) -> bool {
        self.is_unrestricted() || self.rights().check_reading_all(command, args)
    }
}

/// All users by name, and the log.
pub struct Acl {
    table: &'static CommandTable,
    stats: Arc<Stats>,
    users: RwLock<BTreeMap<Box<[u8]>, Arc<User>>>,
    default: Arc<User>,
    log: Mutex<AclLog>,
    channels_open: AtomicBool,
}

/// A refused call, on its way to the log and to the client.
pub struct Refusal<'a> {
    pub denied: Denied,
    pub command: &'a Command,
    pub args: Args<'a>,
    pub now: Moment,
}

impl Acl {
    /// Only the default user, with the password of the settings.
    pub fn new(table: &'static CommandTable, stats: Arc<Stats>, settings: &Settings) -> Self {
        let default = Arc::new(User::new(DEFAULT_USER, Rights::unrestricted(table)));
        let users = BTreeMap::from([(DEFAULT_USER.into(), default.clone())]);
        let acl = Self {
            table,
            stats,
            users: RwLock::new(users),
            default,
            log: Mutex::default(),
            channels_open: AtomicBool::new(false),
        };
        acl.configure(settings);
        acl.set_default_password(&settings.requirepass);
        acl
    }

    /// Follows the settings, except for the password.
    pub fn configure(&self, settings: &Settings) {
        let open = settings.acl_pubsub_default == AclPubsubDefault::AllChannels;
        self.channels_open.store(open, Relaxed);
        self.log.lock().set_len_max(settings.acllog_max_len);
    }

    /// requirepass.
    pub fn set_default_password(&self, password: &[u8]) {
        let mut rights = Rights::clone(&self.default.rights());
        rights.set_password(password);
        self.default.set_rights(rights);
    }

    pub fn scope(&self) -> Scope<'static> {
        Scope {
            table: self.table,
            channels_open: self.channels_open.load(Relaxed),
        }
    }

    pub fn default_user(&self) -> Arc<User> {
        self.default.clone()
    }

    /// Whether a connection is let in without a password.
    pub fn default_is_open(&self) -> bool {
        let rights = self.default.rights.read();
        rights.is_enabled() && rights.needs_no_password()
    }

    /// Whether the default user has no password, on or off.
    pub fn default_needs_no_password(&self) -> bool {
        self.default.rights.read().needs_no_password()
    }

    pub fn user(&self, name: &[u8]) -> Option<Arc<User>> {
        self.users.read().get(name).cloned()
    }

    /// All users in the order of their names.
    pub fn users(&self) -> Vec<Arc<User>> {
        self.users.read().values().cloned().collect()
    }

    /// One line for each user, as ACL LIST and the files have them.
    pub fn lines(&self) -> Vec<Vec<u8>> {
        let line = |user: Arc<User>| {
            let rules = user.rights().describe();
            [b"user ", user.name(), b" ", &rules].concat()
        };
        self.users().into_iter().map(line).collect()
    }

    /// The rights that a user would have after these rules; a new user if there is none of that name.
    pub fn propose(&self, name: &[u8], rules: &[Vec<u8>]) -> Result<Rights, BadRule> {
        let scope = self.scope();
        match self.user(name) {
            Some(user) => user.rights().with_rules(rules, scope),
            None => Rights::new(scope).with_rules(rules, scope),
        }
    }

    /// Gives a user new rights; makes the user if there is none. The rights of before.
    pub fn set(&self, name: &[u8], rights: Rights) -> Option<Arc<Rights>> {
        let mut users = self.users.write();
        if let Some(user) = users.get(name) {
            let before = user.rights();
            user.set_rights(rights);
            return Some(before);
        }
        users.insert(name.into(), Arc::new(User::new(name, rights)));
        None
    }

    /// Deletes a user, who from now on may do nothing. False when there is none.
    pub fn remove(&self, name: &[u8]) -> bool {
        let removed = self.users.write().remove(name);
        if let Some(user) = &removed {
            user.set_rights(Rights::new(Scope {
                channels_open: false,
                ..self.scope()
            }));
        }
        removed.is_some()
    }

    /// The user whose name and password these are.
    pub fn authenticate(&self, name: &[u8], password: &[u8]) -> Option<Arc<User>> {
        self.user(name)
            .filter(|user| user.rights().admits(password))
    }

    /// Counts and logs a call that the session's user may not make.
    pub fn note_denied(&self, session: &Session, context: Context, refusal: &Refusal<'_>) {
        let args = refusal.args;
        let (reason, object, counter) = match refusal.denied {
            Denied::Command => (
                Reason::Command,
                refusal.command.full_name.as_bytes(),
                &self.stats.acl_denied_cmd,
            ),
            Denied::Key(at) => (Reason::Key, args.arg(at), &self.stats.acl_denied_key),
            Denied::Channel(at) => (
                Reason::Channel,
                args.arg(at),
                &self.stats.acl_denied_channel,
            ),
        };
        count(counter, 1);
        self.note(
            session,
            refusal.now,
            reason,
            context,
            object,
            session.user.name(),
        );
    }

    /// Counts and logs a refused AUTH or HELLO of `name`.
    pub fn note_bad_login(&self, session: &Session, args: Args<'_>, name: &[u8], now: Moment) {
        count(&self.stats.acl_denied_auth, 1);
        let context = top_context(session);
        self.note(session, now, Reason::Auth, context, args.name(), name);
    }

    fn note(
        &self,
        session: &Session,
        now: Moment,
        reason: Reason,
        context: Context,
        object: &[u8],
        user: &[u8],
    ) {
        let client = super::client_line::describe(&session.client, self.table, now);
        self.log.lock().note(Refused {
            reason,
            context,
            object: object.to_vec(),
            user: user.to_vec(),
            client,
            at_ms: now.unix_ms(),
        });
    }

    /// The newest entries of the log.
    pub fn log_entries(&self, count: usize) -> Vec<Entry> {
        self.log.lock().newest(count)
    }

    pub fn clear_log(&self) {
        self.log.lock().clear();
    }
}

/// Where a call of a session comes from, as the log tells it.
pub fn top_context(session: &Session) -> Context {
    match session.origin {
        Origin::Script => Context::Script,
        Origin::Transaction => Context::Multi,
        _ if session.transaction.is_some() => Context::Multi,
        _ => Context::TopLevel,
    }
}

/// What a refused call is told, without an error code. With `named`, keys and channels are named, which a client
/// must not learn by trying.
pub fn denial_text(user: &User, refusal: &Refusal<'_>, named: bool) -> String {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let name = shown(user.name());
    match refusal.denied {
        Denied::Command => format!(
            "User {name} has no permissions to run the '{}' command",
            refusal.command.full_name
        ),
        Denied::Key(at) if named => format!(
            "User {name} has no permissions to access the '{}' key",
            shown(refusal.args.arg(at))
        ),
        Denied::Channel(at) if named => format!(
            "User {name} has no permissions to access the '{}' channel",
            shown(refusal.args.arg(at))
        ),
        Denied::Key(_) => "No permissions to access a key".to_string(),
        Denied::Channel(_) => "No permissions to access a channel".to_string(),
    }
}
