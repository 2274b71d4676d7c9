// What a transcriber may write next: tokens that are never written, and the rules of times. source: the paper on Whisper, section 4.5, and
// openai-whisper's decoding.

import type { SpeechTokens, TimeTokens } from './speech-tokens.ts';

/**
 * Masks logits in place. `written`: the window's tokens so far. Without times none is written. With them they come in pairs, the end of a segment and the beginning of the next, and do not
 * decrease; a window begins with one.
 */
export function maskLogits(
  logits: Float32Array,
  written: readonly number[],
  tokens: SpeechTokens,
  hasTimes: boolean,
): void {
  for (const id of tokens.suppressed) logits[id] = -Infinity;
  if (written.length === 0) for (const id of tokens.suppressedAtFirst) logits[id] = -Infinity;
  const { times, end } = tokens;
  if (times === null) return;
  if (hasTimes) maskTimes(logits, written, end, times);
  else logits.fill(-Infinity, times.none);
}

function maskTimes(
  logits: Float32Array,
  written: readonly number[],
  end: number,
  { none, first: firstTime, lastInitial }: TimeTokens,
): void {
  logits[none] = -Infinity;
  const isTime = (id: number | undefined): boolean => id !== undefined && id >= firstTime;
  const isLast = isTime(written.at(-1));
  const isPair = written.length < 2 || isTime(written.at(-2));
  if (isLast && isPair) logits.fill(-Infinity, firstTime);
  else if (isLast) logits.fill(-Infinity, 0, end);
  const last = written.findLast(isTime);
  // A segment may end where it begins only where the next token is the beginning of the next.
  if (last !== undefined) logits.fill(-Infinity, firstTime, isLast && !isPair ? last : last + 1);
  if (written.length === 0) {
    logits.fill(-Infinity, 0, firstTime);
    logits.fill(-Infinity, firstTime + lastInitial + 1);
  }
  // Where all times together are more likely than any text, a time comes next.
  const text = largest(logits, 0, firstTime);
  const time = largest(logits, firstTime, logits.length);
  if (time === -Infinity) return;
  let sum = 0;
  for (let id = firstTime; id < logits.length; id++) sum += Math.exp(logits[id]! - time);
  if (time + Math.log(sum) > text) logits.fill(-Infinity, 0, firstTime);
}

function largest(logits: Float32Array, from: number, to: number): number {
  let most = -Infinity;
  for (let id = from; id < to; id++) if (logits[id]! > most) most = logits[id]!;
  return most;
}

/** The most likely token, the first of equals. */
export function mostLikely(logits: Float32Array): number {
  let best = 0;
  for (let id = 1; id < logits.length; id++) if (logits[id]! > logits[best]!) best = id;
  return best;
}

/** Draws a token; `uniform`: from 0 to below 1. */
export function drawToken(logits: Float32Array, temperature: number, uniform: number): number {
  const most = largest(logits, 0, logits.length);
  const weight = (id: number): number => Math.exp((logits[id]! - most) / temperature);
  let total = 0;
  for (let id = 0; id < logits.length; id++) total += weight(id);
  let left = uniform * total;
  for (let id = 0; id < logits.length; id++) {
    left -= weight(id);
    if (left < 0) return id;
  }
  return mostLikely(logits);
}

/** Logarithm of a token's probability, at temperature 1. */
export function logprobOf(logits: Float32Array, token: number): number {
  const most = largest(logits, 0, logits.length);
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - most);
  return logits[token]! - most - Math.log(total);
}

/** A number from 0 to below 1 that depends on the seed and the position alone. source: the finalizer of MurmurHash3 */
export function uniformAt(seed: number, position: number): number {
  let bits = Math.imul(position + 1, 0x9e3779b1) ^ seed ^ Math.floor(seed / 2 ** 32);
  for (const factor of [0x85ebca6b, 0xc2b2ae35]) bits = Math.imul(bits ^ (bits >>> 15), factor);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}
