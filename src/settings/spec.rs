//! What a row of the settings table says about one setting.

use super::fields::Fields;
use super::value::Value;

/// One setting: how it is written, what it may hold and who uses it.
#[derive(Clone, Copy)]
pub struct Spec {
    /// Redis's name, in lower case.
    pub name: &'static str,
    /// A second name under which CONFIG and files know the same setting.
    pub alias: Option<&'static str>,
    pub kind: Kind,
    /// Redis keeps the number in an unsigned 64-bit variable, which shows in the text
    /// that refuses one below zero or above the signed range.
    pub unsigned: bool,
    /// The value in redis.conf syntax that a server without any file starts with.
    pub default: &'static str,
    pub change: Change,
    /// A hidden setting answers CONFIG GET by its exact name only.
    pub hidden: bool,
    /// Whether the value must not show in MONITOR, the slow log and the server log.
    pub secret: bool,
    /// Copies the value into the field the server reads; `None` for a setting that
    /// is only stored.
    pub load: Option<fn(&mut Fields, &Value)>,
    /// One or two sentences for config.toml and docs/SETTINGS.md.
    pub doc: &'static str,
}

/// When a setting may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// By CONFIG SET, at any time.
    Anytime,
    /// By CONFIG SET, but not while the data set is loading.
    NotWhileLoading,
    /// By CONFIG SET if enable-protected-configs allows it for the connection.
    Protected,
    /// As `Protected`, and not while loading.
    ProtectedNotWhileLoading,
    /// By file or command line only.
    AtStart,
}

/// The values that a setting takes, and how they are written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// `yes` or `no`.
    Bool,
    Integer {
        min: i64,
        max: i64,
    },
    /// Any integer from `min` to `max` is taken and then drawn into `low..=high`.
    Drawn {
        min: i64,
        max: i64,
        low: i64,
        high: i64,
    },
    /// Bytes, with the units k, kb, m, mb, g, gb.
    Memory {
        min: u64,
        max: u64,
    },
    /// Bytes, or a share of maxmemory such as `5%` (kept as a negative number).
    MemoryOrPercent,
    Octal {
        max: i64,
    },
    /// A number of threads from 1 on, or `auto`: as many as fit the machine.
    Threads {
        max: i64,
    },
    /// One of the names, without regard to case.
    Choice(&'static [&'static str]),
    /// Any set of the names except the first, which stands for the empty set.
    ShutdownFlags(&'static [&'static str]),
    Text {
        check: TextCheck,
        empty: Empty,
    },
    /// A folder that exists.
    Directory,
    Save,
    OutputLimits,
    OomScores,
    Events,
    Bind,
    ReplicaOf,
    Percentiles,
}

impl Kind {
    /// Whether a file line may give several words after the name.
    pub fn takes_many(&self) -> bool {
        matches!(
            self,
            Kind::Save
                | Kind::OutputLimits
                | Kind::OomScores
                | Kind::Bind
                | Kind::ReplicaOf
                | Kind::Percentiles
                | Kind::ShutdownFlags(_)
        )
    }
}

/// What CONFIG REWRITE does with a text setting that is empty.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Empty {
    /// The empty text is a value like any other.
    IsValue,
    /// The empty text means "not set": the line is dropped.
    IsUnset,
}

/// What a text setting may hold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TextCheck {
    Any,
    /// A file name without a path; may be empty.
    FileName,
    /// A file name without a path.
    FileNameNotEmpty,
    /// A folder name without a path.
    FolderName,
    HostName,
    NodeName,
    /// Text with the variables that Redis knows in a process title.
    ProcessTitle,
    Locale,
}

pub const INT_MIN: i64 = i32::MIN as i64;
pub const INT_MAX: i64 = i32::MAX as i64;
pub const UINT_MAX: i64 = u32::MAX as i64;
pub const LONG_MAX: i64 = i64::MAX;
pub const PORT_MAX: i64 = u16::MAX as i64;

/// Constructors for the rows; each row then adds what differs from a plain setting.
impl Spec {
    const fn new(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Spec {
        Spec {
            name,
            alias: None,
            kind,
            unsigned: false,
            default,
            change: Change::Anytime,
            hidden: false,
            secret: false,
            load: None,
            doc,
        }
    }

    pub(super) const fn kind(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        doc: &'static str,
    ) -> Spec {
        Spec::new(name, kind, default, doc)
    }

    pub(super) const fn switch(
        name: &'static str,
        default: &'static str,
        doc: &'static str,
    ) -> Spec {
        Spec::new(name, Kind::Bool, default, doc)
    }

    pub(super) const fn integer(
        name: &'static str,
        (min, max): (i64, i64),
        default: &'static str,
        doc: &'static str,
    ) -> Spec {
        Spec::new(name, Kind::Integer { min, max }, default, doc)
    }

    pub(super) const fn memory(
        name: &'static str,
        (min, max): (u64, u64),
        default: &'static str,
        doc: &'static str,
    ) -> Spec {
        Spec::new(name, Kind::Memory { min, max }, default, doc)
    }

    pub(super) const fn choice(
        name: &'static str,
        names: &'static [&'static str],
        default: &'static str,
        doc: &'static str,
    ) -> Spec {
        Spec::new(name, Kind::Choice(names), default, doc)
    }

    /// A text that may be empty.
    pub(super) const fn text(name: &'static str, default: &'static str, doc: &'static str) -> Spec {
        let kind = Kind::Text {
            check: TextCheck::Any,
            empty: Empty::IsValue,
        };
        Spec::new(name, kind, default, doc)
    }

    /// A text that is unset when empty, which is the default.
    pub(super) const fn optional(name: &'static str, doc: &'static str) -> Spec {
        let kind = Kind::Text {
            check: TextCheck::Any,
            empty: Empty::IsUnset,
        };
        Spec::new(name, kind, "", doc)
    }

    pub(super) const fn alias(mut self, alias: &'static str) -> Spec {
        self.alias = Some(alias);
        self
    }

    pub(super) const fn unsigned(mut self) -> Spec {
        self.unsigned = true;
        self
    }

    pub(super) const fn change(mut self, change: Change) -> Spec {
        self.change = change;
        self
    }

    pub(super) const fn at_start(self) -> Spec {
        self.change(Change::AtStart)
    }

    pub(super) const fn hidden(mut self) -> Spec {
        self.hidden = true;
        self
    }

    pub(super) const fn secret(mut self) -> Spec {
        self.secret = true;
        self
    }

    /// Marks the setting as used: `load` gives the value to the server.
    pub(super) const fn used(mut self, load: fn(&mut Fields, &Value)) -> Spec {
        self.load = Some(load);
        self
    }
}
