// What a caller's thread knows of image models: their calls, the checks of their options, their sleep. It loads no engine.

import { checkImageModelOptions } from './request/image-rules.ts';
import type { ModelFace } from '../../host/model-kind.ts';
import type { CallNames } from '../../host/model.ts';
import { PLAIN_SLEEP } from '../../host/sleeping-model.ts';
import type { ImageModel, ImageModelOptions } from './calls/image-model.ts';

/** Method names of ImageModel that the proxy forwards; see CallNames. */
export const IMAGE_CALLS: CallNames<ImageModel> = { resolve: true, plan: true, warmUp: true };

export const IMAGE_FACE: ModelFace<ImageModelOptions, ImageModel> = {
  name: 'svc-engine images',
  calls: IMAGE_CALLS,
  check: checkImageModelOptions,
  sleep: () => PLAIN_SLEEP,
};
