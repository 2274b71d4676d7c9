// AutoencoderKLFlux2: the networks of AutoencoderKL; the denoiser's latents are patches of theirs, of which each channel is normalized by
// its mean and variance in training.

import type { Tensor } from '../../../gpu/tensor.ts';
import { batchNorm, undoBatchNorm, type Statistics } from '../../../kernels/batch-norm.ts';
import { patchify, unpatchify } from '../../../kernels/patchify.ts';
import type { WeightTable } from '../../weights.ts';
import type { AutoencoderKLFlux2Config } from './autoencoder-kl-config.ts';
import { autoencoderKLDecoder, autoencoderKLEncoder, type Tiling } from './autoencoder-kl.ts';

/**
 * Latents [batch, height, width, patch² · latentChannels] → images in −1 … 1, [batch, patch · 2ⁿ · height, patch · 2ⁿ · width,
 * outChannels]
 */
export function autoencoderKLFlux2Decoder(config: AutoencoderKLFlux2Config, weights: WeightTable) {
  const decode = autoencoderKLDecoder(config, weights);
  const statistics = channelStatistics(config, weights);
  const { patch: size } = config;
  return (latents: Tensor, tiling: Tiling = {}): Tensor => {
    const [batch, height, width] = latents.shape as [number, number, number];
    const patches = undoBatchNorm(latents, statistics, [batch, height * width]);
    const sides = { height: size * height, width: size * width };
    return decode(unpatchify(patches, { size, order: 'cpq', ...sides }), tiling);
  };
}

/** Images in −1 … 1 → latents, the means of their distributions; shapes as above */
export function autoencoderKLFlux2Encoder(config: AutoencoderKLFlux2Config, weights: WeightTable) {
  const encode = autoencoderKLEncoder(config, weights);
  const statistics = channelStatistics(config, weights);
  const { patch: size } = config;
  return (image: Tensor, tiling: Tiling = {}): Tensor => {
    const moments = encode(image, tiling); // [batch, patch · height, patch · width, 2 · latentChannels]
    const [batch, height, width] = moments.shape as [number, number, number];
    // Patches go channel by channel, so that those of the means come first.
    return batchNorm(patchify(moments, { size, order: 'cpq' }), statistics, [
      batch,
      height / size,
      width / size,
    ]);
  };
}

function channelStatistics(config: AutoencoderKLFlux2Config, weights: WeightTable): Statistics {
  const { latentChannels, patch, eps } = config;
  const channels = patch ** 2 * latentChannels;
  weights.ignore(/^bn\.num_batches_tracked$/);
  const [mean, variance] = ['running_mean', 'running_var'].map((part) =>
    weights.vector(`bn.${part}`, channels),
  );
  return { mean: mean!, variance: variance!, eps };
}
