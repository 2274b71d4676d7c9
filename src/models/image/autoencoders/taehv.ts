// The decoder of TAEHV, a small autoencoder of videos: plain convolutions, of which some see the frame before theirs, too. It replaces the decoder
// that a model was trained with, fast enough for previews. Layers pass frames on one by one. source: madebyollin/taehv, taehv.py

import type { Tensor } from '../../../gpu/tensor.ts';
import { concat } from '../../../kernels/concat.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { copyInto } from '../../../kernels/copy-rows.ts';
import { linear } from '../../../kernels/matmul.ts';
import { pixelShuffle } from '../../../kernels/pixel-shuffle.ts';
import { scaleShift, softClamp } from '../../../kernels/scale-shift.ts';
import type { WeightTable } from '../../weights.ts';
import type { ChunkOptions } from './autoencoder-wan.ts';
import type { CarriedFrames } from './causal-frames.ts';
import { eachFrame, framesOf, type FrameStream } from './frame-streams.ts';
import type { TaehvConfig, TaehvLevel } from './taehv-config.ts';

/** Range of latents that the decoder was trained on. */
const BOUND = 3;
const BLOCKS = 3;
/** Members of the decoder's sequence before the blocks of the first level, and of a level. */
const BEFORE = 3;
const PER_LEVEL = BLOCKS + 3;
const IMAGE_CHANNELS = 3;

type Carried = CarriedFrames | null;

/**
 * Latents of the denoiser [frames, height, width, latentChannels] → 1 + framesPerLatent · (frames − 1) frames in −1 … 1, [1, factor · height,
 * factor · width, 3] each, which are recorded when they are asked for. `lastOnly`: each frame of latents becomes one, the last of those
 * for which it stands.
 */
export function taehvDecoder(config: TaehvConfig, weights: WeightTable, { lastOnly = false } = {}) {
  const { latentChannels, patch, levels } = config;
  const convIn = weights.conv('decoder.1.weight', levels[0]!.channels, latentChannels, 3);
  const built = levels.map((level, i) => upLevel(weights, BEFORE + i * PER_LEVEL, level, lastOnly));
  const out = BEFORE + levels.length * PER_LEVEL + 1;
  const convOut = weights.conv(`decoder.${out}.weight`, IMAGE_CHANNELS * patch ** 2, levels.at(-1)!.to, 3);
  weights.ignore(/^encoder\./);
  if (lastOnly) weights.ignore(/^decoder\.\d+\.frames\./);
  const last = built.at(-1)!;
  // Frames of the first latents that stand before the clip.
  const trimmed = lastOnly ? 0 : config.framesPerLatent - 1;

  return function* (latents: Tensor, { carried = null }: ChunkOptions = {}): Generator<Tensor, void, void> {
    let frames: FrameStream = eachFrame(framesOf(latents), (x) =>
      conv2d(softClamp(x, BOUND), convIn, { activation: 'relu' }),
    );
    for (const level of built.slice(0, -1))
      frames = eachOf(level.blocks(frames, carried), (x) => level.grow.map((one) => one(x)));
    let before = carried?.continues ? 0 : trimmed;
    for (const x of last.blocks(frames, carried))
      for (const grow of last.grow) {
        if (before-- > 0) continue;
        const y = conv2d(grow(x, 'relu'), convOut);
        const image = patch === 1 ? y : pixelShuffle(y, { factor: patch, channels: IMAGE_CHANNELS });
        yield scaleShift(image, 2, -1);
      }
  };
}

/** Blocks of a level, and functions that make the frames that one becomes, of twice the sides. */
function upLevel(
  weights: WeightTable,
  first: number,
  { channels, to, frames }: TaehvLevel,
  lastOnly: boolean,
) {
  const members = Array.from({ length: BLOCKS }, (_, i) =>
    memBlock(weights, `decoder.${first + i}`, channels),
  );
  const indices = lastOnly ? [frames - 1] : Array.from({ length: frames }, (_, i) => i);
  const grown = indices.map((index) =>
    weights.matrix(`decoder.${first + BLOCKS + 1}.frames.${index}.weight`, channels, channels),
  );
  const conv = weights.conv(`decoder.${first + BLOCKS + 2}.weight`, to, channels, 3, { bias: false });
  return {
    blocks: (stream: FrameStream, carried: Carried): FrameStream =>
      members.reduce((x, run) => run(x, carried), stream),
    // A map of each pixel gives the same before and behind a doubling of the sides.
    grow: grown.map(
      (matrix) =>
        (x: Tensor, activation?: 'relu'): Tensor =>
          conv2d(linear(x, matrix), conv, { upsample: true, activation }),
    ),
  };
}

/** relu(x + three convolutions of x and of the frame before it); a segment of the tape for each frame */
function memBlock(weights: WeightTable, name: string, channels: number) {
  const layer = weights.requests.length;
  const [first, second, third] = [0, 2, 4].map((i) =>
    weights.conv(`${name}.conv.${i}.weight`, channels, i === 0 ? 2 * channels : channels, 3),
  );
  return function* (frames: FrameStream, carried: Carried): Generator<Tensor, void, void> {
    let past: Tensor | null = null;
    for (const x of frames) {
      past ??= carried ? carried.last(layer, 1, x)[0]! : scaleShift(x, 0, 0);
      const y = conv2d(concat(x, past), first!, { activation: 'relu' });
      const z = conv2d(y, second!, { activation: 'relu' });
      past = x;
      const made = conv2d(z, third!, { residual: x, activation: 'relu' });
      made.tape!.cut();
      yield made;
    }
    if (carried && past) copyInto(past, carried.last(layer, 1, past)[0]!);
  };
}

/** Several frames of each one. */
function* eachOf(frames: FrameStream, make: (frame: Tensor) => Tensor[]): Generator<Tensor, void, void> {
  for (const frame of frames) yield* make(frame);
}
