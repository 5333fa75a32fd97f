//! Random programs of commands that write: every type, scripts, transactions, deadlines, picks, several databases.

use crate::engine::random::Random;
use crate::resp::args::OwnedArgs;

/// Databases that a program uses.
pub const DATABASES: usize = 3;

/// Words in capitals at a command's beginning are itself; `K` is a key, `V` a member or number, `F` a field or member
/// of few, `N` a small number, `S` a score, `I` the id of a stream's entry, `+I` one above all before, `G` a group, `C` a
/// consumer, `D` a database, `P` a position, `T` a deadline in milliseconds, `L` lexical bounds; `..` repeats the word
/// before it.
pub const TEMPLATES: &[&str] = &[
    "SET K V",
    "SET K V EX 100",
    "SET K V PX N0 GET",
    "SET K V KEEPTTL GET",
    "SET K V NX",
    "SET K V PXAT T",
    "SETEX K 100 V",
    "PSETEX K N0 V",
    "SETNX K V",
    "GETSET K V",
    "GETDEL K",
    "GETEX K EX 50",
    "GETEX K PX N0",
    "GETEX K EXAT 1",
    "GETEX K PXAT T",
    "GETEX K PERSIST",
    "MSET K V K V",
    "MSETNX K V K V",
    "INCR K",
    "DECR K",
    "INCRBY K N",
    "DECRBY K N",
    "INCRBYFLOAT K 0.1",
    "APPEND K V",
    "SETRANGE K N V",
    "SETBIT K N0 1",
    "BITOP XOR K K K",
    "BITOP NOT K K",
    "BITFIELD K OVERFLOW FAIL INCRBY i5 N0 100",
    "BITFIELD K SET u8 N N0 INCRBY i5 N N OVERFLOW FAIL INCRBY u3 N 7",
    "HSET K V V",
    "HSET K F V F V F V",
    "HMSET K F V F V",
    "HSETNX K F V",
    "HDEL K F F",
    "HINCRBY K F N",
    "HINCRBYFLOAT K F 1.1",
    "RPUSH K V ..",
    "LPUSH K V ..",
    "LPUSHX K V",
    "RPUSHX K V",
    "LPOP K",
    "RPOP K N",
    "LSET K N V",
    "LINSERT K BEFORE V V",
    "LREM K N V",
    "LTRIM K N -N",
    "LMOVE K K LEFT RIGHT",
    "RPOPLPUSH K K",
    "LMPOP 2 K K LEFT COUNT N",
    "BLPOP K K 0.1",
    "BRPOP K K 0.05",
    "BLMOVE K K RIGHT RIGHT 0.1",
    "BRPOPLPUSH K K 0.1",
    "BLMPOP 0.1 2 K K RIGHT",
    "SADD K V ..",
    "SADD K F F F",
    "SADD K N N N",
    "SREM K V F",
    "SPOP K",
    "SPOP K N",
    "SMOVE K K F",
    "SINTERSTORE K K K",
    "SUNIONSTORE K K K",
    "SDIFFSTORE K K K",
    "ZADD K S F S F S F",
    "ZADD K S V ..",
    "ZADD K GT CH S F S F",
    "ZADD K LT S F",
    "ZADD K NX INCR S F",
    "ZADD K XX S F",
    "ZINCRBY K S F",
    "ZINCRBY K S V",
    "ZREM K F F V",
    "ZPOPMIN K",
    "ZPOPMAX K N",
    "ZMPOP 2 K K MIN COUNT N",
    "BZPOPMIN K K 0.1",
    "BZPOPMAX K K 0.05",
    "BZMPOP 0.1 2 K K MAX COUNT N",
    "ZREMRANGEBYRANK K N N",
    "ZREMRANGEBYSCORE K S S",
    "ZREMRANGEBYLEX K L L",
    "ZRANGESTORE K K N -N",
    "ZRANGESTORE K K S S BYSCORE LIMIT N N",
    "ZUNIONSTORE K 2 K K WEIGHTS S S AGGREGATE MAX",
    "ZINTERSTORE K 2 K K",
    "ZDIFFSTORE K 2 K K",
    "GEOADD K P F P F",
    "GEOADD K XX CH P F",
    "GEOSEARCHSTORE K K FROMLONLAT P BYRADIUS 3000 km COUNT N0",
    "GEOSEARCHSTORE K K FROMLONLAT P BYBOX 9000 9000 km STOREDIST",
    "GEORADIUS K P 5000 km STORE K",
    "GEORADIUSBYMEMBER K F 5000 km STOREDIST K",
    "PFADD K V V V",
    "PFADD K V ..",
    "PFMERGE K K K",
    "PFDEBUG TODENSE K",
    "XADD K * F V",
    "XADD K +I F V F V",
    "XADD K MAXLEN ~ N0 +I F V",
    "XADD K MAXLEN N * F V",
    "XADD K MINID ~ I LIMIT 0 +I F V",
    "XADD K NOMKSTREAM MINID ~ I * F V",
    "XDEL K I I",
    "XTRIM K MAXLEN N",
    "XTRIM K MINID ~ I LIMIT N0",
    "XSETID K +I",
    "XSETID K +I ENTRIESADDED N0 MAXDELETEDID I",
    "XGROUP CREATE K G 0 MKSTREAM",
    "XGROUP CREATE K G $ MKSTREAM ENTRIESREAD N",
    "XGROUP CREATE K G 0 MKSTREAM",
    "XGROUP SETID K G I",
    "XGROUP SETID K G 0 ENTRIESREAD N",
    "XGROUP DESTROY K G",
    "XGROUP CREATECONSUMER K G C",
    "XGROUP DELCONSUMER K G C",
    "XREADGROUP GROUP G C COUNT N STREAMS K >",
    "XREADGROUP GROUP G C NOACK STREAMS K >",
    "XREADGROUP GROUP G C STREAMS K K > >",
    "XREADGROUP GROUP G C STREAMS K 0",
    "XREADGROUP GROUP G C BLOCK 50 STREAMS K >",
    "XACK K G I I I",
    "XCLAIM K G C N I I",
    "XCLAIM K G C 0 I TIME T RETRYCOUNT N FORCE JUSTID LASTID I",
    "XCLAIM K G C 0 I I IDLE N0 FORCE",
    "XAUTOCLAIM K G C N 0",
    "XAUTOCLAIM K G C 0 I COUNT 2 JUSTID",
    "DEL K K",
    "UNLINK K",
    "RENAME K K",
    "RENAMENX K K",
    "COPY K K",
    "COPY K K DB D REPLACE",
    "MOVE K D",
    "EXPIRE K 100",
    "EXPIRE K 1 NX",
    "EXPIRE K -1",
    "PEXPIRE K N0",
    "PEXPIRE K N0 GT",
    "EXPIREAT K 1 LT",
    "EXPIREAT K 1900000000",
    "PEXPIREAT K T",
    "PERSIST K",
    "SORT K BY nosort STORE K",
    "SORT K ALPHA DESC STORE K",
    "SWAPDB D D",
    "SELECT D",
    "SELECT D",
    "FUNCTION DELETE lib",
    "GET K",
    "ZRANDMEMBER K N",
    "EXISTS K K",
];

/// Commands that leave little behind, which a program runs seldom.
pub const SELDOM: &[&str] = &["FLUSHDB", "FLUSHALL", "FUNCTION FLUSH"];

/// Scripts of two keys and two values, in which time and chance take part.
const SCRIPTS: &[&str] = &[
    "local t = redis.call('TIME') redis.call('SET', KEYS[1], t[1] .. t[2])",
    "redis.call('SET', KEYS[1], math.random(1000)) redis.call('PEXPIRE', KEYS[1], 50)",
    "for _, one in ipairs(redis.call('SPOP', KEYS[1], 2)) do redis.call('RPUSH', KEYS[2], one) end",
    "local one = redis.call('SRANDMEMBER', KEYS[1]) if one then redis.call('SREM', KEYS[1], one) end",
    "for _, one in ipairs(redis.call('ZRANDMEMBER', KEYS[1], 2)) do redis.call('ZINCRBY', KEYS[1], 0.1, one) end",
    "local one = redis.call('HRANDFIELD', KEYS[1]) if one then redis.call('HDEL', KEYS[1], one) end",
    "redis.pcall('LPUSH', KEYS[1], ARGV[1]) redis.pcall('INCR', KEYS[2]) redis.pcall('HINCRBYFLOAT', KEYS[1], 'f', 0.1)",
    "redis.call('XADD', KEYS[1], '*', 'at', redis.call('TIME')[2]) redis.call('XTRIM', KEYS[1], 'MAXLEN', 5)",
    "redis.call('SELECT', 1) redis.call('SET', KEYS[1], ARGV[1]) redis.call('DEL', KEYS[2])",
    "redis.call('ZADD', KEYS[1], 1.5, ARGV[1], 2, ARGV[2]) return redis.call('ZPOPMAX', KEYS[1])",
    "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], 1, 2, 3) redis.call('LPUSH', KEYS[1]) return 1",
    "redis.call('SET', KEYS[1], ARGV[1], 'EX', 100) redis.call('RENAME', KEYS[1], KEYS[2]) error('the end')",
    "redis.call('BLPOP', KEYS[1], KEYS[2], 0) redis.call('BZPOPMIN', KEYS[1], 0)",
    "redis.call('EXPIRE', KEYS[1], 100) redis.call('PERSIST', KEYS[2]) redis.call('COPY', KEYS[1], KEYS[2], 'REPLACE')",
    "return redis.call('GET', KEYS[1])",
];

const LIBRARY: &str = "#!lua name=lib\n\
    redis.register_function('f', function(keys, args)\n\
    local t = redis.call('TIME')\n\
    redis.call('APPEND', keys[1], t[2])\n\
    redis.call('RPUSH', keys[2], math.random(100), args[1])\n\
    return 1 end)";

/// One thing that a program does.
pub enum Step {
    Run(OwnedArgs),
    /// DUMP one key, RESTORE it as the other with these further words.
    Copy(OwnedArgs),
    /// The log is rewritten.
    Rewrite,
    /// Nothing happens for so many milliseconds, but what happens by itself.
    Pause(u64),
}

/// Makes up the steps.
pub struct Author {
    random: Random,
    has_begun: bool,
    last_id: u64,
    transaction: Option<usize>,
    queue: Vec<OwnedArgs>,
    /// How the keys of the command under way are named.
    family: &'static str,
}

/// Beginnings of the names of keys, one for each type.
const KEYS: &[&str] = &["board", "hash", "list", "set", "feed", "estimate", "text"];

/// How keys are named that a command is for; those of no type have a mixture.
fn family(template: &str) -> &'static str {
    let name = template.split(' ').next().unwrap_or(template);
    let begins = |with: &[&str]| with.iter().any(|with| name.starts_with(with));
    if begins(&["Z", "BZ", "GEO"]) {
        "board"
    } else if begins(&["HS", "HM", "HD", "HI"]) {
        "hash"
    } else if begins(&["PF"]) {
        "estimate"
    } else if begins(&["X"]) {
        "feed"
    } else if begins(&["SADD", "SREM", "SPOP", "SMOVE", "SINTER", "SUNION", "SDIFF"]) {
        "set"
    } else if begins(&["L", "R", "BL", "BR"]) && !begins(&["RENAME"]) {
        "list"
    } else if begins(&["SET", "PSET", "GET", "MSET", "INC", "DEC", "APP", "BIT"]) {
        "text"
    } else {
        "mixed"
    }
}

fn library() -> OwnedArgs {
    OwnedArgs::from_slices(&[b"FUNCTION", b"LOAD", b"REPLACE", LIBRARY.as_bytes()])
}

impl Author {
    pub fn new(seed: u64) -> Self {
        Author {
            random: Random::new(seed),
            has_begun: false,
            last_id: 1,
            transaction: None,
            queue: Vec::new(),
            family: "mixed",
        }
    }

    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    pub fn step(&mut self) -> Step {
        if !std::mem::replace(&mut self.has_begun, true) {
            // So that the commands of groups find some and FCALL its function.
            for index in 0..3 {
                let group = self.fill(&format!("XGROUP CREATE feed{index} group0 0 MKSTREAM"));
                self.queue.push(group);
            }
            self.queue.push(library());
        }
        if let Some(queued) = self.queue.pop() {
            return Step::Run(queued);
        }
        if let Some(left) = self.transaction {
            self.transaction = left.checked_sub(1);
            if left == 0 {
                let ends = if self.random.below(5) == 0 {
                    "DISCARD"
                } else {
                    "EXEC"
                };
                return Step::Run(self.fill(ends));
            }
            return Step::Run(self.command());
        }
        match self.random.below(100) {
            0..=2 => Step::Pause(self.random.below(300) as u64),
            3 => Step::Rewrite,
            4 | 5 => Step::Copy(self.fill("K K N0 REPLACE")),
            6 => Step::Copy(self.fill("K K T ABSTTL REPLACE")),
            7 => {
                let index = self.random.below(SELDOM.len() * 4);
                Step::Run(self.fill(SELDOM.get(index).unwrap_or(&"SWAPDB 0 1")))
            }
            8..=13 => {
                self.transaction = Some(1 + self.random.below(5));
                if self.random.below(3) == 0 {
                    let multi = self.fill("MULTI");
                    self.queue.push(multi);
                    Step::Run(self.fill("WATCH K"))
                } else {
                    Step::Run(self.fill("MULTI"))
                }
            }
            _ => Step::Run(self.command()),
        }
    }

    /// A command, which may call a script.
    fn command(&mut self) -> OwnedArgs {
        match self.random.below(25) {
            0 => self.script("EVAL"),
            1 => self.script("FCALL"),
            _ => {
                let index = self.random.below(TEMPLATES.len());
                self.fill(TEMPLATES[index])
            }
        }
    }

    fn script(&mut self, name: &str) -> OwnedArgs {
        let mut args = OwnedArgs::new();
        if name == "FCALL" && self.random.below(3) == 0 {
            return library();
        }
        args.push(name.as_bytes());
        if name == "FCALL" {
            args.push(b"f");
        } else {
            args.push(SCRIPTS[self.random.below(SCRIPTS.len())].as_bytes());
        }
        let rest = self.fill("2 K K V F");
        rest.as_args().iter().for_each(|word| args.push(word));
        args
    }

    /// The words of a template with values in their places.
    pub fn fill(&mut self, template: &str) -> OwnedArgs {
        let mut args = OwnedArgs::new();
        self.family = family(template);
        let scored = template.starts_with("ZADD");
        for word in template.split(' ') {
            match word {
                ".." => {
                    for _ in 0..20 {
                        if scored {
                            args.push(self.value("S").as_bytes());
                        }
                        args.push(self.value("V").as_bytes());
                    }
                }
                "P" => {
                    let longitude = self.random.below(3_600_000) as f64 / 1e4 - 180.0;
                    let latitude = self.random.below(1_600_000) as f64 / 1e4 - 80.0;
                    args.push(longitude.to_string().as_bytes());
                    args.push(latitude.to_string().as_bytes());
                }
                word => args.push(self.value(word).as_bytes()),
            }
        }
        args
    }

    fn value(&mut self, word: &str) -> String {
        let random = &mut self.random;
        match word {
            // Most commands meet the type that they are for.
            "K" if random.below(4) > 0 => format!("{}{}", self.family, random.below(3)),
            "K" => format!("{}{}", KEYS[random.below(KEYS.len())], random.below(3)),
            "V" => match random.below(3) {
                0 => random.below(40).to_string(),
                1 => format!("member{}", random.below(40)),
                _ => "x".repeat(random.below(90)),
            },
            "F" => format!("field{}", random.below(9)),
            "N" => random.below(12).to_string(),
            "-N" => format!("-{}", random.below(12)),
            "N0" => (1 + random.below(200)).to_string(),
            "S" => match random.below(6) {
                // Without negative zero: here as in Redis only boards in their big encoding keep its sign, and one
                // that has shrunk comes back from a rewrite in the small one.
                0 => ["inf", "-inf", "0", "1e300", "1e-7"][random.below(5)].to_string(),
                1 => (random.below(100_000) as f64 / 7.0).to_string(),
                _ => random.below(50).to_string(),
            },
            "+I" => {
                self.last_id += 1 + random.below(3) as u64;
                format!("{}-{}", self.last_id, random.below(3))
            }
            "I" => {
                let ms = self.last_id.saturating_sub(random.below(12) as u64);
                format!("{ms}-{}", random.below(3))
            }
            "G" => format!("group{}", random.below(2)),
            "C" => format!("consumer{}", random.below(3)),
            "D" => random.below(DATABASES).to_string(),
            // Around the time at which a simulation begins.
            "T" => (1_800_000_000_000 + random.below(2_000) as u64).to_string(),
            "L" => ["-", "+", "[field3", "(field7", "[a"][random.below(5)].to_string(),
            word => word.to_string(),
        }
    }
}
