// What a drawing leaves behind on the device, whenever it ends, and what of its picture it begins from.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { draw } from '../../../src/engine/image/draw.ts';
import type { ImageEvent, ImageRequest, Pixels } from '../../../src/engine/image/image-model.ts';
import { openParts, type Parts } from '../../../src/engine/image/parts.ts';
import { resolveRequest } from '../../../src/engine/image/resolve.ts';
import { nodePlatform } from '../../../src/engine/platform-node.ts';
import { openPipeline } from '../../../src/files/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/source-disk.ts';
import { openTestDevice } from '../../gpu/test-device.ts';
import { picturesOf, tinyPipeline } from './pipeline-golden.ts';

/** Cold shader caches on a busy machine. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let parts: Parts;
beforeAll(async () => {
  const device = await openTestDevice();
  const model = tinyPipeline('sd1');
  parts = await openParts(
    device,
    nodePlatform,
    await openPipeline(model, openDiskFolder),
    { model },
    () => {},
  );
});
afterAll(async () => {
  await parts.components.close();
  parts.device.destroy();
});

const [WIDTH, HEIGHT] = [32, 24];
const grey = (level: number): Pixels => ({
  width: WIDTH,
  height: HEIGHT,
  data: new Uint8Array(3 * WIDTH * HEIGHT).fill(level),
});
const REQUEST: ImageRequest = {
  prompt: 'a house',
  seed: 3,
  width: WIDTH,
  height: HEIGHT,
  steps: 4,
  scheduler: 'euler',
};

/** Everything that is heard; ended by `ends` as soon as it is told of an event for which that is true. */
async function drawing(
  request: Partial<ImageRequest>,
  ends: (event: ImageEvent) => boolean = () => false,
): Promise<ImageEvent[]> {
  const { components, runner, autoencoder, planner, context } = parts;
  const resolved = resolveRequest({ ...REQUEST, ...request }, context);
  const abort = new AbortController();
  const events: ImageEvent[] = [];
  await draw({
    components,
    runner,
    autoencoder,
    plan: planner.plan(resolved),
    resolved,
    image: request.image ?? null,
    mask: request.mask ?? null,
    signal: abort.signal,
    options: { plain: false },
    emit(event) {
      events.push(event);
      if (ends(event)) abort.abort();
    },
  });
  return events;
}

it.each(['text-encoding', 'image-encoding', 'step', 'denoising'])(
  'gives back all it held when it is ended after %s',
  async (moment) => {
    const request = { image: grey(90), mask: grey(255), samples: 2 };
    const ended = drawing(request, (event) =>
      event.type === 'stage' ? event.name === moment : event.type === moment,
    );
    await expect(ended).rejects.toMatchObject({ code: 'cancelled' });
    expect(parts.device.memory()).toMatchObject({ step: 0, arena: 0 });
  },
);

it('gives back all it held when it is done', async () => {
  await drawing({ image: grey(90) });
  expect(parts.device.memory()).toMatchObject({ step: 0, arena: 0 });
});

it('begins from the picture at strength 1 too, with a mask from noise alone', async () => {
  const of = async (request: Partial<ImageRequest>) =>
    picturesOf(await drawing({ ...request, strength: 1 }))[0];
  expect(await of({ image: grey(0) })).not.toEqual(await of({ image: grey(255) }));
  const mask = grey(255);
  expect(await of({ image: grey(0), mask })).toEqual(await of({ image: grey(255), mask }));
});
