//! The machine itself: scripts by digest and source, flags, and the world between runs.

use super::{FakeHost, eval, eval_with};
use crate::resp::{OwnedArgs, Protocol, Reply};
use crate::script::{Interpreter, LoadError, LogLevel, Origin, ScriptFlags, ScriptSha};

/// The tie page of a board with two members.
const TIED_PAGE: &str = "
local list = redis.call('zrevrange', KEYS[1], ARGV[1], ARGV[2], 'withscores')
local result = {}
local i = 1
for k, v in pairs(list) do
    if k % 2 == 0 then
        local teamId = list[k - 1]
        local score = math.floor(v)
        local firstScore = redis.call('zrevrangebyscore', KEYS[1], score + 1, score, 'limit', 0, 1)
        local rank = redis.call('zrevrank', KEYS[1], firstScore[1])
        result[i] = {teamId = teamId, contributionValue = score, teamRank = rank + 1}
        i = i + 1
    end
end
return cjson.encode(result)";

#[test]
fn a_page_of_ties_has_the_fields_in_the_order_of_lua() {
    let mut interpreter = Interpreter::default();
    let mut host = FakeHost::default();
    for (score, member) in [("7", "a"), ("7", "b")] {
        let source = format!("return redis.call('zadd', KEYS[1], {score}, '{member}')");
        eval_with(
            &mut interpreter,
            &mut host,
            source.as_bytes(),
            &[b"board"],
            &[],
            Protocol::Resp2,
        );
    }
    let page = eval_with(
        &mut interpreter,
        &mut host,
        TIED_PAGE.as_bytes(),
        &[b"board"],
        &[b"0", b"-1"],
        Protocol::Resp2,
    );
    let row =
        |team: &str| format!("{{\"contributionValue\":7,\"teamRank\":1,\"teamId\":\"{team}\"}}");
    let text = format!("[{},{}]", row("b"), row("a"));
    assert_eq!(
        String::from_utf8_lossy(&page),
        format!("${}\r\n{text}\r\n", text.len())
    );
}

#[test]
fn a_script_is_found_by_digest_and_source_until_the_flush() {
    let mut interpreter = Interpreter::default();
    let source = b"return 1";
    let sha = ScriptSha::of(source);
    assert_eq!(interpreter.find(&sha.hex()), None);
    let id = interpreter.load(source, Origin::Load).expect("compiles");
    assert_eq!(interpreter.find(&sha.hex()), Some(id));
    assert_eq!(interpreter.find_source(source), Some(id));
    assert_eq!(interpreter.load(source, Origin::Eval), Ok(id));
    assert_eq!(&sha.hex(), b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    assert_eq!(interpreter.find(&sha.hex().to_ascii_uppercase()), Some(id));
    assert_eq!(interpreter.find(b"e0e1"), None);
    interpreter.flush();
    assert_eq!(interpreter.find(&sha.hex()), None);
    assert_eq!(interpreter.script_count(), 0);
}

#[test]
fn a_first_line_declares_flags() {
    let mut interpreter = Interpreter::default();
    let mut flags = |source: &str| {
        interpreter
            .load(source.as_bytes(), Origin::Eval)
            .map(|id| interpreter.script(id).flags)
    };
    assert_eq!(flags("return 1"), Ok(ScriptFlags::COMPATIBLE));
    assert_eq!(flags("#!lua\nreturn 1"), Ok(ScriptFlags::empty()));
    assert_eq!(
        flags("#!lua flags=no-writes,allow-oom\nreturn 1"),
        Ok(ScriptFlags::NO_WRITES | ScriptFlags::ALLOW_OOM)
    );
    assert_eq!(
        flags("#!lua flags=nothing\nreturn 1"),
        Err(LoadError(
            b"ERR Unexpected flag in script shebang: nothing".to_vec()
        ))
    );
}

#[test]
fn a_log_line_joins_its_parts() {
    let mut host = FakeHost::default();
    let mut interpreter = Interpreter::default();
    eval_with(
        &mut interpreter,
        &mut host,
        b"redis.log(redis.LOG_WARNING, 'a', 1, 'b')",
        &[],
        &[],
        Protocol::Resp2,
    );
    assert_eq!(host.logged, [(LogLevel::Warning, b"a 1 b".to_vec())]);
}

#[test]
fn a_panic_of_the_host_goes_on_and_leaves_a_working_machine() {
    let mut interpreter = Interpreter::default();
    let id = interpreter
        .load(b"while true do pcall(redis.call, 'ping') end", Origin::Load)
        .expect("compiles");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let none = OwnedArgs::new();
        let mut host = FakeHost {
            panic_on_call: true,
            ..FakeHost::default()
        };
        let mut out = Reply::new(Protocol::Resp2);
        interpreter.run(id, none.as_args(), none.as_args(), &mut host, &mut out)
    }));
    assert!(panicked.is_err());
    let reply = eval_with(
        &mut interpreter,
        &mut FakeHost::default(),
        b"return redis.call('ping')",
        &[],
        &[],
        Protocol::Resp2,
    );
    assert_eq!(reply, b"+PONG\r\n");
}

#[test]
fn settings_of_cjson_end_with_the_script() {
    let mut interpreter = Interpreter::default();
    let mut run = |source: &str| {
        let reply = eval_with(
            &mut interpreter,
            &mut FakeHost::default(),
            source.as_bytes(),
            &[],
            &[],
            Protocol::Resp2,
        );
        String::from_utf8_lossy(&reply).into_owned()
    };
    let source = "cjson.encode_number_precision(3) return cjson.encode(3.14159)";
    assert_eq!(run(source), "$4\r\n3.14\r\n");
    assert_eq!(run("return cjson.encode(3.14159)"), "$7\r\n3.14159\r\n");
}

#[test]
fn line_ends_in_an_error_can_not_break_the_reply() {
    let reply = eval("error('a\\r\\nb')");
    assert_eq!(reply.matches("\r\n").count(), 1);
    assert!(reply.starts_with("-ERR user_script:1: a  b script: "));
}

/// Scripts that can't name their arguments are spared them; whatever way there is must lead to those of this call.
#[test]
fn every_way_to_the_arguments_leads_to_those_of_this_call() {
    let mut interpreter = Interpreter::default();
    let mut host = FakeHost::default();
    let mut run = |source: &str, key: &[u8], argument: &[u8]| {
        let reply = eval_with(
            &mut interpreter,
            &mut host,
            source.as_bytes(),
            &[key],
            &[argument],
            Protocol::Resp2,
        );
        String::from_utf8_lossy(&reply).into_owned()
    };
    for source in [
        "return {KEYS[1], ARGV[1]}",
        "local function f() return function() return {KEYS[1], ARGV[1]} end end return f()()",
        "return loadstring('return {KEYS[1], ARGV[1]}')()",
        "local n = 0 return load(function() n = n + 1 return ({'return {KEYS[1]', ', ARGV[1]}'})[n] end)()",
        "return {_G.KEYS[1], rawget(_G, 'ARGV')[1]}",
        "local r = {} for k, v in pairs(_G) do if k == 'KE' .. 'YS' then r[1] = v[1] elseif k == 'AR' .. 'GV' then \
         r[2] = v[1] end end return r",
    ] {
        assert_eq!(run("return 1", b"other", b"other"), ":1\r\n");
        assert_eq!(
            run(source, b"key", b"argument"),
            "*2\r\n$3\r\nkey\r\n$8\r\nargument\r\n",
            "{source}"
        );
    }
}

#[test]
fn a_script_without_arguments_answers_with_any_value() {
    for (source, reply) in [
        ("return 1.9", ":1\r\n"),
        ("return 'text'", "$4\r\ntext\r\n"),
        ("return true", ":1\r\n"),
        ("return false", "$-1\r\n"),
        ("return", "$-1\r\n"),
        ("return print", "-ERR"),
        ("return tostring", "$-1\r\n"),
        ("return {1, {'x'}}", "*2\r\n:1\r\n*1\r\n$1\r\nx\r\n"),
        ("return {err = 'MY error'}", "-MY error\r\n"),
        ("return {ok = 'fine'}", "+fine\r\n"),
        ("return 1, 2", ":1\r\n"),
    ] {
        let given = eval(source);
        assert!(given.starts_with(reply), "{source}: {given}");
    }
}
