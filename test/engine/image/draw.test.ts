// What a drawing leaves behind on the device, whenever it ends, and what of its picture it begins from.

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { encodeClip } from '../../../src/engine/image/clip-text.ts';
import type { Components } from '../../../src/engine/image/components.ts';
import { type ComputeOptions, finitely, freeTensors } from '../../../src/engine/image/compute.ts';
import { draw, type Drawing } from '../../../src/engine/image/draw.ts';
import type { ImageEvent, ImageRequest, Pixels } from '../../../src/engine/image/image-model.ts';
import { openParts, type Parts } from '../../../src/engine/image/parts.ts';
import { resolveRequest } from '../../../src/engine/image/resolve.ts';
import { nodePlatform } from '../../../src/engine/platform-node.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { EngineError } from '../../../src/files/error.ts';
import { openDiskFolder } from '../../../src/files/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { Tape } from '../../../src/gpu/tape.ts';
import { type Region, type Tensor, tapeOf } from '../../../src/gpu/tensor.ts';
import { scaleRows } from '../../../src/kernels/scale-rows.ts';
import type { ClipForward } from '../../../src/models/clip.ts';
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
  {
    parts: { components, runner, planner, context, autoencoder } = parts,
    options = {},
    with: other = {},
  }: { parts?: Parts; options?: Partial<ComputeOptions>; with?: Partial<Drawing> } = {},
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
    options: { plain: false, ...options },
    emit(event) {
      events.push(event);
      if (ends(event)) abort.abort();
    },
    ...other,
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

it('gives back all it held wherever memory ends', { timeout: 900_000 }, async () => {
  const { device } = parts;
  const request = { image: grey(90), mask: grey(255), steps: 2, guidance: 3 };
  await drawing(request);
  const allocate = device.allocate.bind(device);
  let asked = 0;
  /** The allocation that fails, counted from 1. */
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

it('compiles what a picture needs without drawing it, and then no more', async () => {
  const heard: [number, number][] = [];
  const options = { onKernels: (done: number, total: number) => void heard.push([done, total]) };
  // A way of drawing that no other test takes.
  const request = { guidance: 4, guidanceRescale: 0.5, scheduler: 'unipc', steps: 3 };
  const device = await openTestDevice();
  const before = parts;
  parts = await openOn(device);
  try {
    const run = vi.spyOn(Tape.prototype, 'run');
    await drawing(request, undefined, { options: { ...options, compileOnly: true } });
    // Tapes that bring weights have nothing to copy at their end.
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
    const other = drawing({ ...request, image: grey(90) }, undefined, { options: stops });
    await expect(other).rejects.toMatchObject({ code: 'cancelled' });
    expect(device.memory()).toMatchObject({ step: 0, arena: 0 });
    const drawn = picturesOf(await drawing(request, undefined, { options }))[0];
    expect(heard).toEqual([]);
    expect(new Set(drawn?.data).size).toBeGreaterThan(3);
    expect(device.memory()).toMatchObject({ step: 0, arena: 0 });
  } finally {
    await parts.components.close();
    device.destroy();
    parts = before;
  }
});

describe('what is no finite number', () => {
  /** Infinite on tuned kernels, as it is on plain ones. */
  const spoils: Tensor[] = [];
  afterEach(() => {
    freeTensors(parts.device, spoils.splice(0));
  });
  const spoiled = (x: Tensor): Tensor => {
    const tape = tapeOf(x);
    if (tape.plain) return x;
    const rows = x.rows({});
    const infinite = tape.device.tensor('step', 'infinite', [rows], new Float32Array(rows).fill(Infinity));
    spoils.push(infinite);
    return scaleRows(x, infinite.region!);
  };
  const notes = () => {
    const heard: string[] = [];
    return { heard, options: { onNotFinite: (what: string) => void heard.push(what) } };
  };

  it('is decoded again by plain kernels', async () => {
    const { autoencoder } = parts;
    const decoder: Drawing['autoencoder']['decoder'] = (weights) => {
      const decode = autoencoder.decoder(weights);
      return (latents, tiling) => spoiled(decode(latents, tiling));
    };
    const right = picturesOf(await drawing({}))[0]!;
    const { heard, options } = notes();
    // A page stays with its weights: this one's are its own.
    const { components } = await openOn(parts.device);
    const drawn = picturesOf(
      await drawing({}, undefined, {
        options,
        with: { components, autoencoder: { ...autoencoder, decoder } },
      }),
    )[0]!;
    await components.close();
    expect(heard).toEqual(['the decoder']);
    drawn.data.forEach((value, i) => expect(Math.abs(value - right.data[i]!)).toBeLessThanOrEqual(1));
  });

  it('is encoded again by plain kernels', async () => {
    const { components, device } = parts;
    const wrapped: Components = {
      ...components,
      use: (name, part, build, body) =>
        components.use(name, part, build, (page) => {
          const forward = page as ClipForward;
          const other: ClipForward = (...given) => {
            const { states, pooled } = forward(...given);
            return { states: spoiled(states), pooled };
          };
          return body(other as typeof page);
        }),
    };
    const { heard, options } = notes();
    const request = { prompt: 'a house', negative: '', clipSkip: 0, zeroNegative: false };
    const encode = (given: Components) =>
      encodeClip(given, false, { ...request, options: { plain: false, ...options } });
    const [right, again] = [await encode(components), await encode(wrapped)];
    expect(heard).toEqual(['the text encoder', 'the text encoder']);
    // Rows behind the last are whatever was there.
    const [a, b] = await Promise.all(
      [right, again].map(async ({ states }) =>
        new Float32Array(await device.read(states.region!)).subarray(0, states.rows({}) * states.stride),
      ),
    );
    const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, i) => sum + value * y[i]!, 0);
    expect(dot(a!, b!) / Math.sqrt(dot(a!, a!) * dot(b!, b!))).toBeGreaterThan(0.999);
    freeTensors(device, [right.states, again.states]);
  });

  it('on plain kernels too is an error, and nothing stays behind', async () => {
    const { device } = parts;
    const made: Tensor[] = [];
    const run = async (_: ComputeOptions, notFinite: Region): Promise<Tensor> => {
      device.gpu.queue.writeBuffer(notFinite.buffer, 0, Uint32Array.of(1));
      made.push(device.tensor('step', 'made', [1], Float32Array.of(NaN)));
      return made.at(-1)!;
    };
    const before = device.memory().step;
    const refused = finitely(device, { plain: false }, 'it', run, (one) => freeTensors(device, [one]));
    await expect(refused).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('not finite numbers'),
    });
    expect(made).toHaveLength(2);
    expect(device.memory().step).toBe(before);
  });
});

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
    picturesOf(
      await drawing({ image, width, height, steps: 1, strength: 1, tiling }, undefined, { parts: heard }),
    )[0];
  const inStrips = await of(true);
  expect(strips.length).toBeGreaterThan(1);
  expect(new Set(strips)).toEqual(new Set([32]));
  strips.length = 0;
  expect(await of(false)).toEqual(inStrips);
  expect(new Set(strips)).toEqual(new Set([undefined]));
  await other.components.close();
});

it('begins from the picture at strength 1 too, with a mask from noise alone', async () => {
  const of = async (request: Partial<ImageRequest>) =>
    picturesOf(await drawing({ ...request, strength: 1 }))[0];
  expect(await of({ image: grey(0) })).not.toEqual(await of({ image: grey(255) }));
  const mask = grey(255);
  expect(await of({ image: grey(0), mask })).toEqual(await of({ image: grey(255), mask }));
});
