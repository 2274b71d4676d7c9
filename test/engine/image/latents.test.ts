// Latents after a whole run against diffusers': what the pictures' eight bits would hide.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { openComponents } from '../../../src/engine/image/components.ts';
import { familyOf } from '../../../src/engine/image/families.ts';
import { cpuNoise } from '../../../src/engine/image/noise.ts';
import { readAutoencoder } from '../../../src/engine/image/pictures.ts';
import { createPlanner } from '../../../src/engine/image/plan.ts';
import { resolveRequest } from '../../../src/engine/image/resolve.ts';
import { sampleLatentsOf } from '../../../src/engine/image/sampler.ts';
import { stableDiffusion } from '../../../src/engine/image/stable-diffusion.ts';
import { zImageRunner } from '../../../src/engine/image/z-image.ts';
import { openPipeline } from '../../../src/files/pipeline-index.ts';
import { openComponentWeights } from '../../../src/files/pipeline-weights.ts';
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
  const family = familyOf(pipeline, options.model);
  const names = Object.keys(pipeline.components).filter(
    (part) => part === family.denoiser || part === 'vae' || part.startsWith('text_encoder'),
  );
  const components = await openComponents(device, names, {
    pipeline,
    quantization: 'none',
    openWeights: ({ folder }) => openComponentWeights(folder),
    onProgress: () => {},
    onNote: () => {},
  });
  const autoencoder = readAutoencoder('AutoencoderKL', components.get('vae').config, 'config.json');
  const runner =
    family.name === 'z-image'
      ? zImageRunner(components)
      : stableDiffusion(components, family.name === 'stable-diffusion-xl', pipeline.settings);
  const planner = createPlanner(components.get('scheduler').config, runner, autoencoder.factor);
  const resolved = resolveRequest(request, {
    family,
    sizeMultiple: autoencoder.factor * family.patch,
    defaults: { width: 64, height: 64 },
    backend: 'svc',
    schedulers: planner.names,
    mostClipSkip: runner.mostClipSkip,
  });
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
