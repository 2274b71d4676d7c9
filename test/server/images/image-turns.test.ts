// Requests for images that wait for earlier ones.

import { describe, expect, it } from 'vitest';
import { eventually } from '../harness.ts';
import { readReply, startImages } from './image-harness.ts';

describe('requests wait for their turn', () => {
  it('in order, up to a bound, then 429', async () => {
    const { generate, model, server } = await startImages({ maxQueuedImages: 1 });
    const leave = new AbortController();
    const first = generate({ prompt: 'hang' }, { signal: leave.signal });
    first.catch(() => {});
    await eventually(() => model.running === 1, 'the first is drawn');
    const second = generate({ prompt: 'second' });
    await eventually(() => server.running() === 2, 'the second waits');
    const third = await generate({ prompt: 'third' });
    expect(third.status).toBe(429);
    expect(third.headers.get('retry-after')).toBe('1');
    expect((await readReply(third)).error?.code).toBe('overloaded');
    expect(model.requests).toHaveLength(1);
    leave.abort();
    expect((await second).status).toBe(200);
    expect(model.requests.map(({ prompt }) => prompt)).toEqual(['hang', 'second']);
  });

  it('also while the model is opened again, which settling their values waits for', async () => {
    const { generate, model } = await startImages({ maxQueuedImages: 1 });
    let open!: () => void;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const { resolve } = model;
    let asked = 0;
    model.resolve = async (request) => (asked++, await opened, resolve(request));
    const replies = [generate({ prompt: 'first' }), generate({ prompt: 'second' })];
    await eventually(() => asked === 2, 'both wait');
    expect((await generate({ prompt: 'third' })).status).toBe(429);
    open();
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('and what is wrong gives its place back', async () => {
    const { generate } = await startImages({ maxQueuedImages: 0 });
    for (let i = 0; i < 2; i++)
      expect((await generate({ prompt: 'first', num_inference_steps: 100_000 })).status).toBe(400);
    expect((await generate({ prompt: 'first' })).status).toBe(200);
  });

  it('and one that leaves meanwhile is gone at once', async () => {
    const { generate, model, server } = await startImages();
    const first = new AbortController();
    const second = new AbortController();
    generate({ prompt: 'hang' }, { signal: first.signal }).catch(() => {});
    await eventually(() => model.running === 1, 'the first is drawn');
    generate({ prompt: 'second' }, { signal: second.signal }).catch(() => {});
    await eventually(() => server.running() === 2, 'the second waits');
    second.abort();
    await eventually(() => server.running() === 1, 'the second is gone');
    first.abort();
    await eventually(() => server.running() === 0, 'the first is gone');
    expect(model.requests).toHaveLength(1);
  });
});
