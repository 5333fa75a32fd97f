//! The settings that take one of a few names, as enums.

/// Declares an enum together with the names under which files and CONFIG know it,
/// so that the two cannot drift apart.
macro_rules! choices {
    ($($(#[$doc:meta])* $kind:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $kind { $($(#[$variant_doc])* $variant,)* }

        impl $kind {
            /// The names in the order in which Redis lists them.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The value of a name out of [`Self::NAMES`]; the default for any other.
            pub fn from_name(name: &str) -> Self {
                match name { $($name => $kind::$variant,)* _ => Self::default() }
            }

            pub fn name(self) -> &'static str {
                match self { $($kind::$variant => $name,)* }
            }
        }
    )* };
}

choices! {
    /// When the append-only log is forced to disk.
    FsyncPolicy {
        #[default]
        EverySecond = "everysec",
        Always = "always",
        Never = "no",
    }

    /// Which keys make room when maxmemory is reached.
    MaxmemoryPolicy {
        VolatileLru = "volatile-lru",
        VolatileLfu = "volatile-lfu",
        VolatileRandom = "volatile-random",
        VolatileTtl = "volatile-ttl",
        AllkeysLru = "allkeys-lru",
        AllkeysLfu = "allkeys-lfu",
        AllkeysRandom = "allkeys-random",
        #[default]
        NoEviction = "noeviction",
    }

    /// The least important messages that the server log keeps.
    LogLevel {
        Debug = "debug",
        Verbose = "verbose",
        #[default]
        Notice = "notice",
        Warning = "warning",
        Nothing = "nothing",
    }

    /// For whom a dangerous command is open.
    ProtectedAction {
        #[default]
        No = "no",
        Yes = "yes",
        /// Only over a loopback address or the Unix socket.
        Local = "local",
    }

    /// Which service manager is told that the server is ready.
    Supervision {
        /// Nobody is told: its way of being told stops the process.
        Upstart = "upstart",
        Systemd = "systemd",
        /// The one that started the server.
        Auto = "auto",
        #[default]
        No = "no",
    }

    /// Which payloads RESTORE and loading check in depth.
    SanitizePayload {
        #[default]
        No = "no",
        Yes = "yes",
        /// Payloads of clients, but not of a file or a primary.
        Clients = "clients",
    }

    /// The channels open to a new ACL user.
    AclPubsubDefault {
        AllChannels = "allchannels",
        #[default]
        ResetChannels = "resetchannels",
    }

    /// Where the system log files the messages.
    SyslogFacility {
        User = "user",
        #[default]
        Local0 = "local0",
        Local1 = "local1",
        Local2 = "local2",
        Local3 = "local3",
        Local4 = "local4",
        Local5 = "local5",
        Local6 = "local6",
        Local7 = "local7",
    }
}

/// What SIGTERM or SIGINT asks of the shutdown; all false is the default behaviour:
/// save if there are save points, wait for replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownFlags {
    pub save: bool,
    pub nosave: bool,
    pub now: bool,
    pub force: bool,
}

impl ShutdownFlags {
    pub const NAMES: &'static [&'static str] = &["default", "save", "nosave", "now", "force"];

    pub(super) fn from_names(names: &[&str]) -> ShutdownFlags {
        ShutdownFlags {
            save: names.contains(&"save"),
            nosave: names.contains(&"nosave"),
            now: names.contains(&"now"),
            force: names.contains(&"force"),
        }
    }
}
