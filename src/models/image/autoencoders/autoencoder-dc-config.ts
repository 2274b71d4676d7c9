// Converts config.json of an AutoencoderDC to the configuration of autoencoder-dc.ts. Only this file knows its key names.

import { readConfig, shown, type ConfigReader, type Json } from '../../config-values.ts';

export interface AutoencoderDCConfig {
  imageChannels: number;
  latentChannels: number;
  /** Dimensions of an attention head. */
  dims: number;
  /** Resolutions, the image's own first. */
  encoder: readonly Level[];
  decoder: readonly Level[];
  /** Whether pixels are moved to channels to halve the size; otherwise a convolution of stride 2 does. */
  unshuffles: boolean;
  /** Whether the size is doubled before a convolution; otherwise channels are moved to pixels behind it. */
  interpolates: boolean;
  /** Whether the encoder's last convolution, and the decoder's first, add averages of channels, or repeated channels. */
  encoderShortcut: boolean;
  decoderShortcut: boolean;
  /** Activation before the decoder's last convolution. */
  headActivation: Activation;
  /** The denoiser's latents are latent · scale. */
  scales: readonly [{ scale: number; shift: 0 }];
}

export interface Level {
  channels: number;
  layers: number;
  /** Sides of the kernels that see the surroundings of queries, keys and values; null: residual blocks instead of attention. */
  kernels: readonly number[] | null;
  /** Activation within residual blocks. */
  activation: Activation;
}

type Activation = 'silu' | 'relu';
type Side = 'encoder' | 'decoder';

const ACTIVATIONS = { silu: 'silu', relu: 'relu' } as const;
const BLOCKS = { ResBlock: false, EfficientViTBlock: true } as const;
const KERNELS = [3, 5, 7];
const LEVELS = 6;
/** Kernels of the deepest resolutions of published models. */
const ATTENTION = [[], [], [], [5], [5], [5]];
const CHANNELS = [128, 256, 512, 512, 1024, 1024];

/** Throws bad_checkpoint and unsupported. */
export function readAutoencoderDCConfig(json: Json, file = 'config.json'): AutoencoderDCConfig {
  const config = readConfig(file, json);
  const dims = config.count('attention_head_dim', 32);
  if (dims === 0 || dims % 4 !== 0)
    throw config.error(
      'unsupported',
      'attention_head_dim',
      `${dims} is not built; choose a checkpoint whose heads have a multiple of 4 dimensions`,
    );
  const latentChannels = config.count('latent_channels', 32);
  const encoder = readLevels(config, 'encoder', [2, 2, 2, 3, 3, 3]);
  const decoder = readLevels(config, 'decoder', Array<number>(LEVELS).fill(3));
  const shortcuts = {
    encoderShortcut: config.flag('encoder_out_shortcut', true),
    decoderShortcut: config.flag('decoder_in_shortcut', true),
  };
  for (const [side, levels, joins] of [
    ['encoder', encoder, shortcuts.encoderShortcut],
    ['decoder', decoder, shortcuts.decoderShortcut],
  ] as const) {
    checkLayers(config, side, levels);
    checkWidths(config, side, levels, joins ? latentChannels : null);
    checkAttention(config, side, levels, dims);
  }
  if (encoder.length !== decoder.length)
    throw config.error(
      'bad_checkpoint',
      'decoder_block_out_channels',
      `has ${decoder.length} resolutions, and encoder_block_out_channels ${encoder.length}`,
    );
  const unshuffles = config.choice(
    'downsample_block_type',
    { pixel_unshuffle: true, Conv: false, conv: false },
    'pixel_unshuffle',
  );
  if (unshuffles) checkQuarters(config, encoder);
  return {
    imageChannels: config.count('in_channels', 3),
    latentChannels,
    dims,
    encoder,
    decoder,
    unshuffles,
    interpolates: config.choice(
      'upsample_block_type',
      { pixel_shuffle: false, interpolate: true },
      'pixel_shuffle',
    ),
    ...shortcuts,
    headActivation: config.choice('decoder_conv_act_fn', ACTIVATIONS, 'relu'),
    scales: [{ scale: config.real('scaling_factor', 1), shift: 0 }],
  };
}

function readLevels(config: ConfigReader, side: Side, usualLayers: readonly number[]): Level[] {
  const widths = config.list(`${side}_block_out_channels`, CHANNELS);
  const count = widths.length;
  const layers = config.list(`${side}_layers_per_block`, usualLayers);
  if (layers.length !== count)
    throw config.error(
      'bad_checkpoint',
      `${side}_layers_per_block`,
      `is ${shown(layers)}, ${count} numbers are needed, as in ${side}_block_out_channels`,
    );
  const kinds = eachName(config, `${side}_block_types`, count, Object.keys(BLOCKS), 'ResBlock');
  const activations =
    side === 'encoder'
      ? Array<string>(count).fill('silu')
      : eachName(config, 'decoder_act_fns', count, Object.keys(ACTIVATIONS), 'silu');
  if (side === 'decoder') eachName(config, 'decoder_norm_types', count, ['rms_norm'], 'rms_norm');
  const kernels = readKernels(config, side, count);
  return widths.map((channels, i) => ({
    channels,
    layers: layers[i]!,
    kernels: BLOCKS[kinds[i] as keyof typeof BLOCKS] ? kernels[i]! : null,
    activation: ACTIVATIONS[activations[i] as Activation],
  }));
}

/** A name for each resolution, or one for all of them. */
function eachName(
  config: ConfigReader,
  key: string,
  count: number,
  known: readonly string[],
  usual: string,
): string[] {
  const value = config.values[key] ?? usual;
  const given = typeof value === 'string' ? Array<string>(count).fill(value) : value;
  const names = config.with({ ...config.values, [key]: given }).texts(key, known);
  if (names.length === count) return names;
  throw config.error('bad_checkpoint', key, `is ${shown(value)}, a name or ${count} of them are needed`);
}

function readKernels(config: ConfigReader, side: Side, count: number): number[][] {
  const key = `${side}_qkv_multiscales`;
  const value = config.values[key] ?? ATTENTION;
  const isList = (one: unknown): one is number[] =>
    Array.isArray(one) &&
    one.length <= KERNELS.length &&
    one.every((side) => KERNELS.includes(side as number));
  if (Array.isArray(value) && value.length === count && value.every(isList)) return value;
  throw config.error(
    'unsupported',
    key,
    `${shown(value)} is not built; choose a checkpoint that has ${count} lists of ${KERNELS.join(', ')}`,
  );
}

/** In a resolution without layers the size changes elsewhere, or not at all; only the deepest one has nothing behind it. */
function checkLayers(config: ConfigReader, side: Side, levels: readonly Level[]): void {
  const layers = levels.map((level) => level.layers);
  if (layers.slice(0, -1).every((count) => count > 0)) return;
  throw config.error(
    'unsupported',
    `${side}_layers_per_block`,
    `${shown(layers)} is not built; choose a checkpoint that has at least one layer in each resolution, such as those of Sana`,
  );
}

/** A convolution makes a quarter of the channels, of which four pixels are joined. */
function checkQuarters(config: ConfigReader, levels: readonly Level[]): void {
  const widths = levels.map(({ channels }) => channels);
  if (widths.every((width, i) => i === 0 || width % 4 === 0)) return;
  throw config.error(
    'bad_checkpoint',
    'encoder_block_out_channels',
    `is ${shown(widths)}, and pixel_unshuffle makes multiples of 4 channels`,
  );
}

/** Shortcuts repeat or average whole channels. */
function checkWidths(
  config: ConfigReader,
  side: Side,
  levels: readonly Level[],
  latent: number | null,
): void {
  const widths = levels.map(({ channels }) => channels);
  const isWhole = widths.every((width, i) => i === 0 || (4 * widths[i - 1]!) % width === 0);
  if (isWhole && (latent === null || widths.at(-1)! % latent === 0)) return;
  throw config.error(
    'bad_checkpoint',
    `${side}_block_out_channels`,
    `is ${shown(widths)}, and shortcuts between these and ${latent ?? 'no'} latent channels do not consist of whole channels`,
  );
}

function checkAttention(config: ConfigReader, side: Side, levels: readonly Level[], dims: number): void {
  const narrow = levels.find(({ kernels, channels }) => kernels !== null && channels < dims);
  if (narrow === undefined) return;
  throw config.error(
    'bad_checkpoint',
    `${side}_block_out_channels`,
    `has attention over ${narrow.channels} channels, and a head has ${dims}`,
  );
}
