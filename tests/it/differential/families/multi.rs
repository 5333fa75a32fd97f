//! Transactions of the other families' commands.

use super::{Family, hash, key, string, zset};
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family {
    name: "multi",
    write,
};

const INSIDE: &[Family] = &[zset::FAMILY, string::FAMILY, hash::FAMILY, key::FAMILY];

fn write(words: &mut Words) -> Vec<Command> {
    if words.random().chance(10) {
        return vec![words.command(&["EXEC", "DISCARD", "UNWATCH", "MULTI x", "WATCH"])];
    }
    let mut commands = Vec::new();
    if words.random().chance(30) {
        commands.push(words.command(&["WATCH ( $key )+"]));
        if words.random().chance(50) {
            commands.push(words.command(&["ZADD $key $score $member", "GET $key", "DEL $key"]));
        }
    }
    commands.push(words.command(&["MULTI"]));
    for _ in 0..1 + words.random().below(4) {
        let family = words.random().below(INSIDE.len());
        commands.extend((INSIDE[family].write)(words));
        if words.random().chance(4) {
            commands.push(words.command(&["MULTI", "WATCH $key", "NOSUCHCOMMAND $key"]));
        }
    }
    commands.push(words.command(&["EXEC", "EXEC", "EXEC", "DISCARD"]));
    commands
}
