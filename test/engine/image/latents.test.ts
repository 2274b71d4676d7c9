// Latents after a whole run against diffusers': what the pictures' eight bits would hide.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { cpuNoise } from '../../../src/engine/image/noise.ts';
import { openParts } from '../../../src/engine/image/parts.ts';
import { resolveRequest } from '../../../src/engine/image/resolve.ts';
import { sampleLatentsOf } from '../../../src/engine/image/sampler.ts';
import { nodePlatform } from '../../../src/engine/platform-node.ts';
import { openPipeline } from '../../../src/files/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { openTestDevice } from '../../gpu/test-device.ts';
import { goldenRequest, storedTensor } from './pipeline-golden.ts';

const PATIENCE = 300_000;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** [channels][height][width] of the first picture, as torch has it. */
async function latentsOf(name: string): Promise<Float32Array> {
  const { options, request } = await goldenRequest(name);
  const pipeline = await openPipeline(options.model, openDiskFolder, options);
  const parts = await openParts(device, nodePlatform, pipeline, options, () => {});
  const { autoencoder, components, context, planner, runner } = parts;
  const resolved = resolveRequest(request, context);
  const { values, sources } = resolved.event;
  const [height, width] = [values.height / autoencoder.factor, values.width / autoencoder.factor];
  const computing = { plain: false };
  const prepared = await runner.prepare({
    prompt: request.prompt,
    values,
    sources,
    call: resolved.call,
    options: computing,
  });
  const latents = await prepared.use((record) =>
    sampleLatentsOf({
      device,
      autoencoder,
      height,
      width,
      plan: planner.plan(resolved),
      strength: null,
      encoded: null,
      noise: cpuNoise(request.seed),
      options: computing,
      signal: undefined,
      predictor: (x, y, extra) => record(x, y, extra, computing),
      preview: null,
      onStep: () => {},
    }),
  );
  const floats = new Float32Array(await device.read(latents.region!));
  await components.close();
  const { columns, stride } = latents;
  return Float32Array.from({ length: columns * height * width }, (_, i) => {
    const pixel = i % (height * width);
    return floats[pixel * stride + Math.floor(i / (height * width))]!;
  });
}

it.each([
  'pipeline-sd1',
  'pipeline-sd1-ancestral',
  'pipeline-sd1-clip-skip',
  'pipeline-sd1-lcm',
  'pipeline-sd2',
  'pipeline-sd2-rescale',
  'pipeline-sdxl',
  'pipeline-sdxl-negative',
  'pipeline-z-image',
  'pipeline-z-image-guided',
])('%s', { timeout: PATIENCE }, async (name) => {
  let wanted: Float32Array | undefined;
  for (let step = 1; ; step++) {
    const stored = await storedTensor(name, 'outputs', `latents_${step}`);
    if (!stored) break;
    wanted = new Float32Array(stored.bytes.buffer);
  }
  const found = await latentsOf(name);
  let [dot, own, theirs, largest] = [0, 0, 0, 0];
  found.forEach((value, i) => {
    const other = wanted![i]!; // of the first picture
    dot += value * other;
    own += value * value;
    theirs += other * other;
    largest = Math.max(largest, Math.abs(value - other));
  });
  expect(dot / Math.sqrt(own * theirs)).toBeGreaterThan(0.9999);
  expect(largest).toBeLessThan(1e-3);
});
