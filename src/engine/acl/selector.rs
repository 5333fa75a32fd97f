//! One set of permissions: commands, keys and channels, and the rules that gave them.
//!
//! A selector knows the commands by their positions in the table, so that a
//! decision looks at one bit; it also remembers the command rules in the order
//! in which they were given, as Redis 7.2 shows them.

use super::RuleError;
use crate::engine::spec::{Categories, Flags, KeyFlags};
use crate::engine::table::{Command, CommandId, CommandTable};
use crate::resp::args::Args;
use crate::store::glob;

/// What the keys of a pattern may be used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct KeyUse {
    read: bool,
    write: bool,
}

impl KeyUse {
    /// What a command needs to do with a key what its key spec says.
    fn needed(flags: KeyFlags) -> Self {
        Self {
            read: flags.contains(KeyFlags::ACCESS),
            write: flags.intersects(KeyFlags::INSERT | KeyFlags::DELETE | KeyFlags::UPDATE),
        }
    }

    fn covers(self, needed: KeyUse) -> bool {
        (self.read || !needed.read) && (self.write || !needed.write)
    }

    /// What stands before the pattern in a rule.
    fn prefix(self) -> &'static [u8] {
        match (self.read, self.write) {
            (true, false) => b"%R~",
            (false, true) => b"%W~",
            _ => b"~",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct KeyPattern {
    allowed: KeyUse,
    pattern: Box<[u8]>,
}

/// A rule about commands as it is shown: a command, `command|word` or `@category`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct CommandRule {
    allowed: bool,
    name: Box<[u8]>,
}

/// Why a call is refused; keys and channels with their position in the call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Denied {
    Command,
    Key(usize),
    Channel(usize),
}

impl Denied {
    /// The reason as EXEC tells it.
    pub fn reason(self) -> &'static str {
        match self {
            Denied::Command => "no permission to execute the command or subcommand",
            Denied::Key(_) => "no permission to touch the specified keys",
            Denied::Channel(_) => "no permission to access one of the channels used as arguments",
        }
    }
}

/// How a command uses the channels that it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelUse {
    None,
    /// The first argument is a channel to publish to.
    Publish,
    /// All arguments are channels to listen to.
    Subscribe,
    /// All arguments are patterns to listen to; each has to be allowed word by word.
    SubscribePattern,
}

impl ChannelUse {
    /// The channels of a command, by its name: no declaration tells of channels.
    pub fn of(name: &str) -> Self {
        match name {
            "publish" | "spublish" => Self::Publish,
            "subscribe" | "ssubscribe" => Self::Subscribe,
            "psubscribe" => Self::SubscribePattern,
            _ => Self::None,
        }
    }
}

/// Permissions that hold together: a call has to be allowed by one selector as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selector {
    all_keys: bool,
    all_channels: bool,
    /// Every command is allowed, so that no bit has to be looked at.
    all_commands: bool,
    /// The rules start from all commands instead of none.
    starts_with_all: bool,
    /// The allowed commands, bit by bit in the order of the table.
    commands: Vec<u64>,
    /// Words that, as first argument, make a command allowed that is not.
    first_words: Vec<(CommandId, Box<[u8]>)>,
    keys: Vec<KeyPattern>,
    channels: Vec<Box<[u8]>>,
    rules: Vec<CommandRule>,
}

/// Whether a pattern or a name holds what would make its text ambiguous.
pub(super) fn has_blanks(text: &[u8]) -> bool {
    text.iter()
        .any(|byte| matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | 0))
}

fn is(rule: &[u8], word: &str) -> bool {
    rule.eq_ignore_ascii_case(word.as_bytes())
}

impl Selector {
    /// Nothing is allowed, except all channels where new users get them.
    pub fn new(all_channels: bool) -> Self {
        Self {
            all_channels,
            ..Self::default()
        }
    }

    /// Whether every call is allowed.
    pub fn is_unrestricted(&self) -> bool {
        self.all_commands && self.all_keys && self.all_channels
    }

    /// Applies one rule about commands, keys or channels.
    pub fn apply(&mut self, rule: &[u8], table: &CommandTable) -> Result<(), RuleError> {
        match rule {
            _ if is(rule, "allkeys") || rule == b"~*" => self.reset_keys(true),
            _ if is(rule, "resetkeys") => self.reset_keys(false),
            _ if is(rule, "allchannels") || rule == b"&*" => self.reset_channels(true),
            _ if is(rule, "resetchannels") => self.reset_channels(false),
            _ if is(rule, "allcommands") || is(rule, "+@all") => self.reset_commands(true, table),
            _ if is(rule, "nocommands") || is(rule, "-@all") => self.reset_commands(false, table),
            [b'~', pattern @ ..] => {
                let allowed = KeyUse {
                    read: true,
                    write: true,
                };
                return self.add_keys(allowed, pattern);
            }
            [b'%', rest @ ..] => {
                let (allowed, pattern) = self.key_permission(rest)?;
                return self.add_keys(allowed, pattern);
            }
            [b'&', pattern @ ..] => return self.add_channels(pattern),
            [b'+', b'@', name @ ..] => return self.set_category(name, true, table),
            [b'-', b'@', name @ ..] => return self.set_category(name, false, table),
            [b'+', name @ ..] => return self.allow(name, table),
            [b'-', name @ ..] => {
                let command = find(table, name).ok_or(RuleError::Unknown)?;
                self.set_with_children(command, false);
                self.remember(false, command.full_name.as_bytes());
            }
            _ => return Err(RuleError::Syntax),
        }
        Ok(())
    }

    fn reset_keys(&mut self, all: bool) {
        self.all_keys = all;
        self.keys.clear();
    }

    fn reset_channels(&mut self, all: bool) {
        self.all_channels = all;
        self.channels.clear();
    }

    fn reset_commands(&mut self, all: bool, table: &CommandTable) {
        self.all_commands = all;
        self.starts_with_all = all;
        self.commands = if all {
            vec![u64::MAX; table.positions().div_ceil(64)]
        } else {
            Vec::new()
        };
        self.first_words.clear();
        self.rules.clear();
    }

    /// The letters behind `%` and the pattern behind them.
    fn key_permission<'a>(&self, rest: &'a [u8]) -> Result<(KeyUse, &'a [u8]), RuleError> {
        if self.all_keys {
            return Err(RuleError::KeysAreAll);
        }
        let mut allowed = KeyUse {
            read: false,
            write: false,
        };
        let mut pattern: &[u8] = &[];
        for (at, letter) in rest.iter().enumerate() {
            match letter.to_ascii_uppercase() {
                b'R' if !allowed.read => allowed.read = true,
                b'W' if !allowed.write => allowed.write = true,
                b'~' => {
                    pattern = &rest[at + 1..];
                    break;
                }
                _ => return Err(RuleError::Syntax),
            }
        }
        if !allowed.read && !allowed.write {
            return Err(RuleError::Syntax);
        }
        Ok((allowed, pattern))
    }

    fn add_keys(&mut self, allowed: KeyUse, pattern: &[u8]) -> Result<(), RuleError> {
        if self.all_keys {
            return Err(RuleError::KeysAreAll);
        }
        if has_blanks(pattern) {
            return Err(RuleError::Syntax);
        }
        match self
            .keys
            .iter_mut()
            .find(|known| *known.pattern == *pattern)
        {
            Some(known) => {
                known.allowed.read |= allowed.read;
                known.allowed.write |= allowed.write;
            }
            None => self.keys.push(KeyPattern {
                allowed,
                pattern: pattern.into(),
            }),
        }
        Ok(())
    }

    fn add_channels(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        if self.all_channels {
            return Err(RuleError::ChannelsAreAll);
        }
        if has_blanks(pattern) {
            return Err(RuleError::Syntax);
        }
        if !self.channels.iter().any(|known| **known == *pattern) {
            self.channels.push(pattern.into());
        }
        Ok(())
    }

    /// `+command`, `+command|subcommand`, or `+command|word` for a command without subcommands.
    fn allow(&mut self, name: &[u8], table: &CommandTable) -> Result<(), RuleError> {
        let Some(bar) = name.iter().rposition(|&byte| byte == b'|') else {
            let command = find(table, name).ok_or(RuleError::Unknown)?;
            self.set_with_children(command, true);
            self.remember(true, command.full_name.as_bytes());
            return Ok(());
        };
        let (parent, word) = (&name[..bar], &name[bar + 1..]);
        let parent = find(table, parent).ok_or(RuleError::Unknown)?;
        if parent.parent.is_some() {
            return Err(RuleError::WordOfSubcommand);
        }
        if word.is_empty() {
            return Err(RuleError::Syntax);
        }
        if parent.subcommands.is_empty() {
            let known = |(id, known): &(CommandId, Box<[u8]>)| {
                *id == parent.id && known.eq_ignore_ascii_case(word)
            };
            if !self.first_words.iter().any(known) {
                self.first_words.push((parent.id, word.into()));
            }
        } else {
            let command = find(table, name).ok_or(RuleError::Unknown)?;
            self.set_with_children(command, true);
        }
        self.remember(true, name);
        Ok(())
    }

    fn set_category(
        &mut self,
        name: &[u8],
        allowed: bool,
        table: &CommandTable,
    ) -> Result<(), RuleError> {
        let category = Categories::find(name).ok_or(RuleError::Unknown)?;
        for command in table.iter() {
            if command.categories.contains(category) {
                self.set_with_children(command, allowed);
            }
        }
        self.remember(allowed, &[b"@", name].concat());
        Ok(())
    }

    /// A command's subcommands follow it.
    fn set_with_children(&mut self, command: &Command, allowed: bool) {
        self.set(command.id, allowed);
        self.first_words.retain(|(id, _)| *id != command.id);
        for &child in &command.subcommands {
            self.set(child, allowed);
        }
    }

    fn set(&mut self, CommandId(id): CommandId, allowed: bool) {
        let (word, bit) = (usize::from(id) / 64, 1u64 << (id % 64));
        if allowed {
            if self.commands.len() <= word {
                self.commands.resize(word + 1, 0);
            }
            self.commands[word] |= bit;
        } else {
            if let Some(bits) = self.commands.get_mut(word) {
                *bits &= !bit;
            }
            self.all_commands = false;
        }
    }

    /// Notes a rule for show. What it overrides is forgotten: the same command, and its subcommands.
    fn remember(&mut self, allowed: bool, name: &[u8]) {
        let name = name.to_ascii_lowercase();
        self.rules.retain(|rule| {
            let below = rule
                .name
                .strip_prefix(&*name)
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'|');
            !below
        });
        self.rules.push(CommandRule {
            allowed,
            name: name.into(),
        });
    }

    /// Whether the call is allowed; `keys` are those that it names.
    pub fn check(
        &self,
        command: &Command,
        args: Args<'_>,
        keys: &[(usize, KeyFlags)],
    ) -> Result<(), Denied> {
        if !self.runs(command, args) {
            return Err(Denied::Command);
        }
        if !self.all_keys {
            for &(position, flags) in keys {
                if !self.opens_key(args.arg(position), flags) {
                    return Err(Denied::Key(position));
                }
            }
        }
        if !self.all_channels {
            let last = match command.channels {
                ChannelUse::None => 0,
                ChannelUse::Publish => 1,
                ChannelUse::Subscribe | ChannelUse::SubscribePattern => args.len() - 1,
            };
            let literally = command.channels == ChannelUse::SubscribePattern;
            for position in 1..=last {
                if !self.opens_channel(args.arg(position), literally) {
                    return Err(Denied::Channel(position));
                }
            }
        }
        Ok(())
    }

    fn runs(&self, command: &Command, args: Args<'_>) -> bool {
        if self.all_commands || command.flags.contains(Flags::NO_AUTH) {
            return true;
        }
        let CommandId(id) = command.id;
        let bits = self.commands.get(usize::from(id) / 64);
        if bits.is_some_and(|bits| bits & (1 << (id % 64)) != 0) {
            return true;
        }
        let Some(word) = args.get(1) else {
            return false;
        };
        self.first_words
            .iter()
            .any(|(of, known)| *of == command.id && known.eq_ignore_ascii_case(word))
    }

    fn opens_key(&self, key: &[u8], flags: KeyFlags) -> bool {
        let needed = KeyUse::needed(flags);
        self.keys
            .iter()
            .any(|known| known.allowed.covers(needed) && glob::matches(&known.pattern, key, false))
    }

    /// Whether every key may be read and written, so that keys need not be looked at.
    pub fn opens_all_keys(&self) -> bool {
        self.all_keys
    }

    /// Whether every key may be read.
    pub fn reads_all_keys(&self) -> bool {
        self.all_keys
            || self
                .keys
                .iter()
                .any(|known| known.allowed.read && *known.pattern == *b"*")
    }

    /// Whether a channel may be used; a pattern of channels only `literally`.
    pub fn opens_channel(&self, channel: &[u8], literally: bool) -> bool {
        self.all_channels
            || self.channels.iter().any(|pattern| {
                if literally {
                    **pattern == *channel
                } else {
                    glob::matches(pattern, channel, false)
                }
            })
    }

    /// The patterns of channels, or None when all channels are open.
    pub fn channel_patterns(&self) -> Option<&[Box<[u8]>]> {
        (!self.all_channels).then_some(&self.channels)
    }

    /// The rules about commands, as text.
    pub fn describe_commands(&self) -> Vec<u8> {
        let mut text = if self.starts_with_all {
            b"+@all".to_vec()
        } else {
            b"-@all".to_vec()
        };
        for rule in &self.rules {
            text.extend_from_slice(if rule.allowed { b" +" } else { b" -" });
            text.extend_from_slice(&rule.name);
        }
        text
    }

    /// The patterns of keys, as text.
    pub fn describe_keys(&self) -> Vec<u8> {
        if self.all_keys {
            return b"~*".to_vec();
        }
        let words: Vec<Vec<u8>> = self
            .keys
            .iter()
            .map(|known| [known.allowed.prefix(), &known.pattern].concat())
            .collect();
        words.join(&b' ')
    }

    /// The patterns of channels, as text.
    pub fn describe_channels(&self) -> Vec<u8> {
        if self.all_channels {
            return b"&*".to_vec();
        }
        let words: Vec<Vec<u8>> = self
            .channels
            .iter()
            .map(|pattern| [b"&", &**pattern].concat())
            .collect();
        words.join(&b' ')
    }

    /// All rules that make this selector out of a new one.
    pub fn describe(&self) -> Vec<u8> {
        let mut text = self.describe_keys();
        if !text.is_empty() {
            text.push(b' ');
        }
        if !self.all_channels {
            text.extend_from_slice(b"resetchannels ");
        }
        let channels = self.describe_channels();
        if !channels.is_empty() {
            text.extend_from_slice(&channels);
            text.push(b' ');
        }
        text.extend_from_slice(&self.describe_commands());
        text
    }
}

/// A command by the name it was declared with, whatever rename-command calls it.
fn find<'t>(table: &'t CommandTable, name: &[u8]) -> Option<&'t Command> {
    table
        .iter()
        .find(|command| command.full_name.as_bytes().eq_ignore_ascii_case(name))
}
