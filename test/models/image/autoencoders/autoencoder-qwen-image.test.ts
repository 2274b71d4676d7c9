// The autoencoder of Qwen-Image against diffusers, which computes an image as a video of one frame.

import { describe, expect, it } from 'vitest';
import { readAutoencoderQwenImageConfig } from '../../../../src/models/image/autoencoders/autoencoder-qwen-image-config.ts';
import {
  qwenImageDecoder,
  qwenImageEncoder,
} from '../../../../src/models/image/autoencoders/autoencoder-qwen-image.ts';
import { channelsLast, describeGoldens, expectAgreement, load } from '../../image-golden.ts';

describe('the decoder', () => {
  describeGoldens(['vae-qwen-image-decode'], async (golden, device, run) => {
    const config = readAutoencoderQwenImageConfig(golden.config);
    const decode = await load(device, golden, (weights) => qwenImageDecoder(config, weights));
    const latents = channelsLast(golden.inputs.get('latents')!);
    const wanted = channelsLast(golden.outputs.get('sample')!);
    for (const stripRows of [undefined, 3]) {
      const { values } = await run((_, input) => [decode(input(latents), { stripRows })]);
      const clamped = values[0]!.map((value) => Math.min(1, Math.max(-1, value))); // diffusers clamps here, to-pixels does
      expectAgreement(clamped, wanted);
    }
  });
});

describe('the encoder', () => {
  describeGoldens(['vae-qwen-image-encode'], async (golden, device, run) => {
    const config = readAutoencoderQwenImageConfig(golden.config);
    const encode = await load(device, golden, (weights) => qwenImageEncoder(config, weights));
    const image = channelsLast(golden.inputs.get('sample')!);
    const { values } = await run((_, input) => [encode(input(image), {})]);
    expectAgreement(values[0]!, channelsLast(golden.outputs.get('moments')!));
  });
});

describe('configurations', () => {
  it('attention at other resolutions is refused', () => {
    expect(() => readAutoencoderQwenImageConfig({ attn_scales: [0.5] })).toThrow(
      'config.json: attn_scales [0.5] is not built; choose a checkpoint that has []',
    );
  });

  it('a mean and a spread for each channel are needed', () => {
    expect(() => readAutoencoderQwenImageConfig({ z_dim: 2, latents_mean: [1, 2] })).toThrow(
      'config.json: latents_std is null and latents_mean [1,2], a mean and a spread above 0 for each of 2 channels are needed',
    );
  });
});
