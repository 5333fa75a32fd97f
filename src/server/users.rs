//! Users and files: the users of the settings, and the ACL file read and written.

use super::start::invalid;
use crate::engine::Engine;
use crate::engine::acl::file;
use crate::settings::Settings;
use crate::settings::rewrite::replace_file;
use std::io;

/// Takes the users of the settings, or those of the ACL file, before anybody can connect.
pub fn load(engine: &mut Engine) -> io::Result<()> {
    let lines = engine.settings.users();
    let Some(path) = &engine.settings.aclfile else {
        let words = lines.iter().map(|line| line.words.as_slice());
        engine
            .acl
            .take_lines(words)
            .map_err(|(at, reason)| invalid(lines[at].refusal(reason)))?;
        tell_of_disabled(engine);
        return Ok(());
    };
    if !lines.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "Configuring users in the settings file and at the same time an ACL file is invalid: please define either \
             an ACL file or users, but not both.",
        ));
    }
    let shown = path.display().to_string();
    let loaded = read(&engine.settings)
        .map_err(|reason| format!("Error loading ACLs, opening file '{shown}': {reason}"))
        .and_then(|text| file::parse(&text, &shown, engine.acl.scope()));
    match loaded {
        Ok(users) => {
            engine.acl.replace_all(users);
            Ok(())
        }
        Err(reason) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("Aborting startup because of ACL errors: {reason}"),
        )),
    }
}

/// A user that nobody can become may be a line that lacks a word.
fn tell_of_disabled(engine: &Engine) {
    for user in engine.acl.users() {
        if !user.rights().is_enabled() {
            tracing::info!(
                "The user '{}' is disabled (there is no 'on' modifier in the user description). Make sure this is not \
                 a configuration error.",
                String::from_utf8_lossy(user.name())
            );
        }
    }
}

/// The content of the ACL file; the error is the system's reason.
pub fn read(settings: &Settings) -> Result<Vec<u8>, String> {
    let path = settings.aclfile.as_deref().unwrap_or("".as_ref());
    std::fs::read(path).map_err(|error| crate::settings::value::os_reason(&error))
}

/// Puts the ACL file in place, whole or not at all.
pub fn write(settings: &Settings, text: &[u8]) -> Result<(), String> {
    let path = settings.aclfile.as_deref().unwrap_or("".as_ref());
    replace_file(path, text).map_err(|error| crate::settings::value::os_reason(&error))
}
