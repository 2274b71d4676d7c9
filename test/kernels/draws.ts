// Many draws of the sampler in one dispatch, the distribution they should follow, and whether they do.

import { expect } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { BIAS_WORDS, CHOICE_WORDS } from '../../src/kernels/batch.ts';
import { exclude } from '../../src/kernels/exclude.ts';
import { maskLogits, maskWords } from '../../src/kernels/logits-mask.ts';
import { LOGPROB_WORDS, logprobs, MOST_LOGPROBS } from '../../src/kernels/logprobs.ts';
import { sample } from '../../src/kernels/sample.ts';
import { batchOf, compute, upload } from './compute.ts';

export interface Settings {
  temperature?: number;
  topP?: number;
  minP?: number;
  topK?: number;
}

export interface Draw extends Settings {
  logits: ArrayLike<number>;
  seed?: bigint;
  position?: number;
  slot?: number;
  frequency?: number;
  presence?: number;
  repetition?: number;
  counts?: [token: number, count: number][];
  /** The slot holds a token that has not been counted yet. */
  pending?: number;
  /** Tokens that may come. */
  allowed?: number[];
  logprobs?: number;
  biases?: [token: number, value: number][];
}

const NOT_DRAWN = 0xabcdef;

export interface RowLogprobs {
  drawn: number;
  best: [token: number, logprob: number][];
}

/** Returns the sampled tokens and the contents of the slots afterwards (null: unchanged). */
export async function drawAll(
  device: Device,
  draws: Draw[],
  slots: number = draws.length,
  { tempered = false } = {},
): Promise<{ ids: number[]; slots: (number | null)[]; logprobs: RowLogprobs[] }> {
  const vocabulary = draws[0]!.logits.length;
  const logits = new Float32Array(draws.length * vocabulary);
  const choices = new DataView(new ArrayBuffer(draws.length * CHOICE_WORDS * 4));
  const biases: number[][] = [];
  const counts: number[][] = [];
  const masks: Uint32Array[] = [];
  draws.forEach((draw, i) => {
    logits.set(draw.logits, i * vocabulary);
    const { seed = 0n, biases: own = [] } = draw;
    const at = i * CHOICE_WORDS * 4;
    choices.setFloat32(at, draw.temperature ?? 1, true);
    choices.setFloat32(at + 4, draw.topP ?? 1, true);
    choices.setFloat32(at + 8, draw.minP ?? 0, true);
    choices.setUint32(at + 12, draw.topK ?? 0, true);
    choices.setBigUint64(at + 16, BigInt.asUintN(64, seed), true);
    choices.setUint32(at + 24, draw.position ?? 0, true);
    choices.setUint32(at + 28, draw.slot ?? i, true);
    choices.setUint32(at + 32, biases.length, true);
    choices.setUint32(at + 36, own.length, true);
    choices.setFloat32(at + 40, draw.frequency ?? 0, true);
    choices.setFloat32(at + 44, draw.presence ?? 0, true);
    choices.setFloat32(at + 48, draw.repetition ?? 1, true);
    choices.setUint32(at + 52, counts.length, true);
    choices.setUint32(at + 56, draw.counts?.length ?? 0, true);
    choices.setUint32(at + 60, Number(draw.pending !== undefined), true);
    choices.setUint32(at + 68, draw.logprobs === undefined ? 0 : draw.logprobs + 1, true);
    counts.push(...(draw.counts ?? []));
    if (draw.allowed) choices.setUint32(at + 64, masks.push(bitsOf(draw.allowed, vocabulary)), true);
    biases.push(...own);
  });
  const biasWords = new DataView(new ArrayBuffer(Math.max(1, biases.length) * BIAS_WORDS * 4));
  biases.forEach(([token, value], i) => {
    biasWords.setUint32(i * 8, token!, true);
    biasWords.setFloat32(i * 8 + 4, value!, true);
  });
  const empty = (count: number) => upload(device, new Uint32Array(count).fill(NOT_DRAWN));
  const [ids, sampled] = [empty(draws.length), empty(slots)];
  draws.forEach(({ pending, slot }, i) => {
    if (pending !== undefined)
      device.gpu.queue.writeBuffer(sampled.buffer, 4 * (slot ?? i), new Uint32Array([pending]));
  });
  const results = upload(device, new Uint32Array(LOGPROB_WORDS * draws.length));
  const masked = upload(device, Uint32Array.from(masks.flatMap((mask) => [...mask])));
  const held = [
    ids,
    sampled,
    results,
    masked,
    upload(device, new Uint8Array(choices.buffer)),
    upload(device, new Uint8Array(biasWords.buffer)),
    upload(device, Uint32Array.from(counts.flat())),
  ] as const;
  const batch = batchOf(device, { ids, sampled, choices: held[4], biases: held[5], counts: held[6] });
  const plain = draws.every((draw) => draw.logprobs === undefined);
  await compute({
    device,
    capacity: { sampled: draws.length },
    sizes: { sampled: draws.length },
    record(_, input) {
      const tensor = input(['sampled', vocabulary], logits);
      if (plain && masks.length > 0) exclude(tensor, batch, masked);
      const edited = plain ? tensor : maskLogits(tensor, batch, masked);
      sample(edited, batch);
      if (!plain) logprobs(tempered ? edited : tensor, batch, results, { tempered });
      return tensor;
    },
  });
  const read = async (region: typeof ids, count: number) =>
    Array.from(new Uint32Array(await device.read(region)).subarray(0, count));
  const words = new Uint32Array(await device.read(results));
  const outcome = {
    logprobs: draws.map((draw, i) => rowLogprobs(words, i, draw.logprobs ?? 0)),
    ids: await read(ids, draws.length),
    slots: (await read(sampled, slots)).map((id) => (id === NOT_DRAWN ? null : id)),
  };
  for (const { buffer } of held) device.free(buffer);
  return outcome;
}

function bitsOf(tokens: readonly number[], vocabulary: number): Uint32Array {
  const bits = new Uint32Array(maskWords(vocabulary));
  for (const token of tokens) bits[token >> 5]! |= 1 << (token & 31);
  return bits;
}

function rowLogprobs(words: Uint32Array, row: number, count: number): RowLogprobs {
  const own = words.slice(row * LOGPROB_WORDS, (row + 1) * LOGPROB_WORDS);
  const values = new Float32Array(own.buffer);
  return {
    drawn: values[0]!,
    best: Array.from({ length: count }, (_, i) => [own[1 + i]!, values[1 + MOST_LOGPROBS + i]!]),
  };
}

/** Returns probabilities by token: top-k and top-p of the whole distribution together, then min-p of the most likely ones. */
export function distribution(logits: ArrayLike<number>, settings: Settings): number[] {
  const { temperature = 1, topP = 1, minP = 0, topK = 0 } = settings;
  const values = Array.from(logits);
  const largest = values.reduce((most, value) => Math.max(most, value), -Infinity);
  const weights = values.map((value) => Math.exp((value - largest) / temperature));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const order = values.map((_, token) => token).sort((a, b) => values[b]! - values[a]! || a - b);
  const kept = new Array<number>(values.length).fill(0);
  let before = 0;
  order.forEach((token, rank) => {
    const allowed = (topK === 0 || rank < topK) && before <= topP * total && weights[token]! >= minP;
    if (allowed) kept[token] = weights[token]!;
    before += weights[token]!;
  });
  const mass = kept.reduce((sum, weight) => sum + weight, 0);
  return kept.map((weight) => weight / mass);
}

/** A correct sampler deviates more than this in one of a million cases. */
const Z = 4.753;

/** Pearson's chi-squared test; cells with a small expected count are merged. */
export function expectDistributed(counts: number[], probabilities: number[]): void {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let [chi, cells, rare, rareWanted] = [0, 0, 0, 0];
  const add = (count: number, wanted: number) => {
    chi += (count - wanted) ** 2 / wanted;
    cells++;
  };
  probabilities.forEach((probability, i) => {
    const wanted = probability * total;
    if (probability === 0) expect(counts[i]).toBe(0);
    else if (wanted >= 10) add(counts[i]!, wanted);
    else {
      rare += counts[i]!;
      rareWanted += wanted;
    }
  });
  if (rareWanted >= 10) add(rare, rareWanted);
  else expect(rare).toBeLessThan(rareWanted + 30);
  const freedom = cells - 1;
  if (freedom === 0) return;
  // Wilson and Hilferty's approximation of the quantile
  const bound = freedom * (1 - 2 / (9 * freedom) + Z * Math.sqrt(2 / (9 * freedom))) ** 3;
  expect(chi).toBeLessThan(bound);
}

export function count(ids: number[], cells: number): number[] {
  const counts = new Array<number>(cells).fill(0);
  for (const id of ids) counts[id]! += 1;
  expect(counts.length).toBe(cells);
  return counts;
}
