//! Libraries of functions, by themselves and against a real server.

use super::fake_host::FakeHost;
use super::real::RealServer;
use crate::resp::{OwnedArgs, Protocol, Reply};
use crate::script::functions::library_name;
use crate::script::{Functions, RestorePolicy, ScriptFlags};

const COUNTER: &[u8] =
    b"#!lua name=counter\nlocal n = 0 redis.register_function('count', function() n = n + 1 return n end)";

fn call(functions: &mut Functions, host: &mut FakeHost, name: &[u8]) -> String {
    let mut out = Reply::new(Protocol::Resp2);
    let keys = OwnedArgs::from_slices(&[b"k"]);
    let argv = OwnedArgs::from_slices(&[b"a", b"b"]);
    match functions.find(name).map(|(id, _)| id) {
        None => out.error("ERR Function not found"),
        Some(id) => {
            let ended = functions.run(&id, keys.as_args(), argv.as_args(), host, &mut out);
            assert!(ended.is_some(), "the function is still there");
        }
    }
    String::from_utf8_lossy(out.as_bytes()).into_owned()
}

fn load(functions: &mut Functions, source: &[u8], replace: bool) -> String {
    let mut out = Reply::new(Protocol::Resp2);
    // A body that runs on for ever is ended at once.
    let mut host = FakeHost {
        kill_at: Some(1),
        ..FakeHost::default()
    };
    match functions.load(source, replace, &mut host) {
        Ok(library) => out.bulk(&library.name),
        Err(error) => out.error_bytes(&error.0),
    }
    String::from_utf8_lossy(out.as_bytes()).into_owned()
}

#[test]
fn a_library_keeps_its_state_until_it_is_replaced() {
    let mut functions = Functions::default();
    let mut host = FakeHost::default();
    assert_eq!(load(&mut functions, COUNTER, false), "$7\r\ncounter\r\n");
    assert_eq!(call(&mut functions, &mut host, b"count"), ":1\r\n");
    assert_eq!(call(&mut functions, &mut host, b"COUNT"), ":2\r\n");
    assert_eq!(load(&mut functions, COUNTER, true), "$7\r\ncounter\r\n");
    assert_eq!(call(&mut functions, &mut host, b"count"), ":1\r\n");
    assert!(functions.delete(b"counter"));
    assert!(!functions.delete(b"counter"));
    assert_eq!(
        call(&mut functions, &mut host, b"count"),
        "-ERR Function not found\r\n"
    );
}

#[test]
fn a_failed_replacement_changes_nothing() {
    let mut functions = Functions::default();
    load(&mut functions, COUNTER, false);
    let bad = b"#!lua name=counter\nredis.register_function('x', function() end) nothing()";
    assert!(load(&mut functions, bad, true).starts_with("-ERR Error registering functions: "));
    assert_eq!(
        call(&mut functions, &mut FakeHost::default(), b"count"),
        ":1\r\n"
    );
    assert_eq!(functions.function_count(), 1);
}

#[test]
fn a_listing_has_names_flags_and_descriptions() {
    let mut functions = Functions::default();
    let source =
        b"#!lua name=l\nredis.register_function{function_name='f', callback=function() end, \
                   flags={'no-writes', 'allow-stale'}, description='what it does'}";
    load(&mut functions, source, false);
    let library = functions.libraries().next().expect("one library");
    assert_eq!(&*library.name, b"l");
    assert_eq!(&*library.source, source);
    let function = &library.functions[0];
    assert_eq!(&*function.name, b"f");
    assert_eq!(function.description.as_deref(), Some(&b"what it does"[..]));
    assert_eq!(
        function.flags,
        ScriptFlags::NO_WRITES | ScriptFlags::ALLOW_STALE
    );
}

#[test]
fn libraries_are_restored_all_or_none() {
    let other = b"#!lua name=other\nredis.register_function('count', function() return 9 end)";
    let third = b"#!lua name=third\nredis.register_function('three', function() return 3 end)";
    let mut functions = Functions::default();
    let mut host = FakeHost::default();
    load(&mut functions, COUNTER, false);
    let mut restore = |functions: &mut Functions, sources: &[&[u8]], policy| {
        functions
            .restore(sources.iter().copied(), policy, &mut host)
            .map_err(|error| String::from_utf8_lossy(&error.0).into_owned())
    };
    assert_eq!(
        restore(&mut functions, &[third, COUNTER], RestorePolicy::Append),
        Err("ERR Library counter already exists".to_string())
    );
    assert_eq!(
        restore(&mut functions, &[third, other], RestorePolicy::Replace),
        Err("ERR Function count already exists".to_string())
    );
    assert_eq!(functions.libraries().len(), 1);
    assert_eq!(
        restore(&mut functions, &[third, COUNTER], RestorePolicy::Replace),
        Ok(())
    );
    assert_eq!(functions.libraries().len(), 2);
    assert_eq!(
        restore(&mut functions, &[other], RestorePolicy::Flush),
        Ok(())
    );
    assert_eq!(functions.libraries().len(), 1);
    let mut host = FakeHost::default();
    assert_eq!(call(&mut functions, &mut host, b"count"), ":9\r\n");
}

#[test]
fn a_name_is_read_without_running_the_source() {
    assert_eq!(library_name(COUNTER).as_deref(), Ok(&b"counter"[..]));
}

/// Sources are loaded in turn, and then functions are called.
#[test]
fn loading_and_calling_answer_as_on_a_real_server() {
    let Some(mut real) = RealServer::start() else {
        return;
    };
    let mut functions = Functions::default();
    let mut differences = Vec::new();
    let text = include_str!("scripts/functions.lua");
    let (sources, names) = text.split_once("\n====\n").expect("two parts");
    for source in sources.split("\n----\n") {
        let wanted = real.command(&[b"function", b"load", source.as_bytes()]);
        let wanted = String::from_utf8_lossy(&wanted).into_owned();
        let given = load(&mut functions, source.as_bytes(), false);
        if wanted != given {
            differences.push(format!("{source}\n  wanted {wanted:?}\n  given  {given:?}"));
        }
    }
    let mut host = FakeHost::default();
    for name in names.split_whitespace() {
        let wanted = real.command(&[b"fcall", name.as_bytes(), b"1", b"k", b"a", b"b"]);
        let wanted = String::from_utf8_lossy(&wanted).into_owned();
        let given = call(&mut functions, &mut host, name.as_bytes());
        if wanted != given {
            differences.push(format!("{name}\n  wanted {wanted:?}\n  given  {given:?}"));
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}
