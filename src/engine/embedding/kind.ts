// The embedding model's entry in the table of model kinds.

import type { ModelKind } from '../session/model-kind.ts';
import type { EmbeddingModel, EmbeddingModelOptions } from './embedding-model.ts';
import { checkEmbeddingModelOptions } from './embedding-rules.ts';
import { embeddingSleep } from './embedding-sleep.ts';
import { EMBEDDING_CALLS } from './model.ts';
import { openEmbeddingModelInline } from './open.ts';

export const EMBEDDING_MODELS: ModelKind<EmbeddingModelOptions, EmbeddingModel> = {
  name: 'svc-engine embeddings',
  calls: EMBEDDING_CALLS,
  check: checkEmbeddingModelOptions,
  open: openEmbeddingModelInline,
  sleep: embeddingSleep,
};
