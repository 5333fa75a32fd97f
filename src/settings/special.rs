//! Settings with a grammar of their own: save points, output limits, event classes,
//! addresses, percentiles.

use super::memory_size;
use super::value::{Source, Value, WRONG_NUMBER, strict_integer};
use crate::limits::BIND_ADDRESSES_MAX;
use bitflags::bitflags;

/// Write a snapshot when `changes` writes have gathered for `seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavePoint {
    pub seconds: u64,
    pub changes: u64,
}

pub(super) fn parse_save(
    current: &Value,
    words: &[Vec<u8>],
    source: Source,
) -> Result<Value, String> {
    let (cleared, words) = match words {
        [word] if word.is_empty() => (true, &[][..]),
        _ => (false, words),
    };
    let refusal = || "Invalid save parameters".to_string();
    if !words.len().is_multiple_of(2) {
        return Err(refusal());
    }
    let mut points = Vec::new();
    for pair in words.chunks_exact(2) {
        let seconds = lenient_integer(&pair[0])
            .filter(|&n| n >= 1)
            .ok_or_else(refusal)?;
        let changes = lenient_integer(&pair[1])
            .filter(|&n| n >= 0)
            .ok_or_else(refusal)?;
        points.push(SavePoint {
            seconds: seconds as u64,
            changes: changes as u64,
        });
    }
    let adds = !cleared && source == (Source::File { save_seen: true });
    match current {
        Value::Save(before) if adds => Ok(Value::Save([before.clone(), points].concat())),
        _ => Ok(Value::Save(points)),
    }
}

pub(super) fn show_save(points: &[SavePoint]) -> String {
    let texts: Vec<String> = points
        .iter()
        .map(|point| format!("{} {}", point.seconds, point.changes))
        .collect();
    texts.join(" ")
}

/// Reads an integer as C's strtoll does: blanks and a plus in front, no digits as 0,
/// too many digits as the largest number. `None` when anything follows.
fn lenient_integer(word: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(word).ok()?;
    if text.is_empty() {
        return Some(0);
    }
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size: i64 = digits.parse().unwrap_or(i64::MAX);
    Some(if negative { -size } else { size })
}

/// When a client of one class is cut off for the replies that wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputLimit {
    /// Cut off at once above this many bytes; 0 is no limit.
    pub hard_bytes: u64,
    /// Cut off after `soft_seconds` above this many bytes; 0 is no limit.
    pub soft_bytes: u64,
    pub soft_seconds: u64,
}

/// Limits for the replies that wait for a client, by class of client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputLimits {
    pub normal: OutputLimit,
    pub replica: OutputLimit,
    pub pubsub: OutputLimit,
}

impl OutputLimits {
    /// The classes in Redis's order, under the names that CONFIG GET uses.
    pub(super) fn by_class(&self) -> [(&'static str, OutputLimit); 3] {
        [
            ("normal", self.normal),
            ("slave", self.replica),
            ("pubsub", self.pubsub),
        ]
    }

    pub(super) fn show(&self) -> String {
        self.by_class()
            .map(|(class, limit)| {
                let OutputLimit {
                    hard_bytes,
                    soft_bytes,
                    soft_seconds,
                } = limit;
                format!("{class} {hard_bytes} {soft_bytes} {soft_seconds}")
            })
            .join(" ")
    }
}

pub(super) fn parse_output_limits(current: &Value, words: &[Vec<u8>]) -> Result<Value, String> {
    if !words.len().is_multiple_of(4) {
        return Err("Wrong number of arguments in buffer limit configuration.".into());
    }
    let mut limits = match current {
        Value::OutputLimits(limits) => *limits,
        _ => OutputLimits::default(),
    };
    for group in words.chunks_exact(4) {
        let class = match group[0].to_ascii_lowercase().as_slice() {
            b"normal" => &mut limits.normal,
            b"slave" | b"replica" => &mut limits.replica,
            b"pubsub" => &mut limits.pubsub,
            _ => {
                return Err("Invalid client class specified in buffer limit configuration.".into());
            }
        };
        *class = output_limit(&group[1..])
            .ok_or("Error in hard, soft or soft_seconds setting in buffer limit configuration.")?;
    }
    Ok(Value::OutputLimits(limits))
}

fn output_limit(words: &[Vec<u8>]) -> Option<OutputLimit> {
    Some(OutputLimit {
        hard_bytes: memory_size::parse(&words[0])?,
        soft_bytes: memory_size::parse(&words[1])?,
        soft_seconds: lenient_integer(&words[2]).filter(|&n| n >= 0)? as u64,
    })
}

pub(super) fn parse_oom_scores(words: &[Vec<u8>]) -> Result<Value, String> {
    let [main, replica, child] = words else {
        return Err(WRONG_NUMBER.into());
    };
    let mut scores = [0; 3];
    for (score, word) in scores.iter_mut().zip([main, replica, child]) {
        *score = lenient_integer(word)
            .filter(|n| (-2000..=2000).contains(n))
            .ok_or("Invalid oom-score-adj-values, elements must be between -2000 and 2000.")?;
    }
    Ok(Value::OomScores(scores))
}

bitflags! {
    /// Which keyspace events are published, and on which channels.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct EventFlags: u32 {
        const KEYSPACE = 1;
        const KEYEVENT = 1 << 1;
        const GENERIC = 1 << 2;
        const STRING = 1 << 3;
        const LIST = 1 << 4;
        const SET = 1 << 5;
        const HASH = 1 << 6;
        const ZSET = 1 << 7;
        const EXPIRED = 1 << 8;
        const EVICTED = 1 << 9;
        const STREAM = 1 << 10;
        const KEY_MISS = 1 << 11;
        const MODULE = 1 << 12;
        const NEW = 1 << 13;
        /// What the class `A` stands for.
        const ALL = Self::GENERIC.bits() | Self::STRING.bits() | Self::LIST.bits()
            | Self::SET.bits() | Self::HASH.bits() | Self::ZSET.bits() | Self::EXPIRED.bits()
            | Self::EVICTED.bits() | Self::STREAM.bits() | Self::MODULE.bits();
    }
}

/// The letters in the order in which CONFIG GET writes them; `A` replaces those
/// that it stands for, and leaves out `n`, as Redis does.
const EVENT_LETTERS: [(char, EventFlags); 14] = [
    ('g', EventFlags::GENERIC),
    ('$', EventFlags::STRING),
    ('l', EventFlags::LIST),
    ('s', EventFlags::SET),
    ('h', EventFlags::HASH),
    ('z', EventFlags::ZSET),
    ('x', EventFlags::EXPIRED),
    ('e', EventFlags::EVICTED),
    ('t', EventFlags::STREAM),
    ('d', EventFlags::MODULE),
    ('n', EventFlags::NEW),
    ('K', EventFlags::KEYSPACE),
    ('E', EventFlags::KEYEVENT),
    ('m', EventFlags::KEY_MISS),
];

impl EventFlags {
    pub(super) fn show(self) -> String {
        let all = self.contains(EventFlags::ALL);
        let covered = EventFlags::ALL | EventFlags::NEW;
        let mut text = String::from(if all { "A" } else { "" });
        for (letter, flag) in EVENT_LETTERS {
            if self.contains(flag) && !(all && covered.contains(flag)) {
                text.push(letter);
            }
        }
        text
    }
}

pub(super) fn parse_events(word: &[u8]) -> Result<Value, String> {
    let mut flags = EventFlags::empty();
    for &byte in word {
        let letter = char::from(byte);
        flags |= match EVENT_LETTERS.iter().find(|(known, _)| *known == letter) {
            Some((_, flag)) => *flag,
            None if letter == 'A' => EventFlags::ALL,
            None => {
                return Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".into());
            }
        };
    }
    Ok(Value::Events(flags))
}

pub(super) fn parse_bind(words: &[Vec<u8>]) -> Result<Value, String> {
    if words.len() > BIND_ADDRESSES_MAX {
        return Err("Too many bind addresses specified.".into());
    }
    match words {
        [word] if word.is_empty() => Ok(Value::Words(Vec::new())),
        _ => Ok(Value::Words(words.to_vec())),
    }
}

pub(super) fn parse_replica_of(words: &[Vec<u8>]) -> Result<Value, String> {
    let [host, port] = words else {
        return Err(WRONG_NUMBER.into());
    };
    if host.eq_ignore_ascii_case(b"no") && port.eq_ignore_ascii_case(b"one") {
        return Ok(Value::Words(Vec::new()));
    }
    strict_integer(port)
        .filter(|port| (0..=i64::from(u16::MAX)).contains(port))
        .ok_or("Invalid master port")?;
    Ok(Value::Words(words.to_vec()))
}

pub(super) fn parse_percentiles(words: &[Vec<u8>]) -> Result<Value, String> {
    let words = match words {
        [word] if word.is_empty() => &[][..],
        _ => words,
    };
    let mut list = Vec::new();
    for word in words {
        let percentile: f64 = std::str::from_utf8(word)
            .ok()
            .and_then(|text| text.parse().ok())
            .filter(|number: &f64| !number.is_nan())
            .ok_or("Invalid latency-tracking-info-percentiles parameters")?;
        if !(0.0..=100.0).contains(&percentile) {
            return Err(
                "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
                    .into(),
            );
        }
        list.push(percentile);
    }
    Ok(Value::Percentiles(list))
}

pub(super) fn show_percentiles(list: &[f64]) -> String {
    let texts: Vec<String> = list
        .iter()
        .map(|number| {
            let text = format!("{number:.6}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        })
        .collect();
    texts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<u8>> {
        text.split(' ')
            .map(|word| word.as_bytes().to_vec())
            .collect()
    }

    #[test]
    fn event_letters_are_written_in_one_order() {
        for (given, shown) in [
            ("gxKEnm$", "g$xnKEm"),
            ("AKE", "AKE"),
            ("AnKm", "AKm"),
            ("g$lshzxetd", "A"),
            ("", ""),
        ] {
            let Ok(Value::Events(flags)) = parse_events(given.as_bytes()) else {
                panic!("{given} was refused");
            };
            assert_eq!(flags.show(), shown, "{given}");
        }
        assert!(parse_events(b"zzX").is_err());
    }

    #[test]
    fn save_lines_add_up_in_a_file_and_replace_by_command() {
        let first = parse_save(
            &Value::Save(Vec::new()),
            &words("900 1"),
            Source::File { save_seen: false },
        )
        .unwrap();
        let both = parse_save(&first, &words("300 10"), Source::File { save_seen: true }).unwrap();
        let Value::Save(points) = &both else {
            panic!("not save points")
        };
        assert_eq!(show_save(points), "900 1 300 10");
        let none = parse_save(&both, &words(""), Source::File { save_seen: true }).unwrap();
        assert_eq!(none, Value::Save(Vec::new()));
        let replaced = parse_save(&both, &words("5 6"), Source::Command).unwrap();
        assert_eq!(
            replaced,
            Value::Save(vec![SavePoint {
                seconds: 5,
                changes: 6
            }])
        );
        for bad in ["1", "0 1", "1 -1", "x 1", "1 x", "1 2 3"] {
            assert!(
                parse_save(&both, &words(bad), Source::Command).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn output_limits_change_only_the_named_class() {
        let before = OutputLimits::default();
        let after =
            parse_output_limits(&Value::OutputLimits(before), &words("replica 1mb 2 3")).unwrap();
        let Value::OutputLimits(after) = after else {
            panic!("not limits")
        };
        assert_eq!(after.show(), "normal 0 0 0 slave 1048576 2 3 pubsub 0 0 0");
    }

    #[test]
    fn percentiles_lose_trailing_zeros() {
        assert_eq!(show_percentiles(&[50.0, 99.9, 0.0]), "50 99.9 0");
    }
}
