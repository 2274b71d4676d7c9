// Sana's autoencoder (DC-AE) in one file, with the names of its makers or those of diffusers. source: diffusers'
// loaders/single_file_utils.py

import type { FileHeaders, NamedRows, PartConfig } from '../../../../files/pipeline/file-layout.ts';
import {
  AUTOENCODER_PREFIXES,
  bothLayouts,
  queriesKeysValues,
  renamedModules,
  type ModuleNames,
} from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';

export const DC_LAYOUTS = bothLayouts({
  prefixes: AUTOENCODER_PREFIXES,
  original: [
    'encoder.project_in.conv.weight',
    'encoder.stages.0.op_list.0.main.conv1.conv.weight',
    'decoder.project_in.conv.weight',
    'decoder.project_out.2.conv.weight',
  ],
  diffusers: [
    'encoder.down_blocks.0.0.conv1.weight',
    'decoder.norm_out.weight',
    'decoder.up_blocks.0.1.conv2.weight',
  ],
  rename: (name, shape) => originalName(name, shape),
  configure: dcConfig,
});

/** Parts of names with those of diffusers in their place, in this order. */
const MODULES: ModuleNames = [
  [/^(encoder|decoder)\.project_in\.conv\./, '$1.conv_in.'],
  [/^encoder\.project_out\.0\.conv\./, 'encoder.conv_out.'],
  [/^decoder\.project_out\.0\./, 'decoder.norm_out.'],
  [/^decoder\.project_out\.2\.conv\./, 'decoder.conv_out.'],
  [/^encoder\.stages\./, 'encoder.down_blocks.'],
  [/^decoder\.stages\./, 'decoder.up_blocks.'],
  [/\.op_list\./, '.'],
  [/\.main\./g, '.'],
  [/\.context_module\./, '.attn.'],
  [/\.local_module\./, '.conv_out.'],
  [/\.aggreg\.(\d+)\.0\./, '.to_qkv_multiscale.$1.proj_in.'],
  [/\.aggreg\.(\d+)\.1\./, '.to_qkv_multiscale.$1.proj_out.'],
  [/\.(depth|inverted|point)_conv\.conv\./, '.conv_$1.'],
  [/\.point_conv\.norm\./, '.norm.'],
  [/\.(conv[12]?)\.conv\./, '.$1.'],
  [/\.conv2\.norm\./, '.norm.'],
  [/\.proj\.norm\./, '.norm_out.'],
  [/\.proj\.conv\./, '.to_out.'],
];

function originalName(name: string, shape: readonly number[]): string | readonly NamedRows[] {
  const renamed = renamedModules(MODULES, name);
  const [, attention] = /^(.*\.attn)\.qkv\.(?:conv\.)?weight$/.exec(renamed) ?? [];
  if (attention === undefined) return renamed;
  return queriesKeysValues((part) => `${attention}.to_${part}.weight`, shape);
}

/** Dimensions of a head of the published models, for those without kernels, which show them. */
const HEAD_DIMS = 32;

interface Side {
  channels: number[];
  layers: number[];
  types: string[];
  kernels: number[][];
}

function dcConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'autoencoder');
  const down = sideOf(shapes, (level, i) => `encoder.down_blocks.${level}.${i}`, 0);
  const up = sideOf(shapes, (level, i) => `decoder.up_blocks.${level}.${i}`, 1);
  const rowsOf = (name: string): number | undefined => shapes.find(`${name}.conv.weight`, 0);
  const mixed = [...headers].find(([name]) => name.endsWith('.to_qkv_multiscale.0.proj_out.weight'));
  return {
    className: 'AutoencoderDC',
    config: {
      in_channels: shapes.extent('encoder.conv_in.weight', 1),
      latent_channels: shapes.extent('decoder.conv_in.weight', 1),
      attention_head_dim: mixed?.[1].shape[1] ?? HEAD_DIMS,
      ...named('encoder', down),
      ...named('decoder', up),
      downsample_block_type:
        rowsOf(`encoder.down_blocks.0.${down.layers[0]}`) === down.channels[1] ? 'Conv' : 'pixel_unshuffle',
      upsample_block_type:
        rowsOf('decoder.up_blocks.0.0') === up.channels[0] ? 'interpolate' : 'pixel_shuffle',
    },
  };
}

/** `first`: number of the first block of a level; the last level begins with block 0. */
function sideOf(shapes: Shapes, nameOf: (level: number, i: number) => string, first: number): Side {
  const side: Side = { channels: [], layers: [], types: [], kernels: [] };
  const isBlock = (name: string): boolean => channelsOf(shapes, name) !== undefined;
  for (let level = 0; ; level++) {
    const begins = isBlock(nameOf(level, 0)) ? 0 : first;
    const layers = countWhile((i) => isBlock(nameOf(level, begins + i)));
    if (layers === 0) break;
    const name = nameOf(level, begins);
    const kernels = countWhile((i) => shapes.find(kernelName(name, i), 2) !== undefined);
    side.channels.push(channelsOf(shapes, name)!);
    side.layers.push(layers);
    side.types.push(shapes.find(`${name}.conv1.weight`, 0) === undefined ? 'EfficientViTBlock' : 'ResBlock');
    side.kernels.push(Array.from({ length: kernels }, (_, i) => shapes.extent(kernelName(name, i), 2)));
  }
  // A file without a block has no first one either.
  if (side.channels.length === 0) shapes.extent(`${nameOf(0, first)}.conv1.weight`, 0);
  return side;
}

const kernelName = (block: string, i: number): string =>
  `${block}.attn.to_qkv_multiscale.${i}.proj_in.weight`;

/** Channels of a block; undefined: there is none of this name. */
function channelsOf(shapes: Shapes, name: string): number | undefined {
  return shapes.find(`${name}.conv2.weight`, 0) ?? shapes.find(`${name}.attn.to_out.weight`, 0);
}

const MOST = 1024;

function countWhile(holds: (i: number) => boolean): number {
  let count = 0;
  while (count < MOST && holds(count)) count++;
  return count;
}

const named = (side: string, { channels, layers, types, kernels }: Side): Record<string, unknown> => ({
  [`${side}_block_out_channels`]: channels,
  [`${side}_layers_per_block`]: layers,
  [`${side}_block_types`]: types,
  [`${side}_qkv_multiscales`]: kernels,
});
