//! Listening, and what a connection may ask for.

use super::Section;
use crate::settings::spec::{INT_MAX, Kind, LONG_MAX, PORT_MAX, Spec, UINT_MAX};
use crate::settings::value::Value;

pub(super) const NETWORK: Section = Section {
    title: "Network",
    rows: &[
        Spec::kind(
            "bind",
            Kind::Bind,
            "127.0.0.1 -::1",
            "Addresses to listen on; `*` is every IPv4 address, `::*` every IPv6 one. An address \
             behind a `-` may be missing on the machine. Redis without a file listens on every \
             address; rankd stays on the loopback until told otherwise.",
        )
        .used(|f, v| f.bind = v.strings()),
        Spec::integer(
            "port",
            (0, PORT_MAX),
            "6379",
            "TCP port. 0 takes a free port and prints it (Redis: 0 listens on no port).",
        )
        .used(|f, v| f.port = v.number()),
        Spec::optional("unixsocket", "Path of a Unix socket to listen on as well.")
            .at_start()
            .used(|f, v| f.unixsocket = v.optional_path()),
        Spec::kind(
            "unixsocketperm",
            Kind::Octal { max: 0o777 },
            "0",
            "File mode of the Unix socket, in octal. 0 leaves what the umask gives.",
        )
        .at_start()
        .used(|f, v| f.unixsocketperm = v.number()),
        Spec::integer(
            "tcp-backlog",
            (0, INT_MAX),
            "511",
            "Connections that the system may hold ready before they are accepted.",
        )
        .at_start()
        .used(|f, v| f.tcp_backlog = v.number()),
        Spec::integer(
            "tcp-keepalive",
            (0, INT_MAX),
            "300",
            "Seconds of silence after which the system probes whether a client is still there; \
             0 never probes.",
        )
        .used(|f, v| f.tcp_keepalive = v.number()),
        Spec::integer(
            "timeout",
            (0, INT_MAX),
            "0",
            "Seconds without a request after which a client is disconnected; 0 keeps it.",
        )
        .used(|f, v| f.timeout = v.number()),
        Spec::switch(
            "protected-mode",
            "yes",
            "While no password is set, serve only clients on the same machine.",
        )
        .used(|f, v| f.protected_mode = v.bool()),
        Spec::kind(
            "io-threads",
            Kind::Threads { max: 128 },
            "auto",
            "Network threads. Each has its share of the connections; reads run side by side. \
             `auto` is one for each processor that the process may use, 8 at the most; CONFIG \
             GET answers the number. Redis: 1.",
        )
        .at_start()
        .used(|f, v| f.io_threads = v.threads()),
        Spec::switch(
            "io-threads-do-reads",
            "no",
            "Whether Redis's helper threads also parse requests.",
        )
        .at_start(),
        Spec::optional(
            "bind-source-addr",
            "Address from which to connect to other servers.",
        ),
        Spec::integer(
            "socket-mark-id",
            (0, UINT_MAX),
            "0",
            "Mark that the system's packet filter sees on the server's sockets; 0 is none.",
        )
        .at_start(),
    ],
};

pub(super) const CLIENTS: Section = Section {
    title: "Limits of clients",
    rows: &[
        Spec::integer(
            "maxclients",
            (1, UINT_MAX),
            "10000",
            "Connections served at the same time.",
        )
        .used(|f, v| f.maxclients = v.number()),
        Spec::kind(
            "client-output-buffer-limit",
            Kind::OutputLimits,
            "normal 0 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60",
            "Cuts off a client that reads too slowly: class (normal, replica, pubsub), bytes at \
             which it is cut off at once, bytes that it may not exceed for longer than the \
             seconds that follow. 0 is no limit.",
        )
        .used(|f, v| {
            if let Value::OutputLimits(limits) = v {
                f.client_output_buffer_limit = *limits;
            }
        }),
        Spec::memory(
            "client-query-buffer-limit",
            (1 << 20, LONG_MAX as u64),
            "1gb",
            "Bytes of unfinished requests that one client may send.",
        )
        .unsigned()
        .used(|f, v| f.client_query_buffer_limit = v.number()),
        Spec::memory(
            "proto-max-bulk-len",
            (1 << 20, LONG_MAX as u64),
            "512mb",
            "Longest single argument of a request, and longest string value, in bytes.",
        )
        .used(|f, v| f.proto_max_bulk_len = v.number()),
        Spec::kind(
            "maxmemory-clients",
            Kind::MemoryOrPercent,
            "0",
            "Memory for the buffers of all clients together, in bytes or as a share of maxmemory \
             such as 5%; beyond it the largest clients are disconnected. 0 is no limit.",
        )
        .used(|f, v| f.maxmemory_clients = v.number()),
        Spec::integer(
            "tracking-table-max-keys",
            (0, LONG_MAX),
            "1000000",
            "Keys remembered for client-side caching; beyond it old ones are invalidated. 0 is no \
             limit.",
        )
        .unsigned()
        .used(|f, v| f.tracking_table_max_keys = v.number()),
    ],
};
