// Converts config.json of an AutoencoderKLLTXVideo to the configuration of autoencoder-ltx.ts. Only this file knows its key names.

import { readConfig, type ConfigReader, type Json } from '../../config-values.ts';

export interface AutoencoderLTXConfig {
  imageChannels: number;
  latentChannels: number;
  /** Side of the square patches of pixels that are channels to the networks. */
  patch: 1 | 2 | 4;
  encoder: Side & { downs: readonly DownLevel[] };
  decoder: Side & { ups: readonly UpLevel[]; isTimed: boolean; addsNoise: boolean };
  /** Added to the variance in norms before shortcuts. */
  eps: number;
  /** Pixels along one side of a latent, and frames of a clip that a latent frame after the first stands for. */
  factor: number;
  framesPerLatent: number;
}

interface Side {
  /** Whether no frame depends on later ones. */
  isCausal: boolean;
  /** Channels and residual blocks at the smallest resolution. */
  middle: { channels: number; layers: number };
}

/** Residual blocks of the encoder at one resolution, and what follows them. */
export interface DownLevel {
  from: number;
  to: number;
  layers: number;
  /** How frames and pixels become fewer: by a convolution, after which a block widens; or by moving them to channels; null: not at all. */
  down: 'convolved' | { frames: 1 | 2; side: 1 | 2 } | null;
}

/** What precedes the residual blocks of the decoder at one resolution, and the blocks. */
export interface UpLevel {
  from: number;
  to: number;
  layers: number;
  doubles: boolean;
  /** Channels before the doubling in multiples of those after it; whether a shortcut goes past the doubling. */
  narrowing: number;
  hasShortcut: boolean;
  /** Whether residual blocks add noise. */
  addsNoise: boolean;
}

const MOVED = {
  spatial: { frames: 1, side: 2 },
  temporal: { frames: 2, side: 1 },
  spatiotemporal: { frames: 2, side: 2 },
} as const;

export function readAutoencoderLTXConfig(json: Json, file = 'config.json'): AutoencoderLTXConfig {
  const config = readConfig(file, json);
  config.only({ patch_size_t: [1], scaling_factor: [1], patch_size: [1, 2, 4] });
  const patch = config.count('patch_size', 4) as 1 | 2 | 4;
  const downs = readDowns(config);
  const ups = readUps(config);
  const doublings = ups.filter(({ doubles }) => doubles).length;
  const [side, frames] = downs.reduce(
    ([side, frames], { down }) =>
      down === null
        ? [side, frames]
        : down === 'convolved'
          ? [2 * side, 2 * frames]
          : [down.side * side, down.frames * frames],
    [1, 1],
  );
  if (side !== 2 ** doublings || frames !== 2 ** doublings)
    throw config.error(
      'bad_checkpoint',
      'decoder_spatio_temporal_scaling',
      `doubles ${doublings} times, and the encoder divides sides by ${side} and frames by ${frames}: equal numbers are needed`,
    );
  const inputs = config.count('in_channels', 3);
  config.only({ out_channels: [inputs] });
  return {
    imageChannels: inputs,
    latentChannels: config.count('latent_channels', 128),
    patch,
    encoder: {
      isCausal: config.flag('encoder_causal', true),
      downs,
      middle: { channels: downs.at(-1)!.to, layers: config.list('layers_per_block', LAYERS).at(-1)! },
    },
    decoder: {
      isCausal: config.flag('decoder_causal', false),
      ups,
      middle: {
        channels: config.list('decoder_block_out_channels', WIDTHS).at(-1)!,
        layers: config.list('decoder_layers_per_block', LAYERS).at(-1)!,
      },
      isTimed: config.flag('timestep_conditioning', false),
      addsNoise: noiseFlags(config, ups.length).at(-1)!,
    },
    eps: config.real('resnet_norm_eps', 1e-6),
    factor: patch * side,
    framesPerLatent: frames,
  };
}

/** Whether residual blocks of the decoder add noise, at each resolution in the order of the encoder's, and in the middle. */
function noiseFlags(config: ConfigReader, levels: number): boolean[] {
  const flags = config.flags('decoder_inject_noise', []);
  if (!flags.includes(true)) return Array<boolean>(levels + 1).fill(false);
  expectCounts(config, { decoder_inject_noise: flags.slice(1) }, levels);
  return flags;
}

const WIDTHS = [128, 256, 512, 512];
const LAYERS = [4, 3, 3, 3, 4];
const SCALES = [true, true, true, false];
const PLAIN = 'LTXVideoDownBlock3D';
const MOVING = 'LTXVideo095DownBlock3D';

/** The encoder's levels. Those of the later class begin with the width before them, and list one width more. */
function readDowns(config: ConfigReader): DownLevel[] {
  const widths = config.list('block_out_channels', WIDTHS);
  const types = config.texts('down_block_types', [PLAIN, MOVING], Array<string>(widths.length).fill(PLAIN));
  const moves = types.at(-1) === MOVING;
  const count = widths.length - (moves ? 1 : 0);
  const scales = config.flags('spatio_temporal_scaling', SCALES);
  const layers = config.list('layers_per_block', LAYERS);
  const kinds = config.texts(
    'downsample_type',
    ['conv', ...Object.keys(MOVED)],
    Array<string>(count).fill('conv'),
  );
  expectCounts(
    config,
    { down_block_types: types, spatio_temporal_scaling: scales, layers_per_block: layers.slice(1) },
    count,
  );
  if (moves) expectCounts(config, { downsample_type: kinds }, count);
  return Array.from({ length: count }, (_, i): DownLevel => {
    const [from, to] = [widths[i]!, widths[i + 1] ?? widths[i]!];
    if (types[i] !== types.at(-1))
      throw config.error(
        'unsupported',
        'down_block_types',
        `${JSON.stringify(types)} is not built; choose a checkpoint with one type`,
      );
    const kind = moves ? kinds[i]! : 'conv';
    if (moves && kind === 'conv')
      throw config.error(
        'unsupported',
        'downsample_type',
        `${JSON.stringify(kinds)} is not built; choose a checkpoint without "conv"`,
      );
    const down = !scales[i] ? null : kind === 'conv' ? 'convolved' : MOVED[kind as keyof typeof MOVED];
    if (moves && !down && from !== to)
      throw config.error(
        'bad_checkpoint',
        'spatio_temporal_scaling',
        `keeps a size at which ${from} channels become ${to}`,
      );
    if (down && down !== 'convolved')
      expectShares(config, from * down.frames * down.side ** 2, to, down.frames * down.side ** 2);
    return { from, to, layers: layers[i]!, down };
  });
}

/** The decoder's levels, the smallest resolution first; the lists are in the order of the encoder's. */
function readUps(config: ConfigReader): UpLevel[] {
  const widths = config.list('decoder_block_out_channels', WIDTHS).toReversed();
  const count = widths.length;
  const scales = config.flags('decoder_spatio_temporal_scaling', SCALES);
  const layers = config.list('decoder_layers_per_block', LAYERS);
  const shortcuts = config.flags('upsample_residual', Array<boolean>(count).fill(false));
  const factors = config.list('upsample_factor', Array<number>(count).fill(1));
  const lists = {
    decoder_spatio_temporal_scaling: scales,
    upsample_residual: shortcuts,
    upsample_factor: factors,
  };
  expectCounts(config, { ...lists, decoder_layers_per_block: layers.slice(1) }, count);
  const noise = noiseFlags(config, count);
  let before = widths[0]!;
  return widths.map((width, i): UpLevel => {
    const narrowing = factors.at(-1 - i)!;
    const [from, to] = [before / narrowing, width / narrowing];
    before = to;
    if (!Number.isInteger(from) || !Number.isInteger(to) || 8 % narrowing !== 0)
      throw config.error(
        'bad_checkpoint',
        'upsample_factor',
        `is ${JSON.stringify(factors)}, which must divide 8 and the channels before it`,
      );
    if (from !== to && config.flag('timestep_conditioning', false))
      throw config.error(
        'unsupported',
        'decoder_block_out_channels',
        `${JSON.stringify(widths.toReversed())} is not built together with timestep_conditioning; choose widths that upsample_factor alone changes`,
      );
    const addsNoise = noise.at(-2 - i)!;
    if (from !== to && addsNoise)
      throw config.error(
        'unsupported',
        'decoder_block_out_channels',
        `${JSON.stringify(widths.toReversed())} is not built together with decoder_inject_noise; choose widths that upsample_factor alone changes`,
      );
    const hasShortcut = shortcuts.at(-1 - i)!;
    if (hasShortcut && (to * narrowing) % 8 !== 0)
      throw config.error(
        'bad_checkpoint',
        'decoder_block_out_channels',
        `gives ${to * narrowing} channels before a doubling, a multiple of 8 is needed`,
      );
    return {
      ...{ from, to, layers: layers.at(-2 - i)!, doubles: scales.at(-1 - i)! },
      ...{ narrowing, hasShortcut, addsNoise },
    };
  });
}

function expectCounts(
  config: ConfigReader,
  lists: Readonly<Record<string, readonly unknown[]>>,
  count: number,
): void {
  for (const [key, list] of Object.entries(lists))
    if (list.length !== count)
      throw config.error(
        'bad_checkpoint',
        key,
        `does not fit ${count} resolutions: fetch the checkpoint again`,
      );
}

function expectShares(config: ConfigReader, from: number, to: number, places: number): void {
  if (from % to === 0 && to % places === 0) return;
  throw config.error(
    'bad_checkpoint',
    'block_out_channels',
    `has ${to} channels, which ${from} cannot be shared out to evenly`,
  );
}
