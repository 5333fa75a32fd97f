//! What connections have to know of the settings, readable while the engine is kept by a script.

use crate::limits::ARGUMENT_LEN_MAX;
use crate::settings::{OutputLimit, Settings};
use parking_lot::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The settings of connections as they stand.
pub struct ConnectionPolicy {
    values: RwLock<PolicyValues>,
    /// The longest argument of a request.
    bulk_len_max: AtomicUsize,
    /// Bytes of requests that may wait to be run.
    query_len_max: AtomicUsize,
}

/// A copy of the settings that matter here.
#[derive(Clone, Debug)]
pub struct PolicyValues {
    pub protected_mode: bool,
    pub keepalive_s: u32,
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
            normal_output: settings.client_output_buffer_limit.normal,
            subscriber_output: settings.client_output_buffer_limit.pubsub,
            replica_output: settings.client_output_buffer_limit.replica,
        }
    }
}

impl ConnectionPolicy {
    pub fn new(settings: &Settings) -> Self {
        let policy = Self {
            values: RwLock::new(PolicyValues::of(settings)),
            bulk_len_max: AtomicUsize::new(0),
            query_len_max: AtomicUsize::new(0),
        };
        policy.follow(settings);
        policy
    }

    /// Follows changed settings.
    pub fn follow(&self, settings: &Settings) {
        *self.values.write() = PolicyValues::of(settings);
        let bulk_len_max = settings.proto_max_bulk_len.min(ARGUMENT_LEN_MAX);
        self.bulk_len_max.store(bulk_len_max, Relaxed);
        let query_len_max = settings.client_query_buffer_limit;
        self.query_len_max.store(query_len_max, Relaxed);
    }

    /// Longest argument of a request in bytes.
    pub fn bulk_len_max(&self) -> usize {
        self.bulk_len_max.load(Relaxed)
    }

    /// Most bytes of requests of one connection that may wait to be run.
    pub fn query_len_max(&self) -> usize {
        self.query_len_max.load(Relaxed)
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
