// The mixed load: clients of every kind at once, in rounds. After each round nothing may run and no page may be held, and what
// memory is left in use then is the measure for leaks.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHAT_LOADS } from './chat-loads.mjs';
import { createClient, createRandom, Refused } from './client.mjs';
import { CONSTRAINED_LOADS } from './constrained-loads.mjs';
import { createFuzz } from './fuzz-requests.mjs';
import { askFuzzed } from './fuzz-ask.mjs';
import { IMAGE_LOADS } from './image-loads.mjs';
import { MALFORMED, malformedBody } from './malformed.mjs';
import { measured, partsText } from './memory.mjs';
import { OTHER_LOADS } from './other-loads.mjs';

const ROUND = 30; // s
const MOST_FAILURES = 12; // shown before it gives up
const SETTLE = 20_000; // milliseconds until no request runs
/** Least number of rounds for measuring a slope. The first third of all rounds is not counted, because caches of grammars and pages fill then. */
const LATE_ROUNDS = 8;
/** Highest growth in MB per minute that passes; resident memory may grow more, because allocators keep freed memory. */
const LIMITS = { heap: 1, rss: 12 };

/** `minutes` of it with so many clients; returns a remark. */
export async function mixedLoad({ base, server, minutes, clients, seed, singles }) {
  const client = createClient(base);
  const { models } = await client.get('/server_info');
  const hasImages = models.some(({ kind }) => kind === 'image');
  const loads = {
    ...CHAT_LOADS,
    ...CONSTRAINED_LOADS,
    ...OTHER_LOADS,
    ...fuzzLoads(createFuzz(await client.get('/openapi.json'), seed)),
    ...(hasImages && IMAGE_LOADS),
  };
  const names = Object.keys(loads);
  const counts = Object.fromEntries(names.map((name) => [name, 0]));
  let refused = 0;
  const failures = [];
  const samples = [];
  const end = performance.now() + minutes * 60_000;
  const drive = async (number, until) => {
    const random = createRandom(seed + number * 7919 + samples.length * 104_729);
    while (performance.now() < until && failures.length < MOST_FAILURES) {
      // An image takes long, and the server draws one at a time.
      const kinds =
        number === 0 && hasImages ? Object.keys(IMAGE_LOADS) : names.filter((name) => !(name in IMAGE_LOADS));
      const name = random.pick(kinds);
      const at = { base, client, random, singles, hasImages, said: null };
      await loads[name](at).catch((error) => {
        if (error instanceof Refused) refused += 1;
        else failures.push(explained(error, name, at.said));
      });
      counts[name] += 1;
    }
  };

  while (performance.now() < end && failures.length < MOST_FAILURES) {
    const until = Math.min(end, performance.now() + ROUND * 1000);
    await Promise.all(Array.from({ length: clients }, (_, number) => drive(number, until)));
    await settled(client).catch((error) => failures.push(explained(error, 'after a round', null)));
    samples.push({ minute: (performance.now() - end) / 60_000 + minutes, ...(await measured(server)) });
  }
  if (failures.length > 0)
    throw new Error(`${failures.length} failures, seed ${seed}\n${failures.join('\n')}`);
  const requests = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const kinds = names.filter((name) => counts[name] > 0).length;
  const after = (await client.get('/server_info')).models.find(({ kind }) => kind === 'text').metrics;
  return [
    `${requests} requests of ${kinds} kinds, ${refused} refused`,
    `${after.retractions} retractions, ${Math.round(100 * after.cache.hitRate)} % of prompts cached`,
    memoryText(samples),
    `seed ${seed}`,
  ].join('; ');
}

/** A load of fuzzed requests, sent between the requests of the other loads. */
const fuzzLoads = (fuzz) => ({
  fuzzed: async (at) => {
    const request = fuzz(at.random.int(2 ** 31));
    at.said = request.about;
    await askFuzzed(at.base, request);
  },
  malformedBody: (at) => malformedBody(at, at.random.pick(MALFORMED)),
});

function explained(error, name, said) {
  const text = JSON.stringify(said) ?? '';
  const where = /scripts\/soak\/[\w-]+\.mjs:\d+/.exec(error.stack ?? '')?.[0] ?? '';
  const why = error.cause ? ` (${error.cause.code ?? error.cause.message})` : '';
  return `        ${name}: ${error.message.replaceAll('\n', ' ')}${why} (${where}): ${text.slice(0, 1500)}`;
}

/** Waits until no request runs, and checks that no page is in use, and that the cache has none after it is flushed. */
async function settled(client) {
  const deadline = performance.now() + SETTLE;
  const texts = async () => {
    const info = await client.get('/server_info');
    return {
      open: info.open_replies,
      all: info.models.filter(({ kind }) => kind === 'text').map(({ metrics }) => metrics),
    };
  };
  for (;;) {
    const { open, all } = await texts();
    // The one that asks is open.
    if (open === 1 && all.every(({ running, waiting, pages }) => running + waiting + pages.used === 0)) break;
    assert.ok(
      performance.now() < deadline,
      `after all clients have left: ${open - 1} replies open, ${JSON.stringify(all)}`,
    );
    await sleep(50);
  }
  assert.deepEqual(await client.post('/flush_cache', {}), { flushed: true });
  for (const { pages, cache } of (await texts()).all)
    assert.equal(pages.used + pages.cached + cache.hostBytes.used, 0, 'pages are held after a flush');
}

/** Slopes over what comes after the first third, in which caches fill, where there are enough of them. Throws where one is a leak's. */
function memoryText(samples) {
  const late = samples.slice(Math.ceil(samples.length / 3));
  const said = ['heap', 'rss'].map((name) => {
    const [first, last] = [samples[0], samples.at(-1)];
    const range = `${name} ${first[name].toFixed(0)} to ${last[name].toFixed(0)} MB`;
    if (late.length < LATE_ROUNDS) return [range, false];
    const slope = slopeOf(late.map((sample) => [sample.minute, sample[name]]));
    return [`${range}, ${slope.toFixed(2)} MB a minute after the first third`, slope > LIMITS[name]];
  });
  const files = samples.map((sample) => sample.files);
  const text = [...said.map(([part]) => part), `${files[0]} to ${files.at(-1)} files open`].join('; ');
  if (said.some(([, isLeak]) => isLeak))
    throw new Error(`memory grows: ${text}; heap after each round:\n${partsText(samples)}`);
  return text;
}

/** Least squares. */
function slopeOf(points) {
  const mean = (at) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const above = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return above / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}
