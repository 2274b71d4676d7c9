// A family of clips that only tests declare: its autoencoder is causal in time.

import { rmSync } from 'node:fs';
import type { ImageModel, ImageModelOptions } from '../../../../src/index.ts';
import { readAutoencoder } from '../../../../src/engine/image/blocks/autoencoder.ts';
import type { ImageFamily } from '../../../../src/engine/image/blocks/family.ts';
import { integer } from '../../../../src/engine/image/calls/call-arguments.ts';
import { openImage } from '../../../../src/engine/image/open.ts';
import { IMAGE } from '../../../../src/host/kinds/image.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { openInline } from '../../../../src/host/open.ts';
import { pebble, writePebble } from './pebble.ts';

const CODEC = 'AutoencoderKLQwenImage';

/** Pebbles whose latents are frames: two for three frames, since each latent frame after the first stands for two. */
const ripple: ImageFamily = {
  ...pebble,
  name: 'ripple',
  modelIds: /ripple/i,
  components: {
    ...pebble.components,
    codec: { kind: 'model', library: 'diffusers', classes: [CODEC] },
  },
  readAutoencoder: (component) => readAutoencoder(component, { isClip: true }),
  pipelines: pebble.pipelines.map((set) => ({
    ...set,
    classes: { 'text-to-image': 'RipplePipeline' },
    callArguments: (...of) => ({
      ...set.callArguments(...of),
      num_frames: integer(1, { request: 'frames' }),
    }),
  })),
  defaults: { ...pebble.defaults, frames: 3, fps: 12 },
};

const RIPPLES: typeof IMAGE = {
  ...IMAGE,
  engine: async () => (platform, options, opening) => openImage(platform, options, opening, [ripple]),
};

export interface Ripple {
  model: ImageModel;
  /** Opens the checkpoint once more; the caller closes that model. */
  reopen(options: Pick<ImageModelOptions, 'memoryBudget' | 'upscalingModelPath'>): Promise<ImageModel>;
  close(): Promise<void>;
}

/** Opens a small checkpoint of the family. */
export async function openRipple(platform = nodePlatform): Promise<Ripple> {
  const { root, model: folder } = writePebble('ripple-small', {
    pipeline: 'RipplePipeline',
    codec: [CODEC, 'qwen-image'],
  });
  const reopen: Ripple['reopen'] = (options) => openInline(RIPPLES, platform, { ...options, model: folder });
  const model = await reopen({});
  const close = async (): Promise<void> => {
    await model.close();
    rmSync(root, { recursive: true, force: true });
  };
  return { model, reopen, close };
}
