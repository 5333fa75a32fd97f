//! A connection in words: its line of CLIENT LIST.

use super::client::{Client, client_flags};
use super::table::CommandTable;
use super::time::Moment;
use std::sync::atomic::Ordering::Relaxed;

/// The flag letters of a connection, in Redis's order.
fn flag_letters(client: &Client) -> String {
    let letters = [
        (client_flags::REPLICA, 'S'),
        (client_flags::MONITOR, 'O'),
        (client_flags::PUBSUB, 'P'),
        (client_flags::MULTI, 'x'),
        (client_flags::BLOCKED, 'b'),
        (client_flags::TRACKING, 't'),
        (client_flags::TRACKING_BROKEN_REDIRECT, 'R'),
        (client_flags::TRACKING_BCAST, 'B'),
    ];
    let mut text: String = letters
        .iter()
        .filter(|(flag, _)| client.has_flag(*flag))
        .map(|(_, letter)| *letter)
        .collect();
    if client.watch_broken.load(Relaxed) {
        text.push('d');
    }
    if client.has_flag(client_flags::CLOSE_AFTER_REPLY) {
        text.push('c');
    }
    if client.unix_socket {
        text.push('U');
    }
    if client.has_flag(client_flags::NO_EVICT) {
        text.push('e');
    }
    if client.has_flag(client_flags::NO_TOUCH) {
        text.push('T');
    }
    if text.is_empty() {
        text.push('N');
    }
    text
}

/// One line of CLIENT LIST, without its end.
pub fn describe(client: &Client, table: &CommandTable, now: Moment) -> Vec<u8> {
    let usage = client.mailbox.usage();
    let names = client.names().clone();
    let command = client
        .last_command()
        .map_or("NULL", |id| &table.get(id).full_name);
    let redirect = client.redirection();
    let events = if usage.output_bytes > 0 { "rw" } else { "r" };
    let mut line = format!(
        "id={} addr={} laddr={} fd={} name=",
        client.id.0, client.address, client.local_address, client.file_descriptor
    )
    .into_bytes();
    line.extend_from_slice(&names.name);
    line.extend_from_slice(
        format!(
            " age={} idle={} flags={} db={} sub={} psub={} ssub={} multi={} qbuf={} qbuf-free={} argv-mem={} \
             multi-mem={} rbs={} rbp={} obl={} oll={} omem={} tot-mem={} events={} cmd={} user=",
            (now.unix_ms() - client.created_ms).max(0) / 1_000,
            (now.unix_ms() - client.last_interaction_ms.load(Relaxed)).max(0) / 1_000,
            flag_letters(client),
            client.db.load(Relaxed),
            client.channels.load(Relaxed),
            client.patterns.load(Relaxed),
            client.shard_channels.load(Relaxed),
            client.queued.load(Relaxed),
            usage.query_bytes,
            usage.query_free_bytes,
            0,
            client.queued_bytes.load(Relaxed),
            0,
            0,
            usage.output_bytes,
            usage.output_messages,
            usage.output_bytes,
            usage.memory_bytes,
            events,
            command,
        )
        .as_bytes(),
    );
    line.extend_from_slice(&names.user);
    let protocol = if client.is_resp3() { 3 } else { 2 };
    line.extend_from_slice(format!(" redir={redirect} resp={protocol} lib-name=").as_bytes());
    line.extend_from_slice(&names.client_library);
    line.extend_from_slice(b" lib-ver=");
    line.extend_from_slice(&names.client_library_version);
    line
}
