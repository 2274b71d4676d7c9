// The autoencoder of LTX-Video against diffusers, of the first versions and of those whose decoder is told the time step.

import { describe, expect, it } from 'vitest';
import { readAutoencoderLTXConfig } from '../../../../src/models/image/autoencoders/autoencoder-ltx-config.ts';
import {
  ltxDecoder,
  ltxEncoder,
  ltxNoiseSizes,
} from '../../../../src/models/image/autoencoders/autoencoder-ltx.ts';
import { channelsLast, describeGoldens, expectAgreement, inOne, itemOf, load } from '../../image-golden.ts';

describe('the decoder', () => {
  describeGoldens(['vae-ltx-decode', 'vae-ltx-timed-decode'], async (golden, device, run) => {
    const config = readAutoencoderLTXConfig(golden.config);
    expect([config.factor, config.framesPerLatent]).toEqual([16, 4]);
    const decode = await load(device, golden, (weights) => ltxDecoder(config, weights));
    const [latents, noise] = ['latents', 'noise'].map((name) => golden.inputs.get(name));
    const [time, share] = ['time', 'share'].map((name) => golden.inputs.get(name)?.values);
    for (const stripRows of [undefined, 3]) {
      const { values } = await run((_, input) => {
        const left = noise && {
          time: input({ shape: [1, 1], values: time! }),
          noise: input(channelsLast(noise)),
          share: share![0]!,
        };
        return [...decode(input(channelsLast(latents!)), { stripRows, left })];
      });
      expect(values).toHaveLength(9);
      expectAgreement(inOne(values), channelsLast(golden.outputs.get('sample')!), 2e-5);
    }
  });
});

describe('a decoder whose layers add noise', () => {
  describeGoldens(['vae-ltx-noisy-decode'], async (golden, device, run) => {
    const config = readAutoencoderLTXConfig(golden.config);
    const sizes = ltxNoiseSizes(config, { height: 3, width: 2 });
    expect(sizes.map(({ height, width }) => height * width)).toEqual([6, 6, 6, 6, 96, 96]);
    const decode = await load(device, golden, (weights) => ltxDecoder(config, weights));
    const maps = [...golden.inputs.get('maps')!.values];
    const noises = sizes.map(({ height, width }) => ({
      shape: [1, height, width, 1],
      values: Float32Array.from(maps.splice(0, height * width)),
    }));
    const latents = channelsLast(golden.inputs.get('latents')!);
    const wanted = channelsLast(golden.outputs.get('sample')!);
    const decoded = async (stripRows: number | undefined, added: typeof noises | null) => {
      const { values } = await run((_, input) => {
        const time = input({ shape: [1, 1], values: golden.inputs.get('time')!.values });
        const injected = added && added.map((noise) => input(noise));
        const left = { time, noise: input(latents), share: 0 };
        return [...decode(input(latents), { stripRows, left, injected })];
      });
      return inOne(values);
    };
    for (const stripRows of [undefined, 3]) expectAgreement(await decoded(stripRows, noises), wanted, 2e-5);
    const without = await decoded(undefined, null);
    expect(() => expectAgreement(without, wanted, 1e-2)).toThrow();
  });
});

describe('the encoder', () => {
  describeGoldens(['vae-ltx-encode', 'vae-ltx-timed-encode'], async (golden, device, run) => {
    const config = readAutoencoderLTXConfig(golden.config);
    const encode = await load(device, golden, (weights) => ltxEncoder(config, weights));
    const clip = channelsLast(golden.inputs.get('sample')!);
    const wanted = channelsLast(golden.outputs.get('moments')!);
    const { values } = await run((_, input) => [encode(input(clip))]);
    expectAgreement(values[0]!, wanted, 2e-5);
    // No frame depends on later ones: the first alone gives the first latents.
    const { values: alone } = await run((_, input) => [encode(input(itemOf(clip, 0)))]);
    expectAgreement(alone[0]!, itemOf(wanted, 0), 2e-5);
  });
});

describe('configurations of AutoencoderKLLTXVideo', () => {
  it.each([
    [
      { decoder_inject_noise: [true, true, true, false] },
      'config.json: decoder_inject_noise does not fit 4 resolutions: fetch the checkpoint again',
    ],
    [
      { decoder_inject_noise: [false, true, true, true, true] },
      'config.json: decoder_block_out_channels [128,256,512,512] is not built together with decoder_inject_noise; choose widths that upsample_factor alone changes',
    ],
    [{ patch_size_t: 2 }, 'config.json: patch_size_t 2 is not built; choose a checkpoint that has 1'],
    [
      { spatio_temporal_scaling: [true] },
      'config.json: spatio_temporal_scaling does not fit 4 resolutions: fetch the checkpoint again',
    ],
    [
      { spatio_temporal_scaling: [true, true, false, false] },
      'config.json: decoder_spatio_temporal_scaling doubles 3 times, and the encoder divides sides by 4 and frames by 4: equal numbers are needed',
    ],
    [
      { timestep_conditioning: true },
      'config.json: decoder_block_out_channels [128,256,512,512] is not built together with timestep_conditioning; choose widths that upsample_factor alone changes',
    ],
    [
      { upsample_factor: [3, 1, 1, 1] },
      'config.json: upsample_factor is [3,1,1,1], which must divide 8 and the channels before it',
    ],
  ])('%j is refused', (config, message) => {
    expect(() => readAutoencoderLTXConfig(config)).toThrow(message);
  });

  it('the defaults are those of the first version', () => {
    const { factor, framesPerLatent, latentChannels } = readAutoencoderLTXConfig({});
    expect([factor, framesPerLatent, latentChannels]).toEqual([32, 8, 128]);
  });
});
