// UNet2DConditionModel of Stable Diffusion 1.x, 2.x and XL: residual blocks and transformers with cross-attention to the text, down
// to a small resolution and back up; each residual block on the way up also gets the output of its counterpart on the way down.

import type { Tensor } from '../../../gpu/tensor.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { linear } from '../../../kernels/matmul.ts';
import { normConv } from '../../../kernels/norm-conv.ts';
import { affine } from '../../affine.ts';
import { downBlock, midBlock, unbuilt, upBlock } from './unet-blocks.ts';
import { steer, type Steering } from './unet-steering.ts';
import { timeEmbedding, type TimeConditioning, type TimePrompt } from './unet-time.ts';
import type { UNetConfig } from './unet-config.ts';
import type { WeightTable } from '../../weights.ts';

/** Conditioning of an image: text [batch, tokens, context], and the values that are embedded with the time step. */
export interface UNetPrompt extends TimePrompt {
  text: Tensor;
}

/** The prompt in the form that the blocks need, computed once per image: keys and values of each cross-attention. */
export interface UNetConditioning extends TimeConditioning {
  /** [batch, tokens, 2 · channels] */
  keyValues: readonly Tensor[];
}

export interface UNet {
  condition(prompt: UNetPrompt): UNetConditioning;
  /** x [batch, height, width, inChannels], time f32 [batch, 1] → [batch, height, width, outChannels] */
  forward(x: Tensor, time: Tensor, conditioning: UNetConditioning, steering?: Steering): Tensor;
}

export function unet(config: UNetConfig, weights: WeightTable): UNet {
  const { inChannels, outChannels, groups, eps } = config;
  const base = config.down[0]!.channels;
  const time = timeEmbedding(config, weights, base);
  const convIn = weights.conv('conv_in.weight', base, inChannels, 3);
  const built = unbuilt(config, weights);
  const down = config.down.map((level, i) => downBlock(built, `down_blocks.${i}`, level));
  const mid = config.mid && midBlock(built, 'mid_block', config.mid);
  const up = config.up.map((level, i) => upBlock(built, `up_blocks.${i}`, level));
  const timeProj = weights.stacked(built.timed, config.timeDims, { bias: true });
  const normOut = affine(weights, 'conv_norm_out', base);
  const convOut = weights.conv('conv_out.weight', outChannels, base, 3);

  return {
    condition: (prompt) => ({
      keyValues: built.crossed.map((keyValue) => linear(prompt.text, keyValue)),
      ...time.condition(prompt),
    }),
    forward(x, steps, conditioning, { control, image = null } = {}) {
      const embedded = time.forward(steps, conditioning); //     [batch, timeDims]
      const { keyValues } = conditioning;
      const step = { time: linear(embedded, timeProj), keyValues, image };
      let y = conv2d(x, convIn); //                              [batch, height, width, base]
      const skips = [y];
      const reuse = y.tape?.reuse;
      const outer = reuse ? Math.min(1 + reuse.levels, down.length) : 0;
      for (const block of down.slice(0, outer)) y = block(y, step, skips);
      const deep = (from: Tensor): Tensor => {
        let z = from;
        for (const block of down.slice(outer)) z = block(z, step, skips);
        if (mid) z = mid(z, step);
        if (control) z = steer(z, skips, control);
        for (const block of up.slice(0, up.length - outer)) z = block(z, step, skips);
        return z;
      };
      y = reuse ? reuse.deep(y, deep) : deep(y);
      for (const block of up.slice(up.length - outer)) y = block(y, step, skips);
      return normConv(y, normOut, convOut, { groups, eps, silu: true });
    },
  };
}
