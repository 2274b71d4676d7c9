// The autoencoder of Sana, as a pipeline uses it.

import type { PipelineComponent } from '../../../../files/pipeline/pipeline-index.ts';
import { scaleLatents, unscaleLatents } from '../../../../kernels/latents.ts';
import { readAutoencoderDCConfig } from '../../../../models/image/autoencoders/autoencoder-dc-config.ts';
import {
  autoencoderDCDecoder,
  autoencoderDCEncoder,
} from '../../../../models/image/autoencoders/autoencoder-dc.ts';
import type { Autoencoder } from '../../blocks/autoencoder.ts';

/** Throws bad_checkpoint and unsupported. */
export function readDCAutoencoder({ name, config: json }: PipelineComponent): Autoencoder {
  const config = readAutoencoderDCConfig(json, `${name}/config.json`);
  const { latentChannels, encoder, scales } = config;
  return {
    component: name,
    latentChannels,
    factor: 2 ** (encoder.length - 1),
    scales,
    tiles: true,
    samples: false,
    decoder(weights) {
      const decode = autoencoderDCDecoder(config, weights);
      return (latents, tiling) => decode(unscaleLatents(latents, scales), tiling);
    },
    encoder: (weights) => autoencoderDCEncoder(config, weights),
    sample: (latents) => scaleLatents(latents, scales),
  };
}
