// The image model's entry in the table of model kinds.

import type { ModelKind } from '../../host/kinds/model-kind.ts';
import { IMAGE_FACE } from '../../host/kinds/image.ts';
import type { ImageModel, ImageModelOptions } from './calls/image-model.ts';
import { openImageModelInline } from './open.ts';

export const IMAGE_MODELS: ModelKind<ImageModelOptions, ImageModel> = {
  ...IMAGE_FACE,
  open: openImageModelInline,
};
