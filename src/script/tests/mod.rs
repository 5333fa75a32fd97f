//! Scripts against a host made for them, and against a real server.

mod fake_host;
mod functions;
mod generated;
mod limits;
mod machine;
mod real;

use fake_host::FakeHost;

use super::{Ended, Interpreter, Origin};
use crate::resp::{OwnedArgs, Protocol, Reply};

/// Runs a source as EVAL would and gives the reply.
fn eval_with(
    interpreter: &mut Interpreter,
    host: &mut FakeHost,
    source: &[u8],
    keys: &[&[u8]],
    argv: &[&[u8]],
    protocol: Protocol,
) -> Vec<u8> {
    let mut out = Reply::new(protocol);
    match interpreter.load(source, Origin::Eval) {
        Ok(id) => {
            let keys = OwnedArgs::from_slices(keys);
            let argv = OwnedArgs::from_slices(argv);
            interpreter.run(id, keys.as_args(), argv.as_args(), host, &mut out);
        }
        Err(error) => out.error_bytes(&error.0),
    }
    out.take()
}

fn eval(source: &str) -> String {
    let mut interpreter = Interpreter::default();
    let mut host = FakeHost::default();
    let reply = eval_with(
        &mut interpreter,
        &mut host,
        source.as_bytes(),
        &[b"k1", b"k2"],
        &[b"a1", b"a2"],
        Protocol::Resp2,
    );
    String::from_utf8_lossy(&reply).into_owned()
}

#[test]
fn a_returned_number_is_cut() {
    assert_eq!(eval("return 3.99"), ":3\r\n");
}

#[test]
fn a_command_that_failed_ends_the_script_with_its_position() {
    let mut interpreter = Interpreter::default();
    let id = interpreter
        .load(b"\nreturn redis.call('nope')", Origin::Load)
        .expect("compiles");
    let sha = String::from_utf8(interpreter.script(id).sha.hex().to_vec()).expect("hex");
    let mut out = Reply::new(Protocol::Resp2);
    let none = OwnedArgs::new();
    let ended = interpreter.run(
        id,
        none.as_args(),
        none.as_args(),
        &mut FakeHost::default(),
        &mut out,
    );
    assert_eq!(ended, Ended::Error { counted: true });
    assert_eq!(
        String::from_utf8_lossy(out.as_bytes()),
        format!(
            "-ERR Unknown Redis command called from script script: {sha}, on @user_script:2.\r\n"
        )
    );
}
