// The image model's entry in the table of model kinds.

import { checkImageModelOptions } from '../image-rules.ts';
import type { ModelKind } from '../session/model-kind.ts';
import { PLAIN_SLEEP } from '../session/sleeping-model.ts';
import type { ImageModel, ImageModelOptions } from './image-model.ts';
import { IMAGE_CALLS } from './model.ts';
import { openImageModelInline } from './open.ts';

export const IMAGE_MODELS: ModelKind<ImageModelOptions, ImageModel> = {
  name: 'svc-engine images',
  calls: IMAGE_CALLS,
  check: checkImageModelOptions,
  open: openImageModelInline,
  sleep: () => PLAIN_SLEEP,
};
