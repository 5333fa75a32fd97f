//! Users in text: `user` lines of the settings, and the ACL file.

use super::rights::{Rights, Scope, join_selectors};
use super::{Acl, DEFAULT_USER, RuleError, User, is_user_name};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Users with their rights, by name.
pub type NamedRights = BTreeMap<Box<[u8]>, Rights>;

/// What became of a user when all users were replaced.
pub struct Replaced {
    pub user: Arc<User>,
    pub before: Arc<Rights>,
    /// The user is gone.
    pub removed: bool,
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Acl {
    /// Takes the users of the settings: each line a name and rules. The error tells which line, and why.
    pub fn take_lines<'a>(
        &self,
        lines: impl Iterator<Item = &'a [Vec<u8>]>,
    ) -> Result<(), (usize, String)> {
        let scope = self.scope();
        let mut users = NamedRights::new();
        for (at, words) in lines.enumerate() {
            let [name, rules @ ..] = words else { continue };
            let refusal = |what: &[u8], why: &str| {
                (
                    at,
                    format!("Error in user declaration '{}': {why}", shown(what)),
                )
            };
            if !is_user_name(name) {
                return Err((at, "Spaces not allowed in ACL usernames".to_string()));
            }
            if users.contains_key(name.as_slice()) {
                return Err(refusal(name, RuleError::DuplicateUser.text()));
            }
            let rules = join_selectors(rules)
                .map_err(|word| refusal(word, "Unmatched parenthesis in acl selector"))?;
            let rights = Rights::new(scope)
                .with_rules(&rules, scope)
                .map_err(|bad| refusal(&bad.rule, bad.error.text()))?;
            users.insert(name.as_slice().into(), rights);
        }
        for (name, rights) in users {
            self.set(&name, rights);
        }
        Ok(())
    }

    /// Puts these users in the place of all others. A default user that is not among them is as at the first start.
    /// What became of the users of before.
    pub fn replace_all(&self, mut rights: NamedRights) -> Vec<Replaced> {
        rights
            .entry(DEFAULT_USER.into())
            .or_insert_with(|| Rights::unrestricted(self.table));
        let mut replaced = Vec::new();
        for user in self.users() {
            let before = user.rights();
            let removed = !rights.contains_key(user.name());
            if removed {
                self.remove(user.name());
            }
            replaced.push(Replaced {
                user,
                before,
                removed,
            });
        }
        for (name, rights) in rights {
            self.set(&name, rights);
        }
        replaced
    }
}

/// Reads an ACL file: a line is empty, or `user`, a name and rules. The error lists all that is wrong.
pub fn parse(text: &[u8], file: &str, scope: Scope<'_>) -> Result<NamedRights, String> {
    let mut users = NamedRights::new();
    let mut errors = String::new();
    for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = trim(line, b" \t\r\n");
        if !line.is_empty() {
            parse_line(line, &format!("{file}:{}", at + 1), scope, &mut users)
                .unwrap_or_else(|error| errors.push_str(&error));
        }
    }
    if errors.is_empty() {
        return Ok(users);
    }
    errors.push_str(
        "WARNING: ACL errors detected, no change to the previously active ACL rules was performed",
    );
    Err(errors)
}

fn parse_line(
    line: &[u8],
    place: &str,
    scope: Scope<'_>,
    users: &mut NamedRights,
) -> Result<(), String> {
    let words: Vec<Vec<u8>> = line
        .split(|&byte| byte == b' ')
        .map(<[u8]>::to_vec)
        .collect();
    let [keyword, name, rules @ ..] = words.as_slice() else {
        return Err(not_a_user(place));
    };
    if keyword != b"user" {
        return Err(not_a_user(place));
    }
    if !is_user_name(name) {
        return Err(format!(
            "'{place}: username '{}' contains invalid characters. ",
            shown(name)
        ));
    }
    if users.contains_key(name.as_slice()) {
        let (_, line) = place.rsplit_once(':').unwrap_or_default();
        return Err(format!(
            "WARNING: Duplicate user '{}' found on line {line}. ",
            shown(name)
        ));
    }
    let rules = join_selectors(rules)
        .map_err(|_| format!("{place}: Unmatched parenthesis in selector definition."))?;
    let mut rights = Rights::new(scope);
    let mut errors = String::new();
    let mut told = false;
    for rule in &rules {
        let rule = trim(rule, b"\t\r\n");
        match rights.apply(rule, scope) {
            Ok(()) => {}
            // Such a rule holds no secret.
            Err(error @ RuleError::Unknown) => errors.push_str(&format!(
                "{place}: Error in applying operation '{}': {}. ",
                shown(rule),
                error.text()
            )),
            // Of the others only the first: the next ones may follow from it.
            Err(error) if !told => {
                told = true;
                errors.push_str(&format!("{place}: {}. ", error.text()));
            }
            Err(_) => {}
        }
    }
    users.insert(name.as_slice().into(), rights);
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

fn not_a_user(place: &str) -> String {
    format!("{place} should start with user keyword followed by the username. ")
}

fn trim<'a>(text: &'a [u8], blanks: &[u8]) -> &'a [u8] {
    let kept = |byte: &u8| !blanks.contains(byte);
    match (text.iter().position(kept), text.iter().rposition(kept)) {
        (Some(first), Some(last)) => &text[first..=last],
        _ => &[],
    }
}
