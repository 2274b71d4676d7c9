// The embedding model's entry in the table of model kinds.

import type { ModelKind } from '../../host/kinds/model-kind.ts';
import type { EmbeddingModel, EmbeddingModelOptions } from './embedding-model.ts';
import { EMBEDDING_FACE } from '../../host/kinds/embedding.ts';
import { openEmbeddingModelInline } from './open.ts';

export const EMBEDDING_MODELS: ModelKind<EmbeddingModelOptions, EmbeddingModel> = {
  ...EMBEDDING_FACE,
  open: openEmbeddingModelInline,
};
