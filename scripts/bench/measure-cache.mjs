// What the prefix cache is worth, in a process of its own; prints JSON.
//   node scripts/bench/measure-cache.mjs --conversations FOLDER        8 clients × 6 turns with one system prompt, cache off and on
//   node scripts/bench/measure-cache.mjs --tiers FOLDER STORAGE        new tokens after 2,000 shared ones: from device and host, and alone
//   node scripts/bench/measure-cache.mjs --restart FOLDER STORAGE      the same from files that the run before wrote: at once, and later on

import { openDevice } from '../../dist/gpu/node.js';
import { openTextModel } from '../../dist/index.js';
import { measureCeilings } from './ceilings.mjs';
import { firstToken, now, tokensOf } from './cache.mjs';

const CLIENTS = 8;
const TURNS = 6;
const SYSTEM = 512;
const QUESTION = 48;
const ANSWER = 24;
const SHARED = 2000;
const NEW = 128;
/** Alternating repetitions, because the machine's speed varies. */
const REPEATS = 5;
/** Pages for one such prompt, so that the next one evicts it. */
const DEVICE_TOKENS = SHARED + 2 * NEW;
const HOST_BYTES = 2 ** 28;
/** Seed of the next new tokens. */
let seed = 1000;

const [mode, folder, storageCache] = process.argv.slice(2);
const result = await { '--conversations': conversations, '--tiers': tiers, '--restart': restart }[mode]();
if (mode !== '--restart') {
  const device = await openDevice();
  result.ceilings = await measureCeilings(device.gpu, device.summary.software);
  device.destroy();
}
process.stdout.write(JSON.stringify(result), () => process.exit());

async function conversations() {
  const off = await talk(false);
  return { off, on: await talk(true), adapter: off.adapter };
}

/** Every client sends a request, waits for the reply, and continues. */
async function talk(prefixCache) {
  const model = await openTextModel({ model: folder, prefixCache });
  const system = tokensOf(model, SYSTEM, 1);
  await firstToken(model, tokensOf(model, 16, 2));
  const firsts = [];
  const begun = now();
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      let history = system;
      for (let turn = 0; turn < TURNS; turn++) {
        history = [...history, ...tokensOf(model, QUESTION, 100 * client + turn + 3)];
        const { first, ids } = await firstToken(model, history, ANSWER);
        firsts.push(first.wall);
        history = [...history, ...ids];
      }
    }),
  );
  const ended = now();
  const { cache } = await model.metrics();
  const { adapter } = model.info;
  await model.close();
  firsts.sort((a, b) => a - b);
  return {
    hitRate: cache.hitRate,
    firstMs: { median: firsts[firsts.length >> 1], worst: firsts.at(-1) },
    whole: { wall: ended.wall - begun.wall, quiet: ended.quiet - begun.quiet },
    adapter,
  };
}

async function tiers() {
  const model = await openTextModel({
    model: folder,
    maxTotalTokens: DEVICE_TOKENS,
    hostCache: HOST_BYTES,
    storageCache,
  });
  const [a, b] = [tokensOf(model, SHARED, 1), tokensOf(model, SHARED, 2)];
  await firstToken(model, tokensOf(model, 16, 3));
  await firstToken(model, a);
  await firstToken(model, b); // evicts the pages of A
  const rounds = [];
  for (let i = 0; i < REPEATS; i++) {
    const shared = i % 2 ? b : a;
    const host = await firstToken(model, [...shared, ...fresh(model)]);
    const device = await firstToken(model, [...shared, ...fresh(model)]);
    rounds.push({ alone: await firstToken(model, fresh(model)), host, device });
  }
  const { adapter } = model.info;
  await model.close();
  return { shared: SHARED, fresh: NEW, rounds, adapter };
}

async function restart() {
  const model = await openTextModel({ model: folder, maxTotalTokens: DEVICE_TOKENS, storageCache });
  await firstToken(model, tokensOf(model, 16, 3));
  const [a, b] = [tokensOf(model, SHARED, 1), tokensOf(model, SHARED, 2)];
  seed += 1000; // different from those that the previous run has stored
  const fileRounds = [];
  for (let i = 0; i <= REPEATS; i++) {
    const file = await firstToken(model, [...(i % 2 ? b : a), ...fresh(model)]);
    fileRounds.push({ alone: await firstToken(model, fresh(model)), file });
    if (!(await model.flushCache())) throw new Error('the cache is in use');
  }
  await model.close();
  return { fileRounds };
}

function fresh(model) {
  return tokensOf(model, NEW, seed++);
}
