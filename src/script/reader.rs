//! Source text that a script's function delivers piece by piece, for `load`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use mlua::ffi;

use super::vm::{Lua, NIL, NUMBER, STRING, lua_State};

/// Stack slot of the reader function, and the one that keeps its last piece alive.
const FUNCTION_SLOT: c_int = 1;
const PIECE_SLOT: c_int = 3;

/// Whether a piece was seen, and whether one waits behind the blank that keeps the
/// loader from taking bytecode for what it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Start,
    Guarded,
    Flowing,
}

/// Compiles what the function in slot 1 returns until nil or an empty string; slot 3
/// is used. Pushes the function, or the error and answers false. May raise.
pub fn compile_from_function(lua: Lua, chunk_name: &CStr) -> bool {
    let mut progress = Progress::Start;
    let data: *mut Progress = &mut progress;
    lua.compile_with(next_piece, data.cast(), chunk_name)
        .is_ok()
}

unsafe extern "C-unwind" fn next_piece(
    raw: *mut lua_State,
    data: *mut c_void,
    len: *mut usize,
) -> *const c_char {
    // SAFETY: Lua passes the thread that loads and the data given to it, and a place
    // for the length; nothing here owns anything when the call of the function raises.
    unsafe {
        let lua = Lua::from_raw(raw);
        let progress = &mut *data.cast::<Progress>();
        if *progress != Progress::Guarded {
            ffi::luaL_checkstack_(raw, 2, c"too many nested functions".as_ptr());
            lua.push_value(FUNCTION_SLOT);
            lua.call(0, 1);
            match lua.kind(-1) {
                NIL => {
                    *len = 0;
                    return ptr::null();
                }
                STRING | NUMBER => lua.replace(PIECE_SLOT),
                _ => {
                    ffi::luaL_error(raw, c"reader function must return a string".as_ptr());
                }
            }
        }
        let piece = lua.bytes(PIECE_SLOT).unwrap_or_default();
        let is_guarded =
            *progress == Progress::Start && piece.first() == Some(&ffi::LUA_SIGNATURE[0]);
        *progress = if is_guarded {
            Progress::Guarded
        } else {
            Progress::Flowing
        };
        let piece = if is_guarded { b" " } else { piece };
        *len = piece.len();
        piece.as_ptr().cast()
    }
}
