//! DEBUG subcommands that look at how data lies in memory.
//!
//! They refuse what Redis refuses, and answer in its words; figures of layouts that are not here are 0, or those of
//! what stands in their place.

use crate::engine::ctx::ControlCtx;
use crate::engine::spec::Handled;
use crate::persist::rdb::dump as payload;
use crate::resp::args::Args;
use crate::resp::error::CommandError;
use crate::resp::number::parse_i64;
use crate::store::string::StringValue;
use crate::store::value::{ValueRef, ValueType};

/// Bytes of a DUMP payload that are not the value: its type, the version and the checksum.
const PAYLOAD_FRAME_LEN: usize = 1 + 2 + 8;

/// A key that is expired and not yet removed is shown, as in Redis.
fn value<'a>(ctx: &'a ControlCtx<'_>, key: &[u8]) -> Result<ValueRef<'a>, CommandError> {
    let db = ctx.engine.db(ctx.session.db);
    db.get(key, i64::MIN).ok_or(CommandError::NoSuchKey)
}

pub fn object(ctx: &mut ControlCtx<'_>, key: &[u8]) -> Handled {
    let now_s = (ctx.now.unix_us / 1_000_000) as u64;
    let value = value(ctx, key)?;
    let clock = ctx.engine.db(ctx.session.db).access(key);
    let idle_s = clock.map_or(0, |clock| clock.idle_seconds(now_s));
    let serialized = payload::encode(value, ctx.settings().rdbcompression);
    let text = format!(
        "Value at:0x{:012x} refcount:1 encoding:{} serializedlength:{} lru:{} lru_seconds_idle:{}",
        0,
        value.encoding(),
        serialized.len().saturating_sub(PAYLOAD_FRAME_LEN),
        (now_s.saturating_sub(idle_s)) & 0xff_ffff,
        idle_s
    );
    ctx.reply.simple(&text);
    Ok(())
}

/// DEBUG SDSLEN: how long the key and a string value are, and what they take.
pub fn string_lengths(ctx: &mut ControlCtx<'_>, key: &[u8]) -> Handled {
    let value = value(ctx, key)?;
    let text = StringValue::from_ref(value).filter(|_| value.encoding() != "int");
    let text = text.ok_or(CommandError::Text("ERR Not an sds encoded string."))?;
    let entry_bytes = ctx.engine.db(ctx.session.db).key_bytes(key).unwrap_or(0);
    let line = format!(
        "key_sds_len:{}, key_sds_avail:0, key_zmalloc: {entry_bytes}, val_sds_len:{}, val_sds_avail:0, val_zmalloc: {}",
        key.len(),
        text.len(),
        value.memory_usage()
    );
    ctx.reply.simple(&line);
    Ok(())
}

/// DEBUG LISTPACK and QUICKLIST, which print a layout: here one line in the log says what there is.
pub fn print(ctx: &mut ControlCtx<'_>, args: Args<'_>, encoding: &str) -> Handled {
    let value = value(ctx, args.arg(2))?;
    let (found, bytes) = (value.encoding(), value.memory_usage());
    if found != encoding {
        return Err(CommandError::Owned(format!(
            "ERR Not a {encoding} encoded object."
        )));
    }
    let key = args.arg(2).escape_ascii();
    let line = format!("{encoding} of '{key}': {bytes} bytes");
    ctx.engine.outside.log(&line);
    let title = encoding[..1].to_ascii_uppercase() + &encoding[1..];
    ctx.reply
        .simple(&format!("{title} structure printed on stdout"));
    Ok(())
}

pub fn keyspace_tables(ctx: &mut ControlCtx<'_>, index: &[u8]) -> Handled {
    let index = parse_i64(index).ok_or(CommandError::NotInteger)?;
    let db = usize::try_from(index)
        .ok()
        .and_then(|index| ctx.engine.store.db(index))
        .ok_or(CommandError::Text("ERR Out of range database"))?;
    let memory = db.memory();
    let mut text = "[Dictionary HT]\n".to_string();
    table(&mut text, db.len(), memory.table_bytes + memory.entry_bytes);
    text.push_str("[Expires HT]\n");
    table(&mut text, db.expires_len(), memory.deadline_bytes);
    ctx.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

pub fn value_table(ctx: &mut ControlCtx<'_>, key: &[u8]) -> Handled {
    let value = value(ctx, key)?;
    let len = match value {
        ValueRef::Hash(hash) => hash.len(),
        ValueRef::Set(set) => set.len(),
        ValueRef::SortedSet(board) => board.len(),
        _ => 0,
    };
    if !matches!(value.encoding(), "hashtable" | "skiplist") {
        return Err(CommandError::Text(
            "ERR The value stored at the specified key is not represented using an hash table",
        ));
    }
    let mut text = String::new();
    table(&mut text, len, value.memory_usage());
    ctx.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

/// What there is to say of a table; one without elements has no figures.
fn table(out: &mut String, elements: usize, bytes: usize) {
    if elements > 0 {
        out.push_str(&format!(
            "Hash table 0 stats (main hash table):\n number of elements: {elements}\n bytes: {bytes}\n"
        ));
    }
}
