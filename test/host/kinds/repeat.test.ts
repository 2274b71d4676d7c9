// Repeated requests: events of a second run, divided otherwise, continue those of the first one without a gap or a repetition.

import { expect, onTestFinished, test, vi } from 'vitest';
import { PlainRepeat, TextRepeat } from '../../../src/host/kinds/repeat.ts';
import type { TextEvent } from '../../../src/engine/text/calls/text-model.ts';

const REQUEST = { prompt: { text: 'x' } };
const accepted: TextEvent = { type: 'accepted', promptTokens: 1, maxTokens: 9 };
const delta = (text: string, ids: number[], choice = 0): TextEvent => ({ type: 'delta', text, ids, choice });
const done = (completionTokens: number, finishReason: 'stop' | 'abort' = 'stop'): TextEvent => ({
  type: 'done',
  choice: 0,
  finishReason,
  matchedStop: null,
  completionTokens,
});

function passAll(repeat: TextRepeat, events: readonly TextEvent[]): TextEvent[] {
  return events.flatMap((event) => repeat.pass(event) ?? []);
}

test('a repeated request without a seed gets one, which stays', () => {
  const { request } = new TextRepeat(REQUEST);
  expect(request.seed).toBeGreaterThanOrEqual(0);
  expect(new TextRepeat({ ...REQUEST, seed: 5 }).request.seed).toBe(5);
});

test('time limits of a repeated request go on counting, and its place is kept', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
  onTestFinished(() => now.mockRestore());
  const repeat = new TextRepeat({ ...REQUEST, timeouts: { queue: 50, total: 900, waited: 10 } });
  now.mockReturnValue(1100);
  repeat.pass(accepted);
  repeat.again();
  expect(repeat.request.timeouts).toEqual({ queue: 50, total: 900, waited: 110 });
  repeat.pass(delta('x', [1]));
  now.mockReturnValue(1200);
  repeat.again();
  expect(repeat.request.timeouts).toEqual({ queue: 2 ** 31 - 1, total: 900, waited: 210 });
});

test('a second run continues within a merged event', () => {
  const repeat = new TextRepeat(REQUEST);
  const first = [accepted, delta('Hel', [1, 2]), delta('', [3]), delta('o A', [], 1)];
  expect(passAll(repeat, first)).toEqual(first);
  repeat.again();
  const second = [
    accepted,
    delta('Hello wor', [1, 2, 3, 4]),
    delta('o AB', [9], 1),
    delta('ld', [5]),
    done(5),
  ];
  expect(passAll(repeat, second)).toEqual([
    delta('lo wor', [4]),
    delta('B', [9], 1),
    delta('ld', [5]),
    done(5),
  ]);
});

test('log probabilities of a repeated request stay with their tokens', () => {
  const repeat = new TextRepeat(REQUEST);
  const logprob = (id: number) => ({ id, bytes: [id], logprob: -id, top: [] });
  repeat.pass({ type: 'delta', choice: 0, text: 'a', ids: [1], logprobs: [logprob(1)] });
  repeat.again();
  expect(
    repeat.pass({ type: 'delta', choice: 0, text: 'ab', ids: [1, 2], logprobs: [logprob(1), logprob(2)] }),
  ).toEqual({ type: 'delta', choice: 0, text: 'b', ids: [2], logprobs: [logprob(2)] });
});

test('a tool call that has begun keeps its id', () => {
  const repeat = new TextRepeat(REQUEST);
  const call = (part: object, text: string, ids: number[]): TextEvent => ({
    type: 'toolCall',
    choice: 0,
    call: 0,
    arguments: text,
    ids,
    ...part,
  });
  repeat.pass(call({ id: 'call_1', name: 'f' }, '{"a', [1]));
  repeat.again();
  expect(repeat.pass(call({ id: 'call_2', name: 'f' }, '{"a":1}', [1, 2]))).toEqual(call({}, '":1}', [2]));
  const next = { ...call({ id: 'call_3', name: 'g' }, '', []), call: 1 } as TextEvent;
  expect(repeat.pass(next)).toEqual(next);
});

test('a second run with other tokens is refused', () => {
  const repeat = new TextRepeat(REQUEST);
  repeat.pass(delta('ab', [1, 2]));
  repeat.again();
  expect(() => repeat.pass(delta('ac', [1, 3]))).toThrow(/computes other tokens/);
  repeat.again();
  expect(repeat.pass(delta('a', [1]))).toBeNull();
  expect(() => repeat.pass(done(1))).toThrow(/computes other tokens/);
  expect(repeat.pass(done(1, 'abort'))).toEqual(done(2, 'abort'));
});

test('events of a repeated image are passed once', () => {
  const repeat = new PlainRepeat({});
  const step = (sample: number, at: number) => ({
    type: 'step',
    sample,
    step: at,
    steps: 2,
    milliseconds: at,
  });
  const note = (message: string) => ({ type: 'note', message });
  const passed = (events: { type: string }[]) => events.flatMap((event) => repeat.pass(event) ?? []);
  expect(passed([note('a'), step(0, 1), step(0, 2)])).toHaveLength(3);
  repeat.again();
  const later = [step(1, 1), note('b'), { type: 'image', sample: 0 }, { type: 'done' }];
  expect(passed([note('a'), step(0, 1), step(0, 2), ...later])).toEqual(later);
});
