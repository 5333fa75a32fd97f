//! `maxmemory-clients`: when the buffers of all clients are too much together, the largest clients go.

use super::Shared;
use crate::engine::client::{Client, client_flags};
use crate::engine::stats::count;
use crate::limits::CLIENTS_MEMORY_BYTES_MIN;
use crate::settings::Settings;
use std::cmp::Reverse;
use std::sync::Arc;

/// What the clients may have together; None without a limit.
fn limit_bytes(settings: &Settings) -> Option<u64> {
    let bytes = match settings.maxmemory_clients {
        0 => return None,
        share @ ..0 => settings
            .maxmemory
            .checked_mul(share.unsigned_abs())
            .map_or(u64::MAX, |product| product / 100),
        bytes => bytes.unsigned_abs(),
    };
    (bytes > 0).then_some(bytes.max(CLIENTS_MEMORY_BYTES_MIN))
}

/// Disconnects the largest clients until the others keep to the limit. Replicas have a limit of their own; a client
/// that asked for it (CLIENT NO-EVICT) stays.
pub fn evict_clients(shared: &Shared, settings: &Settings) {
    let Some(limit_bytes) = limit_bytes(settings) else {
        return;
    };
    let mut sizes: Vec<(u64, Arc<Client>)> = shared
        .clients
        .all()
        .into_iter()
        .filter(|client| !client.has_flag(client_flags::REPLICA | client_flags::CLOSE_AFTER_REPLY))
        .map(|client| (client.memory_bytes(), client))
        .collect();
    let mut total: u64 = sizes.iter().map(|(bytes, _)| bytes).sum();
    if total <= limit_bytes {
        return;
    }
    sizes.retain(|(_, client)| !client.has_flag(client_flags::NO_EVICT));
    sizes.sort_unstable_by_key(|(bytes, _)| Reverse(*bytes));
    for (bytes, client) in sizes {
        if total <= limit_bytes {
            return;
        }
        tracing::info!(
            "Evicting client: id={} addr={} with {bytes} bytes",
            client.id.0,
            client.address
        );
        client.mailbox.close(false);
        count(&shared.stats.evicted_clients, 1);
        total -= bytes;
    }
}
