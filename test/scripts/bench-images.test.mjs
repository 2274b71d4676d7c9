// The image benchmark on tiny checkpoints of the same kind, and its counts of operations.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openDevice } from '../../dist/gpu/node.js';
import { readAutoencoderKLConfig } from '../../dist/models/image/autoencoders/autoencoder-kl-config.js';
import { readQwenImageConfig } from '../../dist/models/image/qwen-image-config.js';
import { readUNetConfig } from '../../dist/models/image/unet/unet-config.js';
import { readZImageConfig } from '../../dist/models/image/z-image-config.js';
import { readFluxConfig } from '../../dist/models/image/flux-config.js';
import { readSD3Config } from '../../dist/models/image/sd3-config.js';
import { readAutoencoderWanConfig } from '../../dist/models/image/autoencoders/autoencoder-wan-config.js';
import { readWanConfig } from '../../dist/models/image/clips/wan-config.js';
import { wanDecoderFlops, wanFlops } from '../../scripts/bench/clip-flops.mjs';
import { attention, conv, decoderFlops, linear, unetFlops } from '../../scripts/bench/flops.mjs';
import { imageKernels, imageLines } from '../../scripts/bench/image-table.mjs';
import { countParts, profileParts } from '../../scripts/bench/parts.mjs';
import { drawTimed, fastest, openCounted } from '../../scripts/bench/picture.mjs';
import { stableDiffusion, writePipeline } from '../../scripts/bench/pipelines.mjs';
import { fluxFlops, qwenImageFlops, sd3Flops, zImageFlops } from '../../scripts/bench/transformer-flops.mjs';
import { fluxOf, qwenImageOf, sd3Of, wanOf, zImageOf } from '../../scripts/bench/transformer-pipelines.mjs';

const PATIENCE = 600_000;
const PROMPT = 'a red balloon over snowy mountains at sunset';
const SMALL = { prompt: PROMPT, seed: 1, width: 64, height: 64 };

describe('counted operations', () => {
  it('of one product are twice its multiplications', () => {
    expect(linear(3, 5, 7)).toBe(2 * 3 * 5 * 7);
    expect(conv(6, 5, 4)).toBe(2 * 6 * 5 * 4 * 9);
    expect(conv(6, 5, 4, 1)).toBe(linear(6, 5, 4));
    expect(attention(3, 5, 8)).toBe(linear(3, 5, 8) + linear(3, 8, 5));
  });

  // From torch.utils.flop_counter on the models of diffusers 0.42.1, batch 1, a text of 77 tokens.
  it.each([
    ['SD1.5 at 512²', 320, 64, 64, 803273441280],
    ['64 channels at 128²', 64, 16, 16, 2420232192],
    ['64 channels at 120 × 104', 64, 15, 13, 2171239424],
  ])('of a UNet as PyTorch counts them: %s', (_, channels, height, width, expected) => {
    const { config } = stableDiffusion({ channels }).parts.unet;
    const { step, prompt } = unetFlops(readUNetConfig(config), height, width, 77);
    expect(step + prompt).toBe(expected);
  });

  it.each([
    [64, 2514518933504],
    [16, 155144167424],
  ])('of the decoder as PyTorch counts them: %i² latents', (side, expected) => {
    const { config } = stableDiffusion({ channels: 64 }).parts.vae;
    expect(decoderFlops(readAutoencoderKLConfig(config), side, side)).toBe(expected);
  });

  it('of Z-Image as PyTorch counts them, but for embedding what only fills sequences up', () => {
    const config = readZImageConfig(tinyZImage().parts.transformer.config);
    const { step, prompt } = zImageFlops(config, 12, 20, 43);
    const filling = linear(64 - 60, 96, 64) + linear(64 - 43, 96, 64);
    expect(step + prompt + filling).toBe(104769536);
  });

  it('of Qwen-Image as PyTorch counts them, but for the text behind the last layer, which nothing reads', () => {
    const config = readQwenImageConfig(tinyQwenImage().parts.transformer.config);
    const { step, prompt } = qwenImageFlops(config, 12, 20, 43);
    const unread = linear(43, 96, 96) + 2 * linear(43, 384, 96);
    expect(step + prompt + unread).toBe(59431680);
  });

  it('of FLUX.1 as PyTorch counts them', () => {
    const config = readFluxConfig(tinyFlux().parts.transformer.config);
    const { step, prompt } = fluxFlops(config, 12, 20, 43);
    expect(step + prompt).toBe(83_633_280);
  });

  it('of SD3.5 medium as PyTorch counts them, but for the attention of the text in the last layer, which nothing reads', () => {
    const config = readSD3Config(tinySD3().parts.transformer.config);
    const { step, prompt } = sd3Flops(config, 12, 20, 43);
    expect(step + prompt + attention(43, 60 + 43, 96)).toBe(82_564_224);
  });

  it('of Wan as PyTorch counts them, but for what its decoder multiplies by zeros before the first frame', () => {
    const { transformer, vae } = tinyWan().parts;
    const { step, prompt } = wanFlops(
      readWanConfig(transformer.config),
      { frames: 3, height: 12, width: 20 },
      43,
    );
    expect(step + prompt).toBe(106_275_840);
    const config = readAutoencoderWanConfig(vae.config);
    const zeros = 435_879_936;
    expect(wanDecoderFlops(config, { frames: 3, height: 4, width: 6 }) + zeros).toBe(3_374_764_032);
  });
});

const folders = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

function written(pipeline) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-pipeline-'));
  folders.push(folder);
  writePipeline(folder, pipeline);
  return folder;
}

function tinyStableDiffusion() {
  const clip = {
    hidden_size: 64,
    intermediate_size: 64,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    vocab_size: 512,
  };
  return stableDiffusion({ channels: 32, decoderChannels: 32, clip });
}

function tinyQwenImage() {
  const transformer = { num_attention_heads: 2, attention_head_dim: 48, axes_dims_rope: [16, 16, 16] };
  return qwenImageOf({ layers: 2, textDims: 448, transformer });
}

function tinyFlux() {
  const transformer = { num_attention_heads: 2, attention_head_dim: 48, axes_dims_rope: [16, 16, 16] };
  return fluxOf({ layers: 1, singles: 2, textDims: 128, pooledDims: 64, transformer });
}

function tinySD3() {
  const transformer = {
    num_attention_heads: 2,
    attention_head_dim: 48,
    caption_projection_dim: 96,
    pos_embed_max_size: 24,
  };
  return sd3Of({ layers: 3, duals: 1, textDims: 128, clipDims: [64, 64], transformer });
}

function tinyWan() {
  const transformer = { num_attention_heads: 2, attention_head_dim: 48, ffn_dim: 192, rope_max_seq_len: 64 };
  return wanOf({ layers: 2, textDims: 64, decoderChannels: 16, transformer });
}

function tinyZImage() {
  const transformer = { dim: 96, n_heads: 2, axes_dims: [16, 16, 16], axes_lens: [256, 32, 32] };
  return zImageOf({ layers: 2, refiners: 1, captionDims: 64, transformer });
}

async function measured(folder, request, parts) {
  const { model, ready, pipelines } = await openCounted(folder);
  const planned = await model.plan(request);
  const pictures = [await drawTimed(model, request), await drawTimed(model, request)];
  await model.close();
  const device = await openDevice();
  const { values } = pictures[0];
  const result = {
    adapter: device.summary,
    cold: { first: pictures[0], ready, pipelines: pipelines.count },
    ready,
    first: pictures[1],
    best: fastest(pictures),
    planned,
    work: await countParts(folder, values, PROMPT.length),
    ceilings: { gflops: 100, gbytes: 10 },
    kernels: await profileParts(device, folder, values, PROMPT),
  };
  device.destroy();
  const text = imageLines(result, parts);
  expect(text.every(({ value, note }) => !/NaN|undefined|Infinity/.test(value + note))).toBe(true);
  return { result, text };
}

it('bench measures a guided Stable Diffusion, its step and its decoder', { timeout: PATIENCE }, async () => {
  const folder = written(tinyStableDiffusion());
  const request = { prompt: PROMPT, seed: 1, width: 64, height: 64, steps: 2, guidance: 4 };
  const { result, text } = await measured(folder, request, ['step', 'decode']);
  const { step } = unetFlops(readUNetConfig(tinyStableDiffusion().parts.unet.config), 8, 8, 77);
  expect(result.work).toMatchObject({ forwards: 2, step: 2 * step });
  expect(text.map(({ name }) => name)).toContain('decoding');
  expect(Object.keys(result.best.stages)).toEqual(['text-encoding', 'denoising', 'decoding']);
  expect(result.best.total.wall).toBeLessThanOrEqual(result.first.total.wall);
  expect(result.cold.pipelines).toBeLessThanOrEqual(50);
  const [, decoding] = imageKernels(result, ['step', 'decode']);
  expect(decoding.kernels.map(({ name }) => name)).toContain('conv2d.wgsl');
});

it('bench counts the passes of a Z-Image, two where it is guided', async () => {
  const folder = written(tinyZImage());
  const once = await countParts(folder, { width: 64, height: 64, guidance: 0 }, PROMPT.length);
  const twice = await countParts(folder, { width: 64, height: 64, guidance: 1 }, PROMPT.length);
  expect([once.forwards, twice.forwards]).toEqual([1, 2]);
  expect(twice.step).toBe(2 * once.step);
});

it(
  'bench measures a FLUX.1: its step alone, products and attention apart',
  { timeout: PATIENCE },
  async () => {
    const folder = written(tinyFlux());
    const { result, text } = await measured(folder, { ...SMALL, steps: 2 }, ['step']);
    expect(result.work).toMatchObject({ forwards: 1 });
    expect(result.work.attention).toBe(3 * attention(512 + 16, 512 + 16, 96));
    expect(dispatches(result, 'attend.wgsl')).toBe(3);
    expect(imageKernels(result, ['step'])).toHaveLength(1);
    expect(text.map(({ name }) => name)).not.toContain('decoding');
    expect(text.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['products of a step', 'attention of a step']),
    );
    expectPlanned(result);
  },
);

it('bench counts the attention of an SD3.5 medium, whose last layer reads no text', async () => {
  const folder = written(tinySD3());
  const work = await countParts(folder, { width: 64, height: 64, guidance: 4 }, PROMPT.length);
  expect(work.forwards).toBe(2);
  expect(work.attention).toBe(
    2 * (2 * attention(333 + 16, 333 + 16, 96) + attention(16, 333 + 16, 96) + attention(16, 16, 96)),
  );
});

it('bench measures a Wan: its step over all frames, and its decoder', { timeout: PATIENCE }, async () => {
  const folder = written(tinyWan());
  const request = { ...SMALL, width: 32, height: 32, frames: 17, steps: 2, guidance: 1 };
  const { result, text } = await measured(folder, request, ['step', 'decode']);
  expect(result.work.attention).toBe(2 * (attention(20, 20, 96) + attention(20, 512, 96)));
  expect(text.map(({ name }) => name)).toContain('decoding');
  expect(imageKernels(result, ['step', 'decode'])[1].kernels.map(({ name }) => name)).toContain(
    'conv2d.wgsl',
  );
  expectPlanned(result);
  // A plan records three of its five frames of latents.
  expectPlanned(result, 'decoding');
});

function dispatches(result, kernel) {
  const [step] = imageKernels(result, ['step']);
  return step.kernels.find(({ name }) => name === kernel)?.dispatches;
}

/** The peak of a stage is within 5 % of the planned one. */
function expectPlanned({ best, planned }, stage = 'denoising') {
  const { bytes } = planned.stages.find(({ name }) => name === stage);
  expect(Math.abs(best.stages[stage].peakBytes / bytes - 1)).toBeLessThan(0.05);
}
