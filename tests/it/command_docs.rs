//! What COMMAND DOCS says of each command we have, against the real server: all but the words for people.

use std::collections::BTreeMap;

use crate::harness::server::Real;
use crate::harness::{Client, Server, Value};

/// What 8.x added without saying since when: command, argument.
const NEWER: &[(&str, &str)] = &[
    ("xadd", "condition"),
    ("xtrim", "condition"),
    ("bitop", "diff"),
    ("bitop", "diff1"),
    ("bitop", "andor"),
    ("bitop", "one"),
    ("hscan", "novalues"),
];

/// Sentences, which are our own.
const PROSE: &[&str] = &["summary", "complexity"];

/// The fields of a map, which is flat in RESP2.
fn fields(map: &Value) -> Vec<(String, Value)> {
    map.items()
        .chunks_exact(2)
        .map(|pair| (pair[0].text(), pair[1].clone()))
        .collect()
}

fn is_newer(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>());
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
    (next(), next()) > (7, 2)
}

/// An argument as text, without what came after 7.2; None if all of it did.
fn argument(command: &str, value: &Value) -> Option<String> {
    let mut text = format!("{:?}", std::mem::discriminant(value));
    for (name, value) in fields(value) {
        match name.as_str() {
            "name" if NEWER.contains(&(command, value.text().as_str())) => return None,
            "since" if is_newer(&value.text()) => return None,
            "arguments" => text += &format!(" arguments {:?}", arguments(command, &value)),
            _ => text += &format!(" {name} {value:?}"),
        }
    }
    Some(text)
}

fn arguments(command: &str, value: &Value) -> Vec<String> {
    let items = value.items();
    items
        .iter()
        .filter_map(|item| argument(command, item))
        .collect()
}

/// All fields of a command and its subcommands that are no prose.
fn gather(command: &str, entry: &Value, all: &mut BTreeMap<(String, String), String>) {
    for (field, value) in fields(entry) {
        let text = match field.as_str() {
            "subcommands" => {
                for (name, entry) in fields(&value) {
                    gather(&name, &entry, all);
                }
                continue;
            }
            "history" => {
                let mut items = value.items();
                items.retain(|item| !is_newer(&item.items()[0].text()));
                format!("{:?} {items:?}", std::mem::discriminant(&value))
            }
            "arguments" => format!("{:?}", arguments(command, &value)),
            field if PROSE.contains(&field) => continue,
            _ => format!("{value:?}"),
        };
        all.insert((command.to_string(), field), text);
    }
}

fn documents(client: &mut Client) -> BTreeMap<(String, String), String> {
    let mut all = BTreeMap::new();
    for (name, entry) in fields(&client.call(["COMMAND", "DOCS"])) {
        gather(&name, &entry, &mut all);
    }
    all
}

/// Compares in both directions, for the commands that we have.
fn compare(real: &mut Client, ours: &mut Client) {
    let (real, ours) = (documents(real), documents(ours));
    assert!(ours.len() > 1_000, "there are only {} fields", ours.len());
    let is_ours = |name: &String| ours.contains_key(&(name.clone(), "since".to_string()));
    let mut found = Vec::new();
    for key in real
        .keys()
        .filter(|(name, _)| is_ours(name))
        .chain(ours.keys())
    {
        let (expected, got) = (real.get(key), ours.get(key));
        if expected != got {
            found.push(format!("{key:?}\n  real {expected:?}\n  ours {got:?}"));
        }
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn every_command_is_documented_as_by_the_real_server() {
    let Some(real) = Server::start_real(Real::Redis8) else {
        return;
    };
    let ours = Server::start();
    compare(&mut real.client(), &mut ours.client());
    let (mut real, mut ours) = (real.client().with_resp3(), ours.client().with_resp3());
    compare(&mut real, &mut ours);
}
