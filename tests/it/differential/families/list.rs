//! Lists: the everyday commands.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family {
    name: "list",
    write,
};

const TEMPLATES: &[&str] = &[
    "{ LPUSH | RPUSH } $key ( $value )+",
    "{ LPUSH | RPUSH } $key ( $value )+",
    "{ LPOP | RPOP } $key [ $int ]",
    "LRANGE $key $int $int",
    "LLEN $key",
];

fn write(words: &mut Words) -> Vec<Command> {
    vec![words.command(TEMPLATES)]
}
