//! Reads settings and runs the server, or checks files.

use rankd::settings::cli::{self, Command};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match cli::parse(std::env::args_os()) {
        Ok(Command::Version(text)) | Ok(Command::Help(text)) => {
            println!("{}", text.trim_end());
            ExitCode::SUCCESS
        }
        Ok(Command::Run { settings, warnings }) => run(*settings, &warnings),
        Ok(Command::Check { path, fix }) => match rankd::server::check::run(&path, fix) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                ExitCode::FAILURE
            }
        },
        Err(refusal) => {
            eprintln!("{refusal}");
            ExitCode::FAILURE
        }
    }
}

fn run(settings: rankd::settings::Settings, warnings: &[String]) -> ExitCode {
    if settings.daemonize
        && let Err(error) = rankd::server::daemon::detach()
    {
        eprintln!("Cannot go into the background: {error}");
        return ExitCode::FAILURE;
    }
    // Free memory goes back to the system also while nobody calls; without the thread it only goes back more slowly.
    let _ = tikv_jemalloc_ctl::background_thread::write(true);
    // A relative name means a file in the working folder of the server, which it has not entered yet.
    let logfile = settings
        .logfile
        .as_ref()
        .map(|file| settings.dir.join(file));
    if let Err(error) = rankd::server::log::start(settings.loglevel, logfile.as_deref()) {
        eprintln!("Can't open the log file: {error}");
        return ExitCode::FAILURE;
    }
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    match rankd::server::start::run(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
