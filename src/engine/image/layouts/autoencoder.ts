// AutoencoderKL in one file: the layout of the original programs, and that of diffusers. source: diffusers' loaders/single_file_utils.py

import type { FileHeaders, PartConfig } from '../../../files/pipeline/file-layout.ts';
import { AUTOENCODER_PREFIXES, bothLayouts } from './part-layouts.ts';
import { countNames, Shapes } from './shapes.ts';

export const AUTOENCODER_LAYOUTS = bothLayouts({
  prefixes: AUTOENCODER_PREFIXES,
  original: ['decoder.up.0.block.0.conv1.weight', 'decoder.mid.block_1.conv1.weight'],
  diffusers: ['decoder.up_blocks.0.resnets.0.conv1.weight', 'decoder.mid_block.resnets.0.conv1.weight'],
  rename: {
    of(headers) {
      const levels = countNames(headers, (i) => `decoder.up.${i}.block.0.conv1.weight`);
      return (name) => autoencoderName(name, levels);
    },
  },
  configure: autoencoderConfig,
});

/** Scales of the latents of FLUX.1's autoencoder, which shapes do not tell. */
export const FLUX_SCALES = { scaling_factor: 0.3611, shift_factor: 0.1159 };

const ATTENTION: Readonly<Record<string, string>> = {
  norm: 'group_norm',
  q: 'to_q',
  k: 'to_k',
  v: 'to_v',
  proj_out: 'to_out.0',
};

/** Returns the name that diffusers gives to a tensor; names that it does not know are returned unchanged. `levels`: resolutions. */
function autoencoderName(name: string, levels: number): string {
  return name
    .replace(/^(encoder|decoder)\.norm_out\./, '$1.conv_norm_out.')
    .replace(/\.mid\.block_(\d+)\./, (_, nth: string) => `.mid_block.resnets.${Number(nth) - 1}.`)
    .replace(
      /\.mid\.attn_1\.(norm|q|k|v|proj_out)\./,
      (_, part: string) => `.mid_block.attentions.0.${ATTENTION[part]}.`,
    )
    .replace(/^encoder\.down\.(\d+)\./, 'encoder.down_blocks.$1.')
    .replace(
      /^decoder\.up\.(\d+)\./,
      (_, level: string) => `decoder.up_blocks.${levels - 1 - Number(level)}.`,
    )
    .replace(/(_blocks\.\d+)\.block\./, '$1.resnets.')
    .replace('.nin_shortcut.', '.conv_shortcut.')
    .replace('.downsample.conv.', '.downsamplers.0.conv.')
    .replace('.upsample.conv.', '.upsamplers.0.conv.');
}

function autoencoderConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'autoencoder');
  const { extent } = shapes;
  const first = (level: number): string => `encoder.down_blocks.${level}.resnets.0.conv1.weight`;
  const levels = Math.max(1, shapes.count(first));
  const channels = Array.from({ length: levels }, (_, level) => extent(first(level), 0));
  // One tensor shows the module, so that another one that is missing is told.
  const has = (module: string): boolean => [...headers.keys()].some((name) => name.startsWith(`${module}.`));
  return {
    className: 'AutoencoderKL',
    config: {
      in_channels: extent('encoder.conv_in.weight', 1),
      out_channels: extent('decoder.conv_out.weight', 0),
      latent_channels: extent('decoder.conv_in.weight', 1),
      block_out_channels: channels,
      down_block_types: channels.map(() => 'DownEncoderBlock2D'),
      up_block_types: channels.map(() => 'UpDecoderBlock2D'),
      layers_per_block: shapes.count((i) => `encoder.down_blocks.0.resnets.${i}.conv1.weight`),
      norm_num_groups: 32,
      mid_block_add_attention:
        headers.has('decoder.mid_block.attentions.0.to_q.weight') ||
        headers.has('decoder.mid_block.attentions.0.query.weight'),
      use_quant_conv: has('quant_conv'),
      use_post_quant_conv: has('post_quant_conv'),
    },
  };
}
