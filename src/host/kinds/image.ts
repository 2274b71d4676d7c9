// What a caller's thread knows of image models: their calls, the checks of their options, their sleep. It loads no engine.

import { checkImageModelOptions } from '../../engine/image/request/image-rules.ts';
import type { ModelFace } from './model-kind.ts';
import type { CallNames } from '../session/model.ts';
import { PLAIN_SLEEP } from '../session/sleeping-model.ts';
import type { ImageModel, ImageModelOptions } from '../../engine/image/calls/image-model.ts';

/** Method names of ImageModel that the proxy forwards; see CallNames. */
export const IMAGE_CALLS: CallNames<ImageModel> = { resolve: true, plan: true, warmUp: true };

export const IMAGE_FACE: ModelFace<ImageModelOptions, ImageModel> = {
  name: 'svc-engine images',
  calls: IMAGE_CALLS,
  check: checkImageModelOptions,
  sleep: () => PLAIN_SLEEP,
};
