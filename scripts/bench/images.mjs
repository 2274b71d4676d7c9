// The image cases of npm run bench: shipped models, and synthetic checkpoints in the shapes of well-known ones.

import { pipelineFolder, qwenImageOf, stableDiffusion, zImageOf } from './pipelines.mjs';

const PROMPT = 'a red balloon over snowy mountains at sunset';
const SEED = 1;
/** Of Z-Image's 30 layers and 2 refiners, the number that a software adapter runs in half a minute. */
const LAYERS = 2;
const REFINERS = 1;
/** Of Qwen-Image's 60 layers; each has 340 million weights. */
const DOUBLE_LAYERS = 1;

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
      pictures: 1,
      measured: ['step'],
    },
    {
      name: `images, Qwen-Image of ${DOUBLE_LAYERS} layer (not 60), 512²`,
      folder: () => pipelineFolder('qwen-image', qwenImageOf({ layers: DOUBLE_LAYERS })),
      request: request({ width: 512, height: 512, steps: 2, guidance: 1 }),
      pictures: 1,
      measured: ['step'],
    },
  ];
}
