// The autoencoder of Qwen-Image, as a pipeline uses it.

import type { PipelineComponent } from '../../../../files/pipeline/pipeline-index.ts';
import { sampleLatents, unscaleLatents } from '../../../../kernels/latents.ts';
import { readAutoencoderQwenImageConfig } from '../../../../models/image/autoencoders/autoencoder-qwen-image-config.ts';
import {
  qwenImageDecoder,
  qwenImageEncoder,
} from '../../../../models/image/autoencoders/autoencoder-qwen-image.ts';
import type { Autoencoder } from '../../blocks/autoencoder.ts';

/** Throws bad_checkpoint and unsupported. */
export function readQwenImageAutoencoder({ name, config: json }: PipelineComponent): Autoencoder {
  const config = readAutoencoderQwenImageConfig(json, `${name}/config.json`);
  const { latentChannels, scales } = config;
  return {
    component: name,
    latentChannels,
    factor: 2 ** (config.channels.length - 1),
    scales,
    tiles: true,
    samples: true,
    decoder(weights) {
      const decode = qwenImageDecoder(config, weights);
      return (latents, tiling) => decode(unscaleLatents(latents, scales), tiling);
    },
    encoder: (weights) => qwenImageEncoder(config, weights),
    sample: (moments, noise) => sampleLatents(moments, noise, scales),
  };
}
