// A result that is not finite is computed again by plain kernels: the image is the same, and no memory is leaked.

import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { encodeClip } from '../../../src/engine/image/blocks/clip-text.ts';
import { framesOf } from '../../../src/engine/image/blocks/autoencoder.ts';
import type { Components } from '../../../src/engine/image/components/components.ts';
import { type ComputeOptions, finitely, freeTensors } from '../../../src/engine/image/recording/compute.ts';
import type { StageContext } from '../../../src/engine/image/stages/stage-context.ts';
import type {
  ImageEvent,
  CompleteImageRequest,
  Pixels,
} from '../../../src/engine/image/calls/image-model.ts';
import type { OpenedPipeline } from '../../../src/engine/image/opened-pipeline.ts';
import type { FamilyModel } from '../../../src/engine/image/blocks/family.ts';
import { stableDiffusion } from '../../../src/engine/image/families/stable-diffusion/stable-diffusion.ts';
import { zImage as zImageFamily } from '../../../src/engine/image/families/z-image/z-image.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { tapeOf } from '../../../src/gpu/tape.ts';
import type { Region, Tensor } from '../../../src/gpu/tensor.ts';
import { linearCombination } from '../../../src/kernels/linear-combination.ts';
import type { ClipForward } from '../../../src/models/text/clip/clip.ts';
import type { TextForward } from '../../../src/models/text/blocks/architecture.ts';
import type { UNet } from '../../../src/models/image/unet/unet.ts';
import type { ZImage } from '../../../src/models/image/z-image.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { drawOn, grey, openTiny, withPage } from './stages/drawing.ts';
import { imagesOf } from './pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let device: Device;
let parts: OpenedPipeline;
let zImage: OpenedPipeline;
/** A flag that is not read. */
let unheard: Tensor;
beforeAll(async () => {
  device = await openModelTestDevice();
  factor = device.tensor('weights', 'factor', [1], Float32Array.of(1));
  unheard = device.tensor('weights', 'unheard', [1], Uint32Array.of(0));
  parts = await openTiny(device);
  zImage = await openTiny(device, 'z-image');
});
afterAll(async () => {
  await parts.components.close();
  await zImage.components.close();
  device.destroy();
});

/** The factor that `spoiled` applies. */
let factor: Tensor;
const multiplyBy = (value: number): void =>
  device.gpu.queue.writeBuffer(factor.region!.buffer, 0, Float32Array.of(value));
beforeEach(() => multiplyBy(Infinity));

function spoiled(x: Tensor, way: 'tuned' | 'any' = 'tuned'): Tensor {
  if (way === 'tuned' && tapeOf(x).plain) return x;
  return linearCombination([x], factor.region!, unheard.region!);
}

const notes = () => {
  const heard: string[] = [];
  return { heard, options: { onNotFinite: (what: string) => void heard.push(what) } };
};
const notesIn = (events: readonly ImageEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'note' ? [event.message] : []));

function expectSame(found: readonly Pixels[], wanted: readonly Pixels[]): void {
  expect(found).toHaveLength(wanted.length);
  for (const [i, { data }] of wanted.entries()) {
    expect(new Set(data).size).toBeGreaterThan(8);
    data.forEach((value, at) => expect(Math.abs(value - found[i]!.data[at]!)).toBeLessThanOrEqual(1));
  }
}

const runsUNet = (change: (page: UNet) => UNet): FamilyModel =>
  stableDiffusion.open(withPage(parts, 'unet', change), { settings: {}, className: '' });
const runsZImage = (change: (page: ZImage) => ZImage): FamilyModel =>
  zImageFamily.open(withPage(zImage, 'transformer', change), { settings: {}, className: '' });

const LATENTS: [string, () => OpenedPipeline, () => FamilyModel, Partial<CompleteImageRequest>][] = [
  [
    'Stable Diffusion',
    () => parts,
    () => runsUNet((page) => ({ ...page, forward: (...given) => spoiled(page.forward(...given)) })),
    // The repeated run draws the same noise as the first one.
    { scheduler: 'euler-a', guidance: 3 },
  ],
  [
    'Z-Image',
    () => zImage,
    () => runsZImage((page) => ({ ...page, forward: (...given) => spoiled(page.forward(...given)) })),
    { guidance: 2 },
  ],
];

it.each(LATENTS)('a step of %s that is not finite restarts its image', async (_, whole, runner, more) => {
  const request = { ...more, samples: 2, steps: 3 };
  const right = imagesOf(await drawOn(whole(), request));
  multiplyBy(1);
  const events = await drawOn(whole(), request, {
    with: { runner: runner() },
    ends(event) {
      if (event.type === 'step') multiplyBy(event.step < 2 ? 1 : Infinity);
      return false;
    },
  });
  const message = 'a step gave values that are not finite numbers; the image is drawn again in plain f32';
  expect(notesIn(events)).toEqual([message, message]);
  const steps = events.flatMap((event) => (event.type === 'step' ? [`${event.sample}.${event.step}`] : []));
  expect(steps.slice(0, 5)).toEqual(['0.1', '0.2', '0.1', '0.2', '0.3']);
  expectSame(imagesOf(events), right);
});

it('a step whose values are not finite with plain kernels either is an error, and nothing stays behind', async () => {
  const runner = runsUNet((page) => ({
    ...page,
    forward: (...given) => spoiled(page.forward(...given), 'any'),
  }));
  await expect(drawOn(parts, { guidance: 1 }, { with: { runner } })).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringContaining('not finite numbers'),
  });
  expect(device.memory()).toMatchObject({ step: 0, arena: 0 });
});

it('an image whose decoded values are not finite is decoded again', async () => {
  const { autoencoder } = parts;
  const decoder: StageContext['autoencoder']['decoder'] = (weights) => {
    const decode = autoencoder.decoder(weights);
    return (latents, tiling) => Array.from(framesOf(decode(latents, tiling)), (image) => spoiled(image));
  };
  const request = { steps: 1 };
  const right = imagesOf(await drawOn(parts, request));
  const { heard, options } = notes();
  // Pages are cached per component, so this test opens its own components.
  const { components } = await openTiny(device);
  const events = await drawOn(parts, request, {
    options,
    with: { components, autoencoder: { ...autoencoder, decoder } },
  });
  await components.close();
  expect(heard).toEqual(['the decoder']);
  expectSame(imagesOf(events), right);
});

it('an image to start from whose latents are not finite is encoded again', async () => {
  const { autoencoder } = parts;
  const encoder: StageContext['autoencoder']['encoder'] = (weights) => {
    const encode = autoencoder.encoder(weights);
    return (image, tiling) => spoiled(encode(image, tiling));
  };
  const request = { image: grey(90), strength: 0.5, steps: 2 };
  const right = imagesOf(await drawOn(parts, request));
  const { heard, options } = notes();
  const { components } = await openTiny(device);
  const events = await drawOn(parts, request, {
    options,
    with: { components, autoencoder: { ...autoencoder, encoder } },
  });
  await components.close();
  expect(heard).toEqual(['the encoder']);
  expectSame(imagesOf(events), right);
});

it('a text whose embeddings are not finite is encoded again', async () => {
  const { components } = parts;
  const wrapped = withPage<ClipForward>(parts, 'text_encoder', (forward) => (...given) => {
    const { states, pooled } = forward(...given);
    return { states: spoiled(states), pooled };
  });
  const { heard, options } = notes();
  const request = { prompt: 'a house', negative: '', clipSkip: 0, zeroNegative: false };
  const encode = (given: Components) =>
    encodeClip(given, false, { ...request, options: { plain: false, ...options } });
  const [right, again] = [await encode(components), await encode(wrapped)];
  expect(heard).toEqual(['the text encoder', 'the text encoder']);
  // Padding rows have arbitrary values.
  const [a, b] = await Promise.all(
    [right, again].map(async ({ states }) =>
      new Float32Array(await device.read(states.region!)).subarray(0, states.rows({}) * states.stride),
    ),
  );
  const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, i) => sum + value * y[i]!, 0);
  expect(dot(a!, b!) / Math.sqrt(dot(a!, a!) * dot(b!, b!))).toBeGreaterThan(0.999);
  freeTensors(device, [right.states, again.states]);
});

it('a caption of Z-Image whose embeddings are not finite is encoded again', async () => {
  const request = { guidance: 2, negativePrompt: 'fog', steps: 2 };
  const right = imagesOf(await drawOn(zImage, request));
  const wrapped = withPage<TextForward>(
    zImage,
    'text_encoder',
    (forward) =>
      (...given) =>
        spoiled(forward(...given)),
  );
  const { heard, options } = notes();
  const events = await drawOn(zImage, request, {
    options,
    with: { runner: zImageFamily.open(wrapped, { settings: {}, className: '' }) },
  });
  expect(heard).toEqual(['the text encoder', 'the text encoder']);
  expectSame(imagesOf(events), right);
});

it('values that are not finite with plain kernels either are an error, and nothing stays behind', async () => {
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
