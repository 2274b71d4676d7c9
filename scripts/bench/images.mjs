// The image cases of npm run bench: shipped models, and synthetic checkpoints in the shapes of well-known ones.

import { pipelineFolder, stableDiffusion } from './pipelines.mjs';
import { fluxOf, qwenImageOf, sd3Of, wanOf, zImageOf } from './transformer-pipelines.mjs';

const PROMPT = 'a red balloon over snowy mountains at sunset';
const SEED = 1;
/** Of Z-Image's 30 layers and 2 refiners, the number that a software adapter runs in half a minute. */
const LAYERS = 2;
const REFINERS = 1;
/** Of Qwen-Image's 60 layers; each has 340 million weights. */
const DOUBLE_LAYERS = 1;
/** Of FLUX.1's 19 layers of two streams and 38 of one. */
const FLUX_LAYERS = 1;
const FLUX_SINGLES = 2;
/** Of Wan 1.3B's 30 layers. */
const WAN_LAYERS = 2;
/** Of Stable Diffusion 3.5 medium's 24 layers, the first 13 of which have two attentions. */
const SD3_LAYERS = 4;
const SD3_DUALS = 2;

/**
 * Name, folder (created at the first use), request, number of images, and the parts whose shape equals the real model's. @param
 * {[name: string, folder: string][]} shipped
 */
export function imageCases(shipped) {
  const request = (more) => ({ prompt: PROMPT, seed: SEED, ...more });
  return [
    ...shipped.map(([name, folder]) => ({
      name: `images, ${name}`,
      folder: () => folder,
      request: request({}),
      pictures: 3,
      measured: ['step', 'decode'],
    })),
    {
      name: 'images, SD1 with a UNet of 64 channels, 128²',
      folder: () => pipelineFolder('sd1-64', stableDiffusion({ channels: 64 })),
      request: request({ width: 128, height: 128, steps: 4, guidance: 1 }),
      pictures: 3,
      measured: ['step', 'decode'],
    },
    {
      name: 'images, SD1.5, 512²',
      folder: () => pipelineFolder('sd1.5', stableDiffusion({ channels: 320 })),
      request: request({ width: 512, height: 512, steps: 2, guidance: 1 }),
      pictures: 1,
      measured: ['step', 'decode'],
    },
    {
      name: `images, Z-Image of ${LAYERS} + ${REFINERS} layers (not 30 + 2), 512²`,
      folder: () => pipelineFolder('z-image', zImageOf({ layers: LAYERS, refiners: REFINERS })),
      request: request({ width: 512, height: 512, steps: 2, guidance: 0 }),
      pictures: 2,
      measured: ['step'],
    },
    {
      name: `images, Qwen-Image of ${DOUBLE_LAYERS} layer (not 60), 512²`,
      folder: () => pipelineFolder('qwen-image', qwenImageOf({ layers: DOUBLE_LAYERS })),
      request: request({ width: 512, height: 512, steps: 2, guidance: 1 }),
      pictures: 2,
      measured: ['step'],
    },
    {
      name: `images, FLUX.1 of ${FLUX_LAYERS} + ${FLUX_SINGLES} layers (not 19 + 38), 512²`,
      folder: () => pipelineFolder('flux', fluxOf({ layers: FLUX_LAYERS, singles: FLUX_SINGLES })),
      request: request({ width: 512, height: 512, steps: 2 }),
      pictures: 2,
      measured: ['step'],
    },
    {
      name: `images, SD3.5 medium of ${SD3_LAYERS} layers (not 24), ${SD3_DUALS} of them dual, 512²`,
      folder: () => pipelineFolder('sd3.5-medium', sd3Of({ layers: SD3_LAYERS, duals: SD3_DUALS })),
      request: request({ width: 512, height: 512, steps: 2, guidance: 1 }),
      pictures: 2,
      measured: ['step'],
    },
    {
      name: `videos, Wan 2.1 of ${WAN_LAYERS} layers (not 30) and 17 frames, 256²`,
      folder: () => pipelineFolder('wan', wanOf({ layers: WAN_LAYERS })),
      request: request({ width: 256, height: 256, frames: 17, steps: 2, guidance: 1 }),
      pictures: 1,
      measured: ['step', 'decode'],
    },
  ];
}
