//! The reply of the HELP subcommands.

use crate::resp::reply::Reply;

/// Writes the lines between the heading and the closing entry that every HELP has.
pub fn write(reply: &mut Reply, command: &str, lines: &[&str]) {
    reply.array(lines.len() + 3);
    reply.simple(&format!(
        "{command} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    ));
    for line in lines {
        reply.simple(line);
    }
    reply.simple("HELP");
    reply.simple("    Print this help.");
}
