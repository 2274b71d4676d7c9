// Floating-point operations of one pass, computed from shapes: a multiply-add counts as two. Matrix products, convolutions and
// attention count; norms, activations and additions do not. Convolutions count in full although Winograd's form multiplies less, so
// that the resulting speed may exceed the hardware's peak.

/** A convolution to `pixels` pixels. */
export const conv = (pixels, out, channels, kernel = 3) => 2 * pixels * out * channels * kernel ** 2;

export const linear = (rows, out, k) => 2 * rows * out * k;

/** Scores and weighted values; `columns` of all heads. */
export const attention = (queries, keys, columns) => 4 * queries * keys * columns;

/**
 * A UNet2DConditionModel on latents, configured as in src/models/image/unet/unet-config.ts: `step` per pass, `attention` the part of it that is
 * scores and weighted values, `prompt` once per text of `tokens` tokens.
 */
export function unetFlops(config, height, width, tokens) {
  const { timeDims, guidanceDims, added, inChannels, outChannels } = config;
  const base = config.down[0].channels;
  const count = { step: 0, attention: 0, prompt: 0 };
  let size = { height, width };
  let channels = base;
  const skips = [{ channels, size }];
  const block = (level, i, from) => {
    const pixels = size.height * size.width;
    count.step += residual(pixels, from, level.channels) + linear(1, level.channels, timeDims);
    const depth = level.attention?.depths[i] ?? null;
    if (depth !== null) {
      const own = transformer(pixels, level.channels, depth, tokens);
      count.step += own.all;
      count.attention += own.attention;
      count.prompt += depth * linear(tokens, 2 * level.channels, level.attention.context);
    }
    channels = level.channels;
  };
  const resample = (to) => {
    size = to;
    count.step += conv(size.height * size.width, channels, channels);
  };

  count.step += linear(1, timeDims, base) + linear(1, timeDims, timeDims);
  if (guidanceDims !== null) count.step += linear(1, base, guidanceDims);
  if (added) count.step += linear(1, timeDims, timeDims);
  if (added) count.prompt += linear(1, timeDims, added.columns);
  count.step += conv(height * width, base, inChannels);
  for (const level of config.down) {
    for (let i = 0; i < level.layers; i++) {
      block(level, i, channels);
      skips.push({ channels, size });
    }
    if (!level.resamples) continue;
    resample({ height: Math.ceil(size.height / 2), width: Math.ceil(size.width / 2) });
    skips.push({ channels, size });
  }
  for (let i = 0; i < (config.mid?.layers ?? 0); i++) block(config.mid, i, channels);
  for (const level of config.up) {
    for (let i = 0; i < level.layers; i++) block(level, i, channels + skips.pop().channels);
    if (level.resamples) resample(skips.at(-1).size);
  }
  count.step += conv(height * width, outChannels, base);
  return count;
}

function residual(pixels, from, to) {
  const shortcut = from === to ? 0 : conv(pixels, to, from, 1);
  return conv(pixels, to, from) + conv(pixels, to, to) + shortcut;
}

function transformer(pixels, channels, depth, tokens) {
  const attended = attention(pixels, pixels, channels) + attention(pixels, tokens, channels);
  const toSelf = linear(pixels, 4 * channels, channels);
  const toText = linear(pixels, 2 * channels, channels);
  const feedForward = linear(pixels, 8 * channels, channels) + linear(pixels, channels, 4 * channels);
  const ends = linear(pixels, 2 * channels, channels);
  return {
    all: ends + depth * (toSelf + toText + feedForward + attended),
    attention: depth * attended,
  };
}

/** The decoder of an AutoencoderKL on latents. */
export function decoderFlops(config, height, width) {
  const { latentChannels, channels, outChannels, layers, attends, postQuant } = config;
  const deepest = channels.at(-1);
  let pixels = height * width;
  let flops = postQuant ? conv(pixels, latentChannels, latentChannels, 1) : 0;
  flops += conv(pixels, deepest, latentChannels) + 2 * residual(pixels, deepest, deepest);
  if (attends) flops += linear(pixels, 4 * deepest, deepest) + attention(pixels, pixels, deepest);
  let from = deepest;
  for (const [i, to] of channels.toReversed().entries()) {
    flops += residual(pixels, from, to) + layers * residual(pixels, to, to);
    if (i < channels.length - 1) flops += conv((pixels *= 4), to, to);
    from = to;
  }
  return flops + conv(pixels, outChannels, from);
}
