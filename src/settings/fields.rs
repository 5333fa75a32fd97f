//! The settings that the server reads, as plain typed fields.

use super::choices::{
    AclPubsubDefault, FsyncPolicy, LogLevel, MaxmemoryPolicy, ProtectedAction, ShutdownFlags,
    Supervision,
};
use super::special::{EventFlags, OutputLimits, SavePoint};
use std::path::PathBuf;

/// A field bears the name of its setting, so that a search for either finds both;
/// the unit stands beside it. Values are within the bounds of the setting's row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    // Network.
    /// Addresses to listen on; a leading `-` marks one that may be missing.
    pub bind: Vec<String>,
    /// 0 asks for a free port.
    pub port: u16,
    pub unixsocket: Option<PathBuf>,
    /// File mode; 0 leaves what the umask gives.
    pub unixsocketperm: u32,
    pub tcp_backlog: u32,
    /// Seconds; 0 is off.
    pub tcp_keepalive: u32,
    /// Seconds without a request after which a connection is closed; 0 is never.
    pub timeout: u32,
    pub protected_mode: bool,
    pub maxclients: u32,
    /// A negative number is a share of maxmemory in percent.
    pub maxmemory_clients: i64,
    pub io_threads: u32,

    // General.
    pub databases: usize,
    pub loglevel: LogLevel,
    /// None is the standard output.
    pub logfile: Option<PathBuf>,
    pub pidfile: Option<PathBuf>,
    pub daemonize: bool,
    pub supervised: Supervision,
    pub dir: PathBuf,
    pub set_proc_title: bool,
    pub proc_title_template: String,
    /// Background rounds a second.
    pub hz: u32,
    /// 1 to 10.
    pub shutdown_on_sigint: ShutdownFlags,
    pub shutdown_on_sigterm: ShutdownFlags,

    // Access.
    /// Empty is no password.
    pub requirepass: Vec<u8>,
    /// None keeps the users in the settings file.
    pub aclfile: Option<PathBuf>,
    pub acl_pubsub_default: AclPubsubDefault,
    pub acllog_max_len: usize,
    pub enable_debug_command: ProtectedAction,
    pub enable_module_command: ProtectedAction,
    pub enable_protected_configs: ProtectedAction,

    // Limits of clients.
    pub client_output_buffer_limit: OutputLimits,
    /// Bytes.
    pub client_query_buffer_limit: usize,
    /// Bytes.
    pub proto_max_bulk_len: usize,
    /// 0 is no limit.
    pub tracking_table_max_keys: usize,

    // Memory.
    /// Bytes; 0 is no limit.
    pub maxmemory: u64,
    pub maxmemory_policy: MaxmemoryPolicy,
    pub maxmemory_samples: u32,
    /// 0 to 100.
    pub lfu_log_factor: u32,
    /// Minutes.
    pub lfu_decay_time: u32,
    pub repl_ping_replica_period: u32,
    pub lazyfree_lazy_eviction: bool,
    pub lazyfree_lazy_expire: bool,
    pub lazyfree_lazy_server_del: bool,

    // Small encodings.
    pub zset_max_listpack_entries: usize,
    /// Bytes.
    pub zset_max_listpack_value: usize,
    pub hash_max_listpack_entries: usize,
    /// Bytes.
    pub hash_max_listpack_value: usize,
    pub set_max_intset_entries: usize,
    pub set_max_listpack_entries: usize,
    /// Bytes.
    pub set_max_listpack_value: usize,
    /// Entries when positive, a size class -1 to -5 (4 kb to 64 kb) when negative.
    pub list_max_listpack_size: i32,
    /// Bytes.
    pub stream_node_max_bytes: usize,
    pub stream_node_max_entries: u64,
    /// Bytes.
    pub hll_sparse_max_bytes: usize,

    // Scripts.
    /// Milliseconds; 0 is no limit.
    pub busy_reply_threshold: u64,

    // Watching.
    /// Microseconds; negative is off, 0 logs every command.
    pub slowlog_log_slower_than: i64,
    pub slowlog_max_len: usize,
    /// Milliseconds; 0 is off.
    pub latency_monitor_threshold: u64,
    pub latency_tracking: bool,
    /// Percent.
    pub latency_tracking_info_percentiles: Vec<f64>,
    pub notify_keyspace_events: EventFlags,

    // Snapshots.
    pub save: Vec<SavePoint>,
    pub dbfilename: PathBuf,
    pub rdbcompression: bool,
    pub rdbchecksum: bool,
    pub rdb_save_incremental_fsync: bool,
    pub stop_writes_on_bgsave_error: bool,
    /// Microseconds of delay for each key written, for tests; negative: keys for each microsecond.
    pub rdb_key_save_delay: i32,
    /// Microseconds of delay for each key loaded, for tests; negative: keys for each microsecond.
    pub key_load_delay: i32,
    /// Bytes.
    // Append-only log.
    pub appendonly: bool,
    pub appendfilename: PathBuf,
    pub appenddirname: PathBuf,
    pub appendfsync: FsyncPolicy,
    /// 0 asks for none.
    pub min_replicas_to_write: usize,
    /// Seconds.
    pub min_replicas_max_lag: i64,
    /// Percent of growth; 0 is off.
    pub auto_aof_rewrite_percentage: u32,
    /// Bytes.
    pub auto_aof_rewrite_min_size: u64,
    pub aof_load_truncated: bool,
    pub aof_use_rdb_preamble: bool,
    pub aof_timestamp_enabled: bool,
    pub aof_rewrite_incremental_fsync: bool,
    pub aof_disable_auto_gc: bool,
}
