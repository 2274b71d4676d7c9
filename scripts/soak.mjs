// npm run soak: `svc serve` under the loads that wear a server out, driven over HTTP. Prints a line a load; exit code 1 if one fails.
//   npm run soak -- --minutes 30             how long the mixed load at the end lasts (default 30; 0 leaves it out)
//   npm run soak -- --short                  a minute or two in all, as npm test runs it
//   npm run soak -- --model-path <folder>    another model than the shipped one

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort, startServer, streamChat, whenReady } from './server-child.mjs';
import { root } from './setup/packages.mjs';

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    'model-path': { type: 'string' },
  },
});
const short = options.short;
const minutes = Number(options.minutes ?? (short ? 0 : 30));
const STREAMS = 64;
const ABORTS = short ? 50 : 200;
// ms, 99th percentile. The short form runs beside other work, where only a blocked event loop is news.
const LIVEZ_LIMIT = short ? 250 : 20;
// s until the first request is answered, all kernels compiled anew.
const COLD_LIMIT = short ? 90 : 30;
const TOPICS = ['cats', 'Paris', 'the sea', 'Monday', 'iron', 'bread', 'the moon', 'seven'];

const user = (content) => [{ role: 'user', content }];
/** None of these is a request; each must be refused in the terms of the interface. */
const MALFORMED = [
  ...['', '{', '[]', 'null', '"text"', '{"messages":[]}', '{"messages":"hi"}', '\u0000', '[['.repeat(50_000)],
  ...[null, 7, [], [null], [{}], [{ role: 'user' }], [{ role: 'robot', content: 'x' }]].map((messages) =>
    JSON.stringify({ model: 'default', messages }),
  ),
  ...[
    { max_tokens: -1 },
    { temperature: 'hot' },
    { n: 1e9 },
    { stop: [''] },
    { logit_bias: { x: 1 } },
    { model: 'nobody' },
    { messages: user([{ type: 'image_url', image_url: { url: 'http://localhost/x' } }]) },
    { messages: user('x'.repeat(2 ** 20)) },
  ].map((field) => JSON.stringify({ model: 'default', messages: user('hi'), ...field })),
];

/** Greedy, so that the same request has one right answer. */
const requestFor = (i) => ({
  messages: [{ role: 'user', content: `Tell me about ${TOPICS[i % TOPICS.length]}.` }],
  temperature: 0,
  max_tokens: 24,
});

let base = '';
let failures = 0;
const singles = [];

const port = await freePort('127.0.0.1', 31000);
base = `http://127.0.0.1:${port}`;
// A cache of its own makes the start a cold one.
const shaderCache = mkdtempSync(join(tmpdir(), 'svc-soak-'));
let log = '';
const server = startServer(
  ['--port', String(port), ...(options['model-path'] ? ['--model-path', options['model-path']] : [])],
  {
    log: (bytes) => (log = (log + bytes).slice(-2000)),
    env: { MESA_SHADER_CACHE_DIR: shaderCache },
  },
);
try {
  await load('/livez during a cold start', coldStart);
  await load(`${TOPICS.length} answers one by one`, oneByOne);
  await load(`${STREAMS} streams at once equal them`, manyStreams);
  await load(`${ABORTS} streams given up by the client`, givenUp);
  await load('as many streams again', manyStreams);
  await load('/livez during a long prompt', longPrompt);
  await load(`${MALFORMED.length} bodies that are no request`, allMalformed);
  if (minutes > 0) await load(`mixed load for ${minutes} minutes`, mixedLoad);
  await load('SIGTERM ends it with code 0', stopped);
  if (!short) await load('memory of loading 500 MB', loadLarge);
} finally {
  await server.stop();
  rmSync(shaderCache, { recursive: true });
}
if (failures > 0) console.log(`The server's last lines:\n${log}`);
process.exitCode = failures > 0 ? 1 : 0;

/** Runs one load; its value, if it has one, is a remark for the line. */
async function load(name, run) {
  const started = performance.now();
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(1)} s`;
  try {
    const remark = await run();
    console.log(`ok      ${name}: ${seconds()}${remark ? `, ${remark}` : ''}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED  ${name}: ${seconds()}, ${error.message}`);
  }
}

async function coldStart() {
  const started = performance.now();
  let seconds = Infinity;
  const ready = whenReady(base, server).then(() => (seconds = (performance.now() - started) / 1000));
  const said = `ready after ${await livezDuring(ready).then((awake) => `${seconds.toFixed(1)} s, ${awake}`)}`;
  if (seconds > COLD_LIMIT) throw new Error(`${said}, allowed ${COLD_LIMIT} s`);
  return said;
}

async function oneByOne() {
  for (let i = 0; i < TOPICS.length; i++) singles.push(await streamChat(base, requestFor(i)));
}

async function manyStreams() {
  const texts = await Promise.all(Array.from({ length: STREAMS }, (_, i) => streamChat(base, requestFor(i))));
  const wrong = texts.findIndex((text, i) => text !== singles[i % TOPICS.length]);
  if (wrong >= 0)
    throw new Error(
      `stream ${wrong} said ${JSON.stringify(texts[wrong])}, alone ${JSON.stringify(singles[wrong % TOPICS.length])}`,
    );
}

async function givenUp() {
  const chosen = Array.from({ length: ABORTS }, (_, i) => i);
  // 16 clients, each leaving after 0 to 5 pieces of text.
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let i = chosen.pop(); i !== undefined; i = chosen.pop()) await giveUp(i, i % 6);
    }),
  );
}

async function giveUp(i, pieces) {
  const client = new AbortController();
  let seen = 0;
  if (pieces === 0) setTimeout(() => client.abort(), 5);
  const onText = () => ++seen > pieces && client.abort();
  await streamChat(base, { ...requestFor(i), max_tokens: 200 }, { signal: client.signal, onText }).catch(
    (error) => {
      if (error.name !== 'AbortError') throw error;
    },
  );
}

async function longPrompt() {
  const { data } = await (await fetch(`${base}/v1/models`)).json();
  const tokens = Math.min(2000, data[0].max_model_len / 2);
  // At most a token a character, whatever the tokenizer.
  const content = 'the quick brown fox jumps over the lazy dog. '.repeat(99).slice(0, tokens);
  return livezDuring(
    streamChat(base, { messages: [{ role: 'user', content }], temperature: 0, max_tokens: 4 }),
  );
}

/** Asks /livez every 10 ms until `work` ends; the 99th percentile must keep below the limit. */
async function livezDuring(work) {
  const times = [];
  const state = { over: false };
  const finished = work.finally(() => (state.over = true));
  while (!state.over) {
    const asked = performance.now();
    const reply = await fetch(`${base}/livez`).catch(() => null); // null: the port is not open yet
    await reply?.arrayBuffer();
    if (reply?.ok) times.push(performance.now() - asked);
    await sleep(10);
  }
  await finished;
  const p99 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)];
  const said = `p99 ${p99?.toFixed(1)} ms of ${times.length}`;
  if (!(p99 <= LIVEZ_LIMIT)) throw new Error(`${said}, allowed ${LIVEZ_LIMIT} ms`);
  return said;
}

/** Clients of every kind at once; whoever asks greedily gets the same text as ever, and memory does not grow. */
async function mixedLoad() {
  const end = Date.now() + minutes * 60_000;
  const count = { right: 0, refused: 0, left: 0, free: 0 };
  const rss = [];
  const client = async (seed) => {
    for (let i = seed; Date.now() < end; i += 7) {
      if (i % 5 === 0) count.left += (await giveUp(i, i % 3), 1);
      else if (i % 5 === 1) count.refused += (await malformed(MALFORMED[i % MALFORMED.length]), 1);
      else if (i % 5 === 2)
        count.free += (await streamChat(base, { ...requestFor(i), temperature: 1, seed: i }), 1);
      else {
        const text = await streamChat(base, requestFor(i));
        if (text !== singles[i % TOPICS.length])
          throw new Error(
            `said ${JSON.stringify(text)}, alone ${JSON.stringify(singles[i % TOPICS.length])}`,
          );
        count.right += 1;
      }
    }
  };
  const watch = async () => {
    for (; Date.now() < end; await sleep(2000)) rss.push(residentMegabytes(server.pid));
  };
  await Promise.all([watch(), ...Array.from({ length: 24 }, (_, i) => client(i))]);
  const [early, late] = [rss[Math.floor(rss.length / 5)], rss.at(-1)];
  const said = `${JSON.stringify(count)}, memory ${early} to ${late} MB`;
  if (late > early * 1.2 + 32) throw new Error(said);
  return said;
}

async function allMalformed() {
  for (const body of MALFORMED) await malformed(body);
}

async function malformed(body) {
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(`${base}/v1/chat/completions`, { method: 'POST', headers, body });
  const { error } = await reply.json();
  const envelope = ['message', 'type', 'param', 'code'].every((name) => name in (error ?? {}));
  if (reply.status < 400 || reply.status > 499 || !envelope)
    throw new Error(`${body.slice(0, 100)} was answered with ${reply.status}: ${JSON.stringify(error)}`);
}

/** In a process of its own, which is over once it has been measured. */
function loadLarge() {
  const script = join(root, 'test/engine/load-500mb.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', script], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stdout + stderr);
  return stdout.trim();
}

/** Resident memory, where the system tells (Linux); 0 elsewhere. */
function residentMegabytes(pid) {
  if (process.platform !== 'linux') return 0;
  return Math.round(Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) / 1024);
}

async function stopped() {
  const code = await server.stop();
  if (code !== 0) throw new Error(`the exit code was ${code}`);
}
