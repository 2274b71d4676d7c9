// Turns of requests on one image model, without a device.

import { expect, it } from 'vitest';
import type { ImageModelInfo } from '../../../src/engine/image/image-model.ts';
import { createImageModel } from '../../../src/engine/image/model.ts';
import type { Resolved } from '../../../src/engine/image/resolve.ts';

const REQUEST = { prompt: 'a house', seed: 1 };

/** Draws nothing, until it is told that the picture is done. */
function slowModel() {
  const drawn: string[] = [];
  let finish!: () => void;
  const done = new Promise<void>((resolve) => (finish = resolve));
  const model = createImageModel({
    info: {} as ImageModelInfo,
    resolve: (request) => ({ request, event: { type: 'resolved' } }) as Resolved,
    async draw({ request }) {
      drawn.push(request.prompt);
      await done;
    },
    release: async () => {},
  });
  return { model, drawn, finish };
}

it('a request that waits ends as soon as it is cancelled, and is never drawn', async () => {
  const { model, drawn, finish } = slowModel();
  const first = model.generate({ ...REQUEST, prompt: 'first' });
  await first.next();
  const abort = new AbortController();
  const second = model.generate({ ...REQUEST, prompt: 'second' }, { signal: abort.signal }).next();
  abort.abort();
  await expect(second).rejects.toMatchObject({ code: 'cancelled' });
  const third = model.generate({ ...REQUEST, prompt: 'third' }, { signal: AbortSignal.abort() });
  await expect(third.next()).rejects.toMatchObject({ code: 'cancelled' });
  finish();
  expect(await first.next()).toMatchObject({ value: { type: 'done' } });
  await model.close();
  expect(drawn).toEqual(['first']);
});

it('closing ends those that wait', async () => {
  const { model, drawn, finish } = slowModel();
  const first = model.generate({ ...REQUEST, prompt: 'first' });
  await first.next();
  const second = model.generate({ ...REQUEST, prompt: 'second' }).next();
  const closed = model.close();
  await expect(second).rejects.toMatchObject({ code: 'cancelled' });
  finish();
  await closed;
  expect(drawn).toEqual(['first']);
});
