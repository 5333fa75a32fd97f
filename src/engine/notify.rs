//! Keyspace notifications: the two messages of an event.

use super::pubsub::{ChannelSpace, PubSub};

/// Classes of events, as the letters of notify-keyspace-events select them.
pub use crate::settings::EventFlags as EventClass;

/// Publishes the event `name` of `key` if `enabled` selects its class.
pub fn notify(
    pubsub: &PubSub,
    enabled: EventClass,
    class: EventClass,
    name: &str,
    key: &[u8],
    db: usize,
) {
    if !enabled.intersects(class) {
        return;
    }
    if enabled.contains(EventClass::KEYSPACE) {
        let mut channel = format!("__keyspace@{db}__:").into_bytes();
        channel.extend_from_slice(key);
        pubsub.publish(ChannelSpace::Plain, &channel, name.as_bytes());
    }
    if enabled.contains(EventClass::KEYEVENT) {
        let channel = format!("__keyevent@{db}__:{name}");
        pubsub.publish(ChannelSpace::Plain, channel.as_bytes(), key);
    }
}
