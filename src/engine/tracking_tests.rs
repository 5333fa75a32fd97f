//! The table, the prefixes and the messages, without an engine around them.

use super::*;
use crate::engine::client::{Mailbox, MailboxUsage};
use crate::engine::session::Session;
use std::sync::Mutex;

/// Keeps what is delivered.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Mailbox for Kept {
    fn deliver(&self, bytes: Bytes) {
        self.0.lock().unwrap().extend_from_slice(&bytes);
    }
    fn hold(&self) {}
    fn nudge(&self, _bytes: Bytes) {}
    fn send(&self, _source: Box<dyn std::io::Read + Send>) {}
    fn unblock(&self, _session: Box<Session>) {}
    fn wake(&self) {}
    fn close(&self, _after_replies: bool) {}
    fn usage(&self) -> MailboxUsage {
        MailboxUsage::default()
    }
}

/// Clients of RESP3 with the mail they got.
struct World {
    tracking: Tracking,
    clients: ClientRegistry,
    mail: Vec<Kept>,
}

impl World {
    fn of(count: u64) -> Self {
        let mut world = World {
            tracking: Tracking::default(),
            clients: ClientRegistry::default(),
            mail: Vec::new(),
        };
        for id in 1..=count {
            let mailbox = Kept::default();
            world.mail.push(mailbox.clone());
            let nobody = String::new;
            let client = Client::new(ClientId(id), nobody(), nobody(), 0, Box::new(mailbox));
            client.protocol3.store(true, Relaxed);
            world.clients.add(Arc::new(client));
        }
        world
    }

    fn client(&self, id: u64) -> Arc<Client> {
        self.clients.get(ClientId(id)).unwrap()
    }

    fn enable(&mut self, id: u64, options: TrackingOptions, prefixes: &[&[u8]]) {
        let client = self.client(id);
        self.tracking.enable(&client, options, prefixes).unwrap();
    }

    fn change(&mut self, key: &[u8], author: u64) {
        self.tracking
            .key_changed(key, Some(ClientId(author)), &self.clients);
        self.tracking.check();
    }

    fn broadcast(&mut self) {
        self.tracking.broadcast(&self.clients);
        self.tracking.check();
    }

    /// What a client got since the last time, as one readable line.
    fn mail(&self, id: u64) -> String {
        let bytes = std::mem::take(&mut *self.mail[id as usize - 1].0.lock().unwrap());
        let words = String::from_utf8(bytes).unwrap();
        let words = words.split("\r\n").filter(|word| !word.starts_with('$'));
        words.collect::<Vec<_>>().join(" ").trim_end().to_string()
    }
}

const BROADCAST: TrackingOptions = TrackingOptions {
    redirect: None,
    broadcast: true,
    opt_in: false,
    opt_out: false,
    no_loop: false,
};

fn normal() -> TrackingOptions {
    TrackingOptions::default()
}

#[test]
fn a_reader_is_told_once() {
    let mut world = World::of(2);
    world.enable(1, normal(), &[]);
    world.tracking.remember(ClientId(1), b"a");
    world.tracking.remember(ClientId(1), b"a");
    assert_eq!(world.tracking.reader_count(), 1);
    world.change(b"b", 2);
    assert_eq!(world.mail(1), "");
    world.change(b"a", 2);
    world.change(b"a", 2);
    assert_eq!(world.mail(1), ">2 invalidate *1 a");
    assert_eq!(world.tracking.key_count(), 0);
}

#[test]
fn what_the_current_client_changes_waits_for_the_end_of_its_command() {
    let mut world = World::of(2);
    for id in [1, 2] {
        world.enable(id, normal(), &[]);
        world.tracking.remember(ClientId(id), b"a");
    }
    world.tracking.begin(Some(ClientId(1)), &world.clients);
    world.change(b"a", 1);
    world.tracking.all_keys_changed(&world.clients);
    assert_eq!(world.mail(1), "");
    assert_eq!(world.mail(2), ">2 invalidate *1 a >2 invalidate _");
    world.tracking.begin(None, &world.clients);
    assert_eq!(world.mail(1), ">2 invalidate *1 a >2 invalidate _");
}

#[test]
fn what_comes_before_the_reply_is_written_before_it() {
    let mut world = World::of(1);
    world.enable(1, normal(), &[]);
    world.tracking.remember(ClientId(1), b"a");
    world.tracking.begin(Some(ClientId(1)), &world.clients);
    world.change(b"a", 2);
    let mut reply = Reply::new(Protocol::Resp3);
    world
        .tracking
        .send_pending(&world.clients, Some(&mut reply));
    assert_eq!(
        reply.as_bytes(),
        b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n"
    );
    assert_eq!(world.mail(1), "");
}

#[test]
fn a_redirection_changes_the_receiver_and_the_form() {
    let mut world = World::of(3);
    let redirected = TrackingOptions {
        redirect: Some(ClientId(2)),
        ..normal()
    };
    world.enable(1, redirected, &[]);
    let target = world.client(2);
    let change_after_read = |world: &mut World| {
        world.tracking.remember(ClientId(1), b"a");
        world.change(b"a", 3);
        (world.mail(1), world.mail(2))
    };
    let (own, others) = change_after_read(&mut world);
    assert_eq!((own.as_str(), others.as_str()), ("", ">2 invalidate *1 a"));
    target.protocol3.store(false, Relaxed);
    let (own, others) = change_after_read(&mut world);
    assert_eq!((own.as_str(), others.as_str()), ("", ""));
    target.set_flag(client_flags::PUBSUB, true);
    let (own, others) = change_after_read(&mut world);
    assert_eq!(own, "");
    assert_eq!(others, "*3 message __redis__:invalidate *1 a");
    world.tracking.all_keys_changed(&world.clients);
    // The word of no value is the receiver's, and its length marker is left out of this line.
    assert_eq!(world.mail(2), "*3 message __redis__:invalidate");
    world.clients.remove(ClientId(2));
    let (own, others) = change_after_read(&mut world);
    assert_eq!(
        (own.as_str(), others.as_str()),
        (">2 tracking-redir-broken :2", "")
    );
    assert!(
        world
            .client(1)
            .has_flag(client_flags::TRACKING_BROKEN_REDIRECT)
    );
}

#[test]
fn a_broadcast_gathers_the_changes_of_a_batch() {
    let mut world = World::of(3);
    world.enable(1, BROADCAST, &[b"a:", b"b:"]);
    world.enable(2, BROADCAST, &[]);
    let quiet = TrackingOptions {
        no_loop: true,
        ..BROADCAST
    };
    world.enable(3, quiet, &[b"a:"]);
    assert_eq!(world.tracking.prefix_count(), 3);
    for (key, author) in [(b"a:2", 3), (b"b:1", 3), (b"a:1", 2), (b"c:1", 2)] {
        world.change(key, author);
    }
    assert_eq!(world.mail(1), "");
    world.broadcast();
    assert_eq!(
        world.mail(1),
        ">2 invalidate *2 a:1 a:2 >2 invalidate *1 b:1"
    );
    assert_eq!(world.mail(2), ">2 invalidate *4 a:1 a:2 b:1 c:1");
    assert_eq!(world.mail(3), ">2 invalidate *1 a:1");
    world.broadcast();
    assert_eq!(world.mail(2), "");
    for id in 1..=3 {
        let client = world.client(id);
        world.tracking.disable(&client);
        world.tracking.check();
    }
    assert_eq!(world.tracking.prefix_count(), 0);
    assert!(!world.tracking.is_active());
}

#[test]
fn a_long_batch_is_broadcast_in_parts() {
    let mut world = World::of(1);
    world.enable(1, BROADCAST, &[]);
    for number in 0..=limits::TRACKING_BROADCAST_KEYS_MAX {
        world
            .tracking
            .key_changed(&number.to_le_bytes(), None, &world.clients);
    }
    let gathered = world.tracking.prefixes[&b""[..]].changed.len();
    assert_eq!(gathered, 1);
    let first = format!(
        ">2\r\n$10\r\ninvalidate\r\n*{}\r\n",
        limits::TRACKING_BROADCAST_KEYS_MAX
    );
    assert!(
        world.mail[0]
            .0
            .lock()
            .unwrap()
            .starts_with(first.as_bytes())
    );
}

#[test]
fn prefixes_of_one_client_do_not_overlap() {
    let mut world = World::of(1);
    let client = world.client(1);
    let mut refuse = |prefixes: &[&[u8]]| {
        let refused = world.tracking.enable(&client, BROADCAST, prefixes);
        refused.map_err(|error| error.to_string())
    };
    let text = "ERR Prefix 'ab' overlaps with another provided prefix 'a'. Prefixes for a single client must not \
                overlap.";
    assert_eq!(refuse(&[b"x", b"ab", b"a"]), Err(text.to_string()));
    assert_eq!(refuse(&[b"x", b"ab"]), Ok(()));
    let text = "ERR Prefix 'abc' overlaps with an existing prefix 'ab'. Prefixes for a single client must not overlap.";
    assert_eq!(refuse(&[b"y", b"abc"]), Err(text.to_string()));
    assert_eq!(world.tracking.prefixes_of(ClientId(1)), [&b"ab"[..], b"x"]);
    let many: Vec<[u8; 4]> = (0..limits::TRACKING_PREFIXES_MAX as u32)
        .map(u32::to_be_bytes)
        .collect();
    let many: Vec<&[u8]> = many.iter().map(|prefix| &prefix[..]).collect();
    let refused = world.tracking.enable(&client, BROADCAST, &many);
    assert!(refused.is_err());
    assert_eq!(world.tracking.prefix_count(), 2);
}

#[test]
fn a_full_table_gives_up_random_keys_and_tells_their_readers() {
    let mut world = World::of(1);
    world.enable(1, normal(), &[]);
    for number in 0..250 {
        world
            .tracking
            .remember(ClientId(1), format!("k{number}").as_bytes());
    }
    let mut random = Random::new(7);
    let mut left = Vec::new();
    for _ in 0..3 {
        world.tracking.make_room(1, &mut random, &world.clients);
        world.tracking.check();
        left.push(world.tracking.key_count());
    }
    assert_eq!(left, [150, 1, 1]);
    let told = world.mail(1).matches("invalidate").count();
    assert_eq!(told, 249);
    world.tracking.make_room(0, &mut random, &world.clients);
    assert_eq!(world.tracking.key_count(), 1);
}

#[test]
fn readers_that_are_gone_do_not_pile_up_at_a_key() {
    const CLIENTS: u64 = 10_000;
    let mut world = World::of(CLIENTS);
    world.enable(CLIENTS, normal(), &[]);
    for id in 1..CLIENTS {
        world.enable(id, normal(), &[]);
        world.tracking.remember(ClientId(id), b"a");
        let client = world.client(id);
        world.tracking.forget(&client);
    }
    world.tracking.check();
    assert!(world.tracking.reader_count() <= limits::TRACKING_READERS_SWEEP_MIN);
    let last = world.client(CLIENTS);
    world.tracking.forget(&last);
    assert!(!world.tracking.is_active());
}

#[test]
fn keys_read_before_broadcasting_are_not_told() {
    let mut world = World::of(1);
    world.enable(1, normal(), &[]);
    world.tracking.remember(ClientId(1), b"a");
    let client = world.client(1);
    world.tracking.disable(&client);
    world.enable(1, BROADCAST, &[b"z"]);
    world.change(b"a", 2);
    world.broadcast();
    assert_eq!(world.mail(1), "");
}
