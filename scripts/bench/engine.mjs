// Measurements through the public interface: start, first token, prefill and decode at several batch sizes.

import { availableParallelism } from 'node:os';
import { openTextModel } from '../../dist/index.js';

const PROMPT = 512;
const SHORT_PROMPT = 16;
const REPEATS = 2;

/** Milliseconds until the model is ready, and until one token of a short prompt has come. */
export async function start(options) {
  const begun = performance.now();
  const model = await openTextModel(options);
  const readyMs = performance.now() - begun;
  await generate(model, SHORT_PROMPT, 1);
  return { model, readyMs, firstTokenMs: performance.now() - begun };
}

/** A prompt, of 512 tokens if nothing is given: its rate, and the time until the token after it. */
export async function measurePrefill(model, tokens = PROMPT) {
  await generate(model, tokens, 1);
  let best = { wall: 0, quiet: 0 };
  for (let i = 0; i < REPEATS; i++) {
    const begun = now();
    const [token] = await generate(model, tokens, 1);
    best = faster(best, rate(tokens, begun, token));
  }
  return { ...best, firstTokenMs: (1000 * tokens) / best.wall };
}

/** `batch` requests at once: the token rate from the time when all have begun until the first ends. */
export async function measureDecode(model, batch, tokens) {
  let best = { wall: 0, quiet: 0 };
  for (let i = 0; i < (batch === 1 ? REPEATS : 1); i++) {
    const streams = await Promise.all(
      Array.from({ length: batch }, () => generate(model, SHORT_PROMPT, tokens)),
    );
    const begun = latest(streams.map((stream) => stream[0]));
    const ended = earliest(streams.map((stream) => stream.at(-1)));
    const within = streams.flat().filter(({ wall }) => wall > begun.wall && wall <= ended.wall);
    best = faster(
      best,
      rate(
        within.reduce((sum, { ids }) => sum + ids, 0),
        begun,
        ended,
      ),
    );
  }
  return best;
}

/** Returns the time of each delta and its number of ids. */
async function generate(model, promptTokens, maxTokens) {
  const ids = Array.from({ length: promptTokens }, () => Math.floor(Math.random() * model.info.vocabSize));
  const deltas = [];
  const request = { prompt: { ids }, maxTokens, ignoreEos: true, temperature: 0 };
  for await (const event of model.generate(request)) {
    if (event.type === 'delta') deltas.push({ ...now(), ids: event.ids.length });
  }
  if (deltas.length === 0) throw new Error(`${promptTokens} tokens brought no text`);
  return deltas;
}

/** Milliseconds of wall time, and of CPU time divided by the number of cores. */
function now() {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now(), quiet: (user + system) / 1000 / availableParallelism() };
}

function rate(tokens, begun, ended) {
  return {
    wall: (1000 * tokens) / (ended.wall - begun.wall),
    quiet: (1000 * tokens) / (ended.quiet - begun.quiet),
  };
}

function faster(a, b) {
  return { wall: Math.max(a.wall, b.wall), quiet: Math.max(a.quiet, b.quiet) };
}

function latest(moments) {
  return moments.reduce((a, b) => (b.wall > a.wall ? b : a));
}

function earliest(moments) {
  return moments.reduce((a, b) => (b.wall < a.wall ? b : a));
}
