// Converts config.json of an AutoencoderKL, or of an AutoencoderKLFlux2, to the configuration of autoencoder-kl.ts. Only this file knows
// their key names.

import {
  checkGroups,
  checkHeads,
  ConfigError,
  readConfig,
  type ConfigReader,
  type Json,
} from '../../config-values.ts';

export interface AutoencoderKLConfig {
  /** Channels of the input and output images, and of latents. */
  inChannels: number;
  outChannels: number;
  latentChannels: number;
  /** Channels at each resolution, the image's own first; `decoderChannels`: those of the decoder, left out: the encoder's. */
  channels: readonly number[];
  decoderChannels?: readonly number[];
  /** Residual blocks of the encoder at each resolution; the decoder has one more. */
  layers: number;
  groups: number;
  /** Whether the smallest resolution has self-attention. */
  attends: boolean;
  /** Whether 1 × 1 convolutions follow the encoder and precede the decoder. */
  quant: boolean;
  postQuant: boolean;
  /** The denoiser's latents are (latent − shift) · scale, with one pair for all channels or one per channel. */
  scales: readonly { scale: number; shift: number }[];
}

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  act_fn: ['silu', 'swish'],
};

/** The autoencoder of FLUX.2: the denoiser's latents are patches of its own, normalized by statistics that the weights hold. */
export interface AutoencoderKLFlux2Config extends AutoencoderKLConfig {
  /** Side of a patch. */
  patch: number;
  /** Added to the variance of each channel. */
  eps: number;
}

export function readAutoencoderKLFlux2Config(json: Json, file = 'config.json'): AutoencoderKLFlux2Config {
  const config = readConfig(file, json);
  const given = readAutoencoderKLConfig({ ...FLUX2_DEFAULTS, ...json }, file);
  const { groups, channels, attends } = given;
  const decoderChannels =
    json['decoder_block_out_channels'] == null ? channels : config.list('decoder_block_out_channels');
  if (decoderChannels.length !== channels.length) {
    throw config.error(
      'bad_checkpoint',
      'decoder_block_out_channels',
      `is ${JSON.stringify(decoderChannels)}, ${channels.length} numbers are needed, as in block_out_channels`,
    );
  }
  if (attends) checkHeads(file, decoderChannels.at(-1)!, 1);
  checkGroups(file, decoderChannels, groups);
  config.only({ patch_size: [[PATCH, PATCH]] });
  return {
    ...given,
    decoderChannels,
    patch: PATCH,
    eps: config.real('batch_norm_eps', 1e-4),
    scales: [{ scale: 1, shift: 0 }],
  };
}

const PATCH = 2;
const LEVELS = 4;
/** Values of keys that a configuration of FLUX.2 may lack and whose defaults differ from those of AutoencoderKL. */
const FLUX2_DEFAULTS: Json = {
  block_out_channels: [128, 256, 512, 512],
  down_block_types: Array<string>(LEVELS).fill('DownEncoderBlock2D'),
  up_block_types: Array<string>(LEVELS).fill('UpDecoderBlock2D'),
  layers_per_block: 2,
  latent_channels: 32,
};

export function readAutoencoderKLConfig(json: Json, file = 'config.json'): AutoencoderKLConfig {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const channels = config.list('block_out_channels', [64]);
  const down = config.texts('down_block_types', ['DownEncoderBlock2D'], ['DownEncoderBlock2D']);
  const up = config.texts('up_block_types', ['UpDecoderBlock2D'], ['UpDecoderBlock2D']);
  if (down.length !== channels.length || up.length !== channels.length) {
    throw new ConfigError(
      'bad_checkpoint',
      file,
      `${channels.length} block_out_channels need as many down_block_types and up_block_types, not ${down.length} and ${up.length}`,
    );
  }
  const attends = config.flag('mid_block_add_attention', true);
  if (attends) checkHeads(file, channels.at(-1)!, 1);
  const latentChannels = config.count('latent_channels', 4);
  return {
    inChannels: config.count('in_channels', 3),
    outChannels: config.count('out_channels', 3),
    latentChannels,
    channels,
    layers: config.count('layers_per_block', 1),
    groups: checkGroups(file, channels, config.count('norm_num_groups', 32)),
    attends,
    quant: config.flag('use_quant_conv', true),
    postQuant: config.flag('use_post_quant_conv', true),
    scales: readScales(file, config, latentChannels),
  };
}

function readScales(file: string, config: ConfigReader, channels: number): AutoencoderKLConfig['scales'] {
  const scale = config.real('scaling_factor', 0.18215);
  const means = config.reals('latents_mean', channels);
  const spreads = config.reals('latents_std', channels);
  if (means === null && spreads === null) return [{ scale, shift: config.real('shift_factor', 0) }];
  if (means === null || spreads === null || spreads.includes(0)) {
    throw new ConfigError(
      'bad_checkpoint',
      file,
      `latents_mean and latents_std are ${JSON.stringify(means)} and ${JSON.stringify(spreads)}, a mean and a spread above 0 for each of ${channels} channels are needed`,
    );
  }
  config.only({ shift_factor: [0] }); // the channel means replace it
  return means.map((shift, i) => ({ scale: scale / spreads[i]!, shift }));
}
