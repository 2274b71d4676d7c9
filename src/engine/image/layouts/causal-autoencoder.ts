// Autoencoders of causal convolutions in one file: the layout of Wan, in which modules are numbered through, and that of diffusers. source:
// diffusers' loaders/single_file_utils.py and scripts/convert_wan_to_diffusers.py

import type { FileHeaders, PartConfig, PartLayout } from '../../../files/pipeline/file-layout.ts';
import { AUTOENCODER_PREFIXES, bothLayouts } from './part-layouts.ts';
import { countNames, Shapes } from './shapes.ts';

/** Layouts of autoencoders of a class of diffusers. */
export const causalLayouts = (className: 'AutoencoderKLQwenImage' | 'AutoencoderKLWan'): PartLayout[] =>
  bothLayouts({
    prefixes: AUTOENCODER_PREFIXES,
    original: ['decoder.middle.0.residual.0.gamma', 'encoder.conv1.weight', 'decoder.head.2.weight'],
    diffusers: [
      'decoder.mid_block.resnets.0.norm1.gamma',
      'encoder.conv_in.weight',
      'post_quant_conv.weight',
    ],
    rename: {
      of(headers) {
        // Residual blocks of a level stand before the one that doubles the resolution.
        const blocks = countNames(headers, (i) => `decoder.upsamples.${i}.residual.0.gamma`);
        const nested = (of: string): number => countNames(headers, (i) => `${of}.${i}.residual.0.gamma`);
        const [down, up] = [
          nested('encoder.downsamples.0.downsamples'),
          nested('decoder.upsamples.0.upsamples'),
        ];
        return (name) => causalName(nestedName(name, down, up), blocks);
      },
    },
    configure: (headers) => ({ className, config: causalConfig(headers) }),
  });

/** Means and deviations of latents, by their channels. source: Wan-AI/Wan2.1, wan/modules/vae.py; Wan-AI/Wan2.2, wan/modules/vae2_2.py */
export const LATENT_STATISTICS = {
  16: {
    latents_mean: [
      -0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508, 0.4134, -0.0715, 0.5517, -0.3632,
      -0.1922, -0.9497, 0.2503, -0.2921,
    ],
    latents_std: [
      2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743, 3.2687, 2.1526, 2.8652, 1.5579, 1.6382,
      1.1253, 2.8251, 1.916,
    ],
  },
  48: {
    latents_mean: [
      -0.2289, -0.0052, -0.1323, -0.2339, -0.2799, 0.0174, 0.1838, 0.1557, -0.1382, 0.0542, 0.2813, 0.0891,
      0.157, -0.0098, 0.0375, -0.1825, -0.2246, -0.1207, -0.0698, 0.5109, 0.2665, -0.2108, -0.2158, 0.2502,
      -0.2055, -0.0322, 0.1109, 0.1567, -0.0729, 0.0899, -0.2799, -0.123, -0.0313, -0.1649, 0.0117, 0.0723,
      -0.2839, -0.2083, -0.052, 0.3748, 0.0152, 0.1957, 0.1433, -0.2944, 0.3573, -0.0548, -0.1681, -0.0667,
    ],
    latents_std: [
      0.4765, 1.0364, 0.4514, 1.1677, 0.5313, 0.499, 0.4818, 0.5013, 0.8158, 1.0344, 0.5894, 1.0901, 0.6885,
      0.6165, 0.8454, 0.4978, 0.5759, 0.3523, 0.7135, 0.6804, 0.5833, 1.4146, 0.8986, 0.5659, 0.7069, 0.5338,
      0.4889, 0.4917, 0.4069, 0.4999, 0.6866, 0.4093, 0.5709, 0.6065, 0.6415, 0.4944, 0.5726, 1.2042, 0.5458,
      1.6887, 0.3971, 1.06, 0.3943, 0.5537, 0.5444, 0.4089, 0.7468, 0.7744,
    ],
  },
} as const;

const RESIDUAL: Readonly<Record<string, string>> = {
  'residual.0': 'norm1',
  'residual.2': 'conv1',
  'residual.3': 'norm2',
  'residual.6': 'conv2',
  shortcut: 'conv_shortcut',
};
const MIDDLE = ['resnets.0', 'attentions.0', 'resnets.1'] as const;

/** Wan 2.2: names of blocks that stand within those of their resolution; `down`, `up`: residual blocks of a resolution. */
function nestedName(name: string, down: number, up: number): string {
  return name
    .replace(
      /^encoder\.downsamples\.(\d+)\.downsamples\.(\d+)\./,
      (_, level: string, at: string) =>
        `encoder.down_blocks.${level}.${Number(at) < down ? `resnets.${at}` : 'downsampler'}.`,
    )
    .replace(
      /^decoder\.upsamples\.(\d+)\.upsamples\.(\d+)\./,
      (_, level: string, at: string) =>
        `decoder.up_blocks.${level}.${Number(at) < up ? `resnets.${at}` : 'upsampler'}.`,
    );
}

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

function causalConfig(headers: FileHeaders): PartConfig['config'] {
  const shapes = new Shapes(headers, 'autoencoder');
  const levels = Math.max(
    1,
    shapes.count((i) => `decoder.up_blocks.${i}.resnets.0.conv1.weight`),
  );
  const widths = Array.from({ length: levels }, (_, i) =>
    shapes.extent(`decoder.up_blocks.${i}.resnets.0.conv2.weight`, 0),
  ).toReversed();
  const isResidual = headers.has('decoder.up_blocks.0.upsampler.resample.1.weight');
  const upsampler = isResidual ? 'upsampler' : 'upsamplers.0';
  const joins = Array.from({ length: levels - 1 }, (_, i) =>
    headers.has(`decoder.up_blocks.${i}.${upsampler}.time_conv.weight`),
  ).toReversed();
  const inputs = shapes.kernelExtent('encoder.conv_in.weight', 1);
  const channels = shapes.extent('post_quant_conv.weight', 0);
  const statistics: Readonly<Record<number, object>> = LATENT_STATISTICS;
  return {
    base_dim: shapes.extent('encoder.conv_in.weight', 0),
    dim_mult: widths.map((width) => width / widths[0]!),
    z_dim: channels,
    num_res_blocks: shapes.count((i) => `decoder.up_blocks.0.resnets.${i}.conv1.weight`) - 1,
    temperal_downsample: joins,
    ...(isResidual
      ? {
          is_residual: true,
          decoder_base_dim: widths[0]!,
          in_channels: inputs,
          out_channels: inputs,
          patch_size: inputs === 12 ? 2 : 1,
        }
      : { input_channels: inputs }),
    ...statistics[channels],
  };
}
