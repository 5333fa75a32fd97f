"""What redis-py users do, against the server at 127.0.0.1:PORT: `redis_py.py PORT`.

Everything runs once over RESP2 and once over RESP3, from an empty memory.
"""

import sys
import threading

import redis

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


@check
def boards(r):
    assert r.zadd("week", {"ann": 30, "bob": 25.5, "cid": 25.5}) == 3
    assert r.zincrby("week", 4.5, "bob") == 30.0
    assert r.zrevrange("week", 0, -1, withscores=True)[0][0] == "bob"
    assert [name for name, _ in r.zrange("week", 0, 1, desc=True, withscores=True)] == ["bob", "ann"]
    assert r.zrevrank("week", "cid") == 2
    assert r.zscore("week", "cid") == 25.5
    assert r.zscore("week", "nobody") is None
    assert r.zmscore("week", ["ann", "nobody"]) == [30.0, None]
    assert r.zrangebyscore("week", "(25.5", "+inf") == ["ann", "bob"]
    assert r.zcount("week", 0, 30) == 3
    assert r.zadd("week", {"ann": 1}, gt=True, ch=True) == 0
    assert r.zunionstore("month", {"week": 2}) == 3
    assert r.zpopmax("month") is not None
    assert [name for name, _ in r.zscan_iter("month")] != []
    r.zadd("large", {f"player:{n}": n for n in range(3000)})
    assert len({name for name, _ in r.zscan_iter("large", count=100)}) == 3000


@check
def keys_and_strings(r):
    assert r.set("name", "ann", ex=100, nx=True) is True
    assert r.set("name", "bob", nx=True) is None
    assert 0 < r.ttl("name") <= 100
    assert r.incrbyfloat("count", 1.5) == 1.5
    assert r.mget("name", "nobody") == ["ann", None]
    assert r.hset("player", mapping={"name": "ann", "level": 3}) == 2
    assert r.hgetall("player") == {"name": "ann", "level": "3"}
    assert sorted(r.scan_iter(count=1)) == ["count", "name", "player"]
    assert r.delete("name", "count") == 2
    raw = redis.Redis(port=r.connection_pool.connection_kwargs["port"])
    raw.set(b"\x00\xff", b"\r\n\x00")
    assert raw.get(b"\x00\xff") == b"\r\n\x00"
    raw.close()


@check
def pipelines_and_transactions(r):
    with r.pipeline(transaction=False) as pipe:
        for score in range(500):
            pipe.zadd("board", {f"m{score}": score})
        assert sum(pipe.execute()) == 500
    with r.pipeline() as pipe:
        pipe.watch("board")
        top = pipe.zcard("board")
        pipe.multi()
        pipe.zadd("board", {"last": top})
        pipe.zrank("board", "last")
        assert pipe.execute() == [1, 500]
    with r.pipeline() as pipe:
        pipe.watch("board")
        r.zincrby("board", 1, "last")
        pipe.multi()
        pipe.zcard("board")
        try:
            pipe.execute()
            raise AssertionError("a watched key had changed")
        except redis.WatchError:
            pass


@check
def scripts(r):
    add = r.register_script("return redis.call('ZINCRBY', KEYS[1], ARGV[1], ARGV[2])")
    assert add(keys=["board"], args=[2.5, "ann"]) in ("2.5", 2.5)
    r.script_flush()
    assert add(keys=["board"], args=[2.5, "ann"]) in ("5", 5.0)
    assert r.script_exists(add.sha) == [True]
    assert r.eval("return {1, 'two', false}", 0) == [1, "two", None]
    try:
        r.eval("return redis.call('ZADD', KEYS[1], 'x', 'm')", 1, "board")
        raise AssertionError("the script had an error")
    except redis.ResponseError as error:
        assert "not a valid float" in str(error)


@check
def errors(r):
    r.set("name", "ann")
    for call in (lambda: r.zadd("name", {"a": 1}), lambda: r.execute_command("NOSUCH"), lambda: r.execute_command("GET")):
        try:
            call()
            raise AssertionError("an error was due")
        except redis.ResponseError:
            pass


@check
def waiting(r):
    found = []
    waiter = threading.Thread(target=lambda: found.append(r.bzpopmin("queue", timeout=10)))
    waiter.start()
    while r.info("clients")["blocked_clients"] == 0:
        pass
    r.zadd("queue", {"job": 1})
    waiter.join()
    assert list(found[0]) == ["queue", "job", 1.0]
    assert r.bzpopmax("queue", timeout=0.01) is None


@check
def messages(r):
    pubsub = r.pubsub()
    pubsub.subscribe("news")
    pubsub.psubscribe("n*")
    seen = [pubsub.get_message(timeout=10) for _ in range(2)]
    assert [message["type"] for message in seen] == ["subscribe", "psubscribe"]
    assert r.publish("news", "hello") == 2
    seen = [pubsub.get_message(timeout=10) for _ in range(2)]
    assert sorted(message["type"] for message in seen) == ["message", "pmessage"]
    assert all(message["data"] == "hello" for message in seen)
    pubsub.close()


@check
def server(r):
    assert r.ping()
    assert r.info()["redis_version"]
    assert r.config_get("maxmemory*")["maxmemory"] == "0"
    assert r.client_id() > 0
    assert r.client_setname("tests") and r.client_getname() == "tests"
    assert any(client["name"] == "tests" for client in r.client_list())
    assert r.command_count() > 100
    assert r.object("encoding", "nobody") is None
    assert r.dbsize() == 0
    assert r.time()[0] > 1_000_000_000


def main():
    port = int(sys.argv[1])
    passed = failed = 0
    for protocol in (2, 3):
        for function in CHECKS:
            with redis.Redis(port=port, protocol=protocol, decode_responses=True) as r:
                r.flushall()
                try:
                    function(r)
                    passed += 1
                except Exception as error:
                    failed += 1
                    at = error.__traceback__
                    while at.tb_next and at.tb_next.tb_frame.f_code.co_filename == __file__:
                        at = at.tb_next
                    print(f"   FAILED  {function.__name__} (RESP{protocol}), line {at.tb_lineno}: {type(error).__name__}: {error}")
    print(f"redis-py: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
