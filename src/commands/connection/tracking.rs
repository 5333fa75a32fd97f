//! CLIENT TRACKING and its kin: what the client holds copies of, and how it is told to drop them.

use crate::engine::client::{Client, ClientId, client_flags};
use crate::engine::ctx::{ControlCtx, ReadCtx};
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::engine::tracking::TrackingOptions;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;

pub const TRACKING: CommandSpec = CommandSpec {
    name: "tracking",
    group: Group::Connection,
    summary: "Has the client told when keys change that it holds copies of.",
    since: "6.0.0",
    complexity: "O(1). Some options may introduce additional complexity.",
    arity: -3,
    flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
    categories: Categories::CONNECTION,
    keys: &[],
    tips: &[],
    syntax: "status<ON | OFF> [REDIRECT=client-id:integer] [PREFIX=prefix&...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
    run: Run::Control(tracking),
};

pub const CACHING: CommandSpec = CommandSpec {
    name: "caching",
    group: Group::Connection,
    summary: "Says whether the client keeps what the next command reads.",
    since: "6.0.0",
    complexity: "O(1)",
    arity: 3,
    flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
    categories: Categories::CONNECTION,
    keys: &[],
    tips: &[],
    syntax: "mode<YES | NO>",
    run: Run::Read(caching),
};

pub const TRACKINGINFO: CommandSpec = CommandSpec {
    name: "trackinginfo",
    group: Group::Connection,
    summary: "Tells how the connection tracks.",
    since: "6.2.0",
    complexity: "O(1)",
    arity: 2,
    flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
    categories: Categories::CONNECTION,
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Read(trackinginfo),
};

pub const GETREDIR: CommandSpec = CommandSpec {
    name: "getredir",
    group: Group::Connection,
    summary: "Tells which connection gets the messages of this one.",
    since: "6.0.0",
    complexity: "O(1)",
    arity: 2,
    flags: Flags::NOSCRIPT.union(Flags::LOADING.union(Flags::STALE)),
    categories: Categories::CONNECTION,
    keys: &[],
    tips: &[],
    syntax: "",
    run: Run::Read(getredir),
};

fn tracking(ctx: &mut ControlCtx<'_>, args: Args<'_>) -> Handled {
    let mut options = TrackingOptions::default();
    let mut prefixes = Vec::new();
    let mut position = 3;
    while let Some(word) = args.get(position) {
        let value = args.get(position + 1);
        position += 1;
        match (word.to_ascii_lowercase().as_slice(), value) {
            (b"redirect", Some(id)) => {
                if options.redirect.is_some() {
                    return Err(CommandError::Text(
                        "ERR A client can only redirect to a single other client",
                    ));
                }
                options.redirect = Some(existing_client(ctx, id)?);
                position += 1;
            }
            (b"prefix", Some(prefix)) => {
                prefixes.push(prefix);
                position += 1;
            }
            (b"bcast", _) => options.broadcast = true,
            (b"optin", _) => options.opt_in = true,
            (b"optout", _) => options.opt_out = true,
            (b"noloop", _) => options.no_loop = true,
            _ => return Err(CommandError::Syntax),
        }
    }
    let client = ctx.session.client.clone();
    if super::client::on_or_off(args.arg(2))? {
        check_options(&client, options, !prefixes.is_empty())?;
        ctx.engine.tracking.enable(&client, options, &prefixes)?;
    } else {
        ctx.engine.tracking.disable(&client);
    }
    ctx.reply.ok();
    Ok(())
}

fn existing_client(ctx: &ControlCtx<'_>, id: &[u8]) -> Result<ClientId, CommandError> {
    let id = parse_i64(id).ok_or(CommandError::NotInteger)?;
    u64::try_from(id)
        .ok()
        .and_then(|id| ctx.engine.clients.get(ClientId(id)))
        .map(|client| client.id)
        .ok_or(CommandError::Text(
            "ERR The client ID you want redirect to does not exist",
        ))
}

/// Whether the options fit together, and to what the client does already.
fn check_options(client: &Client, options: TrackingOptions, with_prefixes: bool) -> Handled {
    let has = |flag| client.has_flag(flag);
    let refusal = if with_prefixes && !options.broadcast {
        "ERR PREFIX option requires BCAST mode to be enabled"
    } else if has(client_flags::TRACKING) && has(client_flags::TRACKING_BCAST) != options.broadcast
    {
        "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it \
         with a different mode."
    } else if options.broadcast && (options.opt_in || options.opt_out) {
        "ERR OPTIN and OPTOUT are not compatible with BCAST"
    } else if options.opt_in && options.opt_out {
        "ERR You can't specify both OPTIN mode and OPTOUT mode"
    } else if options.opt_in && has(client_flags::TRACKING_OPTOUT)
        || options.opt_out && has(client_flags::TRACKING_OPTIN)
    {
        "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it \
         with a different mode."
    } else {
        return Ok(());
    };
    Err(CommandError::Text(refusal))
}

fn caching(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let client = &ctx.session.client;
    if !client.has_flag(client_flags::TRACKING) {
        return Err(CommandError::Text(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode \
             enabled",
        ));
    }
    let (mode, refusal) = if args.arg(2).eq_ignore_ascii_case(b"yes") {
        (
            client_flags::TRACKING_OPTIN,
            "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
        )
    } else if args.arg(2).eq_ignore_ascii_case(b"no") {
        (
            client_flags::TRACKING_OPTOUT,
            "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
        )
    } else {
        return Err(CommandError::Syntax);
    };
    if !client.has_flag(mode) {
        return Err(CommandError::Text(refusal));
    }
    client.set_flag(client_flags::TRACKING_CACHING, true);
    ctx.reply.ok();
    Ok(())
}

fn getredir(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    ctx.reply.integer(ctx.session.client.redirection());
    Ok(())
}

fn trackinginfo(ctx: &mut ReadCtx<'_>, _args: Args<'_>) -> Handled {
    let client = &ctx.session.client;
    let has = |flag| client.has_flag(flag);
    let caching = has(client_flags::TRACKING_CACHING);
    let (opt_in, opt_out) = (
        has(client_flags::TRACKING_OPTIN),
        has(client_flags::TRACKING_OPTOUT),
    );
    let words = [
        (!has(client_flags::TRACKING), "off"),
        (has(client_flags::TRACKING), "on"),
        (has(client_flags::TRACKING_BCAST), "bcast"),
        (opt_in, "optin"),
        (opt_in && caching, "caching-yes"),
        (opt_out, "optout"),
        (opt_out && caching, "caching-no"),
        (has(client_flags::TRACKING_NOLOOP), "noloop"),
        (
            has(client_flags::TRACKING_BROKEN_REDIRECT),
            "broken_redirect",
        ),
    ];
    let words: Vec<&str> = words
        .iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, word)| *word)
        .collect();
    let prefixes = ctx.engine().tracking.prefixes_of(client.id);
    let redirect = client.redirection();
    let reply = &mut *ctx.reply;
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(words.len());
    words.iter().for_each(|word| reply.bulk(word.as_bytes()));
    reply.bulk(b"redirect");
    reply.integer(redirect);
    reply.bulk(b"prefixes");
    reply.array(prefixes.len());
    prefixes.iter().for_each(|prefix| reply.bulk(prefix));
    Ok(())
}
