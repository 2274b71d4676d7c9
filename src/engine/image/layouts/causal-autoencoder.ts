// Autoencoders of causal convolutions in one file: the layout of Wan, in which modules are numbered through, and that of diffusers. source:
// diffusers' loaders/single_file_utils.py

import type { FileHeaders, PartConfig } from '../../../files/pipeline/file-layout.ts';
import { AUTOENCODER_PREFIXES, bothLayouts } from './part-layouts.ts';
import { countNames, Shapes } from './shapes.ts';

export const CAUSAL_LAYOUTS = bothLayouts({
  prefixes: AUTOENCODER_PREFIXES,
  original: ['decoder.middle.0.residual.0.gamma', 'encoder.conv1.weight', 'decoder.head.2.weight'],
  diffusers: ['decoder.mid_block.resnets.0.norm1.gamma', 'encoder.conv_in.weight', 'post_quant_conv.weight'],
  rename: {
    of(headers) {
      // Residual blocks of a level stand before the one that doubles the resolution.
      const blocks = countNames(headers, (i) => `decoder.upsamples.${i}.residual.0.gamma`);
      return (name) => causalName(name, blocks);
    },
  },
  configure: causalConfig,
});

const RESIDUAL: Readonly<Record<string, string>> = {
  'residual.0': 'norm1',
  'residual.2': 'conv1',
  'residual.3': 'norm2',
  'residual.6': 'conv2',
  shortcut: 'conv_shortcut',
};
const MIDDLE = ['resnets.0', 'attentions.0', 'resnets.1'] as const;

/** Returns the name that diffusers gives to a tensor. `blocks`: residual blocks of a level of the decoder. */
function causalName(name: string, blocks: number): string {
  return name
    .replace(/^conv1\./, 'quant_conv.')
    .replace(/^conv2\./, 'post_quant_conv.')
    .replace(/^(encoder|decoder)\.conv1\./, '$1.conv_in.')
    .replace(/^(encoder|decoder)\.head\.0\./, '$1.norm_out.')
    .replace(/^(encoder|decoder)\.head\.2\./, '$1.conv_out.')
    .replace(/\.middle\.([012])\./, (_, at: string) => `.mid_block.${MIDDLE[Number(at)]}.`)
    .replace(/^encoder\.downsamples\./, 'encoder.down_blocks.')
    .replace(/^decoder\.upsamples\.(\d+)\./, (_, at: string) => {
      const [level, nth] = [Math.floor(Number(at) / (blocks + 1)), Number(at) % (blocks + 1)];
      return `decoder.up_blocks.${level}.${nth < blocks ? `resnets.${nth}` : 'upsamplers.0'}.`;
    })
    .replace(/\.(residual\.[0236]|shortcut)\./, (_, module: string) => `.${RESIDUAL[module]}.`);
}

function causalConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'autoencoder');
  const base = shapes.extent('encoder.conv_in.weight', 0);
  const levels = shapes.count((i) => `decoder.up_blocks.${i}.resnets.0.conv1.weight`);
  const multiples = Array.from(
    { length: Math.max(1, levels) },
    (_, i) => shapes.extent(`decoder.up_blocks.${i}.resnets.0.conv2.weight`, 0) / base,
  );
  return {
    className: 'AutoencoderKLQwenImage',
    config: {
      base_dim: base,
      dim_mult: multiples.toReversed(),
      z_dim: shapes.extent('post_quant_conv.weight', 0),
      num_res_blocks: shapes.count((i) => `decoder.up_blocks.0.resnets.${i}.conv1.weight`) - 1,
      input_channels: shapes.extent('encoder.conv_in.weight', 1),
    },
  };
}
