// The autoencoder of HunyuanVideo 1.5 against diffusers, which computes a clip whole.

import { describe, expect, it } from 'vitest';
import { readAutoencoderHunyuanConfig } from '../../../../src/models/image/autoencoders/autoencoder-hunyuan-config.ts';
import {
  hunyuanDecoder,
  hunyuanEncoder,
} from '../../../../src/models/image/autoencoders/autoencoder-hunyuan.ts';
import { inChunks } from '../carried-frames.ts';
import { channelsLast, describeGoldens, expectAgreement, inOne, load } from '../../image-golden.ts';

describe('the decoder', () => {
  describeGoldens(['vae-hunyuan-decode'], async (golden, device, run) => {
    const config = readAutoencoderHunyuanConfig(golden.config);
    const page = await load(device, golden, (weights) => hunyuanDecoder(config, weights));
    const clip = channelsLast(golden.inputs.get('latents')!);
    const { values } = await run((_, input) => [...page(input(clip), { stripRows: 3 })]);
    expectAgreement(inOne(values), channelsLast(golden.outputs.get('sample')!), 1e-5);
    for (const chunks of [
      [1, 1, 1],
      [2, 1],
    ])
      expect(await inChunks(device, run, { page, clip, chunks })).toEqual(inOne(values));
  });
});

describe('the encoder', () => {
  describeGoldens(['vae-hunyuan-encode'], async (golden, device, run) => {
    const config = readAutoencoderHunyuanConfig(golden.config);
    const page = await load(device, golden, (weights) => hunyuanEncoder(config, weights));
    const clip = channelsLast(golden.inputs.get('sample')!);
    const { values } = await run((_, input) => [page(input(clip))]);
    expectAgreement(values[0]!, channelsLast(golden.outputs.get('moments')!), 1e-5);
    const inTurn = await inChunks(device, run, { page: (...of) => [page(...of)], clip, chunks: [1, 2, 2] });
    expect(inTurn).toEqual(values[0]);
  });
});

describe('configurations of AutoencoderKLHunyuanVideo15', () => {
  it('the defaults are those of the published models', () => {
    expect(readAutoencoderHunyuanConfig({})).toMatchObject({
      ...{ latentChannels: 32, factor: 16, framesPerLatent: 4, layers: 2 },
      halves: ['sides', 'sides', 'frames', 'frames'],
    });
  });

  it.each([
    [
      { spatial_compression_ratio: 8 },
      'config.json: spatial_compression_ratio is 8, 16 is needed for 5 entries of block_out_channels',
    ],
    [
      { temporal_compression_ratio: 32 },
      'config.json: temporal_compression_ratio is 32, a power of two is needed, at most spatial_compression_ratio, which is 16',
    ],
    [
      { block_out_channels: [128, 256, 512, 1024, 768] },
      'config.json: block_out_channels is [128,256,512,1024,768], which cannot be shared out evenly among 32 channels of latents and from each resolution to the next',
    ],
    [
      { upsample_match_channel: false },
      'config.json: upsample_match_channel false is not built; choose a checkpoint that has true',
    ],
  ])('%j is refused', (config, message) => {
    expect(() => readAutoencoderHunyuanConfig(config)).toThrow(message);
  });
});
