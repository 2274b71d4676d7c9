// SRVGGNetCompact of Real-ESRGAN: convolutions at the size of the image, the last of which has a channel for each pixel of the larger one,
// to which the image itself is added.

import { conv2d } from '../../../kernels/conv2d.ts';
import { pixelShuffle } from '../../../kernels/pixel-shuffle.ts';
import { prelu } from '../../../kernels/prelu.ts';
import { readConfig, type Json } from '../../config-values.ts';
import type { WeightTable } from '../../weights.ts';
import { CONV_REACH, type UpscalerPart } from './upscaler-part.ts';

export interface SrvggNetCompactConfig {
  features: number;
  /** Convolutions between the first and the last. */
  convs: number;
  scale: 1 | 2 | 3 | 4;
}

export function readSrvggNetCompactConfig(json: Json, file = 'config.json'): SrvggNetCompactConfig {
  const config = readConfig(file, json);
  config.only({ upscale: [1, 2, 3, 4] });
  return {
    features: config.count('num_feat', 64),
    convs: config.count('num_conv', 16),
    scale: config.count('upscale', 4) as SrvggNetCompactConfig['scale'],
  };
}

/** Images in 0 … 1, [1, height, width, 3] → [1, scale · height, scale · width, 3] */
export function srvggNetCompact(
  { features, convs, scale }: SrvggNetCompactConfig,
  weights: WeightTable,
): readonly UpscalerPart[] {
  // Convolutions and activations alternate in one list.
  const layers = Array.from({ length: convs + 1 }, (_, i) => ({
    conv: weights.conv(`body.${2 * i}.weight`, features, i === 0 ? 3 : features, 3),
    slope: weights.vector(`body.${2 * i + 1}.weight`, features),
  }));
  const last = weights.conv(`body.${2 * layers.length}.weight`, 3 * scale ** 2, features, 3);
  return [
    {
      rows: scale,
      reach: CONV_REACH * (layers.length + 1),
      run(image) {
        const { tape } = image;
        const x = layers.reduce((y, { conv, slope }) => {
          tape!.cut();
          return prelu(conv2d(y, conv), slope.on(tape!));
        }, image);
        const nearest = pixelShuffle(image, { factor: scale, channels: 3 });
        return pixelShuffle(conv2d(x, last), { factor: scale, channels: 3, into: nearest });
      },
    },
  ];
}
