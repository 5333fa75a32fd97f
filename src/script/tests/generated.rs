//! Random scripts over the libraries and the language, here and on a real server: equal
//! replies. `RANKD_SEED` repeats a run, `RANKD_ROUNDS` changes its length.

use super::eval_with;
use super::fake_host::FakeHost;
use super::real::{RealServer, mask_addresses};
use crate::resp::Protocol;
use crate::script::Interpreter;

const ROUNDS: u64 = 1500;

/// A small generator; quality does not matter here.
struct Dice {
    state: u64,
}

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % end
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn join(&mut self, count_max: usize, separator: &str, part: fn(&mut Self) -> String) -> String {
        let count = self.below(count_max + 1);
        let parts: Vec<String> = (0..count).map(|_| part(self)).collect();
        parts.join(separator)
    }
}

fn number(dice: &mut Dice) -> String {
    match dice.below(8) {
        0 => dice
            .pick(&[
                "0", "-0", "1/0", "-1/0", "2^31", "2^32", "2^53", "2^63", "-2^63", "2^64",
            ])
            .to_string(),
        1 => format!("{}e{}", dice.below(99999), dice.below(60) as i64 - 30),
        2 => format!("{}/{}", dice.below(1000), dice.below(1000) + 1),
        3 => format!("-{}", dice.below(1 << 40)),
        4 => format!("2^{}+{}", dice.below(66), dice.below(3)),
        5 => format!("{}.{}", dice.below(1000), dice.below(100_000)),
        _ => dice.below(300).to_string(),
    }
}

/// A Lua literal of random bytes.
fn bytes(dice: &mut Dice) -> String {
    let text = dice.join(12, "", |dice| match dice.below(3) {
        0 => format!("\\{:03}", dice.below(256)),
        1 => dice
            .pick(&["\\\"", "\\\\", "/", "\\n", " ", "%", "."])
            .to_string(),
        _ => char::from(b'a' + dice.below(26) as u8).to_string(),
    });
    format!("\"{text}\"")
}

fn value(dice: &mut Dice) -> String {
    value_at(dice, 0)
}

fn value_at(dice: &mut Dice, depth: usize) -> String {
    match dice.below(if depth > 4 { 8 } else { 12 }) {
        0 => "nil".to_string(),
        1 => dice.pick(&["true", "false"]).to_string(),
        2 => "cjson.null".to_string(),
        3..=5 => number(dice),
        6 | 7 => bytes(dice),
        8 | 9 => {
            let count = dice.below(6);
            let items: Vec<String> = (0..count).map(|_| value_at(dice, depth + 1)).collect();
            format!("{{{}}}", items.join(","))
        }
        _ => {
            let count = dice.below(6);
            let fields: Vec<String> = (0..count)
                .map(|_| {
                    let key = match dice.below(3) {
                        0 => (dice.below(14) + 1).to_string(),
                        1 => bytes(dice),
                        _ => format!("\"{}\"", dice.pick(&["id", "name", "score", "x"])),
                    };
                    format!("[{key}]={}", value_at(dice, depth + 1))
                })
                .collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

/// JSON text, now and then wrong.
fn json(dice: &mut Dice) -> String {
    let mut text = json_at(dice, 0).into_bytes();
    if dice.below(3) == 0 && !text.is_empty() {
        let at = dice.below(text.len());
        match dice.below(3) {
            0 => drop(text.remove(at)),
            1 => text.truncate(at),
            _ => text[at] = b"{}[]:,\"\\tfn0-+.eEu x\0"[dice.below(21)],
        }
    }
    literal(&text)
}

fn json_at(dice: &mut Dice, depth: usize) -> String {
    match dice.below(if depth > 4 { 5 } else { 8 }) {
        0 => dice
            .pick(&[
                "null",
                "true",
                "false",
                "[]",
                "{}",
                "nan",
                "inf",
                "-Infinity",
                "0x1F",
            ])
            .to_string(),
        1 | 2 => dice
            .pick(&[
                "0",
                "-1",
                "1.5",
                "1e5",
                "-0.0",
                "1E-3",
                "12345678901234567890",
                "01",
                "1.",
            ])
            .to_string(),
        3 | 4 => {
            let text = dice.join(4, "", |dice| {
                dice.pick(&[
                    "a",
                    "/",
                    "\\/",
                    "\\n",
                    "\\u0041",
                    "\\u00e9",
                    "\\ud83d\\ude00",
                    "\\ud83d",
                    "é",
                    " ",
                    "\\x",
                    "\\\"",
                    "\\u12",
                ])
                .to_string()
            });
            format!("\"{text}\"")
        }
        5 | 6 => {
            let count = dice.below(4);
            let items: Vec<String> = (0..count).map(|_| json_at(dice, depth + 1)).collect();
            format!("[{}]", items.join(dice.pick(&[",", ", ", " ,"])))
        }
        _ => {
            let count = dice.below(4);
            let fields: Vec<String> = (0..count)
                .map(|_| {
                    let key = dice.pick(&["a", "b", "1", "long name", ""]);
                    format!("\"{key}\":{}", json_at(dice, depth + 1))
                })
                .collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

fn literal(bytes: &[u8]) -> String {
    let text: String = bytes.iter().map(|byte| format!("\\{byte:03}")).collect();
    format!("\"{text}\"")
}

/// Bytes that are MessagePack here and there.
fn packed(dice: &mut Dice) -> String {
    let count = dice.below(14);
    let bytes: Vec<u8> = (0..count)
        .map(|_| match dice.below(3) {
            0 => 0x80 + dice.below(64) as u8,
            1 => 0xc0 + dice.below(32) as u8,
            _ => dice.below(256) as u8,
        })
        .collect();
    literal(&bytes)
}

fn structure(dice: &mut Dice) -> String {
    dice.join(7, "", |dice| match dice.below(4) {
        0 => dice
            .pick(&[">", "<", "!", "!2", "!4", "!8", " ", "x", "!3"])
            .to_string(),
        1 => format!("{}{}", dice.pick(&["i", "I", "c"]), dice.below(12)),
        _ => dice
            .pick(&[
                "b", "B", "h", "H", "l", "L", "T", "f", "d", "s", "i", "I", "c0", "bc0",
            ])
            .to_string(),
    })
}

fn pattern(dice: &mut Dice) -> String {
    let text = dice.join(6, "", |dice| match dice.below(5) {
        0 => dice
            .pick(&[
                "(", ")", "()", "^", "$", "%1", "%b()", "%f[%w]", "[^%s]", "[a-c]", "%",
            ])
            .to_string(),
        1 => format!("({})", dice.pick(&["a", ".", "%w+", ".-", "b*", ""])),
        2 => format!(
            "{}{}",
            dice.pick(&["a", "b", ".", "%a", "%S", "[ab]", "[^b]", "[%w_]"]),
            dice.pick(&["*", "+", "-", "?"])
        ),
        _ => dice
            .pick(&["a", "b", "c", ".", "%d", "%w", "%s", "x", "%.", "%p", "%z"])
            .to_string(),
    });
    format!("\"{text}\"")
}

fn subject(dice: &mut Dice) -> String {
    let text = dice.join(14, "", |dice| {
        dice.pick(&[
            "a", "b", "c", "aa", "ab", " ", "1", "(", ")", ".", "x=1", "\\000", "%",
        ])
        .to_string()
    });
    format!("\"{text}\"")
}

/// One expression list whose values are shown.
fn expression(dice: &mut Dice) -> String {
    match dice.below(16) {
        0 | 1 => format!("cjson.encode({})", value(dice)),
        2 | 3 => format!("cjson.encode(cjson.decode({}))", json(dice)),
        4 => format!(
            "cmsgpack.pack({})",
            dice.join(4, ",", value).trim_end_matches(",nil")
        ),
        5 => format!("cjson.encode({{cmsgpack.unpack({})}})", packed(dice)),
        6 => format!(
            "cjson.encode({{cmsgpack.unpack_limit({},{},{})}})",
            packed(dice),
            dice.below(4) as i64 - 1,
            dice.below(5) as i64 - 1
        ),
        7 => format!(
            "cjson.encode({{cmsgpack.unpack(cmsgpack.pack({}))}})",
            value(dice)
        ),
        8 => format!(
            "struct.pack(\"{}\",{},1,2,\"abc\",4,\"x\")",
            structure(dice),
            number(dice)
        ),
        9 => format!(
            "struct.unpack(\"{}\",{},{})",
            structure(dice),
            packed(dice),
            dice.below(5) as i64
        ),
        10 => format!("struct.size(\"{}\")", structure(dice)),
        11 => format!(
            "bit.{}({},{})",
            dice.pick(&[
                "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "tohex"
            ]),
            number(dice),
            dice.below(70) as i64 - 35
        ),
        12 => format!(
            "string.{}({},{},{})",
            dice.pick(&["find", "match"]),
            subject(dice),
            pattern(dice),
            dice.below(8) as i64 - 3
        ),
        13 => format!(
            "string.gsub({},{},{})",
            subject(dice),
            pattern(dice),
            dice.pick(&[
                "\"<%0>\"",
                "\"%1\"",
                "{a=1,b=\"B\",c=false}",
                "function(...) return select(\"#\",...) end",
                "function(x) return x and \"[\"..x..\"]\" end",
                "\"%2\"",
                "\"x\",2",
            ])
        ),
        14 => format!(
            "(function() local r = {{}} for a, b in string.gmatch({},{}) do r[#r+1] = \
             tostring(a)..tostring(b) end return table.concat(r, \"|\") end)()",
            subject(dice),
            pattern(dice)
        ),
        _ => format!(
            "string.format(\"%{}{}\",{})",
            dice.pick(&["", "5", "-5", "05", ".3", "+", "10.2"]),
            dice.pick(&["d", "s", "g", "x", "q", "c", "f", "e", "i"]),
            number(dice)
        ),
    }
}

/// Statements over redis.call and tables.
fn program(dice: &mut Dice) -> String {
    let statements = dice.join(8, "\n", |dice| {
        let key = dice.pick(&["k1", "k2", "k3"]);
        match dice.below(10) {
            0 => format!("redis.call('set','{key}',{})", number(dice)),
            1 => format!(
                "redis.call('hset','{key}',{},{})",
                bytes(dice),
                number(dice)
            ),
            2 => format!("redis.pcall('rpush','{key}',{},'y')", bytes(dice)),
            3 => format!("r[#r+1] = redis.pcall('get','{key}')"),
            4 => format!("r[#r+1] = redis.pcall('hgetall','{key}')"),
            5 => format!("r[#r+1] = redis.pcall('lrange','{key}',0,-1)"),
            6 => format!("r[{}] = {}", dice.below(6) + 1, value(dice)),
            7 => format!("r[#r+1] = select(2, pcall(redis.call,'incr','{key}'))"),
            8 => format!("redis.setresp({})", dice.below(2) + 2),
            _ => format!(
                "for i = 1, {} do r[#r+1] = i * {} end",
                dice.below(4),
                number(dice)
            ),
        }
    });
    format!("local r = {{}}\n{statements}\nreturn r")
}

fn script(dice: &mut Dice) -> String {
    match dice.below(6) {
        0 => program(dice),
        1 => format!("return {}", value(dice)),
        2 => format!(
            "return {{{}={}}}",
            dice.pick(&[
                "ok",
                "err",
                "double",
                "map",
                "set",
                "big_number",
                "verbatim_string"
            ]),
            value(dice)
        ),
        _ => {
            let expression = expression(dice);
            format!(
                "local r = {{pcall(function() return {expression} end)}}\nfor i = 1, #r do r[i] = \
                 tostring(r[i]) end\nreturn r"
            )
        }
    }
}

fn environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_scripts_answer_as_on_a_real_server() {
    let Some(mut real) = RealServer::start() else {
        return;
    };
    let seed = environment("RANKD_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("RANKD_SEED={seed}");
    let mut dice = Dice {
        state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
    };
    let mut interpreter = Interpreter::default();
    let mut differences = Vec::new();
    for _ in 0..environment("RANKD_ROUNDS").unwrap_or(ROUNDS) {
        let script = script(&mut dice);
        let protocol = [Protocol::Resp2, Protocol::Resp3][dice.below(2)];
        let hello: &[u8] = if protocol == Protocol::Resp3 {
            b"3"
        } else {
            b"2"
        };
        real.command(&[b"hello", hello]);
        real.command(&[b"flushall"]);
        let wanted = real.command(&[b"eval", script.as_bytes(), b"0"]);
        let given = eval_with(
            &mut interpreter,
            &mut FakeHost::default(),
            script.as_bytes(),
            &[],
            &[],
            protocol,
        );
        if mask_addresses(&wanted) != mask_addresses(&given) {
            differences.push(format!(
                "{script}\n  wanted {:.500?}\n  given  {:.500?}",
                String::from_utf8_lossy(&wanted),
                String::from_utf8_lossy(&given)
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "seed {seed}: {} differences, the first:\n{}",
        differences.len(),
        differences[..differences.len().min(20)].join("\n")
    );
}
