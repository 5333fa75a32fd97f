//! Channels, patterns and shard channels: SUBSCRIBE and its kin, PUBLISH, PUBSUB.

use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::pubsub::ChannelSpace;
use crate::engine::session::Session;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::store::glob;
use bytes::Bytes;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "psubscribe",
        group: Group::PubSub,
        summary: "Listens to all channels that match patterns.",
        since: "2.0.0",
        complexity: "O(N) where N is the number of patterns to subscribe to.",
        arity: -2,
        flags: Flags::PUBSUB.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "pattern:pattern...",
        run: Run::Control(psubscribe),
    },
    CommandSpec {
        name: "publish",
        group: Group::PubSub,
        summary: "Sends a message to a channel.",
        since: "2.0.0",
        complexity: "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total number of subscribed patterns (by any client).",
        arity: 3,
        flags: Flags::PUBSUB.union(
            Flags::LOADING.union(Flags::STALE.union(Flags::FAST.union(Flags::MAY_REPLICATE))),
        ),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "channel message",
        run: Run::Control(publish),
    },
    CommandSpec {
        name: "pubsub",
        group: Group::PubSub,
        summary: "Looks at channels and their subscribers.",
        since: "2.8.0",
        complexity: "Depends on subcommand.",
        arity: -2,
        flags: Flags::empty(),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "",
        run: Run::Container(&[
            CommandSpec {
                name: "shardchannels",
                group: Group::PubSub,
                summary: "Lists the shard channels with subscribers.",
                since: "7.0.0",
                complexity: "O(N) where N is the number of active shard channels, and assuming constant time pattern matching (relatively short shard channels).",
                arity: -2,
                flags: Flags::PUBSUB.union(Flags::LOADING.union(Flags::STALE)),
                categories: Categories::empty(),
                keys: &[],
                tips: &[],
                syntax: "[pattern:pattern]",
                run: Run::Read(pubsub_shardchannels),
            },
            CommandSpec {
                name: "numpat",
                group: Group::PubSub,
                summary: "Counts the patterns that are listened to.",
                since: "2.8.0",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::PUBSUB.union(Flags::LOADING.union(Flags::STALE)),
                categories: Categories::empty(),
                keys: &[],
                tips: &[],
                syntax: "",
                run: Run::Read(pubsub_numpat),
            },
            CommandSpec {
                name: "channels",
                group: Group::PubSub,
                summary: "Lists the channels with subscribers.",
                since: "2.8.0",
                complexity: "O(N) where N is the number of active channels, and assuming constant time pattern matching (relatively short channels and patterns)",
                arity: -2,
                flags: Flags::PUBSUB.union(Flags::LOADING.union(Flags::STALE)),
                categories: Categories::empty(),
                keys: &[],
                tips: &[],
                syntax: "[pattern:pattern]",
                run: Run::Read(pubsub_channels),
            },
            CommandSpec {
                name: "help",
                group: Group::PubSub,
                summary: "Describes the subcommands.",
                since: "6.2.0",
                complexity: "O(1)",
                arity: 2,
                flags: Flags::LOADING.union(Flags::STALE),
                categories: Categories::empty(),
                keys: &[],
                tips: &[],
                syntax: "",
                run: Run::Read(pubsub_help),
            },
            CommandSpec {
                name: "numsub",
                group: Group::PubSub,
                summary: "Counts the subscribers of channels.",
                since: "2.8.0",
                complexity: "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
                arity: -2,
                flags: Flags::PUBSUB.union(Flags::LOADING.union(Flags::STALE)),
                categories: Categories::empty(),
                keys: &[],
                tips: &[],
                syntax: "[channel...]",
                run: Run::Read(pubsub_numsub),
            },
            CommandSpec {
                name: "shardnumsub",
                group: Group::PubSub,
                summary: "Counts the subscribers of shard channels.",
                since: "7.0.0",
                complexity: "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels",
                arity: -2,
                flags: Flags::PUBSUB.union(Flags::LOADING.union(Flags::STALE)),
                categories: Categories::empty(),
                keys: &[],
                tips: &[],
                syntax: "[shardchannel...]",
                run: Run::Read(pubsub_shardnumsub),
            },
        ]),
    },
    CommandSpec {
        name: "punsubscribe",
        group: Group::PubSub,
        summary: "Stops listening to patterns.",
        since: "2.0.0",
        complexity: "O(N) where N is the number of patterns to unsubscribe.",
        arity: -1,
        flags: Flags::PUBSUB.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "[pattern:pattern...]",
        run: Run::Control(punsubscribe),
    },
    CommandSpec {
        name: "spublish",
        group: Group::PubSub,
        summary: "Sends a message to a shard channel.",
        since: "7.0.0",
        complexity: "O(N) where N is the number of clients subscribed to the receiving shard channel.",
        arity: 3,
        flags: Flags::PUBSUB.union(
            Flags::LOADING.union(Flags::STALE.union(Flags::FAST.union(Flags::MAY_REPLICATE))),
        ),
        categories: Categories::empty(),
        keys: &[KeySpec::one(1, KeyFlags::NOT_KEY)],
        tips: &[],
        syntax: "shardchannel message",
        run: Run::Control(spublish),
    },
    CommandSpec {
        name: "ssubscribe",
        group: Group::PubSub,
        summary: "Listens to shard channels.",
        since: "7.0.0",
        complexity: "O(N) where N is the number of shard channels to subscribe to.",
        arity: -2,
        flags: Flags::PUBSUB.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
        categories: Categories::empty(),
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::NOT_KEY)],
        tips: &[],
        syntax: "shardchannel...",
        run: Run::Control(ssubscribe),
    },
    CommandSpec {
        name: "subscribe",
        group: Group::PubSub,
        summary: "Listens to channels.",
        since: "2.0.0",
        complexity: "O(N) where N is the number of channels to subscribe to.",
        arity: -2,
        flags: Flags::PUBSUB.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "channel...",
        run: Run::Control(subscribe),
    },
    CommandSpec {
        name: "sunsubscribe",
        group: Group::PubSub,
        summary: "Stops listening to shard channels.",
        since: "7.0.0",
        complexity: "O(N) where N is the number of shard channels to unsubscribe.",
        arity: -1,
        flags: Flags::PUBSUB.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
        categories: Categories::empty(),
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::NOT_KEY)],
        tips: &[],
        syntax: "[shardchannel...]",
        run: Run::Control(sunsubscribe),
    },
    CommandSpec {
        name: "unsubscribe",
        group: Group::PubSub,
        summary: "Stops listening to channels.",
        since: "2.0.0",
        complexity: "O(N) where N is the number of channels to unsubscribe.",
        arity: -1,
        flags: Flags::PUBSUB.union(Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE))),
        categories: Categories::empty(),
        keys: &[],
        tips: &[],
        syntax: "[channel...]",
        run: Run::Control(unsubscribe),
    },
];

/// What a client subscribes to.
#[derive(Clone, Copy)]
enum Kind {
    Channel,
    Pattern,
    Shard,
}

impl Kind {
    fn list(self, session: &mut Session) -> &mut Vec<Bytes> {
        match self {
            Kind::Channel => &mut session.channels,
            Kind::Pattern => &mut session.patterns,
            Kind::Shard => &mut session.shard_channels,
        }
    }

    /// The count that the confirmations of this kind carry.
    fn count(self, session: &Session) -> usize {
        match self {
            Kind::Channel | Kind::Pattern => session.subscriptions(),
            Kind::Shard => session.shard_channels.len(),
        }
    }
}

fn confirm(ctx: &mut ControlCtx<'_>, word: &str, name: Option<&[u8]>, count: usize) {
    ctx.session.reply_is_push = true;
    ctx.reply.push(3);
    ctx.reply.bulk(word.as_bytes());
    match name {
        Some(name) => ctx.reply.bulk(name),
        None => ctx.reply.null(),
    }
    ctx.reply.integer(count as i64);
}

fn subscribe_to(ctx: &mut ControlCtx<'_>, args: Args<'_>, kind: Kind, word: &str) -> Handled {
    for name in args.from(1).iter() {
        let name = Bytes::copy_from_slice(name);
        let list = kind.list(ctx.session);
        if !list.contains(&name) {
            list.push(name.clone());
            let client = &ctx.session.client;
            match kind {
                Kind::Channel => {
                    ctx.engine
                        .pubsub
                        .subscribe(ChannelSpace::Plain, name.clone(), client)
                }
                Kind::Shard => {
                    ctx.engine
                        .pubsub
                        .subscribe(ChannelSpace::Shard, name.clone(), client)
                }
                Kind::Pattern => ctx.engine.pubsub.subscribe_pattern(name.clone(), client),
            }
        }
        let count = kind.count(ctx.session);
        confirm(ctx, word, Some(&name), count);
    }
    ctx.session.publish_counts();
    Ok(())
}

fn unsubscribe_from(ctx: &mut ControlCtx<'_>, args: Args<'_>, kind: Kind, word: &str) -> Handled {
    let names: Vec<Bytes> = if args.len() > 1 {
        args.from(1).iter().map(Bytes::copy_from_slice).collect()
    } else {
        kind.list(ctx.session).clone()
    };
    if names.is_empty() {
        let count = kind.count(ctx.session);
        confirm(ctx, word, None, count);
    }
    let id = ctx.session.client.id;
    for name in names {
        kind.list(ctx.session).retain(|known| *known != name);
        match kind {
            Kind::Channel => ctx
                .engine
                .pubsub
                .unsubscribe(ChannelSpace::Plain, &name, id),
            Kind::Shard => ctx
                .engine
                .pubsub
                .unsubscribe(ChannelSpace::Shard, &name, id),
            Kind::Pattern => ctx.engine.pubsub.unsubscribe_pattern(&name, id),
        }
        let count = kind.count(ctx.session);
        confirm(ctx, word, Some(&name), count);
    }
    ctx.session.publish_counts();
    Ok(())
}

fn subscribe(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    subscribe_to(ctx, args, Kind::Channel, "subscribe")
}

fn unsubscribe(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    unsubscribe_from(ctx, args, Kind::Channel, "unsubscribe")
}

fn psubscribe(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    subscribe_to(ctx, args, Kind::Pattern, "psubscribe")
}

fn punsubscribe(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    unsubscribe_from(ctx, args, Kind::Pattern, "punsubscribe")
}

fn ssubscribe(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    subscribe_to(ctx, args, Kind::Shard, "ssubscribe")
}

fn sunsubscribe(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    unsubscribe_from(ctx, args, Kind::Shard, "sunsubscribe")
}

fn publish(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    publish_in(ctx, args, ChannelSpace::Plain)
}

fn spublish(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    publish_in(ctx, args, ChannelSpace::Shard)
}

fn publish_in(ctx: &mut ControlCtx<'_>, args: Args<'_>, space: ChannelSpace) -> Handled {
    let receivers = ctx.engine.pubsub.publish(space, args.arg(1), args.arg(2));
    ctx.reply.integer(receivers as i64);
    Ok(())
}

fn list_channels(ctx: &mut ReadCtx<'_>, args: Args<'_>, space: ChannelSpace) -> Handled {
    if args.len() > 3 {
        return Err(CommandError::subcommand_syntax("PUBSUB", args.arg(1)));
    }
    let pattern = args.get(2);
    let engine = ctx.engine();
    let names = engine
        .pubsub
        .channel_names(space)
        .filter(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name, false)));
    let mark = ctx.reply.begin_array();
    let mut count = 0;
    for name in names {
        ctx.reply.bulk(name);
        count += 1;
    }
    ctx.reply.end_array(mark, count);
    Ok(())
}

fn count_subscribers(ctx: &mut ReadCtx<'_>, args: Args<'_>, space: ChannelSpace) -> Handled {
    let channels = args.from(2);
    ctx.reply.array(channels.len() * 2);
    for channel in channels.iter() {
        ctx.reply.bulk(channel);
        let count = ctx.engine().pubsub.subscriber_count(space, channel);
        ctx.reply.integer(count as i64);
    }
    Ok(())
}

fn pubsub_channels(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    list_channels(ctx, args, ChannelSpace::Plain)
}

fn pubsub_shardchannels(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    list_channels(ctx, args, ChannelSpace::Shard)
}

fn pubsub_numsub(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    count_subscribers(ctx, args, ChannelSpace::Plain)
}

fn pubsub_shardnumsub(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    count_subscribers(ctx, args, ChannelSpace::Shard)
}

fn pubsub_numpat(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let count = ctx.engine().pubsub.pattern_count();
    ctx.reply.integer(count as i64);
    Ok(())
}

fn pubsub_help(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    super::help::write(
        ctx.reply,
        "PUBSUB",
        &[
            "CHANNELS [<pattern>]",
            "    Return the currently active channels matching a <pattern> (default: '*').",
            "NUMPAT",
            "    Return number of subscriptions to patterns.",
            "NUMSUB [<channel> ...]",
            "    Return the number of subscribers for the specified channels, excluding",
            "    pattern subscriptions(default: no channels).",
            "SHARDCHANNELS [<pattern>]",
            "    Return the currently active shard level channels matching a <pattern> (default: '*').",
            "SHARDNUMSUB [<shardchannel> ...]",
            "    Return the number of subscribers for the specified shard level channel(s)",
        ],
    );
    Ok(())
}
