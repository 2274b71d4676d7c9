// What a drawing leaves behind on the device, whenever it ends, and what of its picture it begins from.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { draw } from '../../../src/engine/image/draw.ts';
import type { ImageEvent, ImageRequest, Pixels } from '../../../src/engine/image/image-model.ts';
import { openParts, type Parts } from '../../../src/engine/image/parts.ts';
import { resolveRequest } from '../../../src/engine/image/resolve.ts';
import { nodePlatform } from '../../../src/engine/platform-node.ts';
import { openPipeline } from '../../../src/files/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Tiling } from '../../../src/models/autoencoder-kl.ts';
import { openTestDevice } from '../../gpu/test-device.ts';
import { picturesOf, tinyPipeline } from './pipeline-golden.ts';

/** Cold shader caches on a busy machine. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const model = tinyPipeline('sd1');
const openOn = async (device: Device): Promise<Parts> =>
  openParts(device, nodePlatform, await openPipeline(model, openDiskFolder), { model }, () => {});

let parts: Parts;
beforeAll(async () => void (parts = await openOn(await openTestDevice())));
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
  { components, runner, planner, context, autoencoder }: Parts = parts,
): Promise<ImageEvent[]> {
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

it('encodes and decodes in strips: the same picture', async () => {
  const other = await openOn(parts.device);
  const { autoencoder } = other;
  const [width, height] = [32, 96];
  const image = { width, height, data: Uint8Array.from({ length: 3 * width * height }, (_, i) => i % 251) };
  const strips: unknown[] = [];
  const told = <X, Y>(run: (x: X, tiling: Tiling) => Y) => {
    return (x: X, tiling: Tiling): Y => {
      strips.push(tiling.stripRows);
      return run(x, tiling);
    };
  };
  const heard: Parts = {
    ...other,
    autoencoder: {
      ...autoencoder,
      encoder: (weights) => told(autoencoder.encoder(weights)),
      decoder: (weights) => told(autoencoder.decoder(weights)),
    },
  };
  const of = async (tiling: boolean) =>
    picturesOf(await drawing({ image, width, height, steps: 1, strength: 1, tiling }, undefined, heard))[0];
  expect(await of(true)).toEqual(await of(false));
  expect(strips).toEqual([32, 32, undefined, undefined]);
  await other.components.close();
});

it('begins from the picture at strength 1 too, with a mask from noise alone', async () => {
  const of = async (request: Partial<ImageRequest>) =>
    picturesOf(await drawing({ ...request, strength: 1 }))[0];
  expect(await of({ image: grey(0) })).not.toEqual(await of({ image: grey(255) }));
  const mask = grey(255);
  expect(await of({ image: grey(0), mask })).toEqual(await of({ image: grey(255), mask }));
});
