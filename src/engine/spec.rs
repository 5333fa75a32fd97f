//! What a command declares about itself, once.
//!
//! Lookup, arity errors, COMMAND and its subcommands, ACL categories, key
//! positions, the gates and the log all read these declarations.  The variant
//! of [`Run`] is the permission: a handler that gets a [`ReadCtx`] cannot
//! change data, so a writer registered as a reader does not compile.

use super::ctx::{ControlCtx, ReadCtx, WriteCtx};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use bitflags::bitflags;

/// What a handler answers: the reply is already written, or an error is to be.
pub type Handled = Result<(), CommandError>;

/// How far a reader came with a command that may have to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// The reply is written.
    Answered,
    /// Nothing happened; the command has to be run as a writer.
    MustWrite,
}

/// How a command is run, and what it may therefore do.
#[derive(Clone, Copy)]
pub enum Run {
    /// Reads data, changes at most its own session; may run beside other readers.
    Read(fn(&mut ReadCtx<'_>, Args<'_>) -> Handled),
    /// Changes data of keys; runs alone.
    Write(fn(&mut WriteCtx<'_>, Args<'_>) -> Handled),
    /// Reads where that is enough, beside other readers; runs alone, as a writer, where it is not.
    ReadOrWrite(
        fn(&mut ReadCtx<'_>, Args<'_>) -> Result<Attempt, CommandError>,
        fn(&mut WriteCtx<'_>, Args<'_>) -> Handled,
    ),
    /// Changes the server, other sessions or whole databases, or runs other commands; runs alone.
    Control(fn(&mut ControlCtx<'_>, Args<'_>) -> Handled),
    /// Only holds subcommands.
    Container(&'static [CommandSpec]),
    /// Holds subcommands, and reads when it is called without one.
    ReadOrContainer(
        fn(&mut ReadCtx<'_>, Args<'_>) -> Handled,
        &'static [CommandSpec],
    ),
}

/// One command or subcommand.
pub struct CommandSpec {
    /// Lower case; a subcommand carries only its own part.
    pub name: &'static str,
    pub group: Group,
    pub summary: &'static str,
    pub since: &'static str,
    pub complexity: &'static str,
    /// Number of arguments including the name; negative for "at least".
    pub arity: i32,
    pub flags: Flags,
    /// Categories beyond those that follow from flags and group.
    pub categories: Categories,
    pub keys: &'static [KeySpec],
    pub tips: &'static [&'static str],
    /// The arguments after the name; `commands/server/command/arguments.rs` explains the notation.
    pub syntax: &'static str,
    pub run: Run,
}

bitflags! {
    /// The flags that COMMAND INFO shows, named as there.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Flags: u32 {
        const WRITE = 1;
        const READONLY = 1 << 1;
        const DENYOOM = 1 << 2;
        const ADMIN = 1 << 3;
        const PUBSUB = 1 << 4;
        const NOSCRIPT = 1 << 5;
        const BLOCKING = 1 << 6;
        const LOADING = 1 << 7;
        const STALE = 1 << 8;
        const SKIP_MONITOR = 1 << 9;
        const SKIP_SLOWLOG = 1 << 10;
        const ASKING = 1 << 11;
        const FAST = 1 << 12;
        const NO_AUTH = 1 << 13;
        /// Not shown: the command may have effects that are no writes of keys.
        const MAY_REPLICATE = 1 << 14;
        const NO_ASYNC_LOADING = 1 << 15;
        const NO_MULTI = 1 << 16;
        const MOVABLE_KEYS = 1 << 17;
        const ALLOW_BUSY = 1 << 18;
        /// The command may be called without any key.
        const NO_MANDATORY_KEYS = 1 << 19;
        /// Not shown: keys beyond the declared ones may be touched.
        const TOUCHES_ARBITRARY_KEYS = 1 << 20;
        /// Not shown: only a setting opens the command (`enable-module-command`).
        const MODULES = 1 << 21;
    }
}

impl Flags {
    /// The names in the order in which COMMAND INFO lists them; like Redis it hides that a command may replicate.
    pub const SHOWN: &'static [(Flags, &'static str)] = &[
        (Flags::WRITE, "write"),
        (Flags::READONLY, "readonly"),
        (Flags::DENYOOM, "denyoom"),
        (Flags::ADMIN, "admin"),
        (Flags::PUBSUB, "pubsub"),
        (Flags::NOSCRIPT, "noscript"),
        (Flags::BLOCKING, "blocking"),
        (Flags::LOADING, "loading"),
        (Flags::STALE, "stale"),
        (Flags::SKIP_MONITOR, "skip_monitor"),
        (Flags::SKIP_SLOWLOG, "skip_slowlog"),
        (Flags::ASKING, "asking"),
        (Flags::FAST, "fast"),
        (Flags::NO_AUTH, "no_auth"),
        (Flags::NO_ASYNC_LOADING, "no_async_loading"),
        (Flags::NO_MULTI, "no_multi"),
        (Flags::NO_MANDATORY_KEYS, "no_mandatory_keys"),
        (Flags::MOVABLE_KEYS, "movablekeys"),
        (Flags::ALLOW_BUSY, "allow_busy"),
    ];
}

bitflags! {
    /// ACL categories, bit by bit in the order in which COMMAND INFO lists them.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Categories: u32 {
        const KEYSPACE = 1;
        const READ = 1 << 1;
        const WRITE = 1 << 2;
        const SET = 1 << 3;
        const SORTED_SET = 1 << 4;
        const LIST = 1 << 5;
        const HASH = 1 << 6;
        const STRING = 1 << 7;
        const BITMAP = 1 << 8;
        const HYPERLOGLOG = 1 << 9;
        const GEO = 1 << 10;
        const STREAM = 1 << 11;
        const PUBSUB = 1 << 12;
        const ADMIN = 1 << 13;
        const FAST = 1 << 14;
        const SLOW = 1 << 15;
        const BLOCKING = 1 << 16;
        const DANGEROUS = 1 << 17;
        const CONNECTION = 1 << 18;
        const TRANSACTION = 1 << 19;
        const SCRIPTING = 1 << 20;
    }
}

impl Categories {
    /// Names without the leading `@`, in the order of the bits.
    pub const NAMES: &'static [&'static str] = &[
        "keyspace",
        "read",
        "write",
        "set",
        "sortedset",
        "list",
        "hash",
        "string",
        "bitmap",
        "hyperloglog",
        "geo",
        "stream",
        "pubsub",
        "admin",
        "fast",
        "slow",
        "blocking",
        "dangerous",
        "connection",
        "transaction",
        "scripting",
    ];

    /// The category of that name, in any case.
    pub fn find(name: &[u8]) -> Option<Self> {
        let bit = Self::NAMES
            .iter()
            .position(|known| name.eq_ignore_ascii_case(known.as_bytes()))?;
        Some(Self::from_bits_truncate(1 << bit))
    }

    /// The names of the categories that are set, in order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .iter()
            .enumerate()
            .filter(move |(bit, _)| self.bits() & (1 << bit) != 0)
            .map(|(_, name)| *name)
    }
}

/// The family a command belongs to, as COMMAND DOCS names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    Generic,
    String,
    List,
    Set,
    SortedSet,
    Hash,
    PubSub,
    Transactions,
    Connection,
    Server,
    Scripting,
    HyperLogLog,
    Cluster,
    Geo,
    Stream,
    Bitmap,
}

impl Group {
    pub fn name(self) -> &'static str {
        match self {
            Group::Generic => "generic",
            Group::String => "string",
            Group::List => "list",
            Group::Set => "set",
            Group::SortedSet => "sorted-set",
            Group::Hash => "hash",
            Group::PubSub => "pubsub",
            Group::Transactions => "transactions",
            Group::Connection => "connection",
            Group::Server => "server",
            Group::Scripting => "scripting",
            Group::HyperLogLog => "hyperloglog",
            Group::Cluster => "cluster",
            Group::Geo => "geo",
            Group::Stream => "stream",
            Group::Bitmap => "bitmap",
        }
    }
}

bitflags! {
    /// What a command does with the keys of one key spec.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct KeyFlags: u32 {
        const RO = 1;
        const RW = 1 << 1;
        const OW = 1 << 2;
        const RM = 1 << 3;
        const ACCESS = 1 << 4;
        const UPDATE = 1 << 5;
        const INSERT = 1 << 6;
        const DELETE = 1 << 7;
        const NOT_KEY = 1 << 8;
        const INCOMPLETE = 1 << 9;
        const VARIABLE_FLAGS = 1 << 10;
    }
}

impl KeyFlags {
    /// Names in the order in which COMMAND INFO lists them.
    pub const NAMES: &'static [&'static str] = &[
        "RO",
        "RW",
        "OW",
        "RM",
        "access",
        "update",
        "insert",
        "delete",
        "not_key",
        "incomplete",
        "variable_flags",
    ];

    /// The names of the flags that are set, in order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .iter()
            .enumerate()
            .filter(move |(bit, _)| self.bits() & (1 << bit) != 0)
            .map(|(_, name)| *name)
    }
}

/// Where the keys of a command begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    Index(usize),
    /// After the given word, searched from the given position (negative: from the end).
    Keyword(&'static str, i32),
    Unknown,
}

/// How the keys go on from their beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Find {
    /// `last` is relative to the beginning, negative from the end of the arguments; `limit` cuts the rest (2: half).
    Range {
        last: i32,
        step: usize,
        limit: i32,
    },
    /// A count at `count` (relative to the beginning) tells how many keys follow from `first`.
    KeyNum {
        count: usize,
        first: usize,
        step: usize,
    },
    Unknown,
}

/// One group of key positions with what happens to those keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeySpec {
    pub begin: Begin,
    pub find: Find,
    pub flags: KeyFlags,
    pub notes: &'static str,
}

impl KeySpec {
    /// Exactly one key at `index`.
    pub const fn one(index: usize, flags: KeyFlags) -> Self {
        Self::range(index, 0, 1, flags)
    }

    /// Keys from `first` on; `last` as in [`Find::Range`].
    pub const fn range(first: usize, last: i32, step: usize, flags: KeyFlags) -> Self {
        Self {
            begin: Begin::Index(first),
            find: Find::Range {
                last,
                step,
                limit: 0,
            },
            flags,
            notes: "",
        }
    }

    /// A count at `index` and as many keys behind it.
    pub const fn counted(index: usize, flags: KeyFlags) -> Self {
        Self {
            begin: Begin::Index(index),
            find: Find::KeyNum {
                count: 0,
                first: 1,
                step: 1,
            },
            flags,
            notes: "",
        }
    }
}

impl Run {
    /// The subcommands.
    pub fn children(&self) -> Option<&'static [CommandSpec]> {
        match self {
            Run::Container(children) | Run::ReadOrContainer(_, children) => Some(children),
            Run::Read(_) | Run::Write(_) | Run::ReadOrWrite(..) | Run::Control(_) => None,
        }
    }
}

impl CommandSpec {
    /// All ACL categories: those that flags and group imply, and the extra ones.
    pub fn all_categories(&self) -> Categories {
        let mut all = self.categories;
        let flags = self.flags;
        if flags.contains(Flags::WRITE) {
            all |= Categories::WRITE;
        }
        if flags.contains(Flags::READONLY) && self.group != Group::Scripting {
            all |= Categories::READ;
        }
        if flags.contains(Flags::ADMIN) {
            all |= Categories::ADMIN | Categories::DANGEROUS;
        }
        if flags.contains(Flags::PUBSUB) {
            all |= Categories::PUBSUB;
        }
        if flags.contains(Flags::BLOCKING) {
            all |= Categories::BLOCKING;
        }
        all |= if flags.contains(Flags::FAST) {
            Categories::FAST
        } else {
            Categories::SLOW
        };
        all
    }

    /// Whether `count` arguments, the name included, suit the arity.
    pub fn accepts(&self, count: usize) -> bool {
        if self.arity >= 0 {
            count == self.arity as usize
        } else {
            count >= self.arity.unsigned_abs() as usize
        }
    }
}
