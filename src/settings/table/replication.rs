//! Replication and cluster.

use super::Section;
use crate::settings::spec::{Change, Empty, INT_MAX, Kind, LONG_MAX, PORT_MAX, Spec, TextCheck};

pub(super) const REPLICATION: Section = Section {
    title: "Replication",
    rows: &[
        Spec::kind(
            "replicaof",
            Kind::ReplicaOf,
            "no one",
            "Host and port of the primary.",
        )
        .alias("slaveof")
        .at_start(),
        Spec::optional("masterauth", "Password for the primary.").secret(),
        Spec::optional("masteruser", "User name for the primary.").secret(),
        Spec::switch(
            "replica-serve-stale-data",
            "yes",
            "Whether a replica without its primary answers.",
        )
        .alias("slave-serve-stale-data"),
        Spec::switch(
            "replica-read-only",
            "yes",
            "Whether a replica refuses writes of clients.",
        )
        .alias("slave-read-only"),
        Spec::switch(
            "replica-lazy-flush",
            "no",
            "Whether a replica frees old data in the background.",
        )
        .alias("slave-lazy-flush"),
        Spec::switch(
            "replica-ignore-maxmemory",
            "yes",
            "Whether a replica leaves eviction to the primary.",
        )
        .alias("slave-ignore-maxmemory"),
        Spec::switch(
            "replica-ignore-disk-write-errors",
            "no",
            "Whether a replica goes on when its log fails.",
        ),
        Spec::integer(
            "replica-priority",
            (0, INT_MAX),
            "100",
            "Order of promotion; lower goes first, 0 never.",
        )
        .alias("slave-priority"),
        Spec::optional("replica-announce-ip", "Address that a replica reports.")
            .alias("slave-announce-ip"),
        Spec::integer(
            "replica-announce-port",
            (0, PORT_MAX),
            "0",
            "Port that a replica reports; 0 is its own.",
        )
        .alias("slave-announce-port"),
        Spec::switch(
            "replica-announced",
            "yes",
            "Whether sentinels learn of a replica.",
        ),
        Spec::integer(
            "min-replicas-to-write",
            (0, INT_MAX),
            "0",
            "Replicas that must be in step for writes; 0 is off.",
        )
        .alias("min-slaves-to-write")
        .used(|f, v| f.min_replicas_to_write = v.number()),
        Spec::integer(
            "min-replicas-max-lag",
            (0, INT_MAX),
            "10",
            "Seconds of lag up to which a replica is in step; 0 turns the demand for replicas off.",
        )
        .alias("min-slaves-max-lag")
        .used(|f, v| f.min_replicas_max_lag = v.number()),
        Spec::memory(
            "repl-backlog-size",
            (1, LONG_MAX as u64),
            "1mb",
            "Bytes kept for replicas that come back.",
        ),
        Spec::integer(
            "repl-backlog-ttl",
            (0, LONG_MAX),
            "3600",
            "Seconds without replicas after which the backlog is dropped; 0 is never.",
        ),
        Spec::integer(
            "repl-timeout",
            (1, INT_MAX),
            "60",
            "Seconds of silence after which a replication link is closed.",
        ),
        Spec::integer(
            "repl-ping-replica-period",
            (1, INT_MAX),
            "10",
            "Seconds between two pings to replicas.",
        )
        .alias("repl-ping-slave-period")
        .used(|f, v| f.repl_ping_replica_period = v.number()),
        Spec::switch(
            "repl-disable-tcp-nodelay",
            "no",
            "Whether small writes to replicas are gathered.",
        ),
        Spec::switch(
            "repl-diskless-sync",
            "yes",
            "Whether a snapshot for replicas goes straight to the socket.",
        ),
        Spec::integer(
            "repl-diskless-sync-delay",
            (0, INT_MAX),
            "5",
            "Seconds to wait for more replicas before a diskless sync.",
        ),
        Spec::integer(
            "repl-diskless-sync-max-replicas",
            (0, INT_MAX),
            "0",
            "Replicas at which a diskless sync starts at once; 0 waits.",
        ),
        Spec::choice(
            "repl-diskless-load",
            &["disabled", "on-empty-db", "swapdb"],
            "disabled",
            "Whether a replica loads from the socket.",
        )
        .change(Change::NotWhileLoading),
        Spec::choice(
            "propagation-error-behavior",
            &["ignore", "panic", "panic-on-replicas"],
            "ignore",
            "What an error in a replicated command does.",
        ),
    ],
};

pub(super) const CLUSTER: Section = Section {
    title: "Cluster",
    rows: &[
        Spec::switch(
            "cluster-enabled",
            "no",
            "Whether the server is a node of a Redis Cluster.",
        )
        .at_start(),
        Spec::text(
            "cluster-config-file",
            "nodes.conf",
            "File with the state of the cluster.",
        )
        .at_start(),
        Spec::integer(
            "cluster-node-timeout",
            (0, LONG_MAX),
            "15000",
            "Milliseconds of silence after which a node counts as failed.",
        ),
        Spec::integer(
            "cluster-port",
            (0, PORT_MAX),
            "0",
            "Port of the cluster bus; 0 is the port plus 10000.",
        )
        .at_start(),
        Spec::integer(
            "cluster-replica-validity-factor",
            (0, INT_MAX),
            "10",
            "How stale a replica may be to take over.",
        )
        .alias("cluster-slave-validity-factor"),
        Spec::switch(
            "cluster-replica-no-failover",
            "no",
            "Whether a replica never takes over by itself.",
        )
        .alias("cluster-slave-no-failover"),
        Spec::integer(
            "cluster-migration-barrier",
            (0, INT_MAX),
            "1",
            "Replicas that a primary keeps when others migrate.",
        ),
        Spec::switch(
            "cluster-allow-replica-migration",
            "yes",
            "Whether replicas move to primaries without any.",
        ),
        Spec::switch(
            "cluster-require-full-coverage",
            "yes",
            "Whether all slots must be served for any to be.",
        ),
        Spec::switch(
            "cluster-allow-reads-when-down",
            "no",
            "Whether reads are served while the cluster is down.",
        ),
        Spec::switch(
            "cluster-allow-pubsubshard-when-down",
            "yes",
            "Whether shard channels work while the cluster is down.",
        ),
        Spec::memory(
            "cluster-link-sendbuf-limit",
            (0, u64::MAX),
            "0",
            "Bytes waiting on a link of the bus; 0 is no limit.",
        )
        .unsigned(),
        Spec::optional("cluster-announce-ip", "Address that the node reports."),
        Spec::integer(
            "cluster-announce-port",
            (0, PORT_MAX),
            "0",
            "Port that the node reports.",
        ),
        Spec::integer(
            "cluster-announce-tls-port",
            (0, PORT_MAX),
            "0",
            "TLS port that the node reports.",
        ),
        Spec::integer(
            "cluster-announce-bus-port",
            (0, PORT_MAX),
            "0",
            "Bus port that the node reports.",
        ),
        Spec::kind(
            "cluster-announce-hostname",
            Kind::Text {
                check: TextCheck::HostName,
                empty: Empty::IsUnset,
            },
            "",
            "Host name that the node reports.",
        ),
        Spec::kind(
            "cluster-announce-human-nodename",
            Kind::Text {
                check: TextCheck::NodeName,
                empty: Empty::IsUnset,
            },
            "",
            "Name of the node in logs.",
        ),
        Spec::choice(
            "cluster-preferred-endpoint-type",
            &["ip", "hostname", "unknown-endpoint"],
            "ip",
            "How clients are told where a node is.",
        ),
        Spec::integer(
            "cluster-ping-interval",
            (0, INT_MAX),
            "1000",
            "Milliseconds between two pings of the bus.",
        )
        .hidden(),
    ],
};
