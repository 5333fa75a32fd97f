//! What sorted-set commands leave in the stream of effects.

use crate::commands::simulation::Simulation;

const KEYS: [&str; 4] = ["one", "two", "three", "plain"];

/// All that the keys hold, as a client sees it.
fn content(simulation: &mut Simulation) -> Vec<String> {
    KEYS.iter()
        .flat_map(|key| {
            let reads = if *key == "plain" {
                [format!("TYPE {key}"), format!("SCARD {key}")]
            } else {
                [
                    format!("OBJECT ENCODING {key}"),
                    format!("ZRANGE {key} 0 -1 WITHSCORES"),
                ]
            };
            reads.map(|read| simulation.run(&read))
        })
        .collect()
}

/// A command by chance.
fn command(choose: &mut impl FnMut(usize) -> usize) -> String {
    let numbers = ["0", "1", "-1.5", "0.1", "1e300", "inf", "-inf", "-0", "7"];
    let key = KEYS[choose(3)];
    let other = KEYS[choose(4)];
    let number = numbers[choose(numbers.len())];
    let member = format!("m{}", choose(12));
    let flag = ["", " NX", " XX", " GT", " LT", " CH"][choose(6)];
    let by = ["ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE"][choose(3)];
    match choose(16) {
        0..4 => format!("ZADD {key}{flag} {number} {member} 3 n{}", choose(200)),
        4 => format!("ZADD {key}{flag} INCR {number} {member}"),
        5 | 6 => format!("ZINCRBY {key} {number} {member}"),
        7 => format!("ZREM {key} {member} n1 n2"),
        8 => format!("ZREMRANGEBYSCORE {key} {number} 2"),
        9 => format!("ZREMRANGEBYRANK {key} {} {}", choose(5), choose(5)),
        10 => format!("{by} {key} 2 {other} {}", KEYS[choose(4)]),
        11 => format!("ZPOPMIN {key} {}", choose(3)),
        12 => format!("ZMPOP 2 {key} {} MAX COUNT 2", KEYS[choose(3)]),
        13 => format!("BZPOPMAX {key} {} 0", KEYS[choose(3)]),
        14 => format!("BZMPOP 0 1 {key} MIN COUNT 3"),
        _ => format!("ZRANGESTORE {key} {} 0 {} REV", KEYS[choose(3)], choose(9)),
    }
}

#[test]
fn replayed_effects_give_the_same_boards() {
    let seed = std::env::var("RANKD_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(std::process::id() as u64);
    println!("RANKD_SEED={seed}");
    let mut random = crate::engine::random::Random::new(seed);
    let mut original = Simulation::new();
    let mut copy = Simulation::new();
    original.run("SADD plain m1 m2 m3 5");
    for step in 0..3000 {
        let line = command(&mut |bound| random.below(bound));
        original.run(&line);
        let effects = original.take_effects();
        for effect in &effects {
            let blocks = effect[0].to_ascii_uppercase().starts_with(b"BZ");
            assert!(!blocks, "{line}: a log cannot wait");
        }
        copy.replay(&effects);
        if step % 50 == 0 {
            assert_eq!(content(&mut original), content(&mut copy), "{line}");
        }
    }
    assert_eq!(content(&mut original), content(&mut copy));
}

#[test]
fn effects_are_what_redis_writes_to_its_log() {
    let mut simulation = Simulation::new();
    simulation.run("ZADD board 1 ann");
    simulation.take_effects();
    let expected = [
        ("ZADD board 0.1 bob 0.2 cid", "ZADD board 0.1 bob 0.2 cid"),
        ("ZADD board 1 ann", ""),
        ("ZADD board NX 5 ann", ""),
        ("ZADD board XX 5 nobody", ""),
        (
            "ZADD board INCR 0.2 bob",
            "ZADD board 0.30000000000000004 bob",
        ),
        ("ZINCRBY board inf cid", "ZADD board inf cid"),
        ("ZINCRBY board 0 ann", ""),
        ("ZINCRBY board -inf cid", ""),
        ("BZPOPMIN none board 0", "ZPOPMIN board"),
        ("BZMPOP 0 2 none board MAX COUNT 9", "ZPOPMAX board 2"),
        ("ZMPOP 1 board MIN", ""),
        ("ZADD board 1 ann 2 bob", "ZADD board 1 ann 2 bob"),
        ("ZMPOP 1 board MIN COUNT 1", "ZPOPMIN board 1"),
        ("ZPOPMAX board 0", ""),
        ("ZREM board nobody", ""),
        ("ZREMRANGEBYRANK board 5 9", ""),
        (
            "ZUNIONSTORE sum 2 board none",
            "ZUNIONSTORE sum 2 board none",
        ),
        ("ZDIFFSTORE none 1 none", ""),
        ("ZDIFFSTORE sum 1 none", "ZDIFFSTORE sum 1 none"),
    ];
    for (line, effect) in expected {
        simulation.run(line);
        let effects = simulation.take_effects();
        let shown: Vec<_> = effects
            .iter()
            .map(|words| String::from_utf8_lossy(&words.join(&b' ')).into_owned())
            .collect();
        assert_eq!(shown.join(";"), effect, "{line}");
    }
}
