// What a caller's thread knows of embedding models: their calls, the checks of their options, their sleep. It loads no engine.

import type { ModelFace } from './model-kind.ts';
import type { CallNames } from '../session/model.ts';
import type { EmbeddingModel, EmbeddingModelOptions } from '../../engine/embedding/embedding-model.ts';
import { checkEmbeddingModelOptions } from '../../engine/embedding/embedding-rules.ts';
import { embeddingSleep } from '../../engine/embedding/embedding-sleep.ts';

/** Method names of EmbeddingModel that the proxy forwards; see CallNames. */
export const EMBEDDING_CALLS: CallNames<EmbeddingModel> = { tokenize: true, detokenize: true, metrics: true };

export const EMBEDDING_FACE: ModelFace<EmbeddingModelOptions, EmbeddingModel> = {
  name: 'svc-engine embeddings',
  calls: EMBEDDING_CALLS,
  check: checkEmbeddingModelOptions,
  sleep: embeddingSleep,
};
