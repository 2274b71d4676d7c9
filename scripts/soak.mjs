// npm run soak: `svc serve` under the loads that wear a server out, driven over HTTP. Prints a line a load; exit code 1 if one fails.
//   npm run soak -- --minutes 10             how long the mixed load at the end lasts (default 10; 0 leaves it out)
//   npm run soak -- --short                  a few seconds of each, as npm test runs it
//   npm run soak -- --only-mixed             without the loads before it
//   npm run soak -- --only-loads             without damaged checkpoints and fuzzed requests
//   npm run soak -- --only-mutations         damaged checkpoints alone, which need no server
//   npm run soak -- --mutations 2000         how many of them (default 500)
//   npm run soak -- --mutation 17            only number 17 of the seed; several with commas
//   npm run soak -- --mutated '^gguf-'       of the bases whose names match alone
//   npm run soak -- --only-fuzz              fuzzed requests alone, with a server of their own
//   npm run soak -- --fuzz 20000             how many of them (default 2000, in the short form 200)
//   npm run soak -- --request 17             only number 17 of the seed; several with commas
//   npm run soak -- --seed 7                 the same random requests and checkpoints again (default: drawn, and printed; 13 with --short)
//   npm run soak -- --model-path <folder>    another model than the shipped one

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort, startServer, streamChat, whenReady } from './server-child.mjs';
import { makeGoldens } from './setup/goldens.mjs';
import { root } from './setup/packages.mjs';
import { createClient } from './soak/client.mjs';
import { fuzzLoad } from './soak/fuzz.mjs';
import { MALFORMED, malformedBody } from './soak/malformed.mjs';
import { mixedLoad } from './soak/mixed.mjs';
import { mutationLoad } from './soak/mutate.mjs';

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    'only-mixed': { type: 'boolean', default: false },
    'only-loads': { type: 'boolean', default: false },
    'only-mutations': { type: 'boolean', default: false },
    mutations: { type: 'string' },
    mutation: { type: 'string' },
    mutated: { type: 'string' },
    'only-fuzz': { type: 'boolean', default: false },
    fuzz: { type: 'string' },
    request: { type: 'string' },
    'model-path': { type: 'string' },
  },
});
const short = options.short;
const minutes = Number(options.minutes ?? (short ? 0.15 : 10));
// The short form asks and opens the same each time.
const seed = Number(options.seed ?? (short ? 13 : Math.floor(Math.random() * 1e6)));
/** Clients of the mixed load. */
const CLIENTS = short ? 12 : 24;
const STREAMS = 64;
const ABORTS = short ? 50 : 200;
// ms, 99th percentile. The short form runs beside other work, where only a blocked event loop is news.
const LIVEZ_LIMIT = short ? 2000 : 20;
// s until all models are ready; all kernels of both that ship are compiled anew but in the short form.
const START_LIMIT = short ? 90 : 60;
const TOPICS = ['cats', 'Paris', 'the sea', 'Monday', 'iron', 'bread', 'the moon', 'seven'];

/** Greedy, so that the same request has one right answer. */
const requestFor = (i) => ({
  messages: [{ role: 'user', content: `Tell me about ${TOPICS[i % TOPICS.length]}.` }],
  temperature: 0,
  max_tokens: 24,
});

let base = '';
let failures = 0;
const singles = [];

const onlyMutations =
  options['only-mutations'] || options.mutation !== undefined || options.mutated !== undefined;
const onlyFuzz = options['only-fuzz'] || options.request !== undefined;
makeGoldens();
const onlyLoads = options['only-mixed'] || options['only-loads'];
if (!onlyLoads && !onlyFuzz) await load('mutated checkpoints', mutated);
if (!onlyLoads && !onlyMutations) await load('fuzzed requests', fuzzed);
if (onlyMutations || onlyFuzz) process.exit(failures > 0 ? 1 : 0);

const port = await freePort('127.0.0.1', 31000);
base = `http://127.0.0.1:${port}`;
/** Prompts are kept in files here, and in the long form the shaders, which makes its start a cold one. */
const isCold = !short && !options['only-mixed'];
const folder = mkdtempSync(join(tmpdir(), 'svc-soak-'));
const args = ['--port', String(port), '--enable-return-hidden-states', '--host-cache', '16MiB'];
// So few that sequences give their pages up for others, and the cache moves to its other tiers.
args.push('--max-total-tokens', '4096');
args.push('--log-level', 'warn', '--storage-cache', join(folder, 'prompts'), '--storage-cache-size', '64MiB');
if (options['model-path']) args.push('--model-path', options['model-path']);
let log = '';
let hasErred = false;
const server = startServer(args, {
  log(bytes) {
    log = (log + bytes).slice(-4000);
    hasErred ||= String(bytes).includes('[error]');
  },
  env: isCold ? { MESA_SHADER_CACHE_DIR: join(folder, 'shaders') } : {},
  preload: join(root, 'scripts/soak/probe.mjs'),
});
try {
  if (options['only-mixed']) await whenReady(base, server);
  else await load(`/livez during a ${isCold ? 'cold ' : ''}start`, startUp);
  await load(`${TOPICS.length} answers one by one`, oneByOne);
  if (!options['only-mixed']) {
    await load(`${STREAMS} streams at once equal them`, manyStreams);
    await load(`${ABORTS} streams given up by the client`, givenUp);
    await load('as many streams again', manyStreams);
    await load('/livez during a long prompt', longPrompt);
    await load(`${MALFORMED.length} bodies that are no request`, allMalformed);
  }
  if (minutes > 0) await load(`mixed load for ${minutes} minutes`, mixed);
  await load('SIGTERM ends it with code 0 and no error in its log', stopped);
  if (!short && !options['only-mixed']) await load('memory of loading 500 MB', loadLarge);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}
if (failures > 0) console.log(`What the server said:\n${log}`);
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

async function startUp() {
  const started = performance.now();
  let seconds = Infinity;
  const ready = whenReady(base, server).then(() => (seconds = (performance.now() - started) / 1000));
  const said = `ready after ${await livezDuring(ready).then((awake) => `${seconds.toFixed(1)} s, ${awake}`)}`;
  if (seconds > START_LIMIT) throw new Error(`${said}, allowed ${START_LIMIT} s`);
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

/** Requests /livez every 10 ms until `work` ends; the 99th percentile of its latency must stay below the limit. */
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

function mixed() {
  const answers = singles.map((text, i) => ({ text, body: requestFor(i) }));
  return mixedLoad({ base, server, minutes, clients: CLIENTS, seed, singles: answers });
}

/** The short form opens a few, one of each kind of mutation. */
async function mutated() {
  const only = options.mutation?.split(',').map(Number) ?? null;
  const count = Number(options.mutations ?? (short ? 42 : 500));
  const matching = new RegExp(options.mutated ?? '^');
  const tell = onlyMutations ? (line) => console.log(line) : undefined;
  return `seed ${seed}: ${await mutationLoad({ seed, count, only, few: short, matching, tell })}`;
}

function fuzzed() {
  const only = options.request?.split(',').map(Number) ?? null;
  const count = Number(options.fuzz ?? (short ? 200 : 2000));
  return fuzzLoad({ seed, count, only, judgesMemory: !short && only === null });
}

async function allMalformed() {
  const client = createClient(base);
  for (const body of MALFORMED) await malformedBody({ client }, body);
}

/** In a process of its own, which is over once it has been measured. */
function loadLarge() {
  const script = join(root, 'test/engine/load-500mb.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', './test/built.mjs', script], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stdout + stderr);
  return stdout.trim();
}

async function stopped() {
  const code = await server.stop();
  if (code !== 0) throw new Error(`the exit code was ${code}`);
  if (hasErred) throw new Error('its log has errors that nobody foresaw');
}
