// The fuzz load: requests that no client should send, over all routes and all their fields, by several clients at once, to a server of
// its own. Each is answered in its interface's terms, in time and never with an error of ours; the server goes on answering, a small
// grammar waits for nobody, and memory stays after the first half.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, startServer, whenReady } from '../server-child.mjs';
import { root } from '../setup/packages.mjs';
import { askFuzzed } from './fuzz-ask.mjs';
import { createFuzz } from './fuzz-requests.mjs';
import { measured, partsText } from './memory.mjs';

const CLIENTS = 8;
const MOST_FAILURES = 12;
/** Number of parts that the requests are divided into. Memory is measured after each part and compared from the end of the warm-up on. */
const ROUNDS = 12;
const WARM_UP = 6;
const GROWTH = 1.1;
/** Milliseconds after which the threads for slow grammars have ended. */
const IDLE = 12_000;
/** The threads that live as long as the server: its own and one a model. */
const LASTING = /thread [0-3]$/;
/** Milliseconds: /livez at any time, and a small grammar that is always a new one; the short form runs beside other work. */
const ALIVE_LIMIT = 5000;
const GRAMMAR_LIMIT = { short: 5000, long: 1000 };

const MODELS = ['models/svc-chat-mini', 'models/svc-scenes-mini', 'test/golden/embedding/bert'];
const ARGS = [
  ...MODELS.flatMap((path) => ['--model-path', join(root, path)]),
  ...['--lora-dir', join(root, 'test/golden/lora'), '--host-cache', '16MiB', '--max-total-tokens', '4096'],
  ...['--enable-return-hidden-states', '--enable-custom-logit-processor', '--log-level', 'warn'],
];

/** `only`: these numbers of the seed alone, one after the other. Returns a remark. */
export async function fuzzLoad({ seed, count, only = null, judgesMemory }) {
  const port = await freePort('127.0.0.1', 31500);
  const base = `http://127.0.0.1:${port}`;
  let log = '';
  const server = startServer(['--port', String(port), ...ARGS], {
    log: (bytes) => (log = (log + bytes).slice(-4000)),
    preload: join(root, 'scripts/soak/probe.mjs'),
  });
  const over = new AbortController();
  try {
    await whenReady(base, server);
    const watched = watch(base, over.signal, GRAMMAR_LIMIT[judgesMemory ? 'long' : 'short']);
    const fuzz = createFuzz(await (await fetch(`${base}/openapi.json`)).json(), seed);
    const told = await rounds({
      base,
      server,
      fuzz,
      seed,
      numbers: only ?? [...Array(count).keys()],
      judgesMemory,
    });
    over.abort();
    const waits = await watched;
    assert.equal(await server.stop(), 0, 'the exit code');
    return `${told}; ${waits}; seed ${seed}`;
  } catch (error) {
    throw new Error(`${error.message}\nWhat the server said:\n${log}`, { cause: error });
  } finally {
    over.abort();
    await server.stop();
  }
}

async function rounds({ base, server, fuzz, seed, numbers, judgesMemory }) {
  const failures = [];
  const samples = [];
  const statuses = {};
  let longest = { ms: 0, number: -1 };
  const drive = async (waiting) => {
    for (
      let number = waiting.pop();
      number !== undefined && failures.length < MOST_FAILURES;
      number = waiting.pop()
    ) {
      const request = fuzz(number);
      const began = performance.now();
      try {
        const status = (await askFuzzed(base, request)) ?? 'none';
        statuses[status] = (statuses[status] ?? 0) + 1;
      } catch (error) {
        const about = JSON.stringify(request.about).slice(0, 900);
        failures.push(`        request ${number}: ${error.message} ${about}`);
      }
      const ms = performance.now() - began;
      if (ms > longest.ms) longest = { ms, number };
      assert.ok(
        !server.left,
        `the server ended at request ${number}: ${JSON.stringify(request.about).slice(0, 900)}`,
      );
    }
  };
  const size = Math.ceil(numbers.length / ROUNDS);
  for (let from = 0; from < numbers.length && failures.length === 0; from += size) {
    const waiting = numbers.slice(from, from + size).toReversed();
    await Promise.all(Array.from({ length: Math.min(CLIENTS, waiting.length) }, () => drive(waiting)));
    if (!judgesMemory) continue;
    const isCompared = samples.length === WARM_UP - 1 || from + size >= numbers.length;
    if (isCompared) await sleep(IDLE);
    samples.push(await settledMemory(base, server));
  }
  if (failures.length > 0)
    throw new Error(`${failures.length} failures, seed ${seed}\n${failures.join('\n')}`);
  const answers = Object.entries(statuses).map(([status, times]) => `${times} x ${status}`);
  return [
    `${numbers.length} requests: ${answers.join(', ')}`,
    `the longest ${(longest.ms / 1000).toFixed(1)} s (number ${longest.number})`,
    ...(judgesMemory ? [memoryText(samples)] : []),
  ].join('; ');
}

/** Memory of the process once its caches are flushed, which have bounds of their own. Threads for grammars come and go: they do not count. */
async function settledMemory(base, server) {
  const flushed = async () => (await fetch(`${base}/flush_cache`, { method: 'POST' })).ok;
  for (let times = 0; times < 50 && !(await flushed()); times++) await sleep(100);
  const { rss, parts, ...rest } = await measured(server);
  const lasting = Object.entries(parts).filter(([name]) => LASTING.test(name));
  return { ...rest, parts, rss, heap: lasting.reduce((sum, [, part]) => sum + part, 0) };
}

/** Throws where memory after the warm-up has grown by more than a tenth. */
function memoryText(samples) {
  const [before, after] = [samples[WARM_UP - 1], samples.at(-1)];
  const text = ['rss', 'heap']
    .map((name) => `${name} ${before[name].toFixed(0)} to ${after[name].toFixed(0)} MB after the warm-up`)
    .join(', ');
  if (after.rss > GROWTH * before.rss || after.heap > GROWTH * before.heap)
    throw new Error(
      `memory grows: ${text}; rss ${samples.map(({ rss }) => rss.toFixed(0)).join(' ')}; heap:\n${partsText(samples)}`,
    );
  return text;
}

/** Asks all the time whether the server lives and whether a small grammar is compiled; the longest waits as text. */
async function watch(base, signal, grammarLimit) {
  const longest = { alive: 0, grammar: 0 };
  const ask = async (name, limit, path, init) => {
    const began = performance.now();
    const reply = await fetch(base + path, { ...init, signal: AbortSignal.timeout(limit) }).catch((error) =>
      assert.fail(`${path} during the fuzz: ${error.message}`),
    );
    const text = await reply.text();
    assert.ok(reply.status === 200, `${path} during the fuzz: ${reply.status} ${text}`);
    longest[name] = Math.max(longest[name], performance.now() - began);
  };
  for (let at = 0; !signal.aborted; at++) {
    await ask('alive', ALIVE_LIMIT, '/livez');
    const body = { model: 'default', prompt: 'x', max_tokens: 1, regex: `a${at}b?`, temperature: 0 };
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    await ask('grammar', grammarLimit, '/v1/completions', init);
    await sleep(200, undefined, { signal }).catch(() => {});
  }
  return `/livez within ${longest.alive.toFixed(0)} ms, a token held to a new grammar within ${longest.grammar.toFixed(0)} ms`;
}
