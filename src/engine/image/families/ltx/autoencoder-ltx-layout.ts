// LTX-Video's autoencoder in one file. Its makers number the blocks of all resolutions through: residual blocks, those that change the resolution,
// and single residual blocks that change the width. source: diffusers' loaders/single_file_utils.py

import { badCheckpoint } from '../../../../files/error.ts';
import type {
  FileHeaders,
  NamedRows,
  PartConfig,
  PartLayout,
  Rename,
} from '../../../../files/pipeline/file-layout.ts';
import {
  AUTOENCODER_PREFIXES,
  bothLayouts,
  renamedModules,
  type ModuleNames,
} from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';

export const LTX_AUTOENCODER_LAYOUTS: PartLayout[] = bothLayouts({
  prefixes: AUTOENCODER_PREFIXES,
  original: [
    'decoder.up_blocks.0.res_blocks.0.conv1.conv.weight',
    'encoder.down_blocks.0.res_blocks.0.conv1.conv.weight',
    'per_channel_statistics.mean-of-means',
  ],
  diffusers: ['decoder.mid_block.resnets.0.conv1.conv.weight', 'encoder.conv_in.conv.weight', 'latents_mean'],
  rename: { of: originalNames },
  configure: autoencoderConfig,
});

/** Parts of names with those of diffusers in their place, in this order. */
const MODULES: ModuleNames = [
  [/^per_channel_statistics\.mean-of-means$/, 'latents_mean'],
  [/^per_channel_statistics\.std-of-means$/, 'latents_std'],
  [/\.last_(time_embedder\.|scale_shift_table$)/, '.$1'],
  [/\.res_blocks\./, '.resnets.'],
  [/\.conv_shortcut\./, '.conv_shortcut.conv.'],
  [/\.norm3\.norm\./, '.norm3.'],
];

function originalNames(headers: FileHeaders): Rename {
  const blocks = new Map([
    ...numbered(headers, 'encoder.down_blocks'),
    ...numbered(headers, 'decoder.up_blocks'),
  ]);
  return (name): string | readonly NamedRows[] => {
    const renamed = renamedModules(MODULES, name);
    if (renamed.startsWith('per_channel_statistics.')) return [];
    return renamed.replace(
      /^(?:encoder\.down_blocks|decoder\.up_blocks)\.\d+/,
      (block) => blocks.get(block) ?? block,
    );
  };
}

type Kind = 'residuals' | 'resizing' | 'widening';

/** diffusers' names of the numbered blocks of a side. The last residual blocks of the encoder, and the first of the decoder, are those in the middle. */
function numbered(
  headers: FileHeaders,
  side: 'encoder.down_blocks' | 'decoder.up_blocks',
): [string, string][] {
  const kinds = kindsOf(headers, side);
  const isEncoder = side === 'encoder.down_blocks';
  const middle = isEncoder ? kinds.lastIndexOf('residuals') : 0;
  const within: Record<Kind, string> = isEncoder
    ? { residuals: '', resizing: '.downsamplers.0', widening: '.conv_out' }
    : { residuals: '', resizing: '.upsamplers.0', widening: '.conv_in' };
  // A resolution begins with its residual blocks in the encoder, and ends with them in the decoder.
  let level = isEncoder ? -1 : 0;
  return kinds.map((kind, i) => {
    if (i === middle) return [`${side}.${i}`, `${side.split('.')[0]}.mid_block`];
    if (isEncoder && kind === 'residuals') level++;
    const name = `${side}.${level}${within[kind]}`;
    if (!isEncoder && kind === 'residuals') level++;
    return [`${side}.${i}`, name];
  });
}

function kindsOf(headers: FileHeaders, side: string): Kind[] {
  const kinds: Kind[] = [];
  for (;;) {
    const name = `${side}.${kinds.length}`;
    if (headers.has(`${name}.res_blocks.0.conv1.conv.weight`)) kinds.push('residuals');
    else if (headers.has(`${name}.conv1.conv.weight`)) kinds.push('widening');
    else if (headers.has(`${name}.conv.weight`) || headers.has(`${name}.conv.conv.weight`))
      kinds.push('resizing');
    else break;
  }
  refuseFurther(headers, side, kinds.length);
  return kinds;
}

/** Throws bad_checkpoint for blocks behind one that lacks the tensor by which its kind is known. */
function refuseFurther(headers: FileHeaders, side: string, count: number): void {
  const further = [...headers.keys()].find(
    (name) => name.startsWith(`${side}.`) && Number(name.split('.')[2]) >= count,
  );
  if (further !== undefined)
    throw badCheckpoint(
      `${side}.${count} has none of the tensors by which a block is known, and the file has ${further}: take it from where the model was published`,
      further,
    );
}

/** What becomes channels where a resolution is left, by how many values. */
const MOVED: Readonly<Record<number, string>> = { 2: 'temporal', 4: 'spatial', 8: 'spatiotemporal' };
const IMAGE_CHANNELS = 3;

function autoencoderConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'autoencoder');
  const isTimed = headers.has('decoder.time_embedder.timestep_embedder.linear_1.weight');
  return {
    className: 'AutoencoderKLLTXVideo',
    config: {
      in_channels: IMAGE_CHANNELS,
      out_channels: IMAGE_CHANNELS,
      latent_channels: shapes.kernelExtent('decoder.conv_in.conv.weight', 1),
      patch_size: Math.floor(Math.sqrt(shapes.extent('encoder.conv_in.conv.weight', 1) / IMAGE_CHANNELS)),
      ...encoderConfig(headers, shapes),
      ...decoderConfig(headers, shapes),
      timestep_conditioning: isTimed,
    },
  };
}

const firstConv = (block: string): string => `${block}.resnets.0.conv1.conv.weight`;

const countLayers = (shapes: Shapes, block: string): number =>
  shapes.count((i) => `${block}.resnets.${i}.conv1.conv.weight`);

/** Names of the blocks of all resolutions of a side. */
function levelsOf(shapes: Shapes, side: string): string[] {
  const count = Math.max(
    1,
    shapes.count((i) => firstConv(`${side}.${i}`)),
  );
  return Array.from({ length: count }, (_, i) => `${side}.${i}`);
}

function encoderConfig(headers: FileHeaders, shapes: Shapes): PartConfig['config'] {
  const levels = levelsOf(shapes, 'encoder.down_blocks');
  const middle = 'encoder.mid_block';
  const moves = headers.has(`${levels[0]}.downsamplers.0.conv.conv.weight`);
  const widths = [...levels, ...(moves ? [middle] : [])].map((block) => shapes.extent(firstConv(block), 1));
  const scales = levels.map(
    (block) =>
      headers.has(`${block}.downsamplers.0.conv.weight`) ||
      headers.has(`${block}.downsamplers.0.conv.conv.weight`),
  );
  const types = moves
    ? {
        down_block_types: levels.map(() => 'LTXVideo095DownBlock3D'),
        downsample_type: levels.map((block, i) => {
          const rows = shapes.extent(`${block}.downsamplers.0.conv.conv.weight`, 0);
          return MOVED[widths[i + 1]! / rows] ?? 'conv';
        }),
      }
    : {};
  return {
    block_out_channels: widths,
    layers_per_block: [...levels, middle].map((block) => countLayers(shapes, block)),
    spatio_temporal_scaling: scales,
    ...types,
  };
}

/** Lists begin with the largest resolution, which is the last of the decoder. */
function decoderConfig(headers: FileHeaders, shapes: Shapes): PartConfig['config'] {
  const levels = levelsOf(shapes, 'decoder.up_blocks').toReversed();
  const middle = 'decoder.mid_block';
  const upsampler = (block: string): string => `${block}.upsamplers.0.conv.conv.weight`;
  const scales = levels.map((block) => headers.has(upsampler(block)));
  const factors = levels.map((block, i) =>
    scales[i] ? Math.floor((8 * shapes.extent(upsampler(block), 1)) / shapes.extent(upsampler(block), 0)) : 1,
  );
  const isTimed = headers.has('decoder.time_embedder.timestep_embedder.linear_1.weight');
  return {
    decoder_block_out_channels: levels.map((block, i) => factors[i]! * shapes.extent(firstConv(block), 0)),
    decoder_inject_noise: [...levels, middle].map((block) =>
      headers.has(`${block}.resnets.0.per_channel_scale1`),
    ),
    decoder_layers_per_block: [...levels, middle].map((block) => countLayers(shapes, block)),
    decoder_spatio_temporal_scaling: scales,
    upsample_factor: factors,
    upsample_residual: levels.map(() => isTimed),
  };
}
