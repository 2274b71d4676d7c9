// An embedding model in another thread.

import { remoteFace } from '../session/remote-face.ts';
import type {
  EmbeddingEvent,
  EmbeddingModel,
  EmbeddingModelInfo,
  EmbeddingModelOptions,
  EmbeddingRequest,
} from './embedding-model.ts';

export const { serve: serveEmbeddingModel, connect: connectEmbeddingModel } = remoteFace<
  EmbeddingModelOptions,
  EmbeddingModelInfo,
  EmbeddingRequest,
  EmbeddingEvent,
  EmbeddingModel
>({ tokenize: true, detokenize: true, metrics: true });
