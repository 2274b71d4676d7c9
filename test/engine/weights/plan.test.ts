// Bytes that planning says are those that placing allocates: for every family, quantization and binding limit.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect } from '../../../src/engine/weights/collect.ts';
import { checkRequests } from '../../../src/engine/weights/check.ts';
import { formatOf, planWeights } from '../../../src/engine/weights/plan.ts';
import { planOptionsOf } from '../../../src/engine/weights/plan-options.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { readSafetensors, type TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { openDiskSource } from '../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { autoencoderKLDecoder } from '../../../src/models/image/autoencoders/autoencoder-kl.ts';
import { readAutoencoderKLConfig } from '../../../src/models/image/autoencoders/autoencoder-kl-config.ts';
import { unet } from '../../../src/models/image/unet/unet.ts';
import { readUNetConfig } from '../../../src/models/image/unet/unet-config.ts';
import { readText } from '../../../src/models/text/registry.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/', import.meta.url));

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

async function headersOf(path: string): Promise<Map<string, TensorEntry>> {
  const source = await openDiskSource(path);
  const { tensors } = await readSafetensors(source);
  await source.close();
  return tensors;
}

const config = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(`${GOLDEN}${path}/config.json`, 'utf8')) as Record<string, unknown>;

const PAGES: Record<string, { weights: string; page: (weights: WeightTable) => unknown }> = {
  qwen2: {
    weights: 'qwen2/model.safetensors',
    page: (weights) => readText(config('qwen2'), 'Qwen2ForCausalLM').generate!(weights),
  },
  'qwen3-moe': {
    weights: 'qwen3-moe/model.safetensors',
    page: (weights) => readText(config('qwen3-moe'), 'Qwen3MoeForCausalLM').generate!(weights),
  },
  unet: {
    weights: 'image/checkpoints/sd1/unet/diffusion_pytorch_model.safetensors',
    page: (weights) => unet(readUNetConfig(config('image/checkpoints/sd1/unet'), 'config.json'), weights),
  },
  vae: {
    weights: 'image/checkpoints/sd1/vae/diffusion_pytorch_model.safetensors',
    page: (weights) =>
      autoencoderKLDecoder(
        readAutoencoderKLConfig(config('image/checkpoints/sd1/vae'), 'config.json'),
        weights,
      ),
  },
};

describe.each(Object.entries(PAGES))('the plan of weights of %s', (_, { weights: path, page }) => {
  it.each([
    ['none', {}],
    ['int8', {}],
    ['int4', {}],
    ['none', { bindingLimit: 256 << 10 }],
    ['int4', { bindingLimit: 128 << 10 }],
    ['none', { profile: 'discrete' }],
    ['none', { memoryBudget: 8 << 20 }],
  ] as const)('%s on %o', async (quantization, as) => {
    const on = disguise(device, as);
    const tensors = await headersOf(GOLDEN + path);
    const stored = [...tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    const options = planOptionsOf(on, stored, { format: formatOf(quantization) });
    const collected = collect(tensors, page);
    checkRequests(collected, tensors);
    const { bytes } = planWeights(collected.requests, (name) => tensors.get(name)!.dtype, options);
    const before = on.memory().weights;
    const weights = openWeights(on, tensors, page, { format: formatOf(quantization) });
    expect(on.memory().weights - before).toBe(bytes);
    expect(bytes).toBeGreaterThan(quantization === 'none' ? stored : stored / 8);
    weights.free();
    expect(on.memory().weights).toBe(before);
  });
});
