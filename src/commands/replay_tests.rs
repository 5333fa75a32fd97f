//! The effects of random commands, replayed into an empty engine, give the same data.
//!
//! What a command leaves for the log may not depend on chance, on the clock, or on what
//! a reader would have to guess; replaying it tells.

use super::FAMILIES;
use crate::engine::random::Random;
use crate::engine::session::Origin;
use crate::engine::simulated::Simulation;
use crate::engine::table::CommandTable;
use crate::resp::args::OwnedArgs;
use crate::resp::number::write_g17;
use crate::resp::request::{Decoded, RequestDecoder};
use crate::settings::Settings;
use crate::store::digest::Digest;

/// `K` a key, `V` a member or number, `N` a small number; `..` repeats the word before it.
const TEMPLATES: &[&str] = &[
    "SET K V",
    "SET K V EX 100",
    "SET K V PX 100000 GET",
    "SET K V KEEPTTL GET",
    "SET K V NX",
    "SETEX K 100 V",
    "GETSET K V",
    "GETDEL K",
    "GETEX K EX 50",
    "GETEX K EXAT 1",
    "GETEX K PERSIST",
    "MSET K V K V",
    "MSETNX K V K V",
    "INCR K",
    "DECRBY K N",
    "INCRBYFLOAT K 0.1",
    "APPEND K V",
    "SETRANGE K N V",
    "HSET K V V",
    "HSET K V V V V V V",
    "HSETNX K V V",
    "HDEL K V V",
    "HINCRBY K V N",
    "HINCRBYFLOAT K V 1.1",
    "RPUSH K V ..",
    "LPUSH K V ..",
    "LPUSHX K V",
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
    "BLMOVE K K RIGHT RIGHT 0.1",
    "BRPOPLPUSH K K 0.1",
    "BLMPOP 0.1 2 K K RIGHT",
    "SADD K V ..",
    "SREM K V V",
    "SPOP K",
    "SPOP K N",
    "SMOVE K K V",
    "SINTERSTORE K K K",
    "SUNIONSTORE K K K",
    "SDIFFSTORE K K K",
    "DEL K",
];

fn command(random: &mut Random) -> OwnedArgs {
    let mut args = OwnedArgs::new();
    let template = TEMPLATES[random.below(TEMPLATES.len())];
    for word in template.split(' ') {
        let mut value = || match random.below(3) {
            0 => random.below(40).to_string(),
            1 => format!("member{}", random.below(40)),
            _ => "x".repeat(random.below(90)),
        };
        match word {
            "V" => args.push(value().as_bytes()),
            ".." => {
                let more: Vec<String> = (0..20).map(|_| value()).collect();
                more.iter().for_each(|text| args.push(text.as_bytes()));
            }
            "K" => args.push(format!("key{}", random.below(6)).as_bytes()),
            "N" => args.push(random.below(12).to_string().as_bytes()),
            "-N" => args.push(format!("-{}", random.below(12)).as_bytes()),
            word => args.push(word.as_bytes()),
        }
    }
    args
}

fn replay(bytes: &[u8], into: &mut Simulation) {
    let mut decoder = RequestDecoder::new();
    let mut rest = bytes;
    while let Ok(Decoded::Request { consumed }) = decoder.decode(rest) {
        let reply = into.run(decoder.args(rest));
        let shown = String::from_utf8_lossy(&reply);
        assert!(
            !shown.starts_with('-'),
            "replayed {:?}: {shown}",
            decoder.args(rest)
        );
        rest = &rest[consumed..];
    }
    assert!(rest.is_empty(), "the effects are whole requests");
}

#[test]
fn replayed_effects_give_the_same_data() {
    let table = CommandTable::new(FAMILIES).keep();
    for seed in 0..12 {
        let mut original = Simulation::new(table, Settings::default(), seed);
        original.engine.effects.set_enabled(true);
        let mut random = Random::new(seed);
        let mut copy = Simulation::new(table, Settings::default(), seed + 1000);
        copy.session.origin = Origin::Replay;
        for step in 0..1500 {
            let command = command(&mut random);
            original.run(command.as_args());
            let effects = original.engine.effects.take_pending();
            replay(&effects, &mut copy);
            let digest = |of: &Simulation| Digest::of_store(&of.engine.store, write_g17);
            assert!(
                digest(&original) == digest(&copy),
                "seed {seed}, step {step}: {:?} left {}",
                command.as_args(),
                effects.escape_ascii(),
            );
        }
    }
}
