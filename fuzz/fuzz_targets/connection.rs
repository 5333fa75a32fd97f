//! Several clients that send anything in pieces of any length: see `rankd::server::simulation`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|program: &[u8]| rankd::server::simulation::play(program));
