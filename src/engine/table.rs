//! The command table: every declared command by name, and what is derived from it.
//!
//! Built once from the lists of the families; never changes afterwards, so it
//! is shared by all threads without a lock.

use super::acl::selector::ChannelUse;
use super::spec::{Begin, Categories, CommandSpec, Find, Flags, Group, Run};
use crate::resp::args::Args;
use hashbrown::HashMap;

/// Longest command name that is looked up; a longer word is no command.
const NAME_LEN_MAX: usize = 64;

/// Bytes of what a client sent that an error text repeats, of the name and of all arguments each.
const NAME_SHOWN_MAX: usize = 128;

/// Position of a command in the table; subcommands have positions of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommandId(pub u16);

/// One command with what the table derives.
pub struct Command {
    pub id: CommandId,
    pub spec: &'static CommandSpec,
    /// `config|get` for subcommands, else the name.
    pub full_name: Box<str>,
    pub parent: Option<CommandId>,
    /// The declared flags and those that follow from the key specs.
    pub flags: Flags,
    pub categories: Categories,
    pub lookup: Lookup,
    pub channels: ChannelUse,
    pub subcommands: Vec<CommandId>,
    by_name: HashMap<Box<[u8]>, CommandId, foldhash::fast::RandomState>,
}

/// What a request of a command looks up, as far as its words tell without a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    /// Nothing, or nothing that is known beforehand.
    Unknown,
    /// The key behind the name.
    Key,
    /// That key, and in its sorted set the member that stands last.
    KeyAndMember,
}

/// Commands whose last argument is in most requests a member of the sorted set at their key.
const MEMBER_LAST: [&str; 7] = [
    "zadd", "zincrby", "zmscore", "zrank", "zrem", "zrevrank", "zscore",
];

impl Lookup {
    fn of(spec: &CommandSpec) -> Self {
        match spec.keys.first() {
            Some(key) if key.begin == Begin::Index(1) => {
                if MEMBER_LAST.contains(&spec.name) {
                    Self::KeyAndMember
                } else {
                    Self::Key
                }
            }
            _ => Self::Unknown,
        }
    }
}

impl Command {
    /// Whether running it runs a script.
    pub fn runs_scripts(&self) -> bool {
        self.spec.group == Group::Scripting
            && self.parent.is_none()
            && matches!(self.spec.run, Run::Control(_))
    }
}

/// The command that a request names.
pub type Resolved = Result<&'static Command, ResolveError>;

/// Why a request names no command that can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveError {
    Unknown,
    UnknownSubcommand(CommandId),
    Arity(CommandId),
}

/// All commands.
pub struct CommandTable {
    commands: Vec<Command>,
    by_name: HashMap<Box<[u8]>, CommandId, foldhash::fast::RandomState>,
}

impl CommandTable {
    /// Builds the table from the families' lists.
    ///
    /// Panics when two commands share a name: a fault of the declarations, found by every start.
    pub fn new(families: &[&'static [CommandSpec]]) -> Self {
        let mut table = Self {
            commands: Vec::new(),
            by_name: HashMap::default(),
        };
        for spec in families.iter().flat_map(|family| family.iter()) {
            let id = table.add(spec, None);
            let taken = table.by_name.insert(spec.name.as_bytes().into(), id);
            assert!(taken.is_none(), "command {} is declared twice", spec.name);
        }
        table
    }

    fn add(&mut self, spec: &'static CommandSpec, parent: Option<CommandId>) -> CommandId {
        let id = CommandId(u16::try_from(self.commands.len()).expect("fewer than 65,536 commands"));
        let full_name = match parent {
            Some(parent) => format!("{}|{}", self.get(parent).spec.name, spec.name),
            None => spec.name.to_string(),
        };
        let mut flags = spec.flags;
        let movable = spec.keys.iter().any(|key| {
            !matches!(key.find, Find::Range { .. }) || !matches!(key.begin, Begin::Index(_))
        });
        flags.set(Flags::MOVABLE_KEYS, movable);
        self.commands.push(Command {
            id,
            spec,
            full_name: full_name.into(),
            parent,
            flags,
            categories: spec.all_categories(),
            lookup: Lookup::of(spec),
            channels: if parent.is_none() {
                ChannelUse::of(spec.name)
            } else {
                ChannelUse::None
            },
            subcommands: Vec::new(),
            by_name: HashMap::default(),
        });
        if let Some(children) = spec.run.children() {
            for child in children {
                let child_id = self.add(child, Some(id));
                let me = &mut self.commands[id.0 as usize];
                me.subcommands.push(child_id);
                me.by_name.insert(child.name.as_bytes().into(), child_id);
            }
        }
        id
    }

    /// Keeps the table for the life of the process, so that a command costs no counting of references.
    pub fn keep(self) -> &'static Self {
        Box::leak(Box::new(self))
    }

    /// Gives a command another name, or takes it away when `to` is empty (rename-command).
    /// False when there is no such command or the new name is taken.
    pub fn rename(&mut self, from: &str, to: &str) -> bool {
        let Some(id) = self.by_name.remove(from.to_ascii_lowercase().as_bytes()) else {
            return false;
        };
        if to.is_empty() {
            return true;
        }
        self.by_name
            .insert(to.to_ascii_lowercase().as_bytes().into(), id)
            .is_none()
    }

    pub fn get(&self, id: CommandId) -> &Command {
        &self.commands[id.0 as usize]
    }

    /// Number of positions, subcommands included.
    pub fn positions(&self) -> usize {
        self.commands.len()
    }

    /// All commands and subcommands by position.
    pub fn iter(&self) -> impl Iterator<Item = &Command> {
        self.commands.iter()
    }

    /// The commands that stand for themselves (no subcommands).
    pub fn top_level(&self) -> impl Iterator<Item = &Command> {
        self.commands
            .iter()
            .filter(|command| command.parent.is_none())
    }

    /// A top-level command by name, in any case.
    pub fn find(&self, name: &[u8]) -> Option<&Command> {
        find_in(&self.by_name, name).map(|id| self.get(id))
    }

    /// A command or `parent|child`, in any case.
    pub fn find_full(&self, name: &[u8]) -> Option<&Command> {
        match name.iter().position(|&byte| byte == b'|') {
            None => self.find(name),
            Some(bar) => self.find_subcommand(self.find(&name[..bar])?, &name[bar + 1..]),
        }
    }

    /// A subcommand of `parent` by name, in any case.
    pub fn find_subcommand(&self, parent: &Command, name: &[u8]) -> Option<&Command> {
        find_in(&parent.by_name, name).map(|id| self.get(id))
    }

    /// The command that a request names, with its arity checked.
    pub fn resolve(&self, args: Args<'_>) -> Result<&Command, ResolveError> {
        let mut command = self.find(args.name()).ok_or(ResolveError::Unknown)?;
        if args.len() >= 2 && command.spec.run.children().is_some() {
            command = self
                .find_subcommand(command, args.arg(1))
                .ok_or(ResolveError::UnknownSubcommand(command.id))?;
        }
        if command.spec.accepts(args.len()) {
            Ok(command)
        } else {
            Err(ResolveError::Arity(command.id))
        }
    }

    /// The error text of a failed [`CommandTable::resolve`]. What the client sent stands in it byte for byte.
    pub fn describe(&self, error: &ResolveError, args: Args<'_>) -> Vec<u8> {
        match error {
            ResolveError::Unknown => unknown_command(args),
            ResolveError::UnknownSubcommand(id) => {
                let parent = self.get(*id).spec.name.to_ascii_uppercase();
                let word = shown(args.arg(1), NAME_SHOWN_MAX);
                [
                    b"ERR unknown subcommand '",
                    word,
                    b"'. Try ",
                    parent.as_bytes(),
                    b" HELP.",
                ]
                .concat()
            }
            ResolveError::Arity(id) => wrong_arity(&self.get(*id).full_name).into_bytes(),
        }
    }
}

/// The arity error for the command of that (full) name.
pub fn wrong_arity(full_name: &str) -> String {
    format!("ERR wrong number of arguments for '{full_name}' command")
}

fn shown(bytes: &[u8], len_max: usize) -> &[u8] {
    &bytes[..bytes.len().min(len_max)]
}

fn unknown_command(args: Args<'_>) -> Vec<u8> {
    let mut preview = Vec::new();
    for arg in args.iter().skip(1) {
        if preview.len() >= NAME_SHOWN_MAX {
            break;
        }
        let room = NAME_SHOWN_MAX - preview.len();
        preview.extend_from_slice(&[b"'", shown(arg, room), b"' "].concat());
    }
    let name = shown(args.name(), NAME_SHOWN_MAX);
    [
        b"ERR unknown command '",
        name,
        b"', with args beginning with: ",
        &preview,
    ]
    .concat()
}

fn find_in(
    map: &HashMap<Box<[u8]>, CommandId, foldhash::fast::RandomState>,
    name: &[u8],
) -> Option<CommandId> {
    let mut lower = [0u8; NAME_LEN_MAX];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    map.get(&*lower).copied()
}
