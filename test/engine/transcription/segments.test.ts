// What is written about a window as segments, and the rules of times in logits.

import { describe, expect, it } from 'vitest';
import {
  drawToken,
  logprobOf,
  maskLogits,
  mostLikely,
  uniformAt,
} from '../../../src/engine/transcription/logit-rules.ts';
import { divideTokens } from '../../../src/engine/transcription/segments.ts';
import type { SpeechTokens } from '../../../src/engine/transcription/speech-tokens.ts';

/** Token of second 0, 0.02 … */
const [FIRST, STEPS] = [100, 50];
const time = (step: number): number => FIRST + step;

describe('the tokens of a window', () => {
  it('are one segment without times, to the end of the sound', () => {
    expect(divideTokens([1, 2], FIRST, STEPS)).toEqual({
      segments: [{ tokens: [1, 2], start: 0, end: STEPS }],
      next: null,
    });
  });

  it('end at the last of times that are no pair', () => {
    const { segments, next } = divideTokens([time(0), 1, time(7), 2], FIRST, STEPS);
    expect(segments).toEqual([{ tokens: [time(0), 1, time(7), 2], start: 0, end: 7 }]);
    expect(next).toBeNull();
  });

  it('are divided by pairs, and what follows the last is written again', () => {
    const tokens = [time(0), 1, time(7), time(8), 2, time(20), time(20), 3];
    expect(divideTokens(tokens, FIRST, STEPS)).toEqual({
      segments: [
        { tokens: [time(0), 1, time(7)], start: 0, end: 7 },
        { tokens: [time(8), 2, time(20)], start: 8, end: 20 },
      ],
      next: 20,
    });
  });

  it('are all there where one time ends them', () => {
    const { segments, next } = divideTokens([time(0), 1, time(7), time(8), 2, time(30)], FIRST, STEPS);
    expect(segments.at(-1)).toEqual({ tokens: [time(8), 2, time(30)], start: 8, end: 30 });
    expect(next).toBeNull();
  });
});

describe('the rules of logits', () => {
  const tokens = {
    ...{ end: 90, times: { none: 99, first: FIRST, lastInitial: 10 } },
    ...{ suppressed: [3], suppressedAtFirst: [4] },
  } as unknown as SpeechTokens;
  const allowed = (
    written: number[],
    logits: Float32Array = new Float32Array(FIRST + STEPS),
  ): Set<number> => {
    maskLogits(logits, written, tokens, true);
    return new Set([...logits.keys()].filter((id) => logits[id]! > -Infinity));
  };
  /** Logits that make all times together unlikely. */
  const textual = (): Float32Array => new Float32Array(FIRST + STEPS).fill(-20, FIRST);

  it('begin a window with a time of its first part', () => {
    expect([...allowed([])]).toEqual(Array.from({ length: 11 }, (_, i) => time(i)));
  });

  it('let text or the end follow a first time, and a time or the end a second', () => {
    const afterFirst = allowed([time(2)], textual());
    expect(afterFirst.has(time(5))).toBe(false);
    expect([3, 5, 90, 99].map((id) => afterFirst.has(id))).toEqual([false, true, true, false]);
    const afterEnd = allowed([time(2), 5, time(9)], textual());
    expect([5, 90, time(8), time(9), time(10)].map((id) => afterEnd.has(id))).toEqual([
      ...[false, true, false, true, true],
    ]);
  });

  it('never let times decrease, nor a text between times take none', () => {
    const within = allowed([time(2), 5], textual());
    expect([time(1), time(2), time(3)].map((id) => within.has(id))).toEqual([false, false, true]);
  });

  it('take a time where all times together are the most likely', () => {
    const logits = new Float32Array(FIRST + STEPS).fill(1, 0, 1);
    expect([...allowed([time(2), 5], logits)].every((id) => id >= FIRST)).toBe(true);
  });

  it('write no time at all where none are wanted', () => {
    const logits = new Float32Array(FIRST + STEPS);
    maskLogits(logits, [], tokens, false);
    expect([4, 5, 99, FIRST].map((id) => logits[id])).toEqual([-Infinity, 0, -Infinity, -Infinity]);
  });

  it('draw by probability, the same number for a seed and a position', () => {
    const logits = Float32Array.from([Math.log(0.5), Math.log(0.25), Math.log(0.25)]);
    expect([0, 0.49, 0.51, 0.76].map((uniform) => drawToken(logits, 1, uniform))).toEqual([0, 0, 1, 2]);
    expect(mostLikely(logits)).toBe(0);
    expect(Math.exp(logprobOf(logits, 1))).toBeCloseTo(0.25);
    const drawn = Array.from({ length: 1000 }, (_, i) => uniformAt(7, i));
    expect(uniformAt(7, 3)).toBe(drawn[3]);
    expect(drawn.reduce((sum, one) => sum + one, 0) / 1000).toBeCloseTo(0.5, 1);
    expect(uniformAt(8, 3)).not.toBe(drawn[3]);
  });
});
