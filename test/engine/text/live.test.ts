// Requests by id and by time: ids, aborts by other callers, and time limits.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TextEvent, TextModel, TextRequest } from '../../../src/engine/text/calls/text-model.ts';
import { collect, greedy, openGolden } from '../fixture.ts';

let model: TextModel;
beforeAll(async () => {
  model = await openGolden('llama', { maxRunningRequests: 1 });
});
afterAll(() => model.close());

/** A request that does not end during these tests. */
const long: TextRequest = greedy([1, 2, 3], 10_000);

/** Returns all events and the error that follows them. */
async function follow(request: TextRequest): Promise<{ events: TextEvent[]; error: unknown }> {
  const events: TextEvent[] = [];
  try {
    for await (const event of model.generate(request)) events.push(event);
  } catch (error) {
    return { events, error };
  }
  return { events, error: null };
}

async function untilGenerating(): Promise<void> {
  const { generatedTokens } = await model.metrics();
  while ((await model.metrics()).generatedTokens < generatedTokens + 3)
    await new Promise((resolve) => setTimeout(resolve, 1));
}

describe('ids of requests', () => {
  test('are refused by name while in use, and free again afterwards', async () => {
    const running = follow({ ...long, id: 'mine' });
    await untilGenerating();
    await expect(collect(model.generate({ ...long, id: 'mine' }))).rejects.toMatchObject({
      code: 'bad_request',
      param: 'id',
    });
    expect(await model.abort('mine')).toBe(1);
    const { events, error } = await running;
    expect(events.at(-1)).toMatchObject({ type: 'done', finishReason: 'abort' });
    expect(events.at(-1)).not.toHaveProperty('error');
    expect(error).toBeNull();
    expect((await collect(model.generate({ ...greedy([1], 2), id: 'mine' }))).ids[0]).toHaveLength(2);
  });

  test('are matched by their beginning in abort(), running or waiting; all matches all', async () => {
    const ids = ['a-1', 'a-2', 'b-1', undefined];
    const streams = ids.map((id) => follow({ ...long, ...(id === undefined ? {} : { id }) }));
    await untilGenerating();
    expect(await model.abort('a-')).toBe(2);
    expect(await model.abort('nobody')).toBe(0);
    expect(await model.abort('all')).toBe(2);
    for (const { events, error } of await Promise.all(streams)) {
      expect(events.at(-1)).toMatchObject({ type: 'done', finishReason: 'abort' });
      expect(error).toBeNull();
    }
    expect(await model.metrics()).toMatchObject({ running: 0, waiting: 0, pages: { used: 0 } });
  });
});

describe('time-outs of requests', () => {
  test('one that waited too long ends with the reason, and never ran', async () => {
    const running = follow({ ...long, id: 'x' });
    await untilGenerating();
    const { events, error } = await follow({ ...long, n: 2, timeouts: { queue: 20 } });
    expect(events.map(({ type }) => type)).toEqual(['accepted', 'done', 'done']);
    for (const event of events.slice(1))
      expect(event).toMatchObject({
        finishReason: 'abort',
        completionTokens: 0,
        error: { code: 'timed_out', message: expect.stringContaining('20 ms') as string },
      });
    // Its names of fields are pieces, which each interface replaces by its own.
    expect(error).toMatchObject({
      code: 'timed_out',
      parts: expect.arrayContaining([{ field: 'timeouts.queue' }]) as unknown,
    });
    await model.abort('x');
    await running;
  });

  test('of a running request keep the tokens it has', async () => {
    let kept = 0;
    // A busy machine may need longer for its first token.
    for (const total of [60, 120, 240, 480]) {
      const { events, error } = await follow({ ...long, timeouts: { total, queue: 50 } });
      const end = events.at(-1)!;
      expect(end).toMatchObject({ type: 'done', finishReason: 'abort', error: { code: 'timed_out' } });
      expect(error).toMatchObject({ code: 'timed_out' });
      kept = end.type === 'done' ? end.completionTokens : 0;
      if (kept > 0) break;
    }
    expect(kept).toBeGreaterThan(0);
    expect(await model.metrics()).toMatchObject({ running: 0, pages: { used: 0 } });
  });

  test('those of the model hold where a request has none', async () => {
    const strict = await openGolden('llama', { totalTimeout: 50 });
    const own = collect(strict.generate({ ...greedy([1], 20), timeouts: { total: 20_000 } }));
    await expect(collect(strict.generate(long))).rejects.toMatchObject({ code: 'timed_out' });
    expect((await own).ids[0]).toHaveLength(20);
    await strict.close();
  });
});

test('a reader who falls behind delays no other request, and loses nothing', async () => {
  const slow = model.generate({ ...greedy([5, 6], 80), n: 2 });
  await slow.next();
  expect((await collect(model.generate(greedy([7], 10)))).ids[0]).toHaveLength(10);
  const late = await collect(slow);
  expect(late.ids.map((ids) => ids.length)).toEqual([80, 80]);
  expect(late.ids[0]).toEqual((await collect(model.generate(greedy([5, 6], 80)))).ids[0]);
});
