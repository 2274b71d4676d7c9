// Gemma 3n's encoder of images: MobileNet V5, whose rows and the token that ends an image become rows of the language model.

import type { Tensor } from '../../../gpu/tensor.ts';
import { joinTokens } from '../../../kernels/copy-rows.ts';
import { gemma3nEmbedder } from '../../audio/gemma3n-embedder.ts';
import type { MediaInput, Tower } from '../../media.ts';
import type { WeightTable } from '../../weights.ts';
import type { Gemma3nVisionConfig } from './gemma3n-vision-config.ts';
import { mobileNetV5, type SquareOrder } from './mobilenet-v5.ts';
import type { MobileNetV5Config } from './mobilenet-v5-config.ts';

/** Inputs: `pixels` [1, side, side, 3], and those of squareInputs. → [1, across² + 1, out] */
export function gemma3nVision(config: Gemma3nVisionConfig, weights: WeightTable): Tower {
  const { encoder, end } = config;
  const hidden = encoder.columns;
  const encode = mobileNetV5(encoder, weights, 'vision_tower.timm_model.');
  const embed = gemma3nEmbedder({ ...config, hidden }, weights, 'embed_vision.', Math.sqrt(hidden));

  return (inputs) => {
    const { pixels, ...order } = inputs as Record<'pixels' | keyof SquareOrder, Tensor>;
    const x = encode(pixels, order);
    return [joinTokens(embed.rows(x), embed.token(x.tape!, end))];
  };
}

/** See SquareOrder. */
export function squareInputs(
  { stages, across }: MobileNetV5Config,
  side: number,
): Record<keyof SquareOrder, MediaInput> {
  const wide = side / 2 ** stages.length;
  const square = wide / across;
  const places = Array.from({ length: wide ** 2 }, (_, i) => {
    const [cell, pixel] = [Math.floor(i / square ** 2), i % square ** 2];
    const row = Math.floor(cell / across) * square + Math.floor(pixel / square);
    return { row, column: (cell % across) * square + (pixel % square) };
  });
  const large = Uint32Array.from(places, ({ row, column }) => row * wide + column);
  const small = Uint32Array.from(
    places,
    ({ row, column }) => (Math.floor(row / 2) * wide) / 2 + Math.floor(column / 2),
  );
  const shape = [1, places.length, 1];
  return {
    large: { shape, data: large },
    small: { shape, data: small },
    ones: { shape, data: new Float32Array(places.length).fill(1) },
  };
}
