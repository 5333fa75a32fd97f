//! Passwords, users and dangerous commands.

use super::Section;
use crate::settings::choices::{AclPubsubDefault, ProtectedAction};
use crate::settings::spec::{LONG_MAX, Spec};

pub(super) const ACCESS: Section = Section {
    title: "Access",
    rows: &[
        Spec::optional(
            "requirepass",
            "Password of the default user; empty asks for none.",
        )
        .secret()
        .used(|f, v| f.requirepass = v.bytes()),
        Spec::text(
            "aclfile",
            "",
            "File with one user a line; excludes `user` in this file.",
        )
        .at_start()
        .used(|f, v| f.aclfile = v.optional_path()),
        Spec::choice(
            "acl-pubsub-default",
            AclPubsubDefault::NAMES,
            "resetchannels",
            "Channels of a new user: allchannels or resetchannels (none).",
        )
        .used(|f, v| f.acl_pubsub_default = AclPubsubDefault::from_name(v.choice())),
        Spec::integer(
            "acllog-max-len",
            (0, LONG_MAX),
            "128",
            "Entries of ACL LOG.",
        )
        .used(|f, v| f.acllog_max_len = v.number()),
        Spec::choice(
            "enable-protected-configs",
            ProtectedAction::NAMES,
            "no",
            "Whether CONFIG SET may change dir and dbfilename: no, yes, or local connections only.",
        )
        .at_start()
        .used(|f, v| f.enable_protected_configs = ProtectedAction::from_name(v.choice())),
        Spec::choice(
            "enable-debug-command",
            ProtectedAction::NAMES,
            "no",
            "Whether DEBUG is open: no, yes, or local connections only.",
        )
        .at_start()
        .used(|f, v| f.enable_debug_command = ProtectedAction::from_name(v.choice())),
        Spec::choice(
            "enable-module-command",
            ProtectedAction::NAMES,
            "no",
            "Whether MODULE is open: no, yes, or local connections only.",
        )
        .at_start()
        .used(|f, v| f.enable_module_command = ProtectedAction::from_name(v.choice())),
    ],
};
