// Requests on one image model run in turn, without a device.

import { expect, it } from 'vitest';
import type {
  ImageModel,
  ImageModelInfo,
  ImageRequest,
} from '../../../src/engine/image/calls/image-model.ts';
import { LocalImageModel, type Draw, type DrawOptions } from '../../../src/engine/image/model.ts';
import type { Resolved } from '../../../src/engine/image/stages/resolved.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { localModel } from '../../../src/host/session/local-model.ts';
import { openPaperSession } from '../../host/paper-session.ts';

const REQUEST = { prompt: 'a house', seed: 1 };

async function modelWith(draw: Draw): Promise<ImageModel> {
  const resolve = async (request: ImageRequest) => ({ request, event: { type: 'resolved' } }) as Resolved;
  const { result } = await openPaperSession({}, (session) => {
    const plan = () => Promise.reject(new Error('nothing is planned'));
    const service = new LocalImageModel({} as ImageModelInfo, session, { resolve, draw, plan });
    return localModel<ImageModel>(service, session, IMAGE.calls);
  });
  return result;
}

/** A model that draws nothing and ends an image when the test says so. */
async function slowModel() {
  const drawn: string[] = [];
  let finish!: () => void;
  const done = new Promise<void>((resolve) => (finish = resolve));
  const model = await modelWith(async (requests) => {
    drawn.push(...requests.map(({ resolved }) => resolved.request.prompt));
    await done;
  });
  return { model, drawn, finish };
}

it('an image request that waits ends as soon as it is cancelled, and is never drawn', async () => {
  const { model, drawn, finish } = await slowModel();
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

it('closing an image model ends the requests that wait', async () => {
  const { model, drawn, finish } = await slowModel();
  const first = model.generate({ ...REQUEST, prompt: 'first' });
  await first.next();
  const second = model.generate({ ...REQUEST, prompt: 'second' }).next();
  const closed = model.close();
  await expect(second).rejects.toMatchObject({ code: 'cancelled' });
  finish();
  await closed;
  expect(drawn).toEqual(['first']);
});

it('warming up draws one sample of a request, up to the given step, or compiles its kernels', async () => {
  const asked: [ImageRequest, DrawOptions][] = [];
  const model = await modelWith(
    async ([{ resolved }], options) => void asked.push([resolved.request, options]),
  );
  for (const steps of [2, 0]) await model.warmUp({ ...REQUEST, steps: 9, samples: 4 }, steps);
  const request = { ...REQUEST, steps: 9, samples: 1 };
  expect(asked).toMatchObject([
    [request, { mostSteps: 2 }],
    [request, { compileOnly: true }],
  ]);
  await model.close();
});
