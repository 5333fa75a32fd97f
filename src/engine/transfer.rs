//! Keys on their way to another server (MIGRATE): what is sent, and what became of it.
//!
//! The engine's lock is not held meanwhile, except inside a transaction or a script: the client waits, and when the
//! other server has answered its command is run again and finds the outcome here.

use super::Engine;
use super::client::ClientId;
use super::time::Moment;

/// The server that keys go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub host: String,
    pub port: u16,
    /// Words of AUTH: a password, or a user and a password.
    pub login: Vec<Vec<u8>>,
    pub db: i64,
    /// Longest wait for the connection, and for each step of it after that.
    pub timeout_ms: u64,
}

/// One key as it was when it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentKey {
    pub key: Vec<u8>,
    /// As DUMP has it.
    pub payload: Vec<u8>,
    /// Unix milliseconds.
    pub deadline_ms: Option<i64>,
    /// Milliseconds to live, 0 for ever: what RESTORE is told.
    pub ttl_ms: i64,
}

/// What is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub client: ClientId,
    pub destination: Destination,
    pub keys: Vec<SentKey>,
    /// Keys that are there already give way.
    pub replace: bool,
    /// How often these keys were sent before, and had changed when they had arrived.
    pub rounds: u32,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// For each key whether the other server has it.
    pub stored: Vec<bool>,
    /// The first failure, in the words for the client.
    pub error: Option<String>,
}

impl Transferred {
    /// Nothing arrived.
    pub fn failed(error: impl Into<String>) -> Self {
        Self {
            stored: Vec::new(),
            error: Some(error.into()),
        }
    }
}

impl Engine {
    /// The other server has answered: the client that waits for it goes on.
    pub fn transfer_ended(&mut self, transfer: Transfer, outcome: Transferred, now: &mut Moment) {
        let client = transfer.client;
        self.transfers.insert(client, (transfer, outcome));
        self.retry_wait(client, now);
        self.transfers.remove(&client);
        if self.blocking.has_ready() {
            self.serve_ready(now);
        }
    }
}
