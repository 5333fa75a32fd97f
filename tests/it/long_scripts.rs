//! What others are told while a script or a function runs past its time limit, and how it is ended: as by the real
//! server.

use crate::harness::server::Real;
use crate::harness::{Client, Server, Value};

/// Others are asked so often whether the server is busy by now, each time with a whole round trip.
const ASKED_MAX: usize = 1_000_000;

const LIBRARY: &str = "#!lua name=endless\n\
    redis.register_function('turn', function() while true do end end)\n\
    redis.register_function('write_and_turn', function(keys) redis.call('SET', keys[1], '1') while true do end end)";

/// Starts a command that does not end by itself, and gives what others are told meanwhile.
fn wait_until_busy(runner: &mut Client, command: &[&str], other: &mut Client) -> Value {
    runner.send(command);
    (0..ASKED_MAX)
        .map(|_| other.call(["PING"]))
        .find(Value::is_error)
        .expect("the server is busy before the client is tired of asking")
}

/// The time that FUNCTION STATS tells depends on the machine.
fn without_duration(value: &Value) -> String {
    let shown = value.show();
    let lines = shown.lines();
    let mut after_name = false;
    let kept =
        lines.filter(|line| !std::mem::replace(&mut after_name, line.contains("duration_ms")));
    kept.collect::<Vec<_>>().join("\n")
}

/// Ends a script and a function in every way that does not end the server.
fn play(server: &Server) -> Vec<String> {
    let mut told = Vec::new();
    let mut runner = server.client();
    let mut other = server.client();
    let mut queueing = server.client();
    told.push(runner.call(["FUNCTION", "LOAD", LIBRARY]).show());
    told.push(queueing.call(["MULTI"]).show());
    for (run, wrong_end, right_end) in [
        (["EVAL", "while true do end", "0"], "FUNCTION", "SCRIPT"),
        (["FCALL", "turn", "0"], "SCRIPT", "FUNCTION"),
        (
            [
                "EVAL",
                "while true do pcall(function() while true do end end) end",
                "0",
            ],
            "FUNCTION",
            "SCRIPT",
        ),
    ] {
        told.push(wait_until_busy(&mut runner, &run, &mut other).show());
        told.push(other.call(["GET", "key"]).show());
        told.push(other.call(["EVAL", "return 1", "0"]).show());
        told.push(queueing.call(["SET", "key", "1"]).show());
        told.push(without_duration(&other.call(["FUNCTION", "STATS"])));
        told.push(other.call(["SHUTDOWN"]).show());
        told.push(other.call([wrong_end, "KILL"]).show());
        told.push(other.call([right_end, "KILL"]).show());
        told.push(runner.read().show());
        told.push(other.call(["PING"]).show());
    }
    told.push(queueing.call(["EXEC"]).show());
    told.push(other.call(["SCRIPT", "KILL"]).show());
    told.push(other.call(["FUNCTION", "KILL"]).show());
    told.push(other.call(["FUNCTION", "STATS"]).show());
    told
}

/// Who has written can't be ended but with the server.
fn play_last(server: &Server, run: &[&str]) -> Vec<String> {
    let mut told = Vec::new();
    let mut runner = server.client();
    let mut other = server.client();
    runner.call(["FUNCTION", "LOAD", LIBRARY]);
    told.push(wait_until_busy(&mut runner, run, &mut other).show());
    told.push(other.call(["SCRIPT", "KILL"]).show());
    told.push(other.call(["FUNCTION", "KILL"]).show());
    other.send(["SHUTDOWN", "NOSAVE"]);
    told.push(format!("closed: {}", other.is_closed()));
    let again = std::net::TcpStream::connect(("127.0.0.1", server.port()));
    told.push(format!(
        "again: {:?}",
        again.map(drop).map_err(|error| error.kind())
    ));
    told
}

const LAST_RUNS: [&[&str]; 2] = [
    &[
        "EVAL",
        "redis.call('SET', KEYS[1], '1') while true do end",
        "1",
        "key",
    ],
    &["FCALL", "write_and_turn", "1", "key"],
];

const SETTINGS: [&str; 2] = ["--busy-reply-threshold", "10"];

#[test]
fn a_long_script_is_ended_with_the_command_for_its_kind() {
    let told = play(&Server::start_with(&SETTINGS));
    assert!(
        told[2].contains("You can only call SCRIPT KILL or SHUTDOWN NOSAVE."),
        "{told:?}"
    );
    assert!(
        told[12].contains("You can only call FUNCTION KILL or SHUTDOWN NOSAVE."),
        "{told:?}"
    );
    assert!(told[16].contains("running_script"), "{told:?}");
    assert!(told[19].contains("OK"), "{told:?}");
    assert!(
        told[20].contains("Script killed by user with SCRIPT KILL"),
        "{told:?}"
    );
    if let Some(real) = Server::start_real(Real::Redis8) {
        real.client()
            .call(["CONFIG", "SET", "busy-reply-threshold", "10"]);
        assert_eq!(told, play(&real));
    }
}

#[test]
fn rights_hold_while_a_script_keeps_the_server() {
    let server = Server::start_with(&SETTINGS);
    let mut runner = server.client();
    runner.line("ACL SETUSER ann on >pw +@all -script|kill");
    runner.line("ACL SETUSER bob on >pw +script|kill");
    let mut other = server.client();
    other.line("AUTH ann pw");
    let mut asking = server.client();
    wait_until_busy(
        &mut runner,
        &["EVAL", "while true do end", "0"],
        &mut asking,
    );
    assert_eq!(
        other.line("SCRIPT KILL").text(),
        "NOPERM User ann has no permissions to run the 'script|kill' command"
    );
    assert!(other.line("AUTH bob other").text().starts_with("WRONGPASS"));
    assert_eq!(other.line("AUTH bob pw"), Value::ok());
    assert_eq!(
        other.line("SHUTDOWN NOSAVE").text(),
        "NOPERM User bob has no permissions to run the 'shutdown' command"
    );
    assert_eq!(other.line("SCRIPT KILL"), Value::ok());
    assert!(runner.read().is_error());
    let objects: Vec<String> = runner
        .line("ACL LOG")
        .items()
        .iter()
        .map(|entry| entry.items()[7].text())
        .collect();
    assert_eq!(objects, ["shutdown", "AUTH", "script|kill"]);
}

#[test]
fn who_has_written_ends_with_the_server_only() {
    for run in LAST_RUNS {
        let server = Server::start_with(&SETTINGS);
        let told = play_last(&server, run);
        assert!(
            told[1].contains("UNKILLABLE") && told[2].contains("UNKILLABLE"),
            "{told:?}"
        );
        assert_eq!(told[3], "closed: true");
        if let Some(real) = Server::start_real(Real::Redis8) {
            real.client()
                .call(["CONFIG", "SET", "busy-reply-threshold", "10"]);
            assert_eq!(told, play_last(&real, run));
        }
    }
}

/// What memory, recursion and single instructions can be made to do: each ends with an error, and the server goes on.
const BOMBS: &[&str] = &[
    "return string.rep('x', 1e10)",
    "local t = {} while true do t[#t + 1] = {} end",
    "local s = 'xxxxxxxx' while true do s = s .. s end",
    "local t = {} for i = 1, 1e6 do t[i] = string.rep('x', 1000) end return table.concat(t)",
    "return unpack({}, -2147483648, 2147483647)",
    "return unpack({}, 0, 2147483647)",
    "return unpack({}, 1, 1e6)",
    "local function f() return f() + 1 end return f()",
    "local function f(x) return (string.gsub('x', 'x', f)) end return f()",
    "local t = setmetatable({}, {}) getmetatable(t).__tostring = function(x) return tostring(x) end return tostring(t)",
    "local t = {} t.t = t return cjson.encode(t)",
    "return cjson.decode(string.rep('[', 1e6))",
    "return loadstring(string.rep('(', 1e6))()",
    "local t = {} for i = 1, 1000 do t[i] = i end table.sort(t, function() return true end) return error('sorted')",
    "return string.find(string.rep('x', 5000), string.rep('x?', 5000))",
];

#[test]
fn no_script_harms_the_server() {
    let server = Server::start();
    let mut client = server.client();
    for source in BOMBS {
        let reply = client.call(["EVAL", source, "0"]);
        assert!(reply.is_error(), "{source}: {}", reply.show());
        assert_eq!(client.call(["PING"]).text(), "PONG", "{source}");
    }
    let info = client.call(["INFO", "memory"]).text();
    let lua_bytes = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory_vm_eval:"))
        .and_then(|digits| digits.trim().parse::<u64>().ok())
        .expect("INFO tells the interpreter's memory");
    assert!((1..64 << 20).contains(&lua_bytes), "{lua_bytes} bytes stay");
}

/// A pattern that takes any time does so in one instruction of the interpreter.
#[test]
fn an_endless_match_can_be_ended() {
    let server = Server::start_with(&SETTINGS);
    let (mut runner, mut other) = (server.client(), server.client());
    for source in [
        "return string.find(string.rep('a', 1e5), string.rep('a-', 60) .. 'b')",
        "return string.gsub(string.rep('a', 1e5), '.-.-.-b', '')",
        "local t = {} for i = 1, 1e6 do t[i] = i end while true do table.remove(t, 1) end",
    ] {
        let busy = wait_until_busy(&mut runner, &["EVAL", source, "0"], &mut other);
        assert!(busy.text().starts_with("BUSY"), "{}", busy.show());
        assert_eq!(other.call(["SCRIPT", "KILL"]), Value::ok());
        let reply = runner.read().text();
        assert!(
            reply.contains("Script killed by user with SCRIPT KILL"),
            "{source}: {reply}"
        );
    }
}
