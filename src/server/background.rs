//! What happens by the clock: expiry, overdue waits, memory samples, idle connections.

use super::eviction::evict_clients;
use super::{Shared, durability};
use crate::engine::client::client_flags;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Rounds of expiry in one tick at the most, so that a flood of deadlines leaves time for requests.
const EXPIRE_ROUNDS_MAX: usize = 16;

/// Ticks until the server ends.
pub async fn run(shared: Arc<Shared>) {
    let mut next_second_ms = 0;
    let mut next_ping_ms = 0;
    loop {
        let (hz, more) = {
            let Some(mut engine) = shared.write() else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            shared.time.renew();
            let now = shared.time.now();
            engine.renew_touch(now);
            engine.stop_overdue(now);
            let more = (0..EXPIRE_ROUNDS_MAX).all(|_| engine.expire_cycle(now));
            let expired = shared.time.now();
            let cycle_ms = expired.monotonic_ns.saturating_sub(now.monotonic_ns) / 1_000_000;
            engine.latency.offer("expire-cycle", cycle_ms, now);
            let mut served = now;
            engine.serve_ready(&mut served);
            engine.serve_acks();
            durability::tick(&shared, &mut engine, now);
            let used = engine.outside.used_memory_bytes();
            engine.used_memory_bytes.store(used, Relaxed);
            engine.make_room(now);
            evict_clients(&shared, &engine.settings);
            engine.make_tracking_room();
            engine.broadcast_invalidations();
            engine.stats.peak_memory_bytes.fetch_max(used, Relaxed);
            let commands = engine.stats.commands_processed.load(Relaxed);
            let (input, output) = (engine.net_input_bytes(), engine.net_output_bytes());
            engine
                .rates
                .sample(now.monotonic_ns, commands, input, output);
            if now.unix_ms() >= next_second_ms {
                next_second_ms = now.unix_ms() + 1_000;
                let pings = now.unix_ms() >= next_ping_ms;
                if pings {
                    let period_s = i64::from(engine.settings.repl_ping_replica_period);
                    next_ping_ms = now.unix_ms() + period_s * 1_000;
                }
                engine.ping_followers(pings);
                // A limit with a time passes also when nothing more is sent.
                for client in shared.clients.all() {
                    client.mailbox.check_limits();
                }
                close_idle(&shared, i64::from(engine.settings.timeout), now.unix_ms());
            }
            (engine.settings.hz.max(1), more)
        };
        let wait_ms = if more { 1 } else { 1_000 / u64::from(hz) };
        tokio::time::sleep(Duration::from_millis(wait_ms.max(1))).await;
    }
}

/// Answers clients that wait until their writes are on disk, as soon as they are.
pub async fn serve_durable(shared: Arc<Shared>) {
    loop {
        shared.log.more_durable.notified().await;
        shared.with_engine(|engine| engine.serve_acks()).await;
    }
}

/// Ends connections that said nothing for `timeout_s` seconds; 0 keeps all.
fn close_idle(shared: &Shared, timeout_s: i64, now_ms: i64) {
    if timeout_s == 0 {
        return;
    }
    const STAY: u32 = client_flags::BLOCKED
        | client_flags::PUBSUB
        | client_flags::MONITOR
        | client_flags::REPLICA;
    for client in shared.clients.all() {
        let idle_ms = now_ms - client.last_interaction_ms.load(Relaxed);
        if idle_ms > timeout_s * 1_000 && !client.has_flag(STAY) {
            tracing::debug!("Closing idle client");
            client.mailbox.close(false);
        }
    }
}
