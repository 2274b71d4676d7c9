// The autoencoders of Wan and of Qwen-Image against diffusers, which computes an image as a video of one frame, and a clip in chunks of frames.

import { describe, expect, it } from 'vitest';
import { readAutoencoderWanConfig } from '../../../../src/models/image/autoencoders/autoencoder-wan-config.ts';
import { wanDecoder, wanEncoder } from '../../../../src/models/image/autoencoders/autoencoder-wan.ts';
import { inChunks } from '../carried-frames.ts';
import {
  channelsLast,
  describeGoldens,
  expectAgreement,
  inOne,
  itemOf,
  load,
  type Values,
} from '../../image-golden.ts';

describe('the decoder', () => {
  describeGoldens(['vae-qwen-image-decode'], async (golden, device, run) => {
    const config = readAutoencoderWanConfig(golden.config);
    const decode = await load(device, golden, (weights) => wanDecoder(config, weights));
    const latents = channelsLast(golden.inputs.get('latents')!);
    const wanted = channelsLast(golden.outputs.get('sample')!);
    for (const stripRows of [undefined, 3]) {
      const { values } = await run((_, input) => [...decode(input(latents), { stripRows })]);
      const clamped = values[0]!.map((value) => Math.min(1, Math.max(-1, value))); // diffusers clamps here, to-pixels does
      expectAgreement(clamped, wanted);
    }
  });
});

describe('the encoder', () => {
  describeGoldens(['vae-qwen-image-encode'], async (golden, device, run) => {
    const config = readAutoencoderWanConfig(golden.config);
    const encode = await load(device, golden, (weights) => wanEncoder(config, weights));
    const image = channelsLast(golden.inputs.get('sample')!);
    const { values } = await run((_, input) => [encode(input(image), {})]);
    expectAgreement(values[0]!, channelsLast(golden.outputs.get('moments')!));
  });
});

const clamped = (values: Float32Array): Float32Array =>
  values.map((value) => Math.min(1, Math.max(-1, value)));

/** The first frames of a clip. */
function firstOf(clip: Values, count: number): Values {
  const frames = Array.from({ length: count }, (_, i) => [...itemOf(clip, i).values]);
  return { shape: [count, ...clip.shape.slice(1)], values: Float32Array.from(frames.flat()) };
}

/** A clip of nine frames in all is three latents; the first of both are a clip of their own. */
const SHORTER = { latents: 2, frames: 5 };

describe('clips', () => {
  describeGoldens(['vae-wan-decode', 'vae-wan-residual-decode'], async (golden, device, run) => {
    const config = readAutoencoderWanConfig(golden.config);
    const page = await load(device, golden, (weights) => wanDecoder(config, weights, { isClip: true }));
    const clip = channelsLast(golden.inputs.get('latents')!);
    const { values } = await run((_, input) => [...page(input(clip))]);
    const wanted = channelsLast(golden.outputs.get('sample')!);
    expectAgreement(clamped(inOne(values)), wanted, 1e-5);
    for (const chunks of config.hasShortcuts
      ? [[1, 1, 1]]
      : [
          [1, 1, 1],
          [2, 1],
        ])
      expect(await inChunks(device, run, { page, clip, chunks })).toEqual(inOne(values));
    const { values: fewer } = await run((_, input) => [...page(input(firstOf(clip, SHORTER.latents)))]);
    expectAgreement(clamped(inOne(fewer)), firstOf(wanted, SHORTER.frames), 1e-5);
  });

  describeGoldens(['vae-wan-encode', 'vae-wan-residual-encode'], async (golden, device, run) => {
    const config = readAutoencoderWanConfig(golden.config);
    const page = await load(device, golden, (weights) => wanEncoder(config, weights, { isClip: true }));
    const clip = channelsLast(golden.inputs.get('sample')!);
    const { values } = await run((_, input) => [page(input(clip))]);
    const wanted = channelsLast(golden.outputs.get('moments')!);
    expectAgreement(values[0]!, wanted, 1e-5);
    for (const chunks of [
      [1, 4, 4],
      [5, 4],
    ])
      expect(await inChunks(device, run, { page: (...of) => [page(...of)], clip, chunks })).toEqual(
        values[0],
      );
    const { values: fewer } = await run((_, input) => [page(input(firstOf(clip, SHORTER.frames)))]);
    expectAgreement(fewer[0]!, firstOf(wanted, SHORTER.latents), 1e-5);
  });
});

describe('an autoencoder of clips decodes one frame', () => {
  describeGoldens(['vae-wan-decode', 'vae-wan-residual-decode'], async (golden, device, run) => {
    const config = readAutoencoderWanConfig(golden.config);
    const page = await load(device, golden, (weights) => wanDecoder(config, weights));
    const latents = firstOf(channelsLast(golden.inputs.get('latents')!), 1);
    const { values } = await run((_, input) => [...page(input(latents))]);
    const wanted = firstOf(channelsLast(golden.outputs.get('sample')!), 1);
    expectAgreement(clamped(values[0]!), wanted, 1e-5);
  });
});

describe('configurations of AutoencoderKLWan', () => {
  it('attention at other resolutions is refused', () => {
    expect(() => readAutoencoderWanConfig({ attn_scales: [0.5] })).toThrow(
      'config.json: attn_scales [0.5] is not built; choose a checkpoint that has []',
    );
  });

  it('a mean and a spread for each channel are needed', () => {
    expect(() => readAutoencoderWanConfig({ z_dim: 2, latents_mean: [1, 2] })).toThrow(
      'config.json: latents_std is null and latents_mean [1,2], a mean and a spread above 0 for each of 2 channels are needed',
    );
  });

  it.each([
    [
      { temperal_downsample: [true] },
      'config.json: temperal_downsample is [true], 3 of true and false are needed, one fewer than entries of dim_mult',
    ],
    [
      { in_channels: 12, out_channels: 12, patch_size: 4 },
      'config.json: patch_size 4 is not built; choose a checkpoint that has 1 or 2',
    ],
    [
      { in_channels: 12, out_channels: 3 },
      'config.json: out_channels is 3 and in_channels 12, equal numbers of whole patches of 1 × 1 pixels are needed',
    ],
    [
      { is_residual: true, dim_mult: [1, 3, 4, 4] },
      'config.json: dim_mult [1,3,4,4] gives channels that shortcuts cannot share out evenly',
    ],
    [
      { dim_mult: [2, 2, 4, 4] },
      'config.json: dim_mult [2,2,4,4] is not built; choose a checkpoint that has [1,2,4,4]',
    ],
  ])('%j is refused', (config, message) => {
    expect(() => readAutoencoderWanConfig(config)).toThrow(message);
  });
});
