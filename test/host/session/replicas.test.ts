// Replicas of an image model share the results of a request, which are those of one model.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { ImageEvent, ImageModel, ImageModelOptions, ImageRequest } from '../../../src/index.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline, openSleeping } from '../../../src/host/open.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { REQUEST } from '../../engine/image/open-model.ts';
import { tinyPipeline } from '../../engine/image/pipeline-golden.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const TWO = { numGpus: 2, dpSize: 2, logicalRanks: true };

let two: Awaited<ReturnType<typeof openWith>>;
beforeAll(async () => void (two = await openWith(TWO)));
afterAll(() => two.model.close());

async function openWith(given: Partial<ImageModelOptions>) {
  const devices: Device[] = [];
  const platform = {
    ...nodePlatform,
    async openDevice(options: Parameters<typeof nodePlatform.openDevice>[0]) {
      const device = await nodePlatform.openDevice(options);
      devices.push(device);
      return device;
    },
  };
  const options = { model: tinyPipeline('sd1'), ...given };
  IMAGE.check(options);
  const model = await openSleeping(IMAGE, options, undefined, undefined, (one, giveUp) =>
    openInline(IMAGE, platform, one, undefined, giveUp),
  );
  return { model, devices };
}

async function drawn(model: ImageModel, request: ImageRequest): Promise<ImageEvent[]> {
  const events: ImageEvent[] = [];
  for await (const event of model.generate(request)) events.push(event);
  return events;
}

const imagesOf = (events: readonly ImageEvent[]) =>
  events.flatMap((event) => (event.type === 'image' ? [event] : []));

it('results of two replicas are those of one model to the bit, in its order, and say which replica drew them', async () => {
  const request = { ...REQUEST, scheduler: 'euler-a', kwargs: { num_images_per_prompt: 3 } };
  const { model: one } = await openWith({});
  await using _ = one;
  const alone = await drawn(one, request);
  const shared = await drawn(two.model, request);
  const withoutReplica = imagesOf(shared).map(({ replica: __, ...image }) => image);
  expect(withoutReplica).toEqual(imagesOf(alone));
  expect(imagesOf(shared).map(({ replica }) => replica)).toEqual([0, 1, 1]);
  const stepsOf = (events: readonly ImageEvent[]) =>
    events.flatMap((event) => (event.type === 'step' ? [[event.sample, event.step]] : []));
  expect(stepsOf(shared)).toEqual(stepsOf(alone));
  const once = ['resolved', 'tokens', 'done'] as const;
  for (const type of once) expect(shared.filter((event) => event.type === type)).toHaveLength(1);
  expect(shared[0]).toEqual(alone[0]);
  expect(shared.at(-1)!.type).toBe('done');
});

it('requests that are sent at one time go to different replicas', async () => {
  const { model } = two;
  const all = await Promise.all([1, 2, 3, 4].map((seed) => drawn(model, { ...REQUEST, seed })));
  expect(all.map((events) => imagesOf(events)[0]!.replica)).toEqual([0, 1, 0, 1]);
  expect(all.map((events) => imagesOf(events)[0]!.seed)).toEqual([1, 2, 3, 4]);
});

it('a replica whose device is lost ends what it computes with an error, and draws again on a device that is opened anew', async () => {
  const { model, devices } = two;
  const before = imagesOf(await drawn(model, { ...REQUEST, samples: 2 }));
  const lost = (async () => {
    for await (const event of model.generate({ ...REQUEST, samples: 2 }))
      if (event.type === 'stage') devices[1]!.destroy('somebody pulled it out');
  })();
  await expect(lost).rejects.toMatchObject({ code: 'device_lost' });
  const after = imagesOf(await drawn(model, { ...REQUEST, samples: 2 }));
  expect(after).toEqual(before);
  // The other replica kept its device.
  expect(devices.map(({ isLost }) => isLost)).toEqual([false, true, false]);
});

it('a reader that leaves ends the parts of its request on all replicas', async () => {
  const { model } = two;
  for await (const event of model.generate({ ...REQUEST, samples: 2, steps: 40 }))
    if (event.type === 'step') break;
  const images = imagesOf(await drawn(model, { ...REQUEST, samples: 2 }));
  expect(images.map(({ replica }) => replica)).toEqual([0, 1]);
});

it('more GPUs than adapters are refused with the adapters', async () => {
  await expect(openWith({ numGpus: 2, dpSize: 2 })).rejects.toMatchObject({
    code: 'no_adapter',
    param: 'numGpus',
    message: expect.stringMatching(
      /^`numGpus` 2 needs as many adapters, and this machine has 1 \(0: llvmpipe.*\): give each .* `logicalRanks`$/,
    ) as unknown,
  });
  await expect(openWith({ numGpus: 2, dpSize: 2, adapter: 0 })).rejects.toThrow(
    /adapter 0 is one adapter for 2 ranks/,
  );
  await expect(openWith({ numGpus: 3, dpSize: 2 })).rejects.toThrow(
    /`numGpus` 3 is not divisible by `dpSize` 2/,
  );
});
