//! From the name in a request to its command, for one connection.

use crate::engine::table::{Command, CommandTable, Resolved};
use crate::resp::args::Args;

/// The command that this connection named last: clients repeat themselves, and a comparison is cheaper than a lookup.
#[derive(Default)]
pub struct NameMemory {
    name: Vec<u8>,
    pub command: Option<&'static Command>,
}

impl NameMemory {
    /// The command that the arguments name.
    #[inline]
    pub fn resolve(&mut self, table: &'static CommandTable, args: Args<'_>) -> Resolved {
        if let Some(command) = self.command
            && args.name() == self.name.as_slice()
            && command.spec.accepts(args.len())
        {
            return Ok(command);
        }
        let resolved = table.resolve(args);
        if let Ok(command) = resolved {
            // What a subcommand's name stands for is not told by the first word.
            if command.parent.is_none() && command.subcommands.is_empty() {
                self.name.clear();
                self.name.extend_from_slice(args.name());
                self.command = Some(command);
            }
        }
        resolved
    }
}
