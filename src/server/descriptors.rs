//! How many files the process may have open, which bounds how many clients it can serve.

use crate::limits::DESCRIPTORS_RESERVED;
use crate::settings::Settings;
use std::io;

/// Raises the bound for `clients` at once, as far as the system lets us; how many of them fit.
pub fn make_room(clients: u32) -> u32 {
    let wanted = u64::from(clients) + DESCRIPTORS_RESERVED;
    let open_max = match raise(wanted) {
        Ok(open_max) => open_max,
        Err(error) => {
            tracing::warn!(
                "Server can't set maximum open files to {wanted} because of OS error: {error}."
            );
            current().map_or(DESCRIPTORS_RESERVED, |limit| limit.rlim_cur)
        }
    };
    let fit = open_max
        .saturating_sub(DESCRIPTORS_RESERVED)
        .min(u64::from(clients));
    fit as u32
}

/// Makes room for the clients of the settings, and lowers `maxclients` to what fits.
pub fn settle(settings: &mut Settings) -> io::Result<()> {
    let wanted = settings.maxclients;
    let fit = make_room(wanted);
    if fit == wanted {
        return Ok(());
    }
    let needed = u64::from(wanted) + DESCRIPTORS_RESERVED;
    if fit == 0 {
        return Err(io::Error::other(format!(
            "Your current 'ulimit -n' is not enough for the server to start. Please increase your open file limit to at \
             least {needed}. Exiting."
        )));
    }
    tracing::warn!(
        "You requested maxclients of {wanted} requiring at least {needed} max file descriptors. maxclients has been \
         reduced to {fit} to compensate for low ulimit. If you need higher maxclients increase 'ulimit -n'."
    );
    settings
        .set_from_inside("maxclients", &fit.to_string())
        .map_err(io::Error::other)
}

/// The error text for a client that asks for more clients than fit.
pub fn too_many(fit: u32) -> String {
    format!(
        "The operating system is not able to handle the specified number of clients, try with {fit}"
    )
}

/// Raises the soft bound to at least `wanted`, or as near as the hard one lets us; the bound in force then.
fn raise(wanted: u64) -> io::Result<u64> {
    let mut limit = current()?;
    if limit.rlim_cur >= wanted {
        return Ok(limit.rlim_cur);
    }
    limit.rlim_cur = wanted.min(limit.rlim_max);
    // SAFETY: the pointer is to a whole value on this stack, which the call only reads.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } == 0 {
        Ok(limit.rlim_cur)
    } else {
        Err(io::Error::last_os_error())
    }
}

fn current() -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is to a whole value on this stack, which outlives the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0 {
        Ok(limit)
    } else {
        Err(io::Error::last_os_error())
    }
}
