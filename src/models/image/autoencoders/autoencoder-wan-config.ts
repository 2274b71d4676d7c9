// Converts config.json of an AutoencoderKLWan, or of an AutoencoderKLQwenImage, to the configuration of autoencoder-wan.ts. Only this file
// knows their key names.

import { checkHeads, readConfig, type ConfigReader, type Json } from '../../config-values.ts';

export interface AutoencoderWanConfig {
  /** Channels of the input and output images, and of latents. */
  imageChannels: number;
  latentChannels: number;
  /** Side of the square patches of pixels that are channels to the networks. */
  patch: 1 | 2;
  /** Channels at each resolution, the image's own first, of the encoder and of the decoder. */
  channels: readonly number[];
  decoderChannels: readonly number[];
  /** Residual blocks of the encoder at each resolution; the decoder has one more. */
  layers: number;
  /** Whether channels are carried past the blocks of a resolution, by means and copies of them (Wan 2.2). */
  hasShortcuts: boolean;
  /** Whether frames are joined in pairs between a resolution and the next smaller one. */
  joinsFrames: readonly boolean[];
  /** Frames of a clip that a latent frame after the first stands for. */
  framesPerLatent: number;
  /** The denoiser's latents are (latent − shift) · scale, with one pair per channel. */
  scales: readonly { scale: number; shift: number }[];
}

type Widths = Pick<AutoencoderWanConfig, 'channels' | 'decoderChannels' | 'joinsFrames'>;

export function readAutoencoderWanConfig(json: Json, file = 'config.json'): AutoencoderWanConfig {
  const config = readConfig(file, json);
  config.only({ attn_scales: [[]] });
  const multiples = config.list('dim_mult', [1, 2, 4, 4]);
  const base = config.count('base_dim', 96);
  const decoderBase = config.count('decoder_base_dim', base);
  const [channels, decoderChannels] = [base, decoderBase].map((width) =>
    multiples.map((times) => times * width),
  ) as [number[], number[]];
  if (multiples[0] !== 1) config.only({ dim_mult: [[1, ...multiples.slice(1)]] });
  for (const widths of [channels, decoderChannels]) checkHeads(file, widths.at(-1)!, 1);
  const joinsFrames = config.flags('temperal_downsample', [false, true, true]);
  if (joinsFrames.length !== multiples.length - 1)
    throw config.error(
      'bad_checkpoint',
      'temperal_downsample',
      `is ${JSON.stringify(joinsFrames)}, ${multiples.length - 1} of true and false are needed, one fewer than entries of dim_mult`,
    );
  const hasShortcuts = config.flag('is_residual', false);
  const shape = { channels, decoderChannels, joinsFrames };
  if (hasShortcuts) checkShortcuts(config, shape);
  const latentChannels = config.count('z_dim', 16);
  return {
    ...shape,
    ...readPatches(config),
    latentChannels,
    layers: config.count('num_res_blocks', 2),
    hasShortcuts,
    framesPerLatent: 2 ** joinsFrames.filter(Boolean).length,
    scales: readScales(config, latentChannels),
  };
}

/** Images enter and leave as patches, whose pixels are channels. AutoencoderKLQwenImage has no patches and one number of channels. */
function readPatches(config: ConfigReader): Pick<AutoencoderWanConfig, 'imageChannels' | 'patch'> {
  config.only({ patch_size: [1, 2] });
  const patch = config.count('patch_size', 1) === 2 ? 2 : 1;
  const inputs = config.count('in_channels', config.count('input_channels', 3));
  const outputs = config.count('out_channels', inputs);
  if (outputs !== inputs || inputs % patch ** 2 !== 0)
    throw config.error(
      'bad_checkpoint',
      'out_channels',
      `is ${outputs} and in_channels ${inputs}, equal numbers of whole patches of ${patch} × ${patch} pixels are needed`,
    );
  return { patch, imageChannels: inputs / patch ** 2 };
}

/** Throws bad_checkpoint unless the channels before the blocks of a resolution are shared out evenly among those behind them. */
function checkShortcuts(config: ConfigReader, { channels, decoderChannels, joinsFrames }: Widths): void {
  const uneven = (wide: readonly number[], most: (i: number) => readonly [number, number]): boolean =>
    wide.some((_, i) => most(i)[0] % most(i)[1] !== 0);
  const places = joinsFrames.map((joins) => (joins ? 8 : 4));
  const narrow = decoderChannels.toReversed();
  const fails =
    uneven(channels, (i) => [(channels[i - 1] ?? channels[0]!) * (places[i] ?? 1), channels[i]!]) ||
    uneven(narrow.slice(1), (i) => [narrow[i]! * places.at(-1 - i)!, narrow[i - 1] ?? narrow[0]!]);
  if (!fails) return;
  const problem = `${JSON.stringify(config.values['dim_mult'])} gives channels that shortcuts cannot share out evenly`;
  throw config.error('bad_checkpoint', 'dim_mult', problem);
}

function readScales(config: ConfigReader, channels: number): AutoencoderWanConfig['scales'] {
  const means = config.reals('latents_mean', channels);
  const spreads = config.reals('latents_std', channels);
  if (means === null || spreads === null || spreads.includes(0)) {
    throw config.error(
      'bad_checkpoint',
      'latents_std',
      `is ${JSON.stringify(spreads)} and latents_mean ${JSON.stringify(means)}, a mean and a spread above 0 for each of ${channels} channels are needed`,
    );
  }
  return means.map((shift, i) => ({ scale: 1 / spreads[i]!, shift }));
}
