//! Rules and decisions, without connections.

use super::file::parse;
use super::rights::{PasswordHash, Rights, Scope, join_selectors};
use super::selector::{ChannelUse, Denied};
use super::*;
use crate::engine::ctx::ReadCtx;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, KeyFlags, KeySpec, Run};
use crate::resp::args::OwnedArgs;
use std::sync::OnceLock;

fn nothing(_: &mut ReadCtx<'_>, _: Args<'_>) -> Handled {
    Ok(())
}

const fn command(name: &'static str, flags: Flags, keys: &'static [KeySpec]) -> CommandSpec {
    CommandSpec {
        name,
        group: Group::Generic,
        summary: "",
        since: "",
        complexity: "",
        arity: -1,
        flags,
        categories: Categories::empty(),
        keys,
        tips: &[],
        syntax: "",
        run: Run::Read(nothing),
    }
}

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const WRITES: KeyFlags = KeyFlags::OW.union(KeyFlags::UPDATE);

const COMMANDS: &[CommandSpec] = &[
    command(
        "get",
        Flags::READONLY.union(Flags::FAST),
        &[KeySpec::one(1, READS)],
    ),
    command("set", Flags::WRITE, &[KeySpec::one(1, WRITES)]),
    command(
        "copy",
        Flags::WRITE,
        &[KeySpec::one(1, READS), KeySpec::one(2, WRITES)],
    ),
    command("exists", Flags::READONLY, &[KeySpec::one(1, KeyFlags::RO)]),
    command("select", Flags::FAST, &[]),
    command("auth", Flags::NO_AUTH, &[]),
    command("publish", Flags::PUBSUB, &[]),
    command("subscribe", Flags::PUBSUB, &[]),
    command("psubscribe", Flags::PUBSUB, &[]),
    CommandSpec {
        run: Run::Container(&[
            command("get", Flags::ADMIN, &[]),
            command("set", Flags::ADMIN, &[]),
        ]),
        ..command("config", Flags::empty(), &[])
    },
];

fn table() -> &'static CommandTable {
    static TABLE: OnceLock<CommandTable> = OnceLock::new();
    TABLE.get_or_init(|| CommandTable::new(&[COMMANDS]))
}

fn scope() -> Scope<'static> {
    Scope {
        table: table(),
        channels_open: false,
    }
}

fn words(text: &str) -> Vec<Vec<u8>> {
    text.split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

fn try_rights(rules: &str) -> Result<Rights, RuleError> {
    let rules = join_selectors(&words(rules)).unwrap();
    Rights::new(scope())
        .with_rules(&rules, scope())
        .map_err(|bad| bad.error)
}

fn rights(rules: &str) -> Rights {
    try_rights(rules).unwrap()
}

fn check(rights: &Rights, call: &str) -> Result<(), Denied> {
    let call = words(call);
    let slices: Vec<&[u8]> = call.iter().map(Vec::as_slice).collect();
    let args = OwnedArgs::from_slices(&slices);
    rights.check(table().resolve(args.as_args()).unwrap(), args.as_args())
}

fn described(rules: &str) -> String {
    String::from_utf8(rights(rules).describe()).unwrap()
}

#[test]
fn rules_are_shown_as_they_came_without_what_they_override() {
    for (rules, shown) in [
        ("on", "on sanitize-payload resetchannels -@all"),
        (
            "nopass skip-sanitize-payload allkeys allchannels allcommands",
            "off nopass skip-sanitize-payload ~* &* +@all",
        ),
        (
            "+GET -set +@Read -@write",
            "off sanitize-payload resetchannels -@all +get -set +@read -@write",
        ),
        (
            "+config|get +select|0 +select|1 +config +select",
            "off sanitize-payload resetchannels -@all +config +select",
        ),
        (
            "+@all -config|set +get -get",
            "off sanitize-payload resetchannels +@all -config|set -get",
        ),
        (
            "+get -@all +set",
            "off sanitize-payload resetchannels -@all +set",
        ),
        (
            "%R~a %W~a ~b %w~c %rW~d &x &y &x",
            "off sanitize-payload ~a ~b %W~c ~d resetchannels &x &y -@all",
        ),
        (
            "(~a +get) (&* +@all -set)",
            "off sanitize-payload resetchannels -@all (~a resetchannels -@all +get) (&* +@all -set)",
        ),
        (
            "(~a) clearselectors",
            "off sanitize-payload resetchannels -@all",
        ),
        (
            "on nopass ~* +@all (~a) reset",
            "off sanitize-payload resetchannels -@all",
        ),
    ] {
        assert_eq!(described(rules), shown, "{rules}");
    }
}

#[test]
fn what_is_shown_makes_the_same_rights_again() {
    for rules in [
        "on >secret ~a* %R~b +@read -get +config|set +select|0",
        "nopass +@all -@write +set (%W~x &c +publish) (+@all)",
        "skip-sanitize-payload #2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
    ] {
        assert_eq!(rights(&described(rules)), rights(rules), "{rules}");
    }
}

#[test]
fn bad_rules_are_told_apart() {
    for (rules, error) in [
        ("+nosuch", RuleError::Unknown),
        ("-select|0", RuleError::Unknown),
        ("+@nosuch", RuleError::Unknown),
        ("+config|nosuch", RuleError::Unknown),
        ("+config|", RuleError::Syntax),
        ("+config|get|x", RuleError::WordOfSubcommand),
        ("nosuch", RuleError::Syntax),
        ("%X~a", RuleError::Syntax),
        ("%~a", RuleError::Syntax),
        ("%", RuleError::Syntax),
        ("%RR~a", RuleError::Syntax),
        ("~a\tb", RuleError::Syntax),
        ("&a\nb", RuleError::Syntax),
        ("allkeys ~a", RuleError::KeysAreAll),
        ("~* %R~a", RuleError::KeysAreAll),
        ("&* &a", RuleError::ChannelsAreAll),
        ("<nosuch", RuleError::NoSuchPassword),
        ("#2d71", RuleError::BadHash),
        ("(on)", RuleError::Syntax),
        ("(+nosuch)", RuleError::Unknown),
    ] {
        assert_eq!(try_rights(rules), Err(error), "{rules}");
    }
}

#[test]
fn selectors_are_joined_across_words() {
    let joined = join_selectors(&words("on (~a +get) off ( ~b )")).unwrap();
    assert_eq!(
        joined,
        ["on", "(~a +get)", "off", "( ~b )"].map(|w| w.as_bytes().to_vec())
    );
    assert_eq!(
        join_selectors(&words("on (~a +get")),
        Err(b"(~a".as_slice())
    );
}

#[test]
fn passwords_open_only_what_is_on() {
    let hash = PasswordHash::of(b"pw").hex();
    assert!(rights("on >pw").admits(b"pw"));
    assert!(!rights("on >pw").admits(b"pw2"));
    assert!(!rights(">pw").admits(b"pw"));
    assert!(rights(&format!("on #{hash}")).admits(b"pw"));
    assert!(!rights("on").admits(b""));
    assert!(rights("on nopass").admits(b"anything"));
    assert!(!rights("on nopass >pw").admits(b"anything"));
    assert!(!rights("on >pw >other <pw").admits(b"pw"));
    assert!(!rights(&format!("on >pw !{hash}")).admits(b"pw"));
    assert!(!rights("on nopass resetpass").admits(b""));
}

#[test]
fn a_known_hash_is_found() {
    // The digest of the empty message, from the standard.
    assert_eq!(
        PasswordHash::of(b"").hex(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
}

#[test]
fn commands_categories_and_first_words() {
    let some = rights("~* +@read +config|get +select|0");
    assert_eq!(check(&some, "get k"), Ok(()));
    assert_eq!(check(&some, "set k"), Err(Denied::Command));
    assert_eq!(check(&some, "config get"), Ok(()));
    assert_eq!(check(&some, "config set"), Err(Denied::Command));
    assert_eq!(check(&some, "select 0"), Ok(()));
    assert_eq!(check(&some, "select 1"), Err(Denied::Command));
    assert_eq!(check(&some, "select"), Err(Denied::Command));
    assert_eq!(check(&some, "auth x"), Ok(()));
    let most = rights("allkeys +@all -config +config|get -@write");
    assert_eq!(check(&most, "config get"), Ok(()));
    assert_eq!(check(&most, "config set"), Err(Denied::Command));
    assert_eq!(check(&most, "set k"), Err(Denied::Command));
    assert_eq!(check(&most, "select 5"), Ok(()));
}

#[test]
fn keys_are_read_and_written_as_allowed() {
    let user = rights("+@all ~both* %R~read* %W~write*");
    assert_eq!(check(&user, "get both1"), Ok(()));
    assert_eq!(check(&user, "get read1"), Ok(()));
    assert_eq!(check(&user, "get write1"), Err(Denied::Key(1)));
    assert_eq!(check(&user, "set write1"), Ok(()));
    assert_eq!(check(&user, "set read1"), Err(Denied::Key(1)));
    assert_eq!(check(&user, "copy read1 write1"), Ok(()));
    assert_eq!(check(&user, "copy read1 read2"), Err(Denied::Key(2)));
    assert_eq!(check(&user, "copy other write1"), Err(Denied::Key(1)));
    assert_eq!(check(&user, "exists write1"), Ok(()), "it reads no content");
    assert_eq!(check(&user, "exists other"), Err(Denied::Key(1)));
    assert_eq!(check(&user, "copy other"), Ok(()), "it fails by itself");
}

#[test]
fn channels_match_and_patterns_are_taken_literally() {
    let user = rights("+@all ~* &news:* &chat");
    assert_eq!(check(&user, "publish news:1 x"), Ok(()));
    assert_eq!(
        check(&user, "publish other news:1"),
        Err(Denied::Channel(1))
    );
    assert_eq!(check(&user, "subscribe chat news:2"), Ok(()));
    assert_eq!(
        check(&user, "subscribe chat other"),
        Err(Denied::Channel(2))
    );
    assert_eq!(check(&user, "psubscribe news:*"), Ok(()));
    assert_eq!(check(&user, "psubscribe news:1*"), Err(Denied::Channel(1)));
    assert_eq!(ChannelUse::of("unsubscribe"), ChannelUse::None);
}

#[test]
fn one_selector_has_to_allow_the_whole_call() {
    let user = rights("+get ~a (+set ~b) (+@all %R~c %W~d &x)");
    assert_eq!(check(&user, "get a"), Ok(()));
    assert_eq!(check(&user, "set b"), Ok(()));
    assert_eq!(check(&user, "set a"), Err(Denied::Key(1)));
    assert_eq!(check(&user, "copy c d"), Ok(()));
    assert_eq!(check(&user, "copy a d"), Err(Denied::Key(1)));
    assert_eq!(check(&user, "publish y z"), Err(Denied::Channel(1)));
    assert_eq!(check(&rights("+get ~a"), "set a"), Err(Denied::Command));
}

#[test]
fn reading_all_keys_has_to_come_with_the_command() {
    let all = |rules: &str, call: &str| {
        let call = words(call);
        let slices: Vec<&[u8]> = call.iter().map(Vec::as_slice).collect();
        let args = OwnedArgs::from_slices(&slices);
        let command = table().resolve(args.as_args()).unwrap();
        rights(rules).check_reading_all(command, args.as_args())
    };
    assert!(all("+get ~*", "get k"));
    assert!(all("+get %R~*", "get k"));
    assert!(!all("+get %W~* ~k", "get k"));
    assert!(!all("+get ~k (%R~* +set)", "get k"));
    assert!(all("+get ~k (%R~* +get)", "get k"));
}

#[test]
fn who_may_do_everything_is_known() {
    assert!(Rights::unrestricted(table()).is_unrestricted());
    assert!(rights("+@all ~* &*").is_unrestricted());
    assert!(rights("(+@all ~* &*)").is_unrestricted());
    assert!(!rights("+@all -get +get ~* &*").is_unrestricted());
    assert!(!rights("+@all ~a &*").is_unrestricted());
    assert!(!rights("+@all ~* &a").is_unrestricted());
}

#[test]
fn lost_channels_are_noticed() {
    let keeps = |after: &str, before: &str| rights(after).keeps_channels_of(&rights(before));
    assert!(keeps("&a &b", "&a"));
    assert!(keeps("(&a) &b", "&a (&b)"));
    assert!(keeps("&*", "&a"));
    assert!(!keeps("&a", "&a &b"));
    assert!(!keeps("&a", "&*"));
    assert!(rights("&a (&b*)").may_listen(b"b1", false));
    assert!(!rights("&a (&b*)").may_listen(b"b1", true));
}

fn acl(settings: &Settings) -> Acl {
    Acl::new(table(), Arc::new(Stats::new(table().positions())), settings)
}

#[test]
fn requirepass_is_the_password_of_the_default_user() {
    let mut settings = Settings::default();
    settings.set_from_inside("requirepass", "pw").unwrap();
    let acl = acl(&settings);
    assert!(!acl.default_is_open());
    assert!(acl.authenticate(b"default", b"pw").is_some());
    assert!(acl.authenticate(b"default", b"").is_none());
    assert!(acl.default_user().is_unrestricted());
    acl.set_default_password(b"");
    assert!(acl.default_is_open());
}

#[test]
fn a_refused_change_changes_nothing() {
    let acl = acl(&Settings::default());
    let rights = acl.propose(b"ann", &words("on >pw ~a +get")).unwrap();
    acl.set(b"ann", rights);
    let before = acl.lines();
    let bad = acl.propose(b"ann", &words("+set +nosuch")).unwrap_err();
    assert_eq!(
        (bad.rule.as_slice(), bad.error),
        (b"+nosuch".as_slice(), RuleError::Unknown)
    );
    assert_eq!(acl.lines(), before);
}

#[test]
fn who_holds_a_deleted_user_may_do_nothing() {
    let acl = acl(&Settings::default());
    let rights = acl
        .propose(b"ann", &words("on nopass ~* +@all &*"))
        .unwrap();
    acl.set(b"ann", rights);
    let ann = acl.user(b"ann").unwrap();
    assert!(ann.is_unrestricted());
    assert!(acl.remove(b"ann"));
    assert!(!acl.remove(b"ann"));
    assert!(!ann.is_unrestricted());
    let args = OwnedArgs::from_slices(&[b"get", b"k"]);
    let command = table().resolve(args.as_args()).unwrap();
    assert_eq!(ann.check(command, args.as_args()), Err(Denied::Command));
}

#[test]
fn a_file_replaces_all_users() {
    let acl = acl(&Settings::default());
    for name in [b"ann", b"bob"] {
        let rights = acl.propose(name, &words("on nopass")).unwrap();
        acl.set(name, rights);
    }
    let text = b"user bob on ~b* +get\r\n\n  user eve off (~e +set)\n";
    let replaced = acl.replace_all(parse(text, "users.acl", scope()).unwrap());
    let removed: Vec<&[u8]> = replaced
        .iter()
        .filter(|replaced| replaced.removed)
        .map(|replaced| replaced.user.name())
        .collect();
    assert_eq!(removed, [b"ann"]);
    let lines: Vec<String> = acl
        .lines()
        .into_iter()
        .map(|line| String::from_utf8(line).unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "user bob on sanitize-payload ~b* resetchannels -@all +get",
            "user default on nopass sanitize-payload ~* &* +@all",
            "user eve off sanitize-payload resetchannels -@all (~e resetchannels -@all +set)",
        ]
    );
}

#[test]
fn all_faults_of_a_file_are_told() {
    let text = b"user a +nosuch foo bar\n# no comment\nuser b\nuser b on\nuser c (~x";
    let end =
        "WARNING: ACL errors detected, no change to the previously active ACL rules was performed";
    assert_eq!(
        parse(text, "f", scope()).unwrap_err(),
        format!(
            "f:1: Error in applying operation '+nosuch': Unknown command or category name in ACL. f:1: Syntax error. \
             f:2 should start with user keyword followed by the username. \
             WARNING: Duplicate user 'b' found on line 4. \
             f:5: Unmatched parenthesis in selector definition.{end}"
        )
    );
}

#[test]
fn lines_of_the_settings_are_all_taken_or_none() {
    let acl = acl(&Settings::default());
    let lines = [words("ann on (~a +get )"), words("default on >pw ~x +@all")];
    acl.take_lines(lines.iter().map(Vec::as_slice)).unwrap();
    assert!(acl.user(b"ann").is_some() && !acl.default_is_open());
    let before = acl.lines();
    for (lines, at, reason) in [
        (vec![words("eve on"), words("eve off")], 1, "Duplicate user"),
        (
            vec![words("eve on"), words("eva nosuch")],
            1,
            "'nosuch': Syntax error",
        ),
        (vec![words("eve (~a")], 0, "Unmatched parenthesis"),
        (vec![vec![b"e e".to_vec()]], 0, "Spaces not allowed"),
    ] {
        let (line, text) = acl.take_lines(lines.iter().map(Vec::as_slice)).unwrap_err();
        assert_eq!(line, at);
        assert!(text.contains(reason), "{text}");
        assert_eq!(acl.lines(), before);
    }
}
