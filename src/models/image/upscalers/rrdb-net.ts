// RRDBNet of ESRGAN and Real-ESRGAN: residual blocks of densely connected convolutions at the size of the image, or of its halves or
// quarters moved to channels, then nearest-neighbour doublings with a convolution each.

import type { Tensor } from '../../../gpu/tensor.ts';
import { concat } from '../../../kernels/concat.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { pixelUnshuffle } from '../../../kernels/pixel-unshuffle.ts';
import { scaledAdd } from '../../../kernels/scaled-add.ts';
import { readConfig, type Json } from '../../config-values.ts';
import type { WeightTable } from '../../weights.ts';
import { CONV_REACH, type UpscalerPart } from './upscaler-part.ts';

export interface RrdbNetConfig {
  features: number;
  /** Channels that each convolution of a dense block adds. */
  growth: number;
  blocks: number;
  doublings: number;
  /** Pixels along a side that are moved to channels before the first convolution. */
  unshuffle: 1 | 2 | 4;
}

export function readRrdbNetConfig(json: Json, file = 'config.json'): RrdbNetConfig {
  const config = readConfig(file, json);
  config.only({ unshuffle: [1, 2, 4] });
  const doublings = config.count('num_up', 2);
  const unshuffle = config.count('unshuffle', 1) as RrdbNetConfig['unshuffle'];
  if (2 ** doublings < unshuffle)
    throw config.error(
      'unsupported',
      'num_up',
      `is ${doublings} after images are made ${unshuffle} times as small, which leaves them smaller than they were: choose a network that enlarges`,
    );
  return {
    features: config.count('num_feat', 64),
    growth: config.count('num_grow_ch', 32),
    blocks: config.count('num_block', 23),
    doublings,
    unshuffle,
  };
}

/** Share of what a block computes in its sum with the block's input. */
const SHARE = 0.2;
/** Convolutions of a dense block but the last, whose results are inputs of all that follow. */
const GROWING = [1, 2, 3, 4];
/** Dense blocks in a residual block. */
const DENSE = [1, 2, 3];

type Layer = (x: Tensor) => Tensor;

/** Images in 0 … 1, [1, height, width, 3] → features, [1, height / unshuffle, width / unshuffle, features] → larger images in 0 … 1 */
export function rrdbNet(config: RrdbNetConfig, weights: WeightTable): readonly UpscalerPart[] {
  const { features, blocks, doublings, unshuffle } = config;
  const conv = (name: string, from = features, to = features) => weights.conv(`${name}.weight`, to, from, 3);
  const first = conv('conv_first', 3 * unshuffle ** 2);
  const body = Array.from({ length: blocks }, (_, i) => residualBlock(config, weights, `body.${i}`));
  const last = conv('conv_body');
  const ups = Array.from({ length: doublings }, (_, i) => conv(`conv_up${i + 1}`));
  const [hr, out] = [conv('conv_hr'), conv('conv_last', features, 3)];

  const reached = 2 + blocks * DENSE.length * (GROWING.length + 1);
  return [
    {
      rows: 1 / unshuffle,
      reach: CONV_REACH * unshuffle * reached,
      run(image) {
        const x = conv2d(unshuffled(image, unshuffle), first); //           [1, height, width, features]
        return conv2d(
          body.reduce((y, block) => block(y), x),
          last,
          { residual: x },
        );
      },
    },
    {
      rows: 2 ** doublings,
      // Ever larger images: of what a doubled one reaches, half counts.
      reach: Math.ceil(
        CONV_REACH * (ups.reduce((sum, _, i) => sum + 2 ** -(i + 1), 0) + 2 ** (1 - doublings)),
      ),
      run(x) {
        const large = ups.reduce(
          (y, up) => cut(conv2d(y, up, { upsample: true, activation: 'leaky-relu' })),
          x,
        );
        return conv2d(cut(conv2d(large, hr, { activation: 'leaky-relu' })), out);
      },
    },
  ];
}

function unshuffled(image: Tensor, factor: RrdbNetConfig['unshuffle']): Tensor {
  return factor === 1 ? image : pixelUnshuffle(image, { factor, channels: 3 * factor ** 2 });
}

/** x + a fifth of three dense blocks, one after the other */
function residualBlock(config: RrdbNetConfig, weights: WeightTable, name: string): Layer {
  const dense = DENSE.map((i) => denseBlock(config, weights, `${name}.rdb${i}`));
  return (x) =>
    scaledAdd(
      dense.reduce((y, block) => block(y), x),
      SHARE,
      x,
    );
}

/** x + a fifth of five convolutions, each of x and the results of those before it; a segment of the tape */
function denseBlock({ features, growth }: RrdbNetConfig, weights: WeightTable, name: string): Layer {
  const growing = GROWING.map((i) =>
    weights.conv(`${name}.conv${i}.weight`, growth, features + (i - 1) * growth, 3),
  );
  const last = weights.conv(`${name}.conv5.weight`, features, features + GROWING.length * growth, 3);
  return (x) => {
    const all = growing.reduce((y, conv) => concat(y, conv2d(y, conv, { activation: 'leaky-relu' })), x);
    return cut(scaledAdd(conv2d(all, last), SHARE, x));
  };
}

function cut(x: Tensor): Tensor {
  x.tape!.cut();
  return x;
}
