//! Servers that are killed in the middle of their work.

use super::{JOB_WAIT, LOG, folder, start};
use crate::harness::{Client, Random, Server, Value};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

const WRITERS: usize = 4;
const ROUNDS: usize = 8;

/// Acknowledged writes between two rewrites of the log.
const STEPS_A_REWRITE: usize = 25;

/// With everysec, what was acknowledged longer ago than this has to be there: the second that is promised, and more
/// than any pause of a busy machine.
const EVERYSEC_LOSS_MAX: Duration = Duration::from_secs(5);

/// What one writer's two keys hold.
#[derive(Clone, Default, PartialEq, Debug)]
struct Model {
    board: BTreeMap<String, String>,
    text: Option<String>,
}

/// One request of a writer, which is one step of its data.
#[derive(Clone)]
enum Step {
    Add(String, String),
    Remove(String),
    Script(String, String),
    Transaction(String, String),
}

impl Step {
    fn random(random: &mut Random, number: usize) -> Step {
        let member = format!("m{}", random.below(30));
        let score = number.to_string();
        match random.below(4) {
            0 => Step::Add(member, score),
            1 => Step::Remove(member),
            2 => Step::Script(member, score),
            _ => Step::Transaction(member, score),
        }
    }

    fn apply(&self, model: &mut Model) {
        match self {
            Step::Remove(member) => {
                model.board.remove(member);
            }
            Step::Add(member, score) => {
                model.board.insert(member.clone(), score.clone());
            }
            Step::Script(member, score) | Step::Transaction(member, score) => {
                model.board.insert(member.clone(), score.clone());
                model.text = Some(score.clone());
            }
        }
    }

    /// The requests, and how many replies they have.
    fn requests(&self, writer: usize) -> (Vec<u8>, usize) {
        let (board, text) = (format!("board{writer}"), format!("text{writer}"));
        let request = |words: &[&str]| crate::harness::client::request(words);
        match self {
            Step::Add(member, score) => (request(&["ZADD", &board, score, member]), 1),
            Step::Remove(member) => (request(&["ZREM", &board, member]), 1),
            Step::Script(member, score) => {
                let script = "redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2]) redis.call('SET', KEYS[2], ARGV[1])";
                let words = ["EVAL", script, "2", &board, &text, score, member];
                (request(&words), 1)
            }
            Step::Transaction(member, score) => {
                let parts = [
                    request(&["MULTI"]),
                    request(&["ZADD", &board, score, member]),
                    request(&["SET", &text, score]),
                    request(&["EXEC"]),
                ];
                (parts.concat(), 4)
            }
        }
    }
}

/// What a writer knows when its server is gone.
struct Story {
    acknowledged: Model,
    in_flight: Option<Step>,
}

/// Writes until the server is gone.
fn write(
    client: &mut Client,
    writer: usize,
    mut random: Random,
    model: Model,
    done: &Sender<()>,
) -> Story {
    let mut story = Story {
        acknowledged: model,
        in_flight: None,
    };
    for number in 1.. {
        let step = Step::random(&mut random, number);
        let (bytes, replies) = step.requests(writer);
        story.in_flight = Some(step.clone());
        if client.stream().write_all(&bytes).is_err() {
            return story;
        }
        for _ in 0..replies {
            match client.try_read() {
                Ok(reply) => assert!(!reply.is_error(), "{reply:?}"),
                Err(_) => return story,
            }
        }
        step.apply(&mut story.acknowledged);
        story.in_flight = None;
        // Nobody counts any more when the server is being killed.
        let _ = done.send(());
    }
    story
}

/// What a server holds of a writer.
fn read(client: &mut Client, writer: usize) -> Model {
    let board = client.call(["ZRANGE", &format!("board{writer}"), "0", "-1", "WITHSCORES"]);
    let items = board.items();
    let pairs = items.chunks(2).map(|pair| (pair[0].text(), pair[1].text()));
    let text = match client.call(["GET", &format!("text{writer}")]) {
        Value::Bulk(text) => Some(String::from_utf8_lossy(&text).into_owned()),
        _ => None,
    };
    Model {
        board: pairs.collect(),
        text,
    }
}

/// Lets writers write to a server, which is killed when they have done enough.
fn round(server: Server, models: Vec<Model>, random: &mut Random, steps: usize) -> Vec<Story> {
    let (sender, done) = channel();
    std::thread::scope(|scope| {
        let writers: Vec<_> = models
            .into_iter()
            .enumerate()
            .map(|(writer, model)| {
                let mut client = server.client();
                let random = Random::new(random.next());
                let sender = sender.clone();
                scope.spawn(move || write(&mut client, writer, random, model, &sender))
            })
            .collect();
        let mut rewriter = server.client();
        for number in 0..steps {
            done.recv_timeout(JOB_WAIT).expect("the writers go on");
            if number % STEPS_A_REWRITE == 0 {
                // One under way is as good.
                rewriter.call(["BGREWRITEAOF"]);
            }
        }
        drop(server);
        let join = |writer: std::thread::ScopedJoinHandle<'_, Story>| {
            writer.join().expect("a writer ends with its server")
        };
        writers.into_iter().map(join).collect()
    })
}

#[test]
fn with_fsync_always_every_acknowledged_write_survives_kills_and_rewrites() {
    let folder = folder();
    let settings = [LOG, &["--appendfsync", "always"]].concat();
    let mut random = Random::new(Random::seed());
    let mut models = vec![Model::default(); WRITERS];
    for number in 0..ROUNDS {
        let server = start(folder.path(), &settings);
        let steps = 150 + random.below(200);
        let stories = round(server, models, &mut random, steps);
        models = verify(folder.path(), &settings, stories, number);
    }
}

/// Starts the server again and compares; what there is now.
fn verify(folder: &Path, settings: &[&str], stories: Vec<Story>, number: usize) -> Vec<Model> {
    let server = start(folder, settings);
    let mut client = server.client();
    let mut models = Vec::new();
    for (writer, story) in stories.into_iter().enumerate() {
        let found = read(&mut client, writer);
        let mut with_last = story.acknowledged.clone();
        if let Some(step) = &story.in_flight {
            step.apply(&mut with_last);
        }
        assert!(
            found == story.acknowledged || found == with_last,
            "round {number}, writer {writer}:\nfound {found:?}\nwanted {:?}\nor {with_last:?}",
            story.acknowledged
        );
        models.push(found);
    }
    models
}

#[test]
fn with_fsync_every_second_a_prefix_survives_and_nothing_old_is_missing() {
    let folder = folder();
    let server = start(folder.path(), LOG);
    let mut client = server.client();
    let mut acknowledged = Vec::new();
    let started = Instant::now();
    while started.elapsed() < EVERYSEC_LOSS_MAX + Duration::from_secs(1) {
        let number = acknowledged.len() + 1;
        let member = format!("m{number}");
        let reply = client.call(["ZADD", "board", &number.to_string(), &member]);
        assert_eq!(reply, Value::Integer(1));
        acknowledged.push(Instant::now());
    }
    let killed = Instant::now();
    drop(server);
    let old = acknowledged
        .iter()
        .filter(|&&when| killed.duration_since(when) > EVERYSEC_LOSS_MAX)
        .count();
    assert!(old > 0, "nothing was written early enough");
    let server = start(folder.path(), LOG);
    let mut client = server.client();
    let Value::Integer(found) = client.call(["ZCARD", "board"]) else {
        panic!("no board");
    };
    assert!(found as usize >= old, "{found} of {old} are there");
    // The first so many, and no others.
    let last = client.call(["ZRANGE", "board", "-1", "-1"]).items()[0].text();
    assert_eq!(last, format!("m{found}"));
}
