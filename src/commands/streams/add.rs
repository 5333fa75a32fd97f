//! XADD and XTRIM.

use super::ids::{self, NewId};
use crate::commands::numbers::integer;
use crate::engine::ctx::{Lent, WriteCtx};
use crate::engine::notify::EventClass;
use crate::engine::session::Origin;
use crate::engine::spec::Handled;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::settings::Settings;
use crate::store::stream::{Log, NodeLimits, Stream, StreamId, Threshold, Trim};

/// Nodes that an approximate trim without LIMIT may remove.
const TRIM_NODES_MAX: u64 = 100;

/// Entries that it may remove in any case, and if nodes have no limit of entries.
const TRIM_ENTRIES_MAX: u64 = 1_000_000;
const TRIM_ENTRIES_WITHOUT_LIMIT: u64 = 10_000;

pub fn node_limits(settings: &Settings) -> NodeLimits {
    NodeLimits {
        bytes_max: settings.stream_node_max_bytes,
        entries_max: settings.stream_node_max_entries,
    }
}

/// The options in front of the id of XADD, and all of those of XTRIM.
#[derive(Default)]
struct Options {
    threshold: Option<Threshold>,
    approximate: bool,
    limit: Option<u64>,
    no_make: bool,
    /// XADD only: None takes the next id.
    id: Option<NewId>,
    /// Position of the id (XADD) or behind the last option.
    end: usize,
}

impl Options {
    fn parse(args: Args<'_>, is_add: bool) -> Result<Self, CommandError> {
        let mut options = Self {
            end: 2,
            ..Self::default()
        };
        while let Some(word) = args.get(options.end) {
            let values = args.from(options.end + 1);
            let is = |name: &[u8]| !values.is_empty() && word.eq_ignore_ascii_case(name);
            if is_add && word == b"*" {
                break;
            } else if is(b"maxlen") || is(b"minid") {
                options.end += 1 + options.take_threshold(values, is(b"maxlen"))?;
            } else if is(b"limit") {
                let limit = u64::try_from(integer(values.arg(0))?)
                    .map_err(|_| CommandError::Text("ERR The LIMIT argument must be >= 0."))?;
                options.limit = Some(limit);
                options.end += 2;
            } else if is_add && word.eq_ignore_ascii_case(b"nomkstream") {
                options.no_make = true;
                options.end += 1;
            } else if is_add {
                options.id = Some(ids::new_id(word)?);
                break;
            } else {
                return Err(CommandError::Syntax);
            }
        }
        options.check(is_add)?;
        Ok(options)
    }

    /// Reads what follows MAXLEN or MINID; how many words that are.
    fn take_threshold(&mut self, values: Args<'_>, is_len: bool) -> Result<usize, CommandError> {
        if self.threshold.is_some() {
            return Err(CommandError::Text(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            ));
        }
        let mark = values.len() >= 2 && matches!(values.arg(0), b"~" | b"=");
        self.approximate = mark && values.arg(0) == b"~";
        let text = values.arg(mark.into());
        self.threshold = Some(if is_len {
            let len = u64::try_from(integer(text)?)
                .map_err(|_| CommandError::Text("ERR The MAXLEN argument must be >= 0."))?;
            Threshold::Len(len)
        } else {
            Threshold::MinId(ids::strict(text)?)
        });
        Ok(1 + usize::from(mark))
    }

    fn check(&self, is_add: bool) -> Result<(), CommandError> {
        if self.threshold.is_none() {
            if self.limit.is_some_and(|limit| limit > 0) {
                return Err(CommandError::Text(
                    "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
                ));
            }
            if !is_add {
                return Err(CommandError::Text(
                    "ERR syntax error, XTRIM must be called with a trimming strategy",
                ));
            }
        }
        if self.limit.is_some() && !self.approximate {
            return Err(CommandError::Text(
                "ERR syntax error, LIMIT cannot be used without the special ~ option",
            ));
        }
        Ok(())
    }

    fn trim(&self, settings: &Settings, origin: Origin) -> Option<Trim> {
        let by_nodes = match settings.stream_node_max_entries {
            0 => TRIM_ENTRIES_WITHOUT_LIMIT,
            entries => entries.saturating_mul(TRIM_NODES_MAX).min(TRIM_ENTRIES_MAX),
        };
        let limit = match self.limit {
            // What is replayed was limited when it was first run.
            _ if origin == Origin::Replay || !self.approximate => 0,
            Some(limit) => limit,
            None => by_nodes,
        };
        Some(Trim {
            threshold: self.threshold?,
            approximate: self.approximate,
            limit,
        })
    }
}

/// The words that trim to what is left now.
fn exact_trim(log: &Log, threshold: Threshold) -> [Vec<u8>; 3] {
    let (name, text) = match threshold {
        Threshold::Len(_) => ("MAXLEN", log.len().to_string()),
        // No id below the first one: there is none.
        Threshold::MinId(_) if log.is_empty() => ("MAXLEN", "0".to_string()),
        Threshold::MinId(_) => ("MINID", log.first_id().to_string()),
    };
    [name.into(), b"=".to_vec(), text.into_bytes()]
}

pub fn xadd(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let options = Options::parse(args, true)?;
    let words = args.from(options.end.saturating_add(1).min(args.len()));
    if words.is_empty() || words.len() % 2 == 1 {
        return Err(CommandError::wrong_arity("xadd"));
    }
    if options.id == Some(NewId::Full(StreamId::MIN)) {
        return Err(CommandError::Text(
            "ERR The ID specified in XADD must be greater than 0-0",
        ));
    }
    let key = args.arg(1);
    let last_id = match ctx.read::<Stream>(key)? {
        Some(stream) => stream.log().last_id,
        None if options.no_make => {
            ctx.reply.null();
            return Ok(());
        }
        None => StreamId::MIN,
    };
    let id = choose_id(last_id, options.id, ctx.present().unix_ms())?;
    if !Log::may_hold(words.iter().map(<[u8]>::len).sum()) {
        return Err(CommandError::Text(
            "ERR Elements are too large to be stored",
        ));
    }
    let trim = options.trim(ctx.settings(), ctx.session.origin);
    ctx.upsert::<Stream, ()>(key, |stream, lent| {
        let log = stream.log_mut();
        log.append(id, words.iter(), node_limits(lent.settings));
        ids::write(lent.reply, id);
        lent.changed(1);
        lent.event(EventClass::STREAM, "xadd");
        let mut exact = None;
        if let Some(trim) = trim {
            if log.trim(trim) > 0 {
                lent.event(EventClass::STREAM, "xtrim");
            }
            exact = trim.approximate.then(|| exact_trim(log, trim.threshold));
        }
        propagate(lent, args, &options, Some(id), exact);
    })
}

/// Logs the call with the id and the threshold that it came to.
fn propagate(
    lent: &mut Lent<'_>,
    args: Args<'_>,
    options: &Options,
    id: Option<StreamId>,
    exact: Option<[Vec<u8>; 3]>,
) {
    let id = id.filter(|&id| options.id != Some(NewId::Full(id)));
    if exact.is_none() && id.is_none() {
        return;
    }
    let id = id.map(|id| id.to_string());
    let mut words: Vec<&[u8]> = Vec::with_capacity(args.len());
    match &exact {
        Some(exact) => {
            words.extend(args.first(2).iter());
            words.extend(exact.iter().map(Vec::as_slice));
        }
        None => words.extend(args.first(options.end).iter()),
    }
    if let Some(given) = args.get(options.end) {
        words.push(id.as_ref().map_or(given, |id| id.as_bytes()));
        words.extend(args.from(options.end + 1).iter());
    }
    lent.effect(&words);
}

fn choose_id(last: StreamId, wanted: Option<NewId>, now_ms: i64) -> Result<StreamId, CommandError> {
    if last == StreamId::MAX {
        return Err(CommandError::Text(
            "ERR The stream has exhausted the last possible ID, unable to add more items",
        ));
    }
    let id = match wanted {
        Some(NewId::Full(id)) => Some(id),
        Some(NewId::Time(ms)) if ms == last.ms => {
            last.seq.checked_add(1).map(|seq| StreamId { ms, seq })
        }
        Some(NewId::Time(ms)) => Some(StreamId { ms, seq: 0 }),
        None => {
            let now = StreamId::new(now_ms.max(0) as u64, 0);
            if now.ms > last.ms {
                Some(now)
            } else {
                last.next()
            }
        }
    };
    id.filter(|&id| id > last).ok_or(CommandError::Text(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item",
    ))
}

pub fn xtrim(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let options = Options::parse(args, false)?;
    let Some(trim) = options.trim(ctx.settings(), ctx.session.origin) else {
        return Err(CommandError::Syntax);
    };
    let trimmed = ctx.update::<Stream, ()>(args.arg(1), |stream, lent| {
        let log = stream.log_mut();
        let removed = log.trim(trim);
        if removed > 0 {
            lent.changed(removed);
            lent.event(EventClass::STREAM, "xtrim");
            if trim.approximate {
                let exact = exact_trim(log, trim.threshold);
                propagate(lent, args, &options, None, Some(exact));
            }
        }
        lent.reply.integer(removed as i64);
    })?;
    if trimmed.is_none() {
        ctx.reply.integer(0);
    }
    Ok(())
}
