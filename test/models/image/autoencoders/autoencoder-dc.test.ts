// The autoencoder of Sana against diffusers: with the blocks of the published models, and with shuffled pixels and no shortcuts.

import { describe, expect, it } from 'vitest';
import { readAutoencoderDCConfig } from '../../../../src/models/image/autoencoders/autoencoder-dc-config.ts';
import {
  autoencoderDCDecoder,
  autoencoderDCEncoder,
} from '../../../../src/models/image/autoencoders/autoencoder-dc.ts';
import { channelsLast, describeGoldens, expectAgreement, load } from '../../image-golden.ts';

describe('the decoder', () => {
  describeGoldens(['dc-decode', 'dc-shuffle-decode'], async (golden, device, run) => {
    const config = readAutoencoderDCConfig(golden.config);
    const decode = await load(device, golden, (weights) => autoencoderDCDecoder(config, weights));
    const latents = channelsLast(golden.inputs.get('latents')!);
    const wanted = channelsLast(golden.outputs.get('sample')!);
    for (const stripRows of [undefined, 5]) {
      const { values } = await run((_, input) => [decode(input(latents), { stripRows })]);
      expectAgreement(values[0]!, wanted);
    }
  });
});

describe('the encoder', () => {
  describeGoldens(['dc-encode', 'dc-shuffle-encode'], async (golden, device, run) => {
    const config = readAutoencoderDCConfig(golden.config);
    const encode = await load(device, golden, (weights) => autoencoderDCEncoder(config, weights));
    const image = channelsLast(golden.inputs.get('sample')!);
    const { values } = await run((_, input) => [encode(input(image))]);
    expectAgreement(values[0]!, channelsLast(golden.outputs.get('latents')!));
  });
});

describe('configurations of AutoencoderDC', () => {
  it('the published one is read', () => {
    const config = readAutoencoderDCConfig({
      downsample_block_type: 'Conv',
      upsample_block_type: 'interpolate',
      decoder_block_types: [
        'ResBlock',
        'ResBlock',
        'ResBlock',
        'EfficientViTBlock',
        'EfficientViTBlock',
        'EfficientViTBlock',
      ],
      scaling_factor: 0.41407,
    });
    expect(config).toMatchObject({ unshuffles: false, interpolates: true, scales: [{ scale: 0.41407 }] });
    expect(config.decoder.map(({ kernels }) => kernels)).toEqual([null, null, null, [5], [5], [5]]);
  });

  it.each([
    [
      { decoder_norm_types: 'batch_norm' },
      'unsupported',
      'decoder_norm_types "batch_norm" is not built; choose a checkpoint that has "rms_norm"',
    ],
    [
      { encoder_layers_per_block: [2, 2] },
      'bad_checkpoint',
      'encoder_layers_per_block is [2,2], 6 numbers are needed, as in encoder_block_out_channels',
    ],
    [
      { decoder_act_fns: ['silu'] },
      'bad_checkpoint',
      'decoder_act_fns is ["silu"], a name or 6 of them are needed',
    ],
    [
      { attention_head_dim: 30 },
      'unsupported',
      'attention_head_dim 30 is not built; choose a checkpoint whose heads have a multiple of 4 dimensions',
    ],
    [
      { encoder_layers_per_block: [0, 4, 8, 2, 2, 2] },
      'unsupported',
      'encoder_layers_per_block [0,4,8,2,2,2] is not built; choose a checkpoint that has at least one layer in each resolution, such as those of Sana',
    ],
    [
      { decoder_layers_per_block: [3, 3, 0, 3, 3, 3] },
      'unsupported',
      'decoder_layers_per_block [3,3,0,3,3,3] is not built; choose a checkpoint that has at least one layer in each resolution, such as those of Sana',
    ],
    [
      {
        encoder_block_out_channels: [6, 6],
        decoder_block_out_channels: [6, 6],
        encoder_layers_per_block: [1, 1],
        decoder_layers_per_block: [1, 1],
        encoder_qkv_multiscales: [[], []],
        decoder_qkv_multiscales: [[], []],
        latent_channels: 3,
      },
      'bad_checkpoint',
      'encoder_block_out_channels is [6,6], and pixel_unshuffle makes multiples of 4 channels',
    ],
    [
      { latent_channels: 48 },
      'bad_checkpoint',
      'encoder_block_out_channels is [128,256,512,512,1024,1024], and shortcuts between these and 48 latent channels do not consist of whole channels',
    ],
    [
      { decoder_qkv_multiscales: [[4]] },
      'unsupported',
      'decoder_qkv_multiscales [[4]] is not built; choose a checkpoint that has 6 lists of 3, 5, 7',
    ],
  ])('%j is refused', (config, code, message) => {
    expect(() => readAutoencoderDCConfig(config)).toThrow(
      expect.objectContaining({ code, message: `config.json: ${message}` }) as Error,
    );
  });
});
