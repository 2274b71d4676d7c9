// Floating-point operations of models of clips, computed from shapes as in flops.mjs. Latents have `frames` × `height` × `width` elements.

import { attention, conv, linear } from './flops.mjs';

const PATCH = 2;
/** Frames that a kernel of a causal convolution spans. */
const FRAMES = 3;

/** A WanTransformer3DModel, configured as in src/models/image/clips/wan-config.ts, without states of images, for a text of `tokens` tokens. */
export function wanFlops(config, { frames, height, width }, tokens) {
  const { hidden, ffn, inputs, channels, textDims, timeDims, layers } = config;
  const rows = frames * (height / PATCH) * (width / PATCH);
  const ofAttention = layers * (attention(rows, rows, hidden) + attention(rows, tokens, hidden));
  const products = linear(rows, 6 * hidden, hidden) + 2 * linear(rows, ffn, hidden);
  const ofText = linear(tokens, 2 * hidden, hidden);
  const time = linear(1, hidden, timeDims) + linear(1, 7 * hidden, hidden);
  const ends = linear(rows, hidden, PATCH ** 2 * inputs) + linear(rows, PATCH ** 2 * channels, hidden);
  return {
    step: time + ends + layers * (products + ofText) + ofAttention,
    attention: ofAttention,
    prompt: linear(tokens, hidden, textDims) + linear(tokens, hidden, hidden),
  };
}

/**
 * The decoder of an AutoencoderKLWan without shortcuts, configured as in src/models/image/autoencoders/autoencoder-wan-config.ts. Frames before the
 * first one are zeros: no operation reads them.
 */
export function wanDecoderFlops(config, { frames, height, width }) {
  const { latentChannels, decoderChannels, layers, joinsFrames, imageChannels } = config;
  const wide = decoderChannels.toReversed();
  const deepest = wide[0];
  let [count, pixels] = [frames, height * width];
  const causal = (out, channels) => reads(count) * conv(pixels, out, channels);
  const residual = (from, to) =>
    causal(to, from) + causal(to, to) + (from === to ? 0 : count * conv(pixels, to, from, 1));
  const attended = linear(pixels, 4 * deepest, deepest) + attention(pixels, pixels, deepest);
  let flops = count * linear(pixels, latentChannels, latentChannels) + causal(deepest, latentChannels);
  flops += 2 * residual(deepest, deepest) + count * attended;
  for (const [i, to] of wide.entries()) {
    flops += residual(i === 0 ? deepest : wide[i - 1] / 2, to) + layers * residual(to, to);
    if (i === wide.length - 1) continue;
    if (joinsFrames.at(-1 - i)) {
      flops += reads(count - 1) * linear(pixels, 2 * to, to); // the first frame is one frame still
      count = 2 * count - 1;
    }
    pixels *= 4;
    flops += count * conv(pixels, to / 2, to);
  }
  return flops + causal(imageChannels, decoderChannels[0]);
}

/** Frames that a causal convolution over `count` frames reads for all of them. */
function reads(count) {
  return Array.from({ length: count }, (_, i) => Math.min(FRAMES, i + 1)).reduce((a, b) => a + b, 0);
}
