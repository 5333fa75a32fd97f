//! What COMMAND says of each command we have, against the real server: arity, flags, keys, categories.

use std::collections::BTreeSet;

use crate::harness::server::Real;
use crate::harness::{Client, Server, Value};

/// What 8.2.3 says differently of commands that did not change for clients of 7.2, and of our own: command, field.
const DIFFERS: &[(&str, &str)] = &[];

/// A field of an entry as text that does not depend on the order of sets.
fn field(entry: &[Value], index: usize) -> String {
    let Some(value) = entry.get(index) else {
        return "absent".to_string();
    };
    match value {
        Value::Array(items) | Value::Set(items) if index == 2 || index == 6 => {
            let words: BTreeSet<String> = items.iter().map(Value::text).collect();
            format!("{words:?}")
        }
        Value::Array(specs) if index == 8 => {
            format!("{:?}", specs.iter().map(without_notes).collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

/// A key spec without the sentence for people that some have in front.
fn without_notes(spec: &Value) -> Vec<Value> {
    let words = spec.items();
    let notes = words.first().is_some_and(|word| word.text() == "notes");
    words.into_iter().skip(if notes { 2 } else { 0 }).collect()
}

const FIELDS: &[(usize, &str)] = &[
    (1, "arity"),
    (2, "flags"),
    (3, "first key"),
    (4, "last key"),
    (5, "step"),
    (6, "categories"),
    (7, "tips"),
    (8, "key specs"),
];

/// Compares an entry and those of its subcommands.
fn compare(real: &[Value], ours: &[Value], found: &mut Vec<String>) {
    let name = ours[0].text();
    for (index, what) in FIELDS {
        let (expected, got) = (field(real, *index), field(ours, *index));
        let known = DIFFERS.contains(&(name.as_str(), what));
        if expected != got && !known {
            found.push(format!("{name}: {what}\n  real {expected}\n  ours {got}"));
        } else if expected == got && known {
            found.push(format!("{name}: {what} is listed as different and is not"));
        }
    }
    let subcommands = |entry: &[Value]| entry.get(9).map(Value::items).unwrap_or_default();
    let real_subcommands = subcommands(real);
    for subcommand in subcommands(ours) {
        let ours = subcommand.items();
        match real_subcommands
            .iter()
            .map(Value::items)
            .find(|real| real[0] == ours[0])
        {
            Some(real) => compare(&real, &ours, found),
            None => found.push(format!(
                "{}: the real server has no such subcommand",
                ours[0].text()
            )),
        }
    }
}

fn entries(client: &mut Client) -> Vec<Value> {
    client.call(["COMMAND"]).items()
}

#[test]
fn every_command_is_described_as_by_the_real_server() {
    let Some(real) = Server::start_real(Real::Redis8) else {
        return;
    };
    let ours = Server::start();
    let mut real = real.client();
    let ours = entries(&mut ours.client());
    assert!(ours.len() > 100, "there are only {} commands", ours.len());
    let mut found = Vec::new();
    for entry in ours {
        let entry = entry.items();
        let name = entry[0].text();
        match real.call(["COMMAND", "INFO", &name]).items().first() {
            Some(Value::Array(expected)) => compare(expected, &entry, &mut found),
            other => found.push(format!("{name}: the real server answers {other:?}")),
        }
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}
