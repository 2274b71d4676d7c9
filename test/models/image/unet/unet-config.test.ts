// Published config.json files of UNets of all families, and the refusals of those that are not built.

import { describe, expect, it } from 'vitest';
import { readUNetConfig } from '../../../../src/models/image/unet/unet-config.ts';

const SDXL = {
  block_out_channels: [320, 640, 1280],
  down_block_types: ['DownBlock2D', 'CrossAttnDownBlock2D', 'CrossAttnDownBlock2D'],
  up_block_types: ['CrossAttnUpBlock2D', 'CrossAttnUpBlock2D', 'UpBlock2D'],
  attention_head_dim: [5, 10, 20],
  cross_attention_dim: 2048,
  transformer_layers_per_block: [1, 2, 10],
  addition_embed_type: 'text_time',
  addition_time_embed_dim: 256,
  projection_class_embeddings_input_dim: 2816,
  use_linear_projection: true,
  upcast_attention: null,
};

it('the configuration of Stable Diffusion 1.5 is read, in which most is left out', () => {
  const config = readUNetConfig({ cross_attention_dim: 768, attention_head_dim: 8 });
  expect(config).toMatchObject({ timeDims: 1280, groups: 32, eps: 1e-5, added: null, guidanceDims: null });
  expect(config.down.map(({ channels, attention }) => [channels, attention])).toEqual([
    [320, { heads: 8, context: 768, depths: [1, 1] }],
    [640, { heads: 8, context: 768, depths: [1, 1] }],
    [1280, { heads: 8, context: 768, depths: [1, 1] }],
    [1280, null],
  ]);
  expect(config.mid).toMatchObject({ channels: 1280, layers: 2, attention: { depths: [1] } });
  expect(config.up.map(({ channels, layers, resamples }) => [channels, layers, resamples])).toEqual([
    [1280, 3, true],
    [1280, 3, true],
    [640, 3, true],
    [320, 3, false],
  ]);
});

it('the configuration of SDXL has heads, depths and inputs beside the time', () => {
  const config = readUNetConfig(SDXL);
  expect(config.down.map(({ attention }) => attention)).toEqual([
    null,
    { heads: 10, context: 2048, depths: [2, 2] },
    { heads: 20, context: 2048, depths: [10, 10] },
  ]);
  expect(config.mid?.attention).toEqual({ heads: 20, context: 2048, depths: [10] });
  expect(config.up.map(({ attention }) => attention?.depths)).toEqual([[10, 10, 10], [2, 2, 2], undefined]);
  expect(config.added).toEqual({ columns: 2816, idDims: 256 });
});

it('the configuration of a pruned UNet has depths of its own on the way up, no middle attention', () => {
  const config = readUNetConfig({
    ...SDXL,
    reverse_transformer_layers_per_block: [[4, 4, 10], [2, 1, 1], 1],
    mid_block_type: null,
  });
  expect(config.mid).toBeNull();
  expect(config.up.map(({ attention }) => attention?.depths)).toEqual([[4, 4, 10], [2, 1, 1], undefined]);
  expect(readUNetConfig({ mid_block_type: 'UNetMidBlock2D' }).mid).toMatchObject({
    layers: 1,
    attention: null,
  });
});

it.each([
  [64, { height: 64, width: 64 }],
  [[96, 64], { height: 96, width: 64 }],
  [null, null],
])('the configuration of a UNet has a sample size of %j', (given, wanted) => {
  expect(readUNetConfig({ sample_size: given }).sampleSize).toEqual(wanted);
});

describe('refused configurations of a UNet', () => {
  it.each([
    [
      { attention_head_dim: 32 },
      '32 heads over 320 columns are not built; choose a checkpoint whose heads have a multiple of 4 dimensions',
    ],
    [
      { block_out_channels: [6, 6, 6, 6] },
      'block_out_channels 6 is not built; choose a checkpoint whose channels are multiples of 4',
    ],
    [{ act_fn: 'gelu' }, 'act_fn "gelu" is not built; choose a checkpoint that has "silu" or "swish"'],
    [
      { class_embed_type: 'timestep' },
      'class_embed_type "timestep" is not built; choose a checkpoint that has null',
    ],
    [
      { resnet_time_scale_shift: 'scale_shift' },
      'resnet_time_scale_shift "scale_shift" is not built; choose a checkpoint that has "default"',
    ],
    [
      { dual_cross_attention: true },
      'dual_cross_attention true is not built; choose a checkpoint that has false',
    ],
    [
      { addition_embed_type: 'image' },
      'addition_embed_type "image" is not built; choose a checkpoint that has null or "text_time"',
    ],
    [
      { down_block_types: ['AttnDownBlock2D', 'DownBlock2D'] },
      'down_block_types "AttnDownBlock2D" is not built; choose a checkpoint that has "CrossAttnDownBlock2D" or "DownBlock2D"',
    ],
    [
      { mid_block_type: 'UNetMidBlock2DSimpleCrossAttn' },
      'mid_block_type "UNetMidBlock2DSimpleCrossAttn" is not built; choose a checkpoint that has "UNetMidBlock2DCrossAttn" or "UNetMidBlock2D"',
    ],
  ])('%j is not built', (config, message) => {
    expect(() => readUNetConfig(config, 'unet/config.json')).toThrow(
      expect.objectContaining({ code: 'unsupported', message: `unet/config.json: ${message}` }) as Error,
    );
  });

  it.each([
    [
      { block_out_channels: [320, 640] },
      '2 block_out_channels need as many down_block_types and up_block_types, not 4 and 4',
    ],
    [{ block_out_channels: [] }, 'block_out_channels is [], a list of integers from 1 to 16384 is needed'],
    [
      { norm_num_groups: 48 },
      'norm_num_groups is 48, and the 320 channels of block_out_channels cannot be divided into as many groups',
    ],
    [{ in_channels: '4' }, 'in_channels is "4", an integer from 1 to 16384 is needed'],
    [{ sample_size: [64] }, 'sample_size is [64], an integer from 0 to 16384, or 2 of them, is needed'],
    [
      { layers_per_block: [2, 2] },
      'layers_per_block is [2,2], an integer from 0 to 1024, or 4 of them, is needed',
    ],
    [
      { transformer_layers_per_block: [1, 2] },
      'transformer_layers_per_block is [1,2], a number of blocks from 0 to 1024 or 4 of them are needed',
    ],
    [
      { addition_embed_type: 'text_time', addition_time_embed_dim: 256 },
      'projection_class_embeddings_input_dim is missing, an integer from 1 to 65536 is needed',
    ],
    [
      {
        addition_embed_type: 'text_time',
        addition_time_embed_dim: 7,
        projection_class_embeddings_input_dim: 64,
      },
      'addition_time_embed_dim is 7, an even number is needed',
    ],
  ])('%j is a bad checkpoint', (config, message) => {
    expect(() => readUNetConfig(config)).toThrow(
      expect.objectContaining({ code: 'bad_checkpoint', message: `config.json: ${message}` }) as Error,
    );
  });
});
