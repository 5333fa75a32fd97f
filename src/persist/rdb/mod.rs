//! The RDB format: snapshots of all databases, and single values for DUMP.
//!
//! Written at version 10, which Redis 7.0 and later and Valkey read; every version
//! up to 12 is read, with all encodings that Redis ever wrote for the types we
//! have. What is unknown is refused with its name, never skipped.
//!
//! The format's facts: redis/src/rdb.h and the layout described in docs/FORMATS.md.

mod decode;
pub mod dump;
mod encode;
mod error;
mod input;
mod packed;
pub mod snapshot;
mod stream;
#[cfg(test)]
mod tests;

pub use decode::decode_value;
pub use encode::{Encoder, kind_of};
pub use error::RdbError;
pub use input::Input;

use crate::settings::Settings;
use crate::store::hash::HashLimits;
use crate::store::list::ListLimits;
use crate::store::set::SetLimits;
use crate::store::sorted_set::Thresholds;

/// The version we write.
pub const VERSION: u32 = 10;

/// The greatest version we read.
pub const VERSION_MAX: u32 = 12;

/// The version that Valkey 9 writes behind a magic of its own; for our types it is as version 11.
pub const VALKEY_VERSION: u32 = 80;

/// What stands before an entry.
pub mod opcode {
    pub const SLOT_INFO: u8 = 244;
    pub const FUNCTION2: u8 = 245;
    pub const FUNCTION_PRE_GA: u8 = 246;
    pub const MODULE_AUX: u8 = 247;
    pub const IDLE: u8 = 248;
    pub const FREQ: u8 = 249;
    pub const AUX: u8 = 250;
    pub const RESIZE_DB: u8 = 251;
    pub const EXPIRE_MS: u8 = 252;
    pub const EXPIRE_S: u8 = 253;
    pub const SELECT_DB: u8 = 254;
    pub const EOF: u8 = 255;
}

/// How a value is laid out.
pub mod kind {
    pub const STRING: u8 = 0;
    pub const LIST: u8 = 1;
    pub const SET: u8 = 2;
    pub const ZSET: u8 = 3;
    pub const HASH: u8 = 4;
    pub const ZSET_2: u8 = 5;
    pub const HASH_ZIPMAP: u8 = 9;
    pub const LIST_ZIPLIST: u8 = 10;
    pub const SET_INTSET: u8 = 11;
    pub const ZSET_ZIPLIST: u8 = 12;
    pub const HASH_ZIPLIST: u8 = 13;
    pub const LIST_QUICKLIST: u8 = 14;
    pub const STREAM: u8 = 15;
    pub const HASH_LISTPACK: u8 = 16;
    pub const ZSET_LISTPACK: u8 = 17;
    pub const LIST_QUICKLIST_2: u8 = 18;
    pub const STREAM_2: u8 = 19;
    pub const SET_LISTPACK: u8 = 20;
    pub const STREAM_3: u8 = 21;
}

/// The name of a layout that we do not read.
fn foreign_kind_name(kind: u8) -> &'static str {
    match kind {
        6 | 7 => "a module's type",
        22 => "hash with deadlines of fields (Redis 7.4 preview, Valkey 9)",
        23 => "hash with deadlines of fields, as listpack (Redis 7.4 preview)",
        24 => "hash with deadlines of fields",
        25 => "hash with deadlines of fields, as listpack",
        _ => "unknown",
    }
}

/// When values that are read take their small form.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub hash: HashLimits,
    pub set: SetLimits,
    pub list: ListLimits,
    pub board: Thresholds,
}

impl From<&Settings> for Limits {
    fn from(settings: &Settings) -> Self {
        Limits {
            hash: HashLimits {
                entries: settings.hash_max_listpack_entries,
                value_len: settings.hash_max_listpack_value,
            },
            set: SetLimits {
                intset_entries: settings.set_max_intset_entries,
                listpack_entries: settings.set_max_listpack_entries,
                listpack_value_len: settings.set_max_listpack_value,
            },
            list: ListLimits {
                listpack_size: settings.list_max_listpack_size,
            },
            board: Thresholds {
                max_entries: settings.zset_max_listpack_entries,
                max_value: settings.zset_max_listpack_value,
            },
        }
    }
}
