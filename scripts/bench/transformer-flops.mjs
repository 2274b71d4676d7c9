// Floating-point operations of one pass of a diffusion transformer, computed from shapes as in flops.mjs: `step` per pass, `attention` the part
// of it that is scores and weighted values, `prompt` once per text of `tokens` tokens. Latents have `height` × `width` elements, and two by
// two they are a patch.

import { attention, linear } from './flops.mjs';

const PATCH = 2;
const FILL = 32;
const WAVES = 256;
const TIME_FFN = 1024;

/**
 * A ZImageTransformer2DModel, configured as in src/models/image/z-image-config.ts; image and text are padded to multiples of 32.
 */
export function zImageFlops(config, height, width, tokens) {
  const { hidden, ffn, timeDims, channels, captionDims, layers, refiners } = config;
  const filled = (count) => Math.ceil(count / FILL) * FILL;
  const patches = patchesOf(height, width);
  const patchDims = PATCH ** 2 * channels;
  const image = filled(patches);
  const text = filled(tokens);
  const block = (rows) => linear(rows, 4 * hidden, hidden) + 3 * linear(rows, ffn, hidden);
  const attended = (rows) => attention(rows, rows, hidden);
  const modulation = linear(1, 4 * hidden, timeDims);
  const time = linear(1, TIME_FFN, WAVES) + linear(1, timeDims, TIME_FFN) + linear(1, hidden, timeDims);
  const ends = linear(patches, hidden, patchDims) + linear(image + text, patchDims, hidden);
  const ofAttention = refiners * attended(image) + layers * attended(image + text);
  const blocks = refiners * (block(image) + modulation) + layers * (block(image + text) + modulation);
  return {
    step: time + ends + blocks + ofAttention,
    attention: ofAttention,
    prompt: linear(tokens, hidden, captionDims) + refiners * (block(text) + attended(text)),
  };
}

/** A QwenImageTransformer2DModel, configured as in src/models/image/qwen-image-config.ts, without reference images. */
export function qwenImageFlops(config, height, width, tokens) {
  const { hidden, ffn, channels, textDims, layers } = config;
  const patches = patchesOf(height, width);
  const patchDims = PATCH ** 2 * channels;
  // Of the text, only keys and values are read of the last layer.
  const text =
    layers * stream(config, tokens) - linear(tokens, hidden, hidden) - 2 * linear(tokens, ffn, hidden);
  const block = stream(config, patches) + 2 * linear(1, 6 * hidden, hidden);
  const time = linear(1, hidden, WAVES) + linear(1, hidden, hidden) + linear(1, 2 * hidden, hidden);
  const ends = 2 * linear(patches, hidden, patchDims);
  const ofAttention = layers * attention(patches + tokens, patches + tokens, hidden);
  return {
    step: time + ends + layers * block + text + ofAttention,
    attention: ofAttention,
    prompt: linear(tokens, hidden, textDims),
  };
}

/** A FluxTransformer2DModel, configured as in src/models/image/flux-config.ts, without reference images. */
export function fluxFlops(config, height, width, tokens) {
  const { hidden, ffn, channels, inputs, textDims, pooledDims } = config;
  const { doubleBlocks, singleBlocks, distilledGuidance } = config;
  const patches = patchesOf(height, width);
  const all = patches + tokens;
  const double = stream(config, patches) + stream(config, tokens) + 2 * linear(1, 6 * hidden, hidden);
  const single =
    linear(all, 3 * hidden + ffn, hidden) + linear(all, hidden, hidden + ffn) + linear(1, 3 * hidden, hidden);
  const scalars = distilledGuidance ? 2 : 1;
  const time =
    scalars * embedded(WAVES, hidden) + embedded(pooledDims, hidden) + linear(1, 2 * hidden, hidden);
  const ends = linear(patches, hidden, PATCH ** 2 * inputs) + linear(patches, PATCH ** 2 * channels, hidden);
  const ofAttention = (doubleBlocks + singleBlocks) * attention(all, all, hidden);
  return {
    step: time + ends + doubleBlocks * double + singleBlocks * single + ofAttention,
    attention: ofAttention,
    prompt: linear(tokens, hidden, textDims),
  };
}

/** An SD3Transformer2DModel, configured as in src/models/image/sd3-config.ts. */
export function sd3Flops(config, height, width, tokens) {
  const { hidden, ffn, channels, inputs, textDims, pooledDims, layers, dualLayers } = config;
  const patches = patchesOf(height, width);
  const all = patches + tokens;
  // Of the text, only keys and values are read of the last layer, and its norm has no gate and no feed-forward part.
  const lastText = stream(config, tokens) - linear(tokens, hidden, hidden) - 2 * linear(tokens, ffn, hidden);
  const text = (layers - 1) * (stream(config, tokens) + linear(1, 6 * hidden, hidden)) + lastText;
  const image = layers * (stream(config, patches) + linear(1, 6 * hidden, hidden));
  const dual = linear(patches, 4 * hidden, hidden) + linear(1, 3 * hidden, hidden);
  const time = embedded(WAVES, hidden) + embedded(pooledDims, hidden);
  const norms = 2 * linear(1, 2 * hidden, hidden);
  const ends = linear(patches, hidden, PATCH ** 2 * inputs) + linear(patches, PATCH ** 2 * channels, hidden);
  const joint = (layers - 1) * attention(all, all, hidden) + attention(patches, all, hidden);
  const ofAttention = joint + dualLayers.size * attention(patches, patches, hidden);
  return {
    step: time + norms + ends + text + image + dualLayers.size * dual + ofAttention,
    attention: ofAttention,
    prompt: linear(tokens, hidden, textDims),
  };
}

const patchesOf = (height, width) => (height / PATCH) * (width / PATCH);

/** One sequence in a block: the projections of its attention, and its feed-forward part. */
const stream = ({ hidden, ffn }, rows) => linear(rows, 4 * hidden, hidden) + 2 * linear(rows, ffn, hidden);

/** An MLP of two layers that embeds one vector. */
const embedded = (columns, hidden) => linear(1, hidden, columns) + linear(1, hidden, hidden);
