// Embedding models: texts in, vectors out.

import { bytesText } from '../../files/bytes-text.ts';
import { MODULES } from '../../files/checkpoint/embedding-folder.ts';
import { BoundedWaitQueue } from '../../engine/async/wait-queue.ts';
import type { EmbeddingModel, EmbeddingModelOptions } from '../../engine/embedding/embedding-model.ts';
import { checkEmbeddingModelOptions } from '../../engine/embedding/embedding-rules.ts';
import { EMBEDDING_REPLICAS } from './embedding-replicas.ts';
import type { ModelKind } from './model-kind.ts';
import { formatsText, parametersText } from './summary-words.ts';

export const EMBEDDING: ModelKind<EmbeddingModelOptions, EmbeddingModel> = {
  name: 'embedding',
  article: 'an',
  noun: 'embedding model',
  endpoint: 'POST /v1/embeddings',
  opener: 'openEmbeddingModel',
  file: MODULES,
  module: import.meta.url,
  calls: { tokenize: {}, detokenize: {}, metrics: { passive: true } },
  check: checkEmbeddingModelOptions,
  sleep: ({ info }) => ({
    // The limit does not count the request that is computed first.
    waitQueue: new BoundedWaitQueue(info.maxQueuedRequests + 1),
    async rest(model) {
      const metrics = await model.metrics();
      return { answers: { metrics: async () => metrics }, restore: async () => {} };
    },
  }),
  replicas: EMBEDDING_REPLICAS,
  engine: async () => (await import('../../engine/embedding/open.ts')).openEmbedding,
  paper: async () => (await import('../../engine/embedding/plan-embedding.ts')).openEmbeddingOnPaper,
  summary(info) {
    const { architecture, contextLength, dimensions, pooling, memory, adapter } = info;
    return [
      `Model: ${architecture}, ${parametersText(info)}, weights ${formatsText(info)}, ${dimensions} dimensions (${pooling} pooling), texts up to ${contextLength} tokens`,
      `Memory: ${bytesText(memory.weights + memory.kv)} of ${bytesText(memory.budget)}; on ${adapter.description || adapter.device}`,
    ];
  },
};
