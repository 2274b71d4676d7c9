// AutoencoderTiny against diffusers, both ways.

import { describe, expect, it } from 'vitest';
import { readAutoencoderTinyConfig } from '../../../../src/models/image/autoencoders/autoencoder-tiny-config.ts';
import {
  autoencoderTinyDecoder,
  autoencoderTinyEncoder,
} from '../../../../src/models/image/autoencoders/autoencoder-tiny.ts';
import { channelsLast, describeGoldens, expectAgreement, load } from '../../image-golden.ts';

describe('decoder', () => {
  describeGoldens(['tiny-decode'], async (golden, device, run) => {
    const config = readAutoencoderTinyConfig(golden.config);
    const decode = await load(device, golden, (weights) => autoencoderTinyDecoder(config, weights));
    const { values } = await run((_, input) => [decode(input(channelsLast(golden.inputs.get('latents')!)))]);
    expectAgreement(values[0]!, channelsLast(golden.outputs.get('sample')!));
  });
});

describe('encoder', () => {
  describeGoldens(['tiny-encode'], async (golden, device, run) => {
    const config = readAutoencoderTinyConfig(golden.config);
    const encode = await load(device, golden, (weights) => autoencoderTinyEncoder(config, weights));
    const { values } = await run((_, input) => [encode(input(channelsLast(golden.inputs.get('sample')!)))]);
    expectAgreement(values[0]!, channelsLast(golden.outputs.get('latents')!));
  });
});

describe('refused configurations of AutoencoderTiny', () => {
  it.each([
    [{ act_fn: 'gelu' }, 'config.json: act_fn "gelu" is not built; choose a checkpoint that has "relu"'],
    [
      { decoder_block_out_channels: [64, 64, 64, 32] },
      'config.json: decoder_block_out_channels [64,64,64,32] is not built; choose an autoencoder with 4 equal widths',
    ],
  ])('%j', (config, message) => {
    expect(() => readAutoencoderTinyConfig(config)).toThrow(
      expect.objectContaining({ code: 'unsupported', message }) as Error,
    );
  });
});
