//! What connections have to know of the settings, readable while the engine is kept by a script.

use crate::limits::ARGUMENT_LEN_MAX;
use crate::settings::{OutputLimit, Settings};
use parking_lot::RwLock;
use std::sync::atomic::AtomicU64;

/// The settings of connections as they stand.
pub struct ConnectionPolicy {
    values: RwLock<PolicyValues>,
    /// Connections that were ended for what they left unread.
    pub output_disconnections: AtomicU64,
    /// Connections that were ended for a request that grew too long.
    pub query_disconnections: AtomicU64,
}

/// A copy of the settings that matter here.
#[derive(Clone, Debug)]
pub struct PolicyValues {
    pub protected_mode: bool,
    pub keepalive_s: u32,
    pub bulk_len_max: usize,
    pub query_len_max: usize,
    normal_output: OutputLimit,
    subscriber_output: OutputLimit,
    replica_output: OutputLimit,
}

/// What a connection is for, as far as its output limit goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputClass {
    Normal,
    Subscriber,
    Replica,
}

impl PolicyValues {
    fn of(settings: &Settings) -> Self {
        Self {
            protected_mode: settings.protected_mode,
            keepalive_s: settings.tcp_keepalive,
            bulk_len_max: settings.proto_max_bulk_len.min(ARGUMENT_LEN_MAX),
            query_len_max: settings.client_query_buffer_limit,
            normal_output: settings.client_output_buffer_limit.normal,
            subscriber_output: settings.client_output_buffer_limit.pubsub,
            replica_output: settings.client_output_buffer_limit.replica,
        }
    }
}

impl ConnectionPolicy {
    pub fn new(settings: &Settings) -> Self {
        Self {
            values: RwLock::new(PolicyValues::of(settings)),
            output_disconnections: AtomicU64::new(0),
            query_disconnections: AtomicU64::new(0),
        }
    }

    /// Follows changed settings.
    pub fn follow(&self, settings: &Settings) {
        *self.values.write() = PolicyValues::of(settings);
    }

    /// All values at this moment.
    pub fn values(&self) -> PolicyValues {
        self.values.read().clone()
    }

    /// The output limit of a connection.
    pub fn output_limit(&self, class: OutputClass) -> OutputLimit {
        let values = self.values.read();
        match class {
            OutputClass::Normal => values.normal_output,
            OutputClass::Subscriber => values.subscriber_output,
            OutputClass::Replica => values.replica_output,
        }
    }
}
