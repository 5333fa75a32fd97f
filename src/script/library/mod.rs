//! The libraries that scripts find beside Lua's own: cjson, cmsgpack, struct and bit, and
//! replacements of Lua's where sandbox or limits ask for it.

pub mod base;
pub mod bit;
pub mod json;
pub mod message_pack;
pub mod pattern;
pub mod structure;
pub mod table;

use super::vm::Lua;

/// Adds and replaces libraries in the table of globals at `globals`. May raise (memory).
pub fn install(lua: Lua, globals: i32) {
    base::install(lua, globals);
    table::install(lua, globals);
    pattern::install(lua, globals);
    structure::install(lua, globals);
    json::install(lua, globals);
    message_pack::install(lua, globals);
    bit::install(lua, globals);
}
