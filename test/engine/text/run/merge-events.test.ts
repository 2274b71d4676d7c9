import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../../../src/engine/async/event-queue.ts';
import { mergeEvents } from '../../../../src/engine/text/run/merge-events.ts';
import type { TextEvent, TokenLogprob } from '../../../../src/engine/text/calls/text-model.ts';

const delta = (choice: number, text: string, id: number): TextEvent => ({
  type: 'delta',
  choice,
  text,
  ids: [id],
});
const logprob = (id: number): TokenLogprob => ({ id, bytes: [id], logprob: -id, top: [] });

describe('a reader who takes nothing', () => {
  it('finds few events, with all that was said, in order', async () => {
    const queue = new EventQueue(mergeEvents);
    queue.push({ type: 'accepted', promptTokens: 1, maxTokens: 9 });
    for (let i = 0; i < 5000; i++) queue.push(delta(i % 3, String(i % 10), i));
    for (const choice of [0, 1, 2])
      queue.push({ type: 'done', choice, finishReason: 'stop', matchedStop: null, completionTokens: 0 });
    queue.close();
    const events: TextEvent[] = [];
    for await (const event of queue.read()) events.push(event);
    expect(events.length).toBeLessThan(80);
    for (const choice of [0, 1, 2]) {
      const own = events.filter((event) => event.type === 'delta' && event.choice === choice);
      const ids = own.flatMap((event) => (event.type === 'delta' ? event.ids : []));
      expect(ids).toEqual(Array.from({ length: 5000 }, (_, i) => i).filter((i) => i % 3 === choice));
      expect(own.map((event) => (event.type === 'delta' ? event.text : '')).join('')).toBe(
        ids.map((i) => i % 10).join(''),
      );
    }
    expect(events.at(-1)).toMatchObject({ type: 'done', choice: 2 });
  });

  it('finds every event as it was as long as they are few', async () => {
    const queue = new EventQueue(mergeEvents);
    for (let i = 0; i < 60; i++) queue.push(delta(0, 'x', i));
    queue.close();
    let events = 0;
    for await (const _ of queue.read()) events++;
    expect(events).toBe(60);
  });
});

describe('two events', () => {
  it('of text become one, log probabilities included', () => {
    const [a, b] = [1, 2].map((id) => ({ ...delta(0, 'x', id), logprobs: [logprob(id)] }) as TextEvent);
    expect(mergeEvents(a!, b!)).toEqual({
      type: 'delta',
      choice: 0,
      text: 'xx',
      ids: [1, 2],
      logprobs: [logprob(1), logprob(2)],
    });
  });

  it('of one tool call become one, of two calls or kinds they stay apart', () => {
    const call = (at: number, name?: string): TextEvent => ({
      type: 'toolCall',
      choice: 0,
      call: at,
      ...(name === undefined ? {} : { name }),
      arguments: '{',
      ids: [at],
    });
    expect(mergeEvents(call(0, 'f'), call(0))).toMatchObject({ name: 'f', arguments: '{{', ids: [0, 0] });
    expect(mergeEvents(call(0), call(1, 'g'))).toBeNull();
    expect(mergeEvents(delta(0, 'x', 1), call(0, 'f'))).toBeNull();
    expect(mergeEvents(delta(0, 'x', 1), { type: 'reasoning', choice: 0, text: 'y', ids: [] })).toBeNull();
  });

  it('of different choices pass each other; of the prompt the later one counts', () => {
    expect(mergeEvents(delta(0, 'x', 1), delta(1, 'y', 2))).toBeUndefined();
    const prefill = (processed: number): TextEvent => ({
      type: 'prefill',
      processed,
      promptTokens: 9,
      cachedTokens: 0,
    });
    expect(mergeEvents(prefill(1), prefill(2))).toEqual(prefill(2));
  });
});
