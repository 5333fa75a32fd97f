//! `rankd check`: prints what is found in data files, and cuts a torn end after asking.

use crate::persist::check::{FileReport, check};
use crate::persist::disk::{Disk, RealDisk};
use std::io::{self, BufRead, Write};
use std::path::Path;

/// Checks a file or a folder. True when all is whole in the end.
pub fn run(path: &Path, fix: bool) -> io::Result<bool> {
    let reports = check(&RealDisk, path)?;
    let mut whole = true;
    for report in &reports {
        println!("{report}");
        whole &= report.is_whole() || (fix && report.torn && cut(report)?);
    }
    if !whole && !fix && reports.iter().any(|report| report.torn) {
        println!("The end is torn: rankd check --fix cuts it.");
    }
    Ok(whole)
}

/// Cuts a torn end if the one who asked agrees.
fn cut(report: &FileReport) -> io::Result<bool> {
    print!(
        "This will shrink {} from {} bytes, with {} bytes less, to {} bytes. Continue? [y/N]: ",
        report.path.display(),
        report.len,
        report.len - report.good_len,
        report.good_len
    );
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if !answer.trim().eq_ignore_ascii_case("y") {
        println!("Nothing was changed.");
        return Ok(false);
    }
    RealDisk.truncate(&report.path, report.good_len)?;
    println!("The file is whole now.");
    Ok(true)
}
