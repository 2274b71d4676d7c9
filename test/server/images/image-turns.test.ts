// Requests for images that wait for earlier ones.

import { describe, expect, it } from 'vitest';
import type { Pixels } from '../../../src/index.ts';
import { eventually } from '../harness.ts';
import { formOf, type ImageHarness, pngFile, readReply, startImages } from './image-harness.ts';

describe('image requests wait for their turn', () => {
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

describe('image requests of one shape that wait', () => {
  it('begin together as far as a batch has room, while others keep their order', async () => {
    const images = await startImages();
    const { model, generate, server } = images;
    const { resolve, generate: draw } = model;
    model.resolve = async (request) => {
      const event = await resolve(request);
      return { ...event, joins: { key: `steps ${event.values.steps}`, most: 3 } };
    };
    const end = await occupy(images);
    const begun: string[] = [];
    const held: (() => void)[] = [];
    model.generate = async function* (request, options) {
      begun.push(request.prompt);
      await new Promise<void>((go) => held.push(go));
      yield* draw(request, options);
    };
    const ask = async (prompt: string, num_inference_steps: number, n = 1): Promise<Response> => {
      const waiting = server.running();
      const reply = generate({ prompt, num_inference_steps, n });
      await eventually(() => server.running() === waiting + 1, `${prompt} waits`);
      return reply;
    };
    const settled = new Set<string>();
    const inner = model.resolve;
    model.resolve = async (request) => {
      const event = await inner(request);
      settled.add(request.prompt);
      return event;
    };
    const replies = [ask('a', 2), ask('b', 3), ask('c', 2), ask('d', 2, 2), ask('e', 2)];
    await eventually(() => settled.size === 5, 'all are settled');
    const release = (): void => held.splice(0).forEach((go) => go());
    end();
    await eventually(() => begun.length === 3, 'three begin');
    expect(begun).toEqual(['a', 'c', 'e']); // d has more results than there is room for
    release();
    await eventually(() => begun.length === 4, 'the next begins');
    expect(begun[3]).toBe('b');
    release();
    await eventually(() => begun.length === 5, 'the last begins');
    expect(begun[4]).toBe('d');
    release();
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual(Array(5).fill(200));
  });
});

/** Lets the model draw something that does not end. Returns what ends it. */
async function occupy({ generate, model }: ImageHarness): Promise<() => void> {
  const leave = new AbortController();
  generate({ prompt: 'hang' }, { signal: leave.signal }).catch(() => {});
  await eventually(() => model.running === 1, 'the first is drawn');
  return () => leave.abort();
}

describe('a request with images', () => {
  const broken = (): File => new File(['no image'], 'x.png');

  it('is refused by a full queue before they are decoded', async () => {
    const images = await startImages({ maxQueuedImages: 0 });
    const end = await occupy(images);
    expect((await images.edit(formOf({ prompt: 'x', image: broken() }))).status).toBe(429);
    expect((await images.edit(formOf({ prompt: '', image: broken(), n: '11' }))).status).toBe(400);
    end();
  });

  it.each(['true', 'false'])(
    'that cannot be decoded is refused while others are drawn, and gives its place back (stream: %s)',
    async (stream) => {
      const images = await startImages({ maxQueuedImages: 1 });
      const end = await occupy(images);
      for (let i = 0; i < 2; i++) {
        const reply = await images.edit(formOf({ prompt: 'x', image: broken(), stream }));
        expect(reply.status).toBe(400);
        expect((await readReply(reply)).error).toMatchObject({ code: 'invalid_value', param: 'image' });
      }
      end();
    },
  );

  it('does not hold its decoded images while it waits, and has them in its turn', async () => {
    const images = await startImages();
    const end = await occupy(images);
    const { model, edit } = images;
    const { resolve } = model;
    let resolved: Pixels | undefined;
    model.resolve = (request) => ((resolved = request.image as Pixels), resolve(request));
    const file = await pngFile(400, 200, '#0a0000');
    // With this argument the engine gets the decoded images themselves, in their own size.
    const crop = '{"padding_mask_crop": 8}';
    const form = formOf({
      prompt: 'x',
      image: file,
      mask: file,
      'seed[]': ['3', '4'],
      diffusers_kwargs: crop,
    });
    const reply = edit(form);
    await eventually(() => resolved !== undefined && images.server.running() === 2, 'it waits');
    end();
    expect((await reply).status).toBe(200);
    const drawn = model.requests.slice(1);
    expect(drawn.map(({ seed }) => seed)).toEqual([3, 4]);
    for (const { image, mask } of drawn) {
      expect(image).toMatchObject({ width: 400, height: 200 });
      expect(mask).toMatchObject({ width: 400, height: 200 });
      expect(image?.data[0]).toBe(10);
      expect(image).not.toBe(resolved);
    }
  });

  it('decodes them one request at a time', async () => {
    const { edit, model } = await startImages();
    const { resolve } = model;
    let [now, most] = [0, 0];
    model.resolve = async (request) => {
      most = Math.max(most, ++now);
      await new Promise((settled) => setTimeout(settled, 5));
      now--;
      return resolve(request);
    };
    const image = await pngFile(16, 16, '#0a0000');
    const replies = Array.from({ length: 4 }, () => edit(formOf({ prompt: 'x', image })));
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(most).toBe(1);
  });
});
