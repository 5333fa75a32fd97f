//! Random commands from templates.
//!
//! A template is a command with places for values, such as
//! `ZADD $key %[ NX | XX | CH ] ( $score $member )+`:
//!
//! - `$name` a value of that kind (see [`Words::value`]);
//! - `[ a | b ]` one of these or nothing, `{ a | b }` one of these;
//! - `( a )+` one or more times;
//! - `%[ a | b ]` any of these in any order;
//! - any other word is itself, in upper or lower case.
//!
//! Most values are legal, some are not, so that error replies and their order are compared too.

use crate::harness::Random;

pub type Command = Vec<Vec<u8>>;

const KEYS: usize = 6;
const MEMBERS: &[&str] = &[
    "a",
    "b",
    "c",
    "d",
    "e",
    "aa",
    "ab",
    "A",
    "Z",
    "z",
    "",
    "0",
    "1",
    "10",
    "-5",
    "3.5",
    "é",
    "a b",
    "\u{1}\u{2}",
    "a member longer than the sixty-four bytes that a small board takes, and then some",
];
const SCORES: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "10",
    "-100",
    "1.5",
    "-2.25",
    "0.1",
    "0.2",
    "0.3",
    "3.0",
    "1e3",
    "1e300",
    "-1e300",
    "inf",
    "-inf",
    "+inf",
    "9007199254740993",
    "1e-7",
    "123456789.123456789",
    "4.9e-324",
    "1.7976931348623157e308",
    "17179869184",
    "-0",
    "0x10",
    "1e21",
    "1e17",
    "5e18",
    "4611686018427387904",
    "12345.12345678",
    "1e23",
];
const BAD_SCORES: &[&str] = &[
    "nan", "abc", "", " 1", "1 ", "1.2.3", "--1", "1e400", "infinity", "Infinity", "-nan", "+1",
    ".5", "5.", "1e",
];
const INTEGERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "-2",
    "3",
    "5",
    "-5",
    "10",
    "100",
    "-100",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
];
const BAD_INTEGERS: &[&str] = &[
    "abc",
    "",
    "1.5",
    "9223372036854775808",
    " 1",
    "+1",
    "0x1",
    "01",
    "-0",
];
const BAD_OFFSETS: &[&str] = &["-1", "x", "", "4294967296", "9223372036854775807", "1.5"];
const BAD_FIELD_TYPES: &[&str] = &["u64", "i65", "i0", "u", "", "x8", "I8", "u-1", "i 8"];
const BAD_IDS: &[&str] = &[
    "0-0",
    "0",
    "-",
    "+",
    "x",
    "5-",
    "-5",
    "1-2-3",
    "18446744073709551615",
    "18446744073709551616",
    "007-+1",
    "",
];
const PATTERNS: &[&str] = &[
    "*", "k?", "k[0-2]", "k[^1]", "nothing*", "*[", "k\\1", "[a-", "?*", "*a*",
];

/// How many in a hundred values are not legal.
const BAD_PERCENT: usize = 4;

pub struct Words {
    random: Random,
    /// How many keys the last `$keys` of this command named, for `$weights`.
    key_count: usize,
    /// The time that the ids of streams have come to.
    stream_ms: u64,
}

enum Item {
    Word(String),
    Value(String),
    Optional(Vec<Vec<Item>>),
    Choice(Vec<Vec<Item>>),
    Many(Vec<Vec<Item>>),
    AnyOrder(Vec<Vec<Item>>),
}

impl Words {
    pub fn new(seed: u64) -> Words {
        Words {
            random: Random::new(seed),
            key_count: 1,
            stream_ms: 1,
        }
    }

    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// A command from one of the templates.
    pub fn command(&mut self, templates: &[&str]) -> Command {
        let template = self.random.pick(templates);
        let mut tokens = tokens(template);
        let (alternatives, _) = parse(&mut tokens.drain(..).peekable());
        let mut out = Vec::new();
        self.write(&alternatives[0], &mut out);
        out
    }

    fn write(&mut self, items: &[Item], out: &mut Command) {
        for item in items {
            match item {
                Item::Word(word) => out.push(self.any_case(word)),
                Item::Value(kind) => self.value(kind, out),
                Item::Optional(choices) => {
                    if self.random.chance(40) {
                        self.write_one(choices, out);
                    }
                }
                Item::Choice(choices) => self.write_one(choices, out),
                Item::Many(choices) => {
                    let longest = if self.random.chance(10) { 40 } else { 4 };
                    for _ in 0..1 + self.random.below(longest) {
                        self.write_one(choices, out);
                    }
                }
                Item::AnyOrder(choices) => {
                    let mut order: Vec<usize> = (0..choices.len()).collect();
                    self.random.shuffle(&mut order);
                    for index in order {
                        if self.random.chance(22) {
                            self.write(&choices[index], out);
                        }
                    }
                }
            }
        }
    }

    fn write_one(&mut self, choices: &[Vec<Item>], out: &mut Command) {
        let index = self.random.below(choices.len());
        self.write(&choices[index], out);
    }

    fn any_case(&mut self, word: &str) -> Vec<u8> {
        if self.random.chance(20) {
            word.to_lowercase().into_bytes()
        } else {
            word.as_bytes().to_vec()
        }
    }

    /// Adds a value of a kind to the command.
    fn value(&mut self, kind: &str, out: &mut Command) {
        let text = match kind {
            "key" => format!("k{}", self.random.below(KEYS)),
            // Few, so that those who wait and those who change meet.
            "common" => format!("c{}", self.random.below(4)),
            "plain" => format!("v{}", self.random.below(9)),
            // All scores are equal under these names: the order by members has no meaning where scores differ.
            "lexkey" => format!("lex{}", self.random.below(2)),
            "member" | "field" => self.member(),
            "value" if self.random.chance(50) => self.member(),
            "value" | "score" => self.score(),
            "int" => self.integer(),
            "small" => self.random.below(12).to_string(),
            "bound" => format!(
                "{}{}",
                if self.random.chance(30) { "(" } else { "" },
                self.score()
            ),
            "lexbound" => self.lex_bound(),
            "pattern" => self.random.pick(PATTERNS).to_string(),
            "seconds" => self.seconds(),
            "timeout" => self
                .random
                .pick(&["0.01", "0.001", "-1", "x", "1e-3"])
                .to_string(),
            "offset" => self.bit_offset(),
            "bitfield" => {
                out.push(self.field_type().into_bytes());
                let mark = if self.random.chance(25) { "#" } else { "" };
                format!("{mark}{}", self.bit_offset())
            }
            "position" => {
                let (longitude, latitude) = self.position();
                out.push(longitude.into_bytes());
                latitude
            }
            "length" => self.length(),
            "newid" => self.new_id(),
            "id" => self.id(),
            "idbound" => self.id_bound(),
            "group" => self.random.pick(&["g", "g", "h", "nogroup"]).to_string(),
            "consumer" => self.random.pick(&["ann", "bob", "cid"]).to_string(),
            "distance" => {
                out.push(self.length().into_bytes());
                let bad = self.random.chance(BAD_PERCENT);
                let units: &[&str] = if bad {
                    &["cm", ""]
                } else {
                    &["m", "km", "ft", "mi", "KM"]
                };
                self.random.pick(units).to_string()
            }
            "keys" => return self.keys(out),
            "weights" => return self.weights(out),
            other => panic!("a template asks for an unknown kind of value: {other}"),
        };
        out.push(text.into_bytes());
    }

    fn member(&mut self) -> String {
        if self.random.chance(60) {
            self.random.pick(MEMBERS).to_string()
        } else {
            format!("m{}", self.random.below(300))
        }
    }

    fn score(&mut self) -> String {
        if self.random.chance(BAD_PERCENT) {
            return self.random.pick(BAD_SCORES).to_string();
        }
        match self.random.below(3) {
            0 => self.random.pick(SCORES).to_string(),
            1 => self.random.between(-50, 50).to_string(),
            _ => {
                let decimals = self.random.below(12);
                let number = self.random.unit() * 2000.0 - 1000.0;
                format!("{number:.decimals$}")
            }
        }
    }

    fn integer(&mut self) -> String {
        if self.random.chance(BAD_PERCENT) {
            self.random.pick(BAD_INTEGERS).to_string()
        } else if self.random.chance(35) {
            self.random.pick(INTEGERS).to_string()
        } else {
            self.random.between(-12, 12).to_string()
        }
    }

    /// A time to live that is either long or already over, so that both servers agree whatever their pace.
    fn seconds(&mut self) -> String {
        self.random
            .pick(&[
                "1000",
                "2000",
                "100000",
                "0",
                "-1",
                "abc",
                "9223372036854775807",
                "-9223372036854775808",
            ])
            .to_string()
    }

    fn bit_offset(&mut self) -> String {
        if self.random.chance(BAD_PERCENT) {
            self.random.pick(BAD_OFFSETS).to_string()
        } else {
            self.random.below(200).to_string()
        }
    }

    /// The type of an integer in a bit field.
    fn field_type(&mut self) -> String {
        if self.random.chance(BAD_PERCENT) {
            return self.random.pick(BAD_FIELD_TYPES).to_string();
        }
        let sign = self.random.pick(&["i", "u"]).to_string();
        match self.random.below(3) {
            0 => format!("{sign}{}", self.random.pick(&["1", "8", "16", "32", "63"])),
            _ => format!("{sign}{}", 1 + self.random.below(64)),
        }
    }

    /// Longitude and latitude, most of them not far from a few cities so that searches find some.
    fn position(&mut self) -> (String, String) {
        if self.random.chance(BAD_PERCENT) {
            return (
                self.score(),
                self.random.pick(&["90", "x", "0", "inf"]).to_string(),
            );
        }
        // Many digits, since members at the same place come in any order.
        let decimals = 6 + self.random.below(6);
        let (x, y) = (self.random.unit(), self.random.unit());
        let (longitude, latitude) = match self.random.below(4) {
            0 => (x * 360.0 - 180.0, y * 170.0 - 85.0),
            1 => (x * 0.2 + 13.36, y * 0.2 + 38.1),
            2 => (x * 4.0 - 2.0, y * 4.0 - 2.0),
            _ => (179.0 + x, 83.0 + y * 2.0),
        };
        (
            format!("{longitude:.decimals$}"),
            format!("{latitude:.decimals$}"),
        )
    }

    fn length(&mut self) -> String {
        if self.random.chance(BAD_PERCENT) {
            return self
                .random
                .pick(&["-1", "x", "0", "-0", "1e400"])
                .to_string();
        }
        let power = self.random.below(8) as i32;
        format!("{:.3}", self.random.unit() * 10f64.powi(power))
    }

    /// The id of a new entry: most are above those before, since time goes on with every one.
    fn new_id(&mut self) -> String {
        if self.random.chance(BAD_PERCENT) {
            return self.id();
        }
        self.stream_ms += self.random.below(3) as u64;
        let ms = self.stream_ms;
        match self.random.below(4) {
            0 => format!("{ms}-*"),
            1 => ms.to_string(),
            _ => format!("{ms}-{}", self.random.below(400)),
        }
    }

    /// The id of an entry that may be there.
    fn id(&mut self) -> String {
        if self.random.chance(BAD_PERCENT) {
            return self.random.pick(BAD_IDS).to_string();
        }
        let ms = self.stream_ms.saturating_sub(self.random.below(40) as u64);
        match self.random.below(3) {
            0 => ms.to_string(),
            1 => format!("{ms}-0"),
            _ => format!("{ms}-{}", self.random.below(3)),
        }
    }

    fn id_bound(&mut self) -> String {
        match self.random.below(6) {
            0 => "-".to_string(),
            1 => "+".to_string(),
            2 => format!("({}", self.id()),
            _ => self.id(),
        }
    }

    fn lex_bound(&mut self) -> String {
        match self.random.below(20) {
            0..=3 => self.random.pick(&["-", "+"]).to_string(),
            4 => self.random.pick(&["a", "", "(", "[", "--"]).to_string(),
            5..=12 => format!("[{}", self.member()),
            _ => format!("({}", self.member()),
        }
    }

    /// The number of keys and the keys; seldom the wrong number.
    fn keys(&mut self, out: &mut Command) {
        let count = 1 + self.random.below(3);
        self.key_count = count;
        let told = if self.random.chance(BAD_PERCENT) {
            self.integer()
        } else {
            count.to_string()
        };
        out.push(told.into_bytes());
        for _ in 0..count {
            self.value("key", out);
        }
    }

    fn weights(&mut self, out: &mut Command) {
        let count = self.key_count + usize::from(self.random.chance(BAD_PERCENT));
        for _ in 0..count {
            self.value("score", out);
        }
    }
}

fn tokens(template: &str) -> Vec<String> {
    template.split_whitespace().map(str::to_string).collect()
}

/// Items up to the closing bracket, cut at each `|`; and whether that bracket was `)+`.
fn parse(tokens: &mut std::iter::Peekable<std::vec::Drain<'_, String>>) -> (Vec<Vec<Item>>, bool) {
    let mut alternatives = vec![Vec::new()];
    while let Some(token) = tokens.next() {
        let item = match token.as_str() {
            "]" | "}" | ")" => return (alternatives, false),
            ")+" => return (alternatives, true),
            "|" => {
                alternatives.push(Vec::new());
                continue;
            }
            "[" => Item::Optional(parse(tokens).0),
            "%[" => Item::AnyOrder(parse(tokens).0),
            "{" => Item::Choice(parse(tokens).0),
            "(" => match parse(tokens) {
                (choices, true) => Item::Many(choices),
                (choices, false) => Item::Choice(choices),
            },
            word => match word.strip_prefix('$').filter(|kind| !kind.is_empty()) {
                Some(kind) => Item::Value(kind.to_string()),
                None => Item::Word(word.to_string()),
            },
        };
        alternatives
            .last_mut()
            .expect("there is always one")
            .push(item);
    }
    (alternatives, false)
}

#[test]
fn a_template_gives_the_same_commands_for_the_same_seed() {
    let template = ["ZADD $key %[ NX | CH ] ( $score $member )+ [ a | b ] { x | y }"];
    let commands = |seed| {
        let mut words = Words::new(seed);
        (0..50)
            .map(|_| words.command(&template))
            .collect::<Vec<_>>()
    };
    assert_eq!(commands(7), commands(7));
    assert_ne!(commands(7), commands(8));
    for command in commands(7) {
        assert!(
            command[0].eq_ignore_ascii_case(b"zadd") && command.len() >= 5,
            "{command:?}"
        );
        assert!([&b"x"[..], b"y"].contains(&command[command.len() - 1].as_slice()));
    }
}
