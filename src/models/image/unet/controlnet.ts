// ControlNetModel: a copy of a UNet's way down and of its middle that also sees an image. Its outputs are added to those that the
// UNet saves on the way down, and to that of the UNet's middle.

import type { Tensor } from '../../../gpu/tensor.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { joinRows } from '../../../kernels/copy-rows.ts';
import { linear } from '../../../kernels/matmul.ts';
import { downBlock, midBlock, unbuilt } from './unet-blocks.ts';
import type { Residuals } from './unet-steering.ts';
import type { UNetConditioning, UNetPrompt } from './unet.ts';
import { timeEmbedding } from './unet-time.ts';
import type { ControlNetConfig } from './controlnet-config.ts';
import type { WeightTable } from '../../weights.ts';

export interface ControlNet {
  condition(prompt: UNetPrompt): UNetConditioning;
  /** Image in 0 … 1, [1, factor · height, factor · width, 3] → [batch, height, width, base], once for each item */
  embed(image: Tensor, batch: number): Tensor;
  /** x [batch, height, width, inChannels], time f32 [batch, 1], hint [batch, height, width, base] */
  forward(x: Tensor, time: Tensor, hint: Tensor, conditioning: UNetConditioning): Residuals;
}

export function controlNet(config: ControlNetConfig, weights: WeightTable): ControlNet {
  const base = config.down[0]!.channels;
  const time = timeEmbedding(config, weights, base);
  const convIn = weights.conv('conv_in.weight', base, config.inChannels, 3);
  const embed = imageNetwork(config, weights, base);
  const built = unbuilt(config, weights);
  const down = config.down.map((level, i) => downBlock(built, `down_blocks.${i}`, level));
  const mid = config.mid && midBlock(built, 'mid_block', config.mid);
  const timeProj = weights.stacked(built.timed, config.timeDims, { bias: true });
  const downOut = built.skips.map((channels, i) =>
    weights.conv(`controlnet_down_blocks.${i}.weight`, channels, channels, 1),
  );
  const midOut = weights.conv('controlnet_mid_block.weight', built.channels, built.channels, 1);

  return {
    embed,
    condition: (prompt) => ({
      keyValues: built.crossed.map((keyValue) => linear(prompt.text, keyValue)),
      ...time.condition(prompt),
    }),
    forward(x, steps, hint, conditioning) {
      const embedded = time.forward(steps, conditioning); //     [batch, timeDims]
      const { keyValues } = conditioning;
      const step = { time: linear(embedded, timeProj), keyValues, image: null };
      let y = conv2d(x, convIn, { residual: hint }); //          [batch, height, width, base]
      const skips = [y];
      for (const block of down) y = block(y, step, skips);
      if (mid) y = mid(y, step);
      return { down: skips.map((skip, i) => linear(skip, downOut[i]!)), mid: linear(y, midOut) };
    },
  };
}

/** Convolutions that reduce the image to the size of the latents. */
function imageNetwork({ imageChannels }: ControlNetConfig, weights: WeightTable, base: number) {
  const name = 'controlnet_cond_embedding';
  const convIn = weights.conv(`${name}.conv_in.weight`, imageChannels[0]!, 3, 3);
  const halvings = imageChannels.slice(1).map((to, i) => {
    const from = imageChannels[i]!;
    return {
      conv: weights.conv(`${name}.blocks.${2 * i}.weight`, from, from, 3),
      halve: weights.conv(`${name}.blocks.${2 * i + 1}.weight`, to, from, 3, { stride: 2 }),
    };
  });
  const convOut = weights.conv(`${name}.conv_out.weight`, base, imageChannels.at(-1)!, 3);

  return (image: Tensor, batch: number): Tensor => {
    let y = conv2d(image, convIn, { activation: 'silu' });
    for (const { conv, halve } of halvings) {
      y = conv2d(y, conv, { activation: 'silu' });
      y = conv2d(y, halve, { stride: 2, activation: 'silu' });
    }
    const hint = conv2d(y, convOut);
    const all = Array.from({ length: batch }, () => hint);
    return batch === 1 ? hint : joinRows(all, [batch, ...(hint.shape as number[]).slice(1, 3)]);
  };
}
