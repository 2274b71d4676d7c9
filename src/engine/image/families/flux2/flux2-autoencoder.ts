// The autoencoder of FLUX.2, as a pipeline uses it: its latents are those of the denoiser already.

import type { PipelineComponent } from '../../../../files/pipeline/pipeline-index.ts';
import { unscaleLatents } from '../../../../kernels/latents.ts';
import { readAutoencoderKLFlux2Config } from '../../../../models/image/autoencoders/autoencoder-kl-config.ts';
import {
  autoencoderKLFlux2Decoder,
  autoencoderKLFlux2Encoder,
} from '../../../../models/image/autoencoders/autoencoder-kl-flux2.ts';
import type { Autoencoder } from '../../blocks/autoencoder.ts';

/** Throws bad_checkpoint and unsupported. */
export function readFlux2Autoencoder({ name, config: json }: PipelineComponent): Autoencoder {
  const config = readAutoencoderKLFlux2Config(json, `${name}/config.json`);
  const { latentChannels, patch, channels, scales } = config;
  return {
    component: name,
    latentChannels: patch ** 2 * latentChannels,
    factor: patch * 2 ** (channels.length - 1),
    scales,
    tiles: true,
    samples: false,
    decoder: (weights) => autoencoderKLFlux2Decoder(config, weights),
    encoder: (weights) => autoencoderKLFlux2Encoder(config, weights),
    sample: (latents) => unscaleLatents(latents, scales),
  };
}
