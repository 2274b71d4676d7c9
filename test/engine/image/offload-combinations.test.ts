// Offloading together with adapters and with weights in codes: each combination draws the bits of the model on the device, in the memory
// that its plan states.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { ImageModelOptions, CompleteImageRequest } from '../../../src/engine/image/calls/image-model.ts';
import { float8, ggufOf, nf4 } from './coded-tensors.ts';
import { write } from './drawn-files.ts';
import { open } from './open-model.ts';
import { originalZImage } from './original-names.ts';
import { goldenRequest, imagesOf, listen } from './pipeline-golden.ts';
import { scratch } from './tiny-pipelines.ts';
import type { StoredTensor } from './tiny-tensors.ts';
import { tinyZImage } from './tiny-transformers.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

type Options = Partial<ImageModelOptions>;

const OFFLOADED: Options = { ditCpuOffload: true, textEncoderCpuOffload: true, vaeCpuOffload: true };
const LAYERWISE: Options = { ditLayerwiseOffload: true };
const TOLERANCE = 0.05;

/** Draws two images: all that stays on the device is there only during the second. */
async function draw(options: Options, request: CompleteImageRequest) {
  const { model } = await open(options);
  try {
    const plan = await model.plan(request);
    const events = [...(await listen(model, request)), ...(await listen(model, request))];
    const peaks = new Map<string, number>();
    for (const event of events)
      if (event.type === 'stage')
        peaks.set(event.name, Math.max(peaks.get(event.name) ?? 0, event.peakBytes));
    const [first, second] = imagesOf(events).map(({ data }) => Buffer.from(data).toString('base64'));
    expect(second).toBe(first);
    return { image: first!, plan, peaks, peak: Math.max(...peaks.values()) };
  } finally {
    await model.close();
  }
}

async function expectSameOffloaded(options: Options, request: CompleteImageRequest): Promise<string> {
  const whole = await draw(options, request);
  for (const offload of [OFFLOADED, LAYERWISE]) {
    const { image, plan, peak } = await draw({ ...options, ...offload }, request);
    expect(image).toBe(whole.image);
    expect(plan.components.some(({ place }) => place !== 'resident')).toBe(true);
    expect(Math.abs(peak / plan.peak - 1), JSON.stringify(offload)).toBeLessThan(TOLERANCE);
  }
  return whole.image;
}

/** Matrices that files keep in codes. */
const isMatrix = ({ name, shape }: StoredTensor): boolean =>
  shape.length === 2 && /\.(attention|feed_forward)\./.test(name);

describe('offloaded weights in codes', () => {
  const request = { prompt: 'a house', seed: 3, width: 32, height: 16, steps: 1, guidance: 0 };
  const files: Record<string, string> = {};
  let model: string;

  beforeAll(() => {
    const pipeline = tinyZImage('offloaded codes');
    model = pipeline.folder;
    const tensors = originalZImage(pipeline.tensors['transformer']!, '');
    const codedBy = (code: (tensor: StoredTensor) => { stored: readonly StoredTensor[] }): StoredTensor[] =>
      tensors.flatMap((tensor) => (isMatrix(tensor) ? code(tensor).stored : [tensor]));
    const mark: StoredTensor = { name: 'scaled_fp8', dtype: 'F8_E4M3', shape: [2], bytes: new Uint8Array(2) };
    files['FP8'] = write('offloaded FP8', [...codedBy((tensor) => float8(tensor, 'scale_weight')), mark]);
    files['NF4'] = write('offloaded NF4', codedBy(nf4));
    files['GGUF'] = join(scratch, 'offloaded.gguf');
    writeFileSync(files['GGUF'], ggufOf(tensors, 'lumina2').file);
  });

  it.each(['FP8', 'NF4', 'GGUF'])('%s', async (kind) => {
    await expectSameOffloaded({ model, transformerWeightsPath: files[kind]! }, request);
  });

  it('int4', async () => {
    await expectSameOffloaded({ model, quantization: 'int4' }, request);
  });
});

const LORA_FOLDER = new URL('../../golden/image/lora-z-image/', import.meta.url).pathname;

/** Small images, for which merging takes more memory than computing. */
it.each([
  ['lora-flux', {}],
  ['lora-flux', { quantization: 'int8' }],
  ['lora-sd1-dora', { ditCpuOffload: true }],
] as const)('the memory plan counts what merging LoRAs takes: %s, %j', async (name, options) => {
  const { options: golden, request } = await goldenRequest(name);
  const loraPath = [new URL(`../../golden/image/${name}/adapter-0.safetensors`, import.meta.url).pathname];
  const small = { ...request, samples: 1, width: 32, height: 32, steps: 1 };
  const { plan, peaks } = await draw({ ...golden, ...options, loraPath }, small);
  const planned = plan.stages.find((stage) => stage.name === 'denoising')!.bytes;
  expect(Math.abs(peaks.get('denoising')! / planned - 1)).toBeLessThan(TOLERANCE);
});

describe('offloading with LoRAs', () => {
  it.each<[Options]>([[{}], [{ quantization: 'int8' }]])('%j', async (options) => {
    const { options: golden, request } = await goldenRequest('lora-z-image');
    const given = { ...golden, ...options, loraPath: [`${LORA_FOLDER}adapter-0.safetensors`] };
    const one = { ...request, samples: 1, steps: 1 };
    const image = await expectSameOffloaded(given, one);
    const { model } = await open({ ...given, ...LAYERWISE });
    const drawn = async (more: Partial<CompleteImageRequest>): Promise<string> =>
      Buffer.from(imagesOf(await listen(model, { ...one, ...more }))[0]!.data).toString('base64');
    const without = await drawn({ lora: [] });
    expect(without).not.toBe(image);
    expect(await drawn({})).toBe(image);
    expect(await drawn({ lora: [] })).toBe(without);
    await model.close();
  });
});
