// AutoencoderKLFlux2 against diffusers, between images and the denoiser's latents.

import { describe, expect, it } from 'vitest';
import { readAutoencoderKLFlux2Config } from '../../../../src/models/image/autoencoders/autoencoder-kl-config.ts';
import {
  autoencoderKLFlux2Decoder,
  autoencoderKLFlux2Encoder,
} from '../../../../src/models/image/autoencoders/autoencoder-kl-flux2.ts';
import { channelsLast, describeGoldens, expectAgreement, load } from '../../image-golden.ts';

describe('decoder', () => {
  describeGoldens(['vae-flux2-decode'], async (golden, device, run) => {
    const config = readAutoencoderKLFlux2Config(golden.config);
    const decode = await load(device, golden, (weights) => autoencoderKLFlux2Decoder(config, weights));
    const { values } = await run((_, input) => [decode(input(channelsLast(golden.inputs.get('latents')!)))]);
    expectAgreement(values[0]!, channelsLast(golden.outputs.get('sample')!));
  });
});

describe('encoder', () => {
  describeGoldens(['vae-flux2-encode'], async (golden, device, run) => {
    const config = readAutoencoderKLFlux2Config(golden.config);
    const encode = await load(device, golden, (weights) => autoencoderKLFlux2Encoder(config, weights));
    const { values } = await run((_, input) => [encode(input(channelsLast(golden.inputs.get('sample')!)))]);
    expectAgreement(values[0]!, channelsLast(golden.outputs.get('latents')!));
  });
});

describe('configurations of AutoencoderKLFlux2', () => {
  it('have the defaults of diffusers', () => {
    expect(readAutoencoderKLFlux2Config({})).toMatchObject({
      channels: [128, 256, 512, 512],
      decoderChannels: [128, 256, 512, 512],
      latentChannels: 32,
      layers: 2,
      eps: 1e-4,
      patch: 2,
    });
  });

  it.each([
    [
      { decoder_block_out_channels: [64, 128] },
      'bad_checkpoint',
      'decoder_block_out_channels is [64,128], 4 numbers are needed, as in block_out_channels',
    ],
    [
      { patch_size: [1, 1] },
      'unsupported',
      'patch_size [1,1] is not built; choose a checkpoint that has [2,2]',
    ],
  ])('%j is refused', (config, code, message) => {
    expect(() => readAutoencoderKLFlux2Config(config)).toThrow(
      expect.objectContaining({ code, message: `config.json: ${message}` }) as Error,
    );
  });
});
