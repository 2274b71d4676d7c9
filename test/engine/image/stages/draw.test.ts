// What a run leaves on the device whenever it ends, how its source image is used, and the passes of its steps.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { ImageEvent, CompleteImageRequest } from '../../../../src/engine/image/calls/image-model.ts';
import type { FamilyModel } from '../../../../src/engine/image/blocks/family.ts';
import { knownPipelines } from '../../../../src/engine/image/families/registry.ts';
import { sd3Family } from '../../../../src/engine/image/families/sd3/sd3.ts';
import { stableDiffusion } from '../../../../src/engine/image/families/stable-diffusion/stable-diffusion.ts';
import { zImage as zImageFamily } from '../../../../src/engine/image/families/z-image/z-image.ts';
import { drawTogether } from '../../../../src/engine/image/stages/draw.ts';
import { openOnDevice, type OpenedPipeline } from '../../../../src/engine/image/opened-pipeline.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { openPipeline } from '../../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { EngineError } from '../../../../src/files/error.ts';
import { BindingError } from '../../../../src/gpu/gpu-error.ts';
import { Tape } from '../../../../src/gpu/tape.ts';
import type { Tiling } from '../../../../src/models/image/autoencoders/autoencoder-kl.ts';
import type { UNet } from '../../../../src/models/image/unet/unet.ts';
import type { ZImage } from '../../../../src/models/image/z-image.ts';
import { disguise, openModelTestDevice } from '../../../gpu/test-device.ts';
import {
  contextOn,
  drawOn,
  grey,
  openTiny,
  SMALL_BUDGET,
  withLoad,
  withPage,
  type Drawn,
} from './drawing.ts';
import { goldenRequest, imagesOf } from '../pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let parts: OpenedPipeline;
beforeAll(async () => void (parts = await openTiny(await openModelTestDevice())));
afterAll(async () => {
  await parts.components.close();
  parts.device.destroy();
});

const drawing = (request: Partial<CompleteImageRequest>, more?: Drawn): Promise<ImageEvent[]> =>
  drawOn(parts, request, more);

it.each(['text-encoding', 'image-encoding', 'step', 'denoising'])(
  'drawing frees all its memory when it is ended after %s',
  async (moment) => {
    const request = { image: grey(90), mask: grey(255), samples: 2 };
    const ends = (event: ImageEvent): boolean =>
      event.type === 'stage' ? event.name === moment : event.type === moment;
    const ended = drawing(request, { ends });
    await expect(ended).rejects.toMatchObject({ code: 'cancelled' });
    expect(parts.device.memory()).toMatchObject({ step: 0, arena: 0 });
  },
);

it('drawing frees all its memory wherever an allocation fails', { timeout: 900_000 }, async () => {
  const { device } = parts;
  const request = { image: grey(90), mask: grey(255), steps: 2, guidance: 3 };
  await drawing(request);
  const allocate = device.allocate.bind(device);
  let asked = 0;
  /** Index of the allocation that fails, counted from 1. */
  let fails = 0;
  const spy = vi.spyOn(device, 'allocate').mockImplementation((...given) => {
    asked += 1;
    if (asked === fails) throw new EngineError('out_of_memory', 'none is left');
    return allocate(...given);
  });
  await drawing(request);
  const all = asked;
  expect(all).toBeGreaterThan(30);
  try {
    for (fails = 1; fails <= all; fails += 1) {
      asked = 0;
      await expect(drawing(request), `${fails} of ${all}`).rejects.toMatchObject({ code: 'out_of_memory' });
      expect(device.memory(), `${fails} of ${all}`).toMatchObject({ step: 0, arena: 0 });
    }
  } finally {
    spy.mockRestore();
  }
});

it('drawing says in the words of a request that the adapter cannot bind a tensor', async () => {
  const device = disguise(parts.device, { bindingLimit: 1 << 16 });
  const fresh = await openTiny(device);
  const release = vi.spyOn(fresh.components, 'release');
  await expect(drawOn(fresh, { width: 512, height: 256 })).rejects.toMatchObject({
    code: 'out_of_memory',
    // Another size is the only remedy, so the error is about the request.
    param: 'width',
    message: expect.stringMatching(
      /^decoding 512 × 256 pixels takes \d+ [KM]iB in one piece, the adapter allows 64 KiB: choose a smaller size$/,
    ) as string,
  });
  expect(release).not.toHaveBeenCalled();
  await fresh.components.close();
});

it('a prompt that exceeds a binding ends its request alone, in words of its own', async () => {
  const runner: FamilyModel = {
    ...parts.runner,
    prepare(request) {
      if (request.prompt === 'too long') throw new BindingError('states', 3 << 20, 1 << 20);
      return parts.runner.prepare(request);
    },
  };
  const ends: unknown[] = [];
  const together = ['too long', 'a house'].map((prompt, i) =>
    contextOn(parts, { prompt, steps: 1 }, { with: { runner, ended: (error) => (ends[i] = error) } }),
  );
  const [long, short] = together as [(typeof together)[0], (typeof together)[0]];
  await drawTogether([long.context, short.context]);
  expect(ends).toEqual([expect.any(EngineError), null]);
  expect(ends[0]).toMatchObject({ code: 'out_of_memory', param: 'prompt' });
  expect(String(ends[0])).toContain(
    'encoding the prompt takes 3 MiB in one piece, the adapter allows 1 MiB: make it shorter',
  );
  expect([imagesOf(long.events), imagesOf(short.events)].map(({ length }) => length)).toEqual([0, 1]);
});

it('warming up compiles the kernels of an image without drawing it, and drawing compiles no more', async () => {
  const heard: [number, number][] = [];
  const options = { onKernels: (done: number, total: number) => void heard.push([done, total]) };
  // A combination of settings that no other test uses.
  const request = { guidance: 4, guidanceRescale: 0.5, scheduler: 'unipc', steps: 3 };
  const device = await openModelTestDevice();
  const fresh = await openTiny(device);
  try {
    const run = vi.spyOn(Tape.prototype, 'run');
    await drawOn(fresh, request, { options: { ...options, compileOnly: true } });
    // Tapes that only upload weights have no copies at their end.
    expect(run.mock.calls.filter(([, last]) => last !== undefined)).toEqual([]);
    run.mockRestore();
    expect(heard.length).toBeGreaterThan(20);
    for (const [done, total] of heard) expect(done).toBeLessThanOrEqual(total);
    heard.length = 0;
    const stops = {
      onKernels(done: number) {
        if (done > 0) throw new EngineError('cancelled', 'enough');
      },
    };
    const other = drawOn(fresh, { ...request, image: grey(90) }, { options: stops });
    await expect(other).rejects.toMatchObject({ code: 'cancelled' });
    expect(device.memory()).toMatchObject({ step: 0, arena: 0 });
    const drawn = imagesOf(await drawOn(fresh, request, { options }))[0];
    expect(heard).toEqual([]);
    expect(new Set(drawn?.data).size).toBeGreaterThan(3);
    expect(device.memory()).toMatchObject({ step: 0, arena: 0 });
  } finally {
    await fresh.components.close();
    device.destroy();
  }
});

it('drawing frees all its memory when it is done', async () => {
  await drawing({ image: grey(90) });
  expect(parts.device.memory()).toMatchObject({ step: 0, arena: 0 });
});

it('the image is the same if it is encoded and decoded in strips', async () => {
  const other = await openTiny(parts.device);
  const { autoencoder } = other;
  const [width, height] = [16, 96];
  const image = { width, height, data: Uint8Array.from({ length: 3 * width * height }, (_, i) => i % 251) };
  const strips: unknown[] = [];
  const told = <X, Y>(run: (x: X, tiling: Tiling) => Y) => {
    return (x: X, tiling: Tiling): Y => {
      strips.push(tiling.stripRows);
      return run(x, tiling);
    };
  };
  const heard: OpenedPipeline = {
    ...other,
    autoencoder: {
      ...autoencoder,
      encoder: (weights) => told(autoencoder.encoder(weights)),
      decoder: (weights) => told(autoencoder.decoder(weights)),
    },
  };
  const of = async (tiling: boolean) =>
    imagesOf(await drawOn(heard, { image, width, height, steps: 1, strength: 1, tiling }))[0];
  const inStrips = await of(true);
  expect(strips.length).toBeGreaterThan(1);
  expect(new Set(strips)).toEqual(new Set([32]));
  strips.length = 0;
  expect(await of(false)).toEqual(inStrips);
  expect(new Set(strips)).toEqual(new Set([undefined]));
  await other.components.close();
});

it('drawing begins from the image at strength 1 too, and from noise alone with a mask', async () => {
  const of = async (request: Partial<CompleteImageRequest>) =>
    imagesOf(await drawing({ ...request, strength: 1 }))[0];
  expect(await of({ image: grey(0) })).not.toEqual(await of({ image: grey(255) }));
  const mask = grey(255);
  expect(await of({ image: grey(0), mask })).toEqual(await of({ image: grey(255), mask }));
});

it('unconditional passes are computed where they count: in guidance above 1, of Z-Image above 0', async () => {
  /** Texts of each pass. */
  const passes: number[] = [];
  const unet = withPage<UNet>(parts, 'unet', (page) => ({
    ...page,
    forward(x, time, given) {
      passes.push(...given.keyValues.slice(0, 1).map(({ shape }) => shape[0] as number));
      expect(x.shape[0]).toBe(passes.at(-1));
      return page.forward(x, time, given);
    },
  }));
  const whole = await openTiny(parts.device, 'z-image');
  const transformer = withPage<ZImage>(whole, 'transformer', (page) => ({
    ...page,
    forward(...given) {
      passes.push(given[0].shape[0] as number);
      return page.forward(...given);
    },
  }));
  const of = async (on: OpenedPipeline, runner: FamilyModel, guidance: number): Promise<number[]> => {
    passes.length = 0;
    await drawOn(on, { guidance, negativePrompt: 'snow', steps: 1 }, { with: { runner } });
    return [...passes];
  };
  const sd = stableDiffusion.open(unet, { settings: {}, className: '' });
  for (const guidance of [0, 0.5, 1]) expect(await of(parts, sd, guidance)).toEqual([1]);
  for (const guidance of [1.01, 7.5]) expect(await of(parts, sd, guidance)).toEqual([2]);
  const flow = zImageFamily.open(transformer, { settings: {}, className: '' });
  expect(await of(whole, flow, 0)).toEqual([1]);
  for (const guidance of [0.01, 3]) expect(await of(whole, flow, guidance)).toEqual([1, 1]);
  await whole.components.close();
});

it('the steps of several samples are recorded once', async () => {
  const device = await openModelTestDevice({ memoryBudget: SMALL_BUDGET });
  const staged = await openTiny(device);
  let recorded = 0;
  const runner: FamilyModel = {
    ...staged.runner,
    async prepare(request) {
      const prepared = await staged.runner.prepare(request);
      const load: typeof prepared.load = async (references) => {
        const page = await prepared.load(references);
        const record: typeof page.record = (...given) => {
          recorded++;
          return page.record(...given);
        };
        return { record, [Symbol.dispose]: () => page[Symbol.dispose]() };
      };
      return { ...prepared, load };
    },
  };
  const request = { image: grey(90), mask: grey(255), strength: 0.8, scheduler: 'euler-ancestral' };
  const drawn = async (more: Partial<CompleteImageRequest>) =>
    imagesOf(await drawOn(staged, { ...request, ...more }, { with: { runner } }));
  const together = await drawn({ samples: 3 });
  expect(recorded).toBe(1);
  const apart: typeof together = [];
  for (const seed of [3, 4, 5]) apart.push(...(await drawn({ seed })));
  expect(together).toEqual(apart);
  expect(new Set(together.map(({ data }) => data.join())).size).toBe(3);
  expect(device.memory()).toMatchObject({ step: 0, arena: 0 });
  await staged.components.close();
  device.destroy();
});

it('a transformer of Stable Diffusion 3 that has no room leaves its positions nowhere', async () => {
  const { device } = parts;
  const { options } = await goldenRequest('pipeline-sd3');
  const pipeline = await openPipeline(options.model, openDiskFolder, knownPipelines(), options);
  const sd3 = await openOnDevice(device, nodePlatform, pipeline, options, () => {});
  const { components } = sd3;
  const loaded: string[] = [];
  const load: typeof components.load = async (name, part, build, given) => {
    loaded.push(part);
    if (part === 'denoiser') throw new EngineError('out_of_memory', 'none is left');
    return components.load(name, part, build, given);
  };
  const full = withLoad(components, load);
  const runner = sd3Family.open(full, pipeline);
  const request = { width: 32, height: 32, maxSequenceLength: 12, scheduler: 'flow-euler' };
  await expect(drawOn(sd3, request, { with: { components: full, runner } })).rejects.toThrow('none is left');
  expect(loaded.slice(-2)).toEqual(['places', 'denoiser']);
  expect(device.memory()).toMatchObject({ step: 0, arena: 0 });
  await components.close();
});
