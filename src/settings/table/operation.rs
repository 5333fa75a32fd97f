//! Running the server: log, background work, watching, scripts, the process itself.

use super::Section;
use crate::settings::choices::{LogLevel, ShutdownFlags, Supervision, SyslogFacility};
use crate::settings::spec::{Empty, INT_MAX, INT_MIN, Kind, LONG_MAX, Spec, TextCheck};
use crate::settings::value::Value;

fn shutdown_flags(value: &Value) -> ShutdownFlags {
    match value {
        Value::Flags(names) => ShutdownFlags::from_names(names),
        _ => ShutdownFlags::default(),
    }
}

pub(super) const GENERAL: Section = Section {
    title: "General",
    rows: &[
        Spec::integer(
            "databases",
            (1, INT_MAX),
            "16",
            "Numbered databases that SELECT may choose from.",
        )
        .at_start()
        .used(|f, v| f.databases = v.number()),
        Spec::choice(
            "loglevel",
            LogLevel::NAMES,
            "notice",
            "Least important messages that are logged: debug, verbose, notice, warning or nothing.",
        )
        .used(|f, v| f.loglevel = LogLevel::from_name(v.choice())),
        Spec::text(
            "logfile",
            "",
            "File for the log; empty writes to the standard output.",
        )
        .at_start()
        .used(|f, v| f.logfile = v.optional_path()),
        Spec::optional(
            "pidfile",
            "File that holds the process id while the server runs.",
        )
        .at_start()
        .used(|f, v| f.pidfile = v.optional_path()),
        Spec::kind(
            "dir",
            Kind::Directory,
            ".",
            "Folder of the snapshot and the append-only log; other paths that are not absolute \
             start here too.",
        )
        .change(crate::settings::spec::Change::ProtectedNotWhileLoading)
        .used(|f, v| f.dir = v.path()),
        Spec::kind(
            "hz",
            Kind::Drawn {
                min: 0,
                max: INT_MAX,
                low: 1,
                high: 500,
            },
            "10",
            "Rounds of background work a second, drawn into 1 to 500.",
        )
        .used(|f, v| f.hz = v.number()),
        Spec::switch(
            "dynamic-hz",
            "yes",
            "Whether many connections raise hz by themselves.",
        ),
        Spec::kind(
            "shutdown-on-sigint",
            Kind::ShutdownFlags(ShutdownFlags::NAMES),
            "default",
            "What SIGINT asks for: default (save if there are save points), or any of save, \
             nosave, now, force.",
        )
        .used(|f, v| f.shutdown_on_sigint = shutdown_flags(v)),
        Spec::kind(
            "shutdown-on-sigterm",
            Kind::ShutdownFlags(ShutdownFlags::NAMES),
            "default",
            "What SIGTERM asks for, in the words of shutdown-on-sigint.",
        )
        .used(|f, v| f.shutdown_on_sigterm = shutdown_flags(v)),
        Spec::integer(
            "shutdown-timeout",
            (0, INT_MAX),
            "10",
            "Seconds that a shutdown waits for replicas that lag behind.",
        ),
    ],
};

pub(super) const WATCHING: Section = Section {
    title: "Watching: slow log, latency, events",
    rows: &[
        Spec::integer(
            "slowlog-log-slower-than",
            (-1, LONG_MAX),
            "10000",
            "Commands that run for longer than this many microseconds are kept in the slow log; \
             0 keeps all, -1 none.",
        )
        .used(|f, v| f.slowlog_log_slower_than = v.number()),
        Spec::integer(
            "slowlog-max-len",
            (0, LONG_MAX),
            "128",
            "Entries of the slow log.",
        )
        .used(|f, v| f.slowlog_max_len = v.number()),
        Spec::integer(
            "latency-monitor-threshold",
            (0, LONG_MAX),
            "0",
            "Events that take at least this many milliseconds are kept for LATENCY; 0 keeps none.",
        )
        .used(|f, v| f.latency_monitor_threshold = v.number()),
        Spec::switch(
            "latency-tracking",
            "yes",
            "Whether a histogram of run times is kept for each command.",
        )
        .used(|f, v| f.latency_tracking = v.bool()),
        Spec::kind(
            "latency-tracking-info-percentiles",
            Kind::Percentiles,
            "50 99 99.9",
            "Percentiles, 0 to 100, that INFO latencystats shows.",
        )
        .used(|f, v| {
            if let Value::Percentiles(list) = v {
                f.latency_tracking_info_percentiles = list.clone();
            }
        }),
        Spec::kind(
            "notify-keyspace-events",
            Kind::Events,
            "",
            "Events published when keys change: K and E choose the channels (by key, by event), \
             g $ l s h z x e t d the classes (A is all of these), m misses, n new keys. Empty \
             publishes nothing.",
        )
        .used(|f, v| {
            if let Value::Events(flags) = v {
                f.notify_keyspace_events = *flags;
            }
        }),
    ],
};

pub(super) const SCRIPTS: Section = Section {
    title: "Scripts",
    rows: &[
        Spec::integer(
            "busy-reply-threshold",
            (0, LONG_MAX),
            "5000",
            "Milliseconds after which other clients get BUSY while a script runs, and SCRIPT KILL \
             works; 0 never answers BUSY.",
        )
        .alias("lua-time-limit")
        .used(|f, v| f.busy_reply_threshold = v.number()),
        Spec::switch(
            "lua-enable-deprecated-api",
            "no",
            "Whether scripts see functions that Redis has taken away.",
        )
        .at_start()
        .hidden(),
    ],
};

pub(super) const PROCESS: Section = Section {
    title: "The process",
    rows: &[
        Spec::switch("daemonize", "no", "Whether to go into the background.")
            .at_start()
            .used(|f, v| f.daemonize = v.bool()),
        Spec::choice(
            "supervised",
            Supervision::NAMES,
            "no",
            "Which service manager is told that the server is ready; upstart is not.",
        )
        .at_start()
        .used(|f, v| f.supervised = Supervision::from_name(v.choice())),
        Spec::switch(
            "syslog-enabled",
            "no",
            "Whether to log to the system log as well.",
        )
        .at_start(),
        Spec::text(
            "syslog-ident",
            "redis",
            "Name under which the system log shows the server.",
        )
        .at_start(),
        Spec::choice(
            "syslog-facility",
            SyslogFacility::NAMES,
            "local0",
            "Where the system log files the messages: user or local0 to local7.",
        )
        .at_start(),
        Spec::switch(
            "always-show-logo",
            "no",
            "Whether the start message has a drawing.",
        )
        .at_start(),
        Spec::switch(
            "set-proc-title",
            "yes",
            "Whether the process title shows the address.",
        )
        .at_start()
        .used(|f, v| f.set_proc_title = v.bool()),
        Spec::kind(
            "proc-title-template",
            Kind::Text {
                check: TextCheck::ProcessTitle,
                empty: Empty::IsValue,
            },
            "{title} {listen-addr} {server-mode}",
            "Form of the process title.",
        )
        .used(|f, v| f.proc_title_template = v.string()),
        Spec::kind(
            "locale-collate",
            Kind::Text {
                check: TextCheck::Locale,
                empty: Empty::IsValue,
            },
            "",
            "Locale by which SORT ALPHA and scripts compare texts; rankd compares bytes.",
        ),
        Spec::choice(
            "oom-score-adj",
            &["no", "yes", "relative", "absolute"],
            "no",
            "Whether to tell the system which process to end first when memory runs out.",
        ),
        Spec::kind(
            "oom-score-adj-values",
            Kind::OomScores,
            "0 200 800",
            "Scores for oom-score-adj: primary, replica, background child (-2000 to 2000).",
        ),
        Spec::switch(
            "disable-thp",
            "yes",
            "Whether to turn off transparent huge pages.",
        )
        .at_start(),
        Spec::switch(
            "jemalloc-bg-thread",
            "yes",
            "Whether freed memory is purged by a thread.",
        ),
        Spec::optional("server-cpulist", "Processors for the server's threads.")
            .alias("server_cpulist")
            .at_start(),
        Spec::optional("bio-cpulist", "Processors for background threads.")
            .alias("bio_cpulist")
            .at_start(),
        Spec::optional(
            "aof-rewrite-cpulist",
            "Processors for rewriting the append-only log.",
        )
        .alias("aof_rewrite_cpulist")
        .at_start(),
        Spec::optional("bgsave-cpulist", "Processors for writing a snapshot.")
            .alias("bgsave_cpulist")
            .at_start(),
        Spec::switch(
            "crash-log-enabled",
            "yes",
            "Whether a crash writes a report.",
        ),
        Spec::switch(
            "crash-memcheck-enabled",
            "yes",
            "Whether a crash report tests the memory.",
        ),
        Spec::text(
            "ignore-warnings",
            "",
            "Start-up warnings about the system to pass over.",
        ),
    ],
};

pub(super) const TESTING: Section = Section {
    title: "For tests",
    rows: &[
        Spec::integer(
            "rdb-key-save-delay",
            (INT_MIN, INT_MAX),
            "0",
            "Microseconds to wait for each key written to a snapshot; negative: keys written for \
             each microsecond of waiting.",
        )
        .hidden()
        .used(|f, v| f.rdb_key_save_delay = v.number()),
        Spec::integer(
            "key-load-delay",
            (INT_MIN, INT_MAX),
            "0",
            "Microseconds to wait for each key loaded; negative: keys loaded for each microsecond \
             of waiting.",
        )
        .hidden()
        .used(|f, v| f.key_load_delay = v.number()),
        Spec::kind(
            "loading-process-events-interval-bytes",
            Kind::Memory {
                min: 1024,
                max: INT_MAX as u64,
            },
            "512kb",
            "Bytes loaded between two looks at the connections.",
        )
        .hidden(),
        Spec::switch(
            "use-exit-on-panic",
            "no",
            "Whether a failed assertion exits without a core.",
        )
        .hidden(),
        Spec::integer(
            "watchdog-period",
            (0, INT_MAX),
            "0",
            "Milliseconds after which a stuck server logs where it is.",
        )
        .hidden(),
    ],
};
