//! What a user is and may do, as a value: passwords, switches and selectors.
//!
//! A change makes a copy, applies all rules to it and replaces the old value, so
//! that a refused rule changes nothing and a decision sees one state.

use super::RuleError;
use super::selector::{Denied, Selector};
use crate::engine::keys;
use crate::engine::spec::KeyFlags;
use crate::engine::table::{Command, CommandTable};
use crate::resp::args::Args;
use crate::settings::words;
use sha2::{Digest, Sha256};

/// The SHA-256 of a password: passwords themselves are not kept.
#[derive(Clone, Copy, Debug)]
pub struct PasswordHash([u8; 32]);

impl PasswordHash {
    pub fn of(password: &[u8]) -> Self {
        Self(Sha256::digest(password).into())
    }

    /// Reads 64 lower-case hexadecimal digits.
    fn parse(text: &[u8]) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut hash = [0; 32];
        if text.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(hash))
    }

    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Compares without telling by the time it takes where two hashes differ.
impl PartialEq for PasswordHash {
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        pairs.fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
    }
}

impl Eq for PasswordHash {}

/// Everything about a user but the name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rights {
    enabled: bool,
    /// Any password is right.
    no_password: bool,
    skips_sanitizing: bool,
    passwords: Vec<PasswordHash>,
    root: Selector,
    selectors: Vec<Selector>,
}

/// What rules are read against.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub table: &'a CommandTable,
    /// New users and selectors may use all channels (acl-pubsub-default).
    pub channels_open: bool,
}

impl Rights {
    /// A user who is off and may do nothing.
    pub fn new(scope: Scope<'_>) -> Self {
        Self {
            enabled: false,
            no_password: false,
            skips_sanitizing: false,
            passwords: Vec::new(),
            root: Selector::new(scope.channels_open),
            selectors: Vec::new(),
        }
    }

    /// A user who may do everything and needs no password.
    pub fn unrestricted(table: &CommandTable) -> Self {
        let scope = Scope {
            table,
            channels_open: true,
        };
        let mut rights = Self::new(scope);
        rights.enabled = true;
        rights.no_password = true;
        for rule in [b"allkeys".as_slice(), b"allcommands"] {
            rights
                .root
                .apply(rule, table)
                .expect("these rules need nothing");
        }
        rights
    }

    /// Applies all rules or none; the error names the rule.
    pub fn with_rules(&self, rules: &[Vec<u8>], scope: Scope<'_>) -> Result<Self, BadRule> {
        let mut rights = self.clone();
        for rule in rules {
            rights
                .apply(rule, scope)
                .map_err(|error| BadRule::new(rule, error))?;
        }
        Ok(rights)
    }

    /// Applies one rule.
    pub fn apply(&mut self, rule: &[u8], scope: Scope<'_>) -> Result<(), RuleError> {
        match rule.to_ascii_lowercase().as_slice() {
            b"" => {}
            b"on" => self.enabled = true,
            b"off" => self.enabled = false,
            b"skip-sanitize-payload" => self.skips_sanitizing = true,
            b"sanitize-payload" => self.skips_sanitizing = false,
            b"nopass" => self.reset_passwords(true),
            b"resetpass" => self.reset_passwords(false),
            b"clearselectors" => self.selectors.clear(),
            b"reset" => *self = Self::new(scope),
            _ => return self.apply_with_value(rule, scope),
        }
        Ok(())
    }

    fn apply_with_value(&mut self, rule: &[u8], scope: Scope<'_>) -> Result<(), RuleError> {
        match rule {
            [b'>', password @ ..] => self.add_password(PasswordHash::of(password)),
            [b'#', hash @ ..] => {
                self.add_password(PasswordHash::parse(hash).ok_or(RuleError::BadHash)?);
            }
            [b'<', password @ ..] => self.remove_password(PasswordHash::of(password))?,
            [b'!', hash @ ..] => {
                self.remove_password(PasswordHash::parse(hash).ok_or(RuleError::BadHash)?)?;
            }
            [b'(', inside @ .., b')'] => {
                let mut selector = Selector::new(scope.channels_open);
                // As in Redis, a text whose quotes do not pair holds no rules.
                for word in words::split(inside).unwrap_or_default() {
                    selector.apply(&word, scope.table)?;
                }
                self.selectors.push(selector);
            }
            _ => self.root.apply(rule, scope.table)?,
        }
        Ok(())
    }

    fn reset_passwords(&mut self, none_needed: bool) {
        self.no_password = none_needed;
        self.passwords.clear();
    }

    fn add_password(&mut self, hash: PasswordHash) {
        if !self.passwords.contains(&hash) {
            self.passwords.push(hash);
        }
        self.no_password = false;
    }

    fn remove_password(&mut self, hash: PasswordHash) -> Result<(), RuleError> {
        let at = self.passwords.iter().position(|known| *known == hash);
        self.passwords.remove(at.ok_or(RuleError::NoSuchPassword)?);
        Ok(())
    }

    /// requirepass: the only password from now on; an empty one means that none is needed.
    pub fn set_password(&mut self, password: &[u8]) {
        self.reset_passwords(password.is_empty());
        if !password.is_empty() {
            self.add_password(PasswordHash::of(password));
        }
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    pub fn needs_no_password(&self) -> bool {
        self.no_password
    }

    pub fn passwords(&self) -> &[PasswordHash] {
        &self.passwords
    }

    /// Whether a client that gives this password may become the user.
    pub fn admits(&self, password: &[u8]) -> bool {
        if !self.enabled {
            return false;
        }
        if self.no_password {
            return true;
        }
        let given = PasswordHash::of(password);
        // All of them are compared, so that the time does not tell which one it was.
        self.passwords
            .iter()
            .fold(false, |found, known| found | (*known == given))
    }

    /// Whether every call is allowed.
    pub fn is_unrestricted(&self) -> bool {
        self.all_selectors().any(Selector::is_unrestricted)
    }

    pub fn root(&self) -> &Selector {
        &self.root
    }

    /// The selectors beside the root.
    pub fn selectors(&self) -> &[Selector] {
        &self.selectors
    }

    fn all_selectors(&self) -> impl Iterator<Item = &Selector> {
        std::iter::once(&self.root).chain(&self.selectors)
    }

    /// Whether one of the selectors allows the call. Of several reasons against it the one is told that came
    /// furthest: a channel before a key before the command, then the later position.
    pub fn check(&self, command: &Command, args: Args<'_>) -> Result<(), Denied> {
        let keys = self.keys_of(command, args);
        let mut worst = Denied::Command;
        for selector in self.all_selectors() {
            match selector.check(command, args, &keys) {
                Ok(()) => return Ok(()),
                Err(denied) => worst = worst.max(denied),
            }
        }
        Err(worst)
    }

    /// Whether a selector that allows the call lets all keys be read, which a call needs that finds out only while it
    /// runs what it reads.
    pub fn check_reading_all(&self, command: &Command, args: Args<'_>) -> bool {
        let keys = self.keys_of(command, args);
        self.all_selectors().any(|selector| {
            selector.reads_all_keys() && selector.check(command, args, &keys).is_ok()
        })
    }

    /// The keys that a call names, with what happens to them; none if nobody looks at them.
    fn keys_of(&self, command: &Command, args: Args<'_>) -> Vec<(usize, KeyFlags)> {
        let mut found = Vec::new();
        if !self.all_selectors().all(Selector::opens_all_keys) {
            keys::collect(command, args, &mut found);
        }
        found
    }

    /// Whether a client that listens to this channel, or `literally` to this pattern, may go on to do so.
    pub fn may_listen(&self, channel: &[u8], literally: bool) -> bool {
        self.all_selectors()
            .any(|selector| selector.opens_channel(channel, literally))
    }

    /// Whether every pattern of channels that `before` had is still there.
    pub fn keeps_channels_of(&self, before: &Rights) -> bool {
        let open = |rights: &Rights| {
            rights
                .all_selectors()
                .any(|selector| selector.channel_patterns().is_none())
        };
        if open(self) {
            return true;
        }
        let patterns = |rights: &Rights| -> Vec<Box<[u8]>> {
            rights
                .all_selectors()
                .filter_map(Selector::channel_patterns)
                .flatten()
                .cloned()
                .collect()
        };
        let now = patterns(self);
        !open(before) && patterns(before).iter().all(|pattern| now.contains(pattern))
    }

    /// The words of the switches, in the order in which Redis shows them.
    pub fn flags(&self) -> impl Iterator<Item = &'static str> {
        let sanitizing = if self.skips_sanitizing {
            "skip-sanitize-payload"
        } else {
            "sanitize-payload"
        };
        let switch = if self.enabled { "on" } else { "off" };
        [
            Some(switch),
            self.no_password.then_some("nopass"),
            Some(sanitizing),
        ]
        .into_iter()
        .flatten()
    }

    /// All rules that make these rights out of those of a new user.
    pub fn describe(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for flag in self.flags() {
            text.extend_from_slice(flag.as_bytes());
            text.push(b' ');
        }
        for password in &self.passwords {
            text.extend_from_slice(format!("#{} ", password.hex()).as_bytes());
        }
        text.extend_from_slice(&self.root.describe());
        for selector in &self.selectors {
            text.extend_from_slice(b" (");
            text.extend_from_slice(&selector.describe());
            text.push(b')');
        }
        text
    }
}

/// A rule that was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRule {
    pub rule: Vec<u8>,
    pub error: RuleError,
}

impl BadRule {
    pub fn new(rule: &[u8], error: RuleError) -> Self {
        Self {
            rule: rule.to_vec(),
            error,
        }
    }
}

/// Puts selectors that were cut at their blanks together again; the error is the word that opens one without an end.
pub fn join_selectors(words: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, &[u8]> {
    let mut joined: Vec<Vec<u8>> = Vec::new();
    let mut open: Option<(&[u8], Vec<u8>)> = None;
    for word in words {
        let ends = word.last() == Some(&b')');
        match &mut open {
            None if word.first() == Some(&b'(') && !ends => open = Some((word, word.clone())),
            None => joined.push(word.clone()),
            Some((_, text)) => {
                text.push(b' ');
                text.extend_from_slice(word);
                if ends {
                    joined.push(std::mem::take(text));
                    open = None;
                }
            }
        }
    }
    match open {
        None => Ok(joined),
        Some((word, _)) => Err(word),
    }
}
