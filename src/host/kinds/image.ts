// Diffusion pipelines: prompts in, images out.

import { bytesText } from '../../files/bytes-text.ts';
import { countText } from '../../files/count-text.ts';
import type { ImageModel, ImageModelOptions } from '../../engine/image/calls/image-model.ts';
import { checkImageModelOptions } from '../../engine/image/request/image-rules.ts';
import { PLAIN_SLEEP } from '../session/sleeping-model.ts';
import { IMAGE_REPLICAS } from './image-replicas.ts';
import type { ModelKind } from './model-kind.ts';
import { parametersText } from './summary-words.ts';

export const IMAGE: ModelKind<ImageModelOptions, ImageModel> = {
  name: 'image',
  article: 'an',
  noun: 'image model',
  endpoint: 'POST /v1/images/generations or /v1/images/edits',
  opener: 'openImageModel',
  file: 'model_index.json',
  module: import.meta.url,
  calls: { resolve: {}, plan: {}, warmUp: {} },
  served: { prepare: true },
  check: checkImageModelOptions,
  sleep: () => PLAIN_SLEEP,
  replicas: IMAGE_REPLICAS,
  engine: async () => (await import('../../engine/image/open.ts')).openImage,
  paper: async () => (await import('../../engine/image/plan-image.ts')).openImageOnPaper,
  summary(info) {
    const { pipeline, quantization, defaults, memory, adapter } = info;
    const { width, height, frames = 1, fps, steps, guidance } = defaults;
    const clip = frames > 1 ? `${frames} frames of ` : '';
    const rate = frames > 1 ? ` at ${fps} a second` : '';
    const weights = quantization === 'none' ? 'as stored' : quantization;
    return [
      `Model: ${pipeline}, ${parametersText(info)}, weights ${weights}, ${clip}${width} × ${height}${rate} in ${countText(steps, 'step')} at guidance ${guidance}`,
      `Memory: a budget of ${bytesText(memory.budget)} for ${bytesText(memory.weights)} of stored weights; on ${adapter.description || adapter.device}`,
    ];
  },
};
