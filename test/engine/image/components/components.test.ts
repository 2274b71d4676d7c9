// If weights are too large to stay on the device, each stage has only its own there.

import { statSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readAutoencoder } from '../../../../src/engine/image/blocks/autoencoder.ts';
import type { StageName } from '../../../../src/engine/image/calls/image-model.ts';
import type { OpenedPipeline } from '../../../../src/engine/image/opened-pipeline.ts';
import { Device } from '../../../../src/gpu/device.ts';
import { readShader } from '../../../../src/gpu/node.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { drawOn, grey, openTiny, SMALL_BUDGET } from '../stages/drawing.ts';
import { imagesOf, tinyPipeline } from '../pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let resident: OpenedPipeline;
let moving: OpenedPipeline;
beforeAll(async () => {
  resident = await openTiny(await openModelTestDevice());
  moving = await openTiny(await openModelTestDevice({ memoryBudget: SMALL_BUDGET }));
});
afterAll(async () => {
  for (const { components, device } of [resident, moving]) {
    await components.close();
    device.destroy();
  }
});

const storedBytes = (file: string): number => statSync(`${tinyPipeline('sd1')}/${file}.safetensors`).size;
const TEXT = storedBytes('text_encoder/model');
const UNET = storedBytes('unet/diffusion_pytorch_model');

interface Watched {
  /** Peak of bytes of each stage. */
  peaks: Partial<Record<StageName, number>>;
  /** Bytes of weights after each stage. */
  left: number[];
  /** Bytes of weights after each step. */
  inSteps: number[];
}

async function watch(parts: OpenedPipeline, request: Parameters<typeof drawOn>[1]): Promise<Watched> {
  const [peaks, left, inSteps]: [Watched['peaks'], number[], number[]] = [{}, [], []];
  const events = await drawOn(parts, request, {
    ends(event) {
      const { weights } = parts.device.memory();
      if (event.type === 'step') inSteps.push(weights);
      if (event.type !== 'stage') return false;
      peaks[event.name] = event.peakBytes;
      left.push(weights);
      return false;
    },
  });
  expect(imagesOf(events)).not.toEqual([]);
  return { peaks, left, inSteps };
}

it('weights leave the device with the stage that needs them', async () => {
  expect([resident.components.resident, moving.components.resident]).toEqual([true, false]);
  const { left, inSteps } = await watch(moving, { image: grey(90), steps: 2 });
  expect(left).toEqual([0, 0, 0, 0]);
  for (const weights of inSteps) expect(weights).toBeGreaterThan(0.8 * UNET);
});

it('the peak of memory is the largest stage, not the sum', async () => {
  const [all, one] = [await watch(resident, {}), await watch(moving, {})];
  const more = (stage: StageName): number => all.peaks[stage]! - one.peaks[stage]!;
  expect(Math.abs(more('text-encoding'))).toBeLessThan(0.1 * TEXT);
  expect(more('denoising')).toBeGreaterThan(0.8 * TEXT);
  expect(more('decoding')).toBeGreaterThan(0.8 * (TEXT + UNET));
});

it('an estimated budget grows by what weights take on the device, and what reading them takes', async () => {
  const { gpu, profile, summary } = resident.device;
  const estimated = { memoryBudget: 1000, mayGrow: true };
  const device = new Device(gpu, { shaders: readShader, profile, summary, ...estimated });
  const { components } = await openTiny(device, 'sd1', { allF32: true });
  const vae = readAutoencoder(components.get('vae'));
  const loaded = await components.load('vae', 'decoder', vae.decoder, {});
  const { all } = components.weightBytes('vae');
  expect(all).toBeGreaterThan(0);
  expect(device.memory().weights).toBe(all);
  expect(device.memoryBudget).toBe(all + 64 * 2 ** 20);
  loaded[Symbol.dispose]();
  await components.close();
});
