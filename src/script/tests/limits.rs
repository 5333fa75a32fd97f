//! Scripts that mean harm end with an error, and the machine goes on.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use super::{FakeHost, eval_with};
use crate::limits::SCRIPT_STACK_BYTES;
use crate::resp::Protocol;
use crate::script::Interpreter;

const MEBIBYTE: usize = 1 << 20;

/// The reply of a script that is killed at the host's third pause point, and that of
/// the next script.
fn run_killed(source: &str) -> (String, String) {
    let mut interpreter = Interpreter::new(64 * MEBIBYTE);
    let mut host = FakeHost {
        kill_at: Some(3),
        ..FakeHost::default()
    };
    let reply = eval_with(
        &mut interpreter,
        &mut host,
        source.as_bytes(),
        &[],
        &[],
        Protocol::Resp2,
    );
    let next = eval_with(
        &mut interpreter,
        &mut FakeHost::default(),
        b"return 'fine'",
        &[],
        &[],
        Protocol::Resp2,
    );
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(reply), text(next))
}

#[test]
fn endless_scripts_are_killed() {
    for source in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local function f() return pcall(f) end while true do f() end",
        "while true do coroutine.wrap(function() while true do end end)() end",
        "while true do pcall(coroutine.wrap(function() while true do end end)) end",
        "while true do local c = coroutine.wrap(function() for i = 1, 900 do end end) c() end",
        "while true do collectgarbage() end",
        "xpcall(function() while true do end end, function() while true do end end)",
        "xpcall(error, function() while true do end end)",
        "error(setmetatable({}, {__index = function() while true do end end}))",
        "while true do string.rep('x', 100000) end",
        "local t = {} for i = 1, 1000 do t[i] = i end while true do table.insert(t, 1, 0) end",
        "table.insert({}, -2147483648, 1)",
        "local t = {} while true do t = {t, t} cjson.encode({1}) end",
        "return string.find(string.rep('a', 100000), string.rep('a*', 50) .. 'b')",
        "return string.gsub(string.rep('a', 100000), '.-.-.-b', '')",
        "for w in string.gmatch(string.rep('a', 100000), '.-.-.-b') do end",
        "local t = {} for i = 1, 100 do t = {t, t} end return t",
        "local t = {} for i = 1, 100 do t = {t, t} end return cjson.encode(t)",
        "local t = {} for i = 1, 14 do local u = {} for j = 1, 50 do u[j] = t end t = u end \
         return cmsgpack.pack(t)",
    ] {
        let (reply, next) = run_killed(source);
        assert!(
            reply.starts_with("-ERR Script killed by user with SCRIPT KILL..."),
            "{source}: {reply}"
        );
        assert_eq!(next, "$4\r\nfine\r\n", "{source}");
    }
}

/// Work of one instruction that takes long when its subject is big: what is prepared, and the work.
const LONG_INSTRUCTIONS: &[(&str, &str)] = &[
    (NUMBERS, "table.sort(t)"),
    (NUMBERS, "table.sort(t, rawequal)"),
    (NUMBERS, "return table.concat(t)"),
    (NUMBERS, "return table.maxn(t)"),
    (NUMBERS, "table.foreach(t, math.randomseed)"),
    (NUMBERS, "table.foreachi(t, math.randomseed)"),
    (NUMBERS, "table.insert(t, 1, 0)"),
    (NUMBERS, "table.remove(t, 1)"),
    (NUMBERS, "return cjson.encode(t)"),
    (NUMBERS, "return cmsgpack.pack(t)"),
    (NUMBERS, "return t"),
    (NUMBERS, "return {map = t}"),
    (NUMBERS, "return {set = t}"),
    (TEXT, "return s .. s"),
    (TEXT, "return string.rep(s, 2)"),
    (TEXT, "return string.upper(s)"),
    (TEXT, "return string.format('%s%s', s, s)"),
    (TEXT, "collectgarbage()"),
    (TEXT, "return loadstring(s)"),
    (TEXT, "return string.gsub(s, 'x', 'yy')"),
    (
        TEXT,
        "return string.find(s, '[' .. string.sub(s, 1, 100000):gsub('x', 'y') .. ']')",
    ),
    (
        TEXT,
        "return string.find(s, '[^' .. string.sub(s, 1, 100000) .. ']*z')",
    ),
    (
        TEXT,
        "return string.find(s, '%f[' .. string.sub(s, 1, 100000):gsub('x', 'y') .. ']')",
    ),
    (
        TEXT,
        "return string.find(s, string.sub(s, 1, 100000) .. 'y', 1, true)",
    ),
    (
        "local s = '[' .. string.rep('1,', 500000) .. '1]'",
        "return cjson.decode(s)",
    ),
    (
        "local s = '\\221\\000\\007\\161\\032' .. string.rep('\\001', 500000)",
        "return cmsgpack.unpack(s)",
    ),
    (
        "local s = 'while true do ' .. string.rep('if x then break end ', 60000) .. ' end'",
        "return loadstring(s)",
    ),
];

const NUMBERS: &str = "local t = {} for i = 1, 200000 do t[i] = i * 7919 % 200003 end";
const TEXT: &str = "local s = string.rep('x', 20000000)";

#[test]
fn long_work_of_one_instruction_can_be_ended() {
    for (prepare, work) in LONG_INSTRUCTIONS {
        let mut interpreter = Interpreter::new(256 * MEBIBYTE);
        let mut host = FakeHost {
            kill_after_ping: true,
            ..FakeHost::default()
        };
        let source = format!("{prepare} redis.call('ping') {work}");
        let reply = eval_with(
            &mut interpreter,
            &mut host,
            source.as_bytes(),
            &[],
            &[],
            Protocol::Resp2,
        );
        let text = String::from_utf8_lossy(&reply[..reply.len().min(200)]).into_owned();
        assert!(
            text.starts_with("-ERR Script killed by user with SCRIPT KILL..."),
            "{source}: {text}"
        );
        let next = eval_with(
            &mut interpreter,
            &mut FakeHost::default(),
            b"return 'fine'",
            &[],
            &[],
            Protocol::Resp2,
        );
        assert_eq!(next, b"$4\r\nfine\r\n", "{source}");
    }
}

/// Two long texts that differ at their end only are compared by one instruction, and one command may take long
/// too: then the time counts.
#[test]
fn few_instructions_that_take_long_come_to_pause_points() {
    let (reply, _) = run_killed(
        "local s = string.rep('x', 8000000) local a, b = s .. 'a', s .. 'b' s = nil while a < b do end",
    );
    assert!(reply.starts_with("-ERR Script killed"), "{reply}");
}

#[test]
fn memory_is_bounded() {
    for source in [
        "local s, t = string.rep('x', 10000000), {} for i = 1, 1000 do t[i] = s end return cjson.encode(t)",
        "local s, t = string.rep('x', 10000000), {} for i = 1, 1000 do t[i] = s end return cmsgpack.pack(t)",
        "local s, t = string.rep('x', 10000000), {} for i = 1, 1000 do t[i] = s end return table.concat(t)",
        "local s, t = string.rep('x', 10000000), {} for i = 1, 1000 do t[i] = s end \
         return string.format(string.rep('%s', 1000), unpack(t))",
        "local s = string.rep('x', 10000000) return struct.pack('c0c0c0c0c0c0c0c0c0c0', s, s, s, s, s, s, s, s, s, s)",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = 'x' .. #t end",
        "return string.rep('x', 2000000000)",
        "local t = {} for i = 1, 100000000 do t[i] = i end",
        "local s = string.rep('x', 20000000) return cjson.encode({s, s, s, s, s, s})",
        "return {pcall(string.rep, 'x', 2000000000), string.rep('x', 2000000000)}",
    ] {
        let mut interpreter = Interpreter::new(64 * MEBIBYTE);
        let reply = eval_with(
            &mut interpreter,
            &mut FakeHost::default(),
            source.as_bytes(),
            &[],
            &[],
            Protocol::Resp2,
        );
        let text = String::from_utf8_lossy(&reply[..reply.len().min(200)]).into_owned();
        assert!(
            text.starts_with("-ERR not enough memory"),
            "{source}: {text}"
        );
        let (lua_bytes, _) = interpreter.memory_bytes();
        assert!(
            lua_bytes < 20 * MEBIBYTE,
            "{source}: {lua_bytes} bytes stay"
        );
    }
}

#[test]
fn garbage_is_collected_before_memory_ends() {
    let mut interpreter = Interpreter::new(8 * MEBIBYTE);
    let reply = eval_with(
        &mut interpreter,
        &mut FakeHost::default(),
        b"for i = 1, 100 do local s = string.rep('x', 500000) .. i end return 'done'",
        &[],
        &[],
        Protocol::Resp2,
    );
    assert_eq!(reply, b"$4\r\ndone\r\n");
}

/// Runs on a fiber.
fn on_small_stack<R: 'static>(work: impl FnOnce() -> R + 'static) -> R {
    let stack = DefaultStack::new(SCRIPT_STACK_BYTES).expect("a stack");
    let mut fiber = Coroutine::<(), (), R, _>::with_stack(stack, |_, ()| work());
    match fiber.resume(()) {
        CoroutineResult::Return(result) => result,
        CoroutineResult::Yield(()) => unreachable!("the work does not yield"),
    }
}

#[test]
fn a_reply_nested_too_deeply_ends_inside() {
    let reply = on_small_stack(|| {
        let source = b"local t = {} for i = 1, 100000 do t = {t} end return t";
        let mut interpreter = Interpreter::new(64 * MEBIBYTE);
        let mut host = FakeHost::default();
        eval_with(
            &mut interpreter,
            &mut host,
            source,
            &[],
            &[],
            Protocol::Resp2,
        )
    });
    assert!(reply.starts_with(b"*1\r\n*1\r\n"));
    assert!(reply.ends_with(b"*1\r\n-ERR reached lua stack limit\r\n"));
}

/// Each script ends with an error on a stack as small as is promised to be enough.
#[test]
fn recursion_is_bounded() {
    for source in [
        "local function f() return 1 + f() end return f()",
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k] end \
         return t.x",
        "local function f(x) return string.gsub('x', 'x', f) end return f()",
        "local function f() return coroutine.wrap(f)() end return f()",
        "local t = {} for i = 1, 100000 do t = {t} end return cjson.encode(t)",
        "return cjson.decode(string.rep('[', 100000))",
        "cjson.decode_max_depth(1000000) return cjson.decode(string.rep('[', 1000000))",
        "cjson.encode_max_depth(1000000) local t = {} for i = 1, 100000 do t = {t} end \
         return cjson.encode(t)",
        "return cmsgpack.unpack(string.rep('\\145', 100000))",
        "local function f() return string.gsub('x', string.rep('x?', 900) .. 'x', f) end return f()",
        "local function f(n) return string.gsub('x', 'x', function() return n > 0 and f(n - 1) \
         or string.find(string.rep('x', 2000), string.rep('x?', 2000)) end) end return f(150)",
        "return string.find(string.rep('x', 2000), string.rep('x?', 2000))",
        "return string.find(string.rep('x', 2000), string.rep('(x', 2000))",
        "return loadstring(string.rep('(', 100000))()",
        "return loadstring('return ' .. string.rep('{', 100000))()",
    ] {
        let reply = on_small_stack(move || {
            let mut interpreter = Interpreter::new(64 * MEBIBYTE);
            eval_with(
                &mut interpreter,
                &mut FakeHost::default(),
                source.as_bytes(),
                &[],
                &[],
                Protocol::Resp2,
            )
        });
        let text = String::from_utf8_lossy(&reply[..reply.len().min(200)]).into_owned();
        assert!(text.starts_with("-ERR "), "{source}: {text}");
    }
}
