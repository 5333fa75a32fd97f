// What users of node-redis and ioredis do, against the server at 127.0.0.1:PORT: `node.mjs PORT`.
// The clients come from the folder in RANKD_NODE_PATH.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.RANKD_NODE_PATH, 'package.json'));
const { createClient } = require('redis');
const { Redis } = require('ioredis');

const port = Number(process.argv[2]);
const ADD = "return redis.call('ZINCRBY', KEYS[1], ARGV[1], ARGV[2])";
// The blocked client is another connection, so the server is asked until it counts it.
const untilBlocked = async (info) => {
  while (!/blocked_clients:1\r/.test(await info())) { /* each question is a round trip */ }
};

const nodeRedis = (RESP) => async () => {
  const client = await createClient({ socket: { port }, RESP }).connect();
  const other = await client.duplicate().connect();
  await client.flushAll();
  assert.equal(await client.zAdd('week', [{ score: 30, value: 'ann' }, { score: 25.5, value: 'bob' }]), 2);
  assert.equal(await client.zIncrBy('week', 10, 'bob'), 35.5);
  assert.deepEqual(await client.zRangeWithScores('week', 0, -1, { REV: true }), [{ value: 'bob', score: 35.5 }, { value: 'ann', score: 30 }]);
  assert.equal(await client.zRevRank('week', 'ann'), 1);
  assert.equal(await client.zScore('week', 'nobody'), null);
  assert.deepEqual(await client.multi().zCard('week').zScore('week', 'ann').exec(), [2, 30]);
  assert.deepEqual(await Promise.all(Array.from({ length: 500 }, (_, n) => client.incr(`n${n % 5}`))).then((all) => all.at(-1)), 100);
  assert.equal(Number(await client.eval(ADD, { keys: ['week'], arguments: ['1.5', 'ann'] })), 31.5);
  const sha = await client.scriptLoad(ADD);
  assert.equal(Number(await client.evalSha(sha, { keys: ['week'], arguments: ['1', 'ann'] })), 32.5);
  await assert.rejects(client.sendCommand(['ZADD', 'week', 'x', 'm']), /not a valid float/);
  const popped = other.bzPopMin('queue', 10);
  await untilBlocked(() => client.info('clients'));
  await client.zAdd('queue', { score: 1, value: 'job' });
  assert.deepEqual({ ...(await popped) }, { key: 'queue', value: 'job', score: 1 });
  const heard = new Promise((resolve) => other.subscribe('news', resolve).then(() => client.publish('news', 'hello')));
  assert.equal(await heard, 'hello');
  const names = [];
  for await (const keys of client.scanIterator({ MATCH: 'n*' })) names.push(...keys);
  assert.equal(names.length, 5);
  await client.hSet('player', { name: 'ann', level: 3 });
  assert.deepEqual({ ...(await client.hGetAll('player')) }, { name: 'ann', level: '3' });
  await other.close();
  await client.close();
};

const ioredis = async () => {
  const client = new Redis({ port });
  const other = client.duplicate();
  await client.flushall();
  assert.equal(await client.zadd('week', 30, 'ann', 25.5, 'bob'), 2);
  assert.equal(await client.zincrby('week', 10, 'bob'), '35.5');
  assert.deepEqual(await client.zrevrange('week', 0, -1, 'WITHSCORES'), ['bob', '35.5', 'ann', '30']);
  assert.equal(await client.zscore('week', 'nobody'), null);
  assert.deepEqual(await client.multi().zcard('week').zscore('week', 'ann').exec(), [[null, 2], [null, '30']]);
  const pipeline = client.pipeline();
  for (let n = 0; n < 500; n++) pipeline.incr('n');
  assert.deepEqual((await pipeline.exec()).at(-1), [null, 500]);
  client.defineCommand('add', { numberOfKeys: 1, lua: ADD });
  assert.equal(await client.add('week', '1.5', 'ann'), '31.5');
  assert.equal(await client.add('week', '1', 'ann'), '32.5');
  await assert.rejects(client.zadd('week', 'x', 'm'), /not a valid float/);
  const popped = other.bzpopmin('queue', 10);
  await untilBlocked(() => client.info('clients'));
  await client.zadd('queue', 1, 'job');
  assert.deepEqual(await popped, ['queue', 'job', '1']);
  const heard = new Promise((resolve) => other.on('message', (_, text) => resolve(text)));
  assert.equal(await other.subscribe('news'), 1);
  await client.publish('news', 'hello');
  assert.equal(await heard, 'hello');
  assert.deepEqual(await client.scan(0, 'MATCH', 'wee*', 'COUNT', 1000), ['0', ['week']]);
  await client.set(Buffer.from([0, 255]), Buffer.from([13, 10, 0]));
  assert.deepEqual(await client.getBuffer(Buffer.from([0, 255])), Buffer.from([13, 10, 0]));
  other.disconnect();
  await client.quit();
};

let passed = 0;
let failed = 0;
for (const [name, play] of [['node-redis over RESP2', nodeRedis(2)], ['node-redis over RESP3', nodeRedis(3)], ['ioredis', ioredis]]) {
  // A client that waits for a lost reply would wait for ever.
  const late = setTimeout(() => { console.log(`   FAILED  ${name}: no end after 60 s`); process.exit(1); }, 60_000);
  try {
    await play();
    passed++;
  } catch (error) {
    failed++;
    console.log(`   FAILED  ${name}: ${error.stack.split('\n').slice(0, 12).join('\n')}`);
  }
  clearTimeout(late);
}
console.log(`node clients: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
