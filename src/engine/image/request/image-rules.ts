// Validation rules for the options of an image model, under the library's names.

import { IMAGE_MODEL } from '../../../options/image-model.ts';
import { MODEL_SETTINGS } from '../../../options/model.ts';
import { forModels } from '../../../options/setting.ts';
import { worldOf } from '../ranks/world.ts';
import type { ImageModelOptions } from '../calls/image-model.ts';
import {
  anything,
  checkOptions,
  filledText,
  objectOf,
  type Rule,
  rulesOf,
  whole,
} from '../../input/rules.ts';

const IMAGE_MODEL_OPTIONS: Record<keyof Required<ImageModelOptions>, Rule> = {
  model: filledText,
  // Their values are judged by the model's configurations.
  firstRequest: objectOf({ width: anything, height: anything, scheduler: filledText }),
  replica: whole(0),
  ...rulesOf(forModels(MODEL_SETTINGS, 'image')),
  ...rulesOf(IMAGE_MODEL),
};

/** Throws bad_request for the first option that is unknown or out of bounds. */
export function checkImageModelOptions(options: ImageModelOptions): void {
  checkOptions(options, IMAGE_MODEL_OPTIONS, 'openImageModel', ['model']);
  worldOf(options, false);
}
