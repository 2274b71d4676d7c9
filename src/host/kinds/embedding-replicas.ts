// How replicas of an embedding model share its requests: each goes to the one with the least to do.

import type {
  EmbeddingMetrics,
  EmbeddingModel,
  EmbeddingModelOptions,
} from '../../engine/embedding/embedding-model.ts';
import { replicaCount } from '../../engine/opening/replicas.ts';
import { DEFAULTS } from '../../options/limits.ts';
import type { ReplicaRule } from '../session/replicas.ts';

export const EMBEDDING_REPLICAS: ReplicaRule<EmbeddingModelOptions, EmbeddingModel> = {
  placesOf(options) {
    const replicas = replicaCount(options);
    const { maxQueuedRequests: queued = DEFAULTS.queuedRequests } = options;
    const maxQueuedRequests = Math.ceil(queued / replicas);
    return Array.from({ length: replicas }, (_, replica) => ({ replica, maxQueuedRequests }));
  },
  share: (models) => ({
    info: {
      ...models[0]!.info,
      maxQueuedRequests: models.length * models[0]!.info.maxQueuedRequests,
    },
    calls: { metrics: async () => sumOf(await Promise.all(models.map((model) => model.metrics()))) },
    divide: async (request) => [{ request, pass: (event) => event }],
  }),
};

function sumOf(all: readonly EmbeddingMetrics[]): EmbeddingMetrics {
  const sum = (name: keyof EmbeddingMetrics): number => all.reduce((total, one) => total + one[name], 0);
  return {
    waiting: sum('waiting'),
    texts: sum('texts'),
    promptTokens: sum('promptTokens'),
    steps: sum('steps'),
    deviceRestarts: sum('deviceRestarts'),
  };
}
