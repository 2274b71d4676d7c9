// The options of an image model: what the library takes, by the names it takes it.

import type { ImageModelOptions } from './image/image-model.ts';
import { checkOptions, filledText, flag, oneOf, recordOf, type Rule } from './rules.ts';
import { TEXT_MODEL_OPTIONS } from './text/text-rules.ts';

const { model, revision, quantization, adapter, memoryBudget, safe, inline, sleepAfter } = TEXT_MODEL_OPTIONS;

const IMAGE_MODEL_OPTIONS: Record<keyof Required<ImageModelOptions>, Rule> = {
  model,
  revision,
  quantization,
  adapter,
  memoryBudget,
  safe,
  inline,
  sleepAfter,
  backend: oneOf('auto', 'svc', 'generic'),
  allF32: flag,
  componentPaths: recordOf(filledText),
  transformerWeightsPath: filledText,
  pipelineClassName: filledText,
  prepare: flag,
  modelId: filledText,
};

/** Throws bad_request for the first option that is unknown or out of bounds. */
export function checkImageModelOptions(options: ImageModelOptions): void {
  checkOptions(options, IMAGE_MODEL_OPTIONS, 'openImageModel', ['model']);
}
