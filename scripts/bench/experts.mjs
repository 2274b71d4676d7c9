// Cost of experts in host memory: one synthetic mixture with all experts on the device, with slots for a quarter and for half of them, and with whole
// layers in host memory in the budgets of those two, in turns in one process. Prints JSON.
//   node scripts/bench/experts.mjs [ROUNDS]

import { TEXT } from '../../dist/host/kinds/text.js';
import { openInline } from '../../dist/host/open.js';
import { nodePlatform } from '../../dist/host/node/platform.js';
import { throttlePolling } from '../../dist/gpu/polling.js';
import { gptOssCheckpoint } from './gpt-oss.mjs';

const EXPERTS = 32;
const CONTEXT = 512;
const PROMPT = 96;
const TOKENS = 24;
const SHARES = { quarter: 1 / 4, half: 1 / 2 };

const rounds = Number(process.argv[2] ?? 3);
throttlePolling();
const shared = {
  model: gptOssCheckpoint(),
  contextLength: CONTEXT,
  maxTotalTokens: CONTEXT,
  prefixCache: false,
};
const open = (options) => openInline(TEXT, nodePlatform, { ...shared, maxRunningRequests: 4, ...options });

const models = { device: await open({ memoryBudget: 4 * 2 ** 30 }) };
for (const [name, share] of Object.entries(SHARES)) {
  models[name] = await open({ memoryBudget: 4 * 2 ** 30, cpuMoe: true, cpuMoeSlots: share * EXPERTS });
  const { weights, kv, arena } = models[name].info.memory;
  const memoryBudget = Math.ceil(1.01 * (weights + kv + arena));
  models[`layers, budget of ${name}`] = await open({ memoryBudget, layerwiseOffload: true });
}

const ways = Object.keys(models);
const took = Object.fromEntries(ways.map((way) => [way, { prompt: [], token: [] }]));
const replies = {};
for (let round = -1; round < rounds; round++) {
  for (const way of ways) {
    const { prompt, token, ids } = await reply(models[way], round);
    replies[round] ??= ids;
    if (ids !== replies[round]) throw new Error(`${way} changed the reply`);
    // The first round compiles kernels and fills slots.
    if (round < 0) continue;
    took[way].prompt.push(prompt);
    took[way].token.push(token);
  }
}
const least = (times, key) => Math.min(...times.map((time) => time[key]));
const ratios = (way, phase) =>
  Object.fromEntries(
    ['wall', 'cpu'].map((key) => [key, least(took[way][phase], key) / least(took.device[phase], key)]),
  );
const results = {};
for (const way of ways) {
  const { experts } = await models[way].metrics();
  const { weights, kv, arena } = models[way].info.memory;
  results[way] = {
    bytes: weights + kv + arena,
    prompt: ratios(way, 'prompt'),
    token: ratios(way, 'token'),
    ...(experts && { hitRate: experts.hits / (experts.hits + experts.misses), copied: experts.bytes }),
  };
}
const device = { promptMs: least(took.device.prompt, 'wall'), tokenMs: least(took.device.token, 'wall') };
for (const model of Object.values(models)) await model.close();
process.stdout.write(`${JSON.stringify({ device, results }, null, 2)}\n`, () => process.exit());

/** Milliseconds of a prompt, and of each token after it, by the clock and of all cores. */
async function reply(model, round) {
  const ids = Array.from({ length: PROMPT }, (_, i) => (i * 7919 + (round + 1) * 104729) % 40000);
  const request = { prompt: { ids }, temperature: 0, maxTokens: TOKENS, ignoreEos: true };
  const marks = [mark()];
  const generated = [];
  for await (const event of model.generate(request)) {
    if (event.type !== 'delta') continue;
    generated.push(...event.ids);
    marks.push(mark());
  }
  const between = (from, to, count) =>
    Object.fromEntries(['wall', 'cpu'].map((key) => [key, (to[key] - from[key]) / count]));
  return {
    prompt: between(marks[0], marks[1], 1),
    token: between(marks[1], marks.at(-1), generated.length - 1),
    ids: generated.join(),
  };
}

function mark() {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now(), cpu: (user + system) / 1000 };
}
