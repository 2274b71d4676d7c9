// Requests that arrive while a sleeping model is opened again: time limits, ids and the length of the queue apply to them.

import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { EngineError } from '../../../../src/files/error.ts';
import { withResolvers } from '../../../../src/engine/async/resolvers.ts';
import { letSleep } from '../../../../src/host/session/sleeping-model.ts';
import { TEXT } from '../../../../src/host/kinds/text.ts';
import { textSleep } from '../../../../src/host/kinds/text-sleep.ts';
import type { TextEvent, TextModel, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { collect, greedy, openGolden } from '../../fixture.ts';

const limits = { maxRunningRequests: 1, maxQueuedRequests: 2 };
const options = { model: '', queueTimeout: 60_000, totalTimeout: 60_000 };
const short = greedy([1, 2, 3], 2);

let golden: TextModel;
let model: TextModel;
/** Completes the opening in progress. */
let opened: (model: TextModel) => void;
const open = vi.fn<() => Promise<TextModel>>();

/** Returns the same model for every test; closing it has no effect. */
const kept = (): TextModel => ({ ...golden, close: () => Promise.resolve() });

beforeAll(async () => {
  golden = await openGolden('llama', limits);
});
afterAll(() => golden.close());

beforeEach(async () => {
  const { promise, resolve } = withResolvers<TextModel>();
  opened = resolve;
  open.mockReset().mockReturnValue(promise);
  const first = kept();
  model = letSleep(first, { after: 1, open, calls: TEXT.calls, ...textSleep(first, options) });
  await vi.waitFor(() => expect(model.asleep).toBe(true));
});

const codeOf = (request: TextRequest): Promise<unknown> =>
  collect(model.generate(request)).then(
    ({ ids }) => ids[0]!.length,
    (error: EngineError) => error.code,
  );

test('a request that is wrong is refused before anything is opened', async () => {
  expect(await codeOf({ ...short, stopTokenIds: [10_000] })).toBe('bad_request');
  expect(open).not.toHaveBeenCalled();
});

describe('time-outs of waiting requests', () => {
  test.each(['queue', 'total'] as const)('count while the request waits: %s', async (which) => {
    const over = collect(model.generate({ ...short, timeouts: { [which]: 30 } }));
    await expect(over).rejects.toMatchObject({
      code: 'timed_out',
      message: expect.stringContaining('30 ms') as string,
    });
    opened(kept());
    expect(await codeOf(short)).toBe(2);
  });

  test('are those of the model for requests without their own', async () => {
    const first = kept();
    const strict = letSleep(first, {
      after: 1,
      open,
      calls: TEXT.calls,
      ...textSleep(first, { ...options, queueTimeout: 20 }),
    });
    await vi.waitFor(() => expect(strict.asleep).toBe(true));
    await expect(collect(strict.generate(short))).rejects.toMatchObject({ code: 'timed_out' });
  });

  test('continue where the model has opened, and do not begin again', async () => {
    const began = performance.now();
    const long = collect(model.generate({ ...greedy([1, 2, 3], 10_000), timeouts: { total: 3000 } }));
    setTimeout(() => opened(kept()), 2900);
    await expect(long).rejects.toMatchObject({
      code: 'timed_out',
      message: expect.stringContaining('3000 ms') as string,
    });
    expect(performance.now() - began).toBeLessThan(5700);
  });
});

test('ids of waiting requests are aborted with an error', async () => {
  const follow = async (request: TextRequest): Promise<TextEvent[]> => {
    const events: TextEvent[] = [];
    for await (const event of model.generate(request)) events.push(event);
    return events;
  };
  const [one, two, other] = [
    follow({ ...short, id: 'a-1', n: 2 }),
    follow({ ...short, id: 'a-2' }),
    follow({ ...short, id: 'b' }),
  ];
  expect((await model.metrics()).waiting).toBe(3);
  expect(await model.abort('a-')).toBe(2);
  expect(await model.abort('a-')).toBe(0);
  await expect(follow({ ...short, id: 'b' })).rejects.toMatchObject({ code: 'bad_request', param: 'id' });
  const done = { type: 'done', finishReason: 'abort', completionTokens: 0 };
  expect(await one).toMatchObject([{ type: 'accepted' }, { ...done, choice: 0 }, { ...done, choice: 1 }]);
  expect(await two).toMatchObject([{ type: 'accepted' }, { ...done, choice: 0 }]);
  opened(kept());
  expect((await other).at(-1)).toMatchObject({ type: 'done', finishReason: 'length' });
});

test('the queue lets as many wait as the opened model takes, and the lowest priority gives way', async () => {
  const waiting = [0, 1, 0].map((priority) => codeOf({ ...short, priority }));
  expect(await codeOf(short)).toBe('overloaded');
  const higher = codeOf({ ...short, priority: 1 });
  expect(await waiting[2]).toBe('preempted');
  opened(kept());
  expect(await Promise.all([waiting[0], waiting[1], higher])).toEqual([2, 2, 2]);
});

test('a request whose reader has left makes room in the queue', async () => {
  const leaving = new AbortController();
  const left = collect(model.generate(short, { signal: leaving.signal }));
  const waiting = [codeOf(short), codeOf(short)];
  expect(await codeOf(short)).toBe('overloaded');
  leaving.abort();
  await expect(left).rejects.toMatchObject({ code: 'cancelled' });
  waiting.push(codeOf(short));
  opened(kept());
  expect(await Promise.all(waiting)).toEqual([2, 2, 2]);
});
