// Sleep behaviour of an embedding model: its metrics are kept, and its waiting queue is as long as that of an open model.

import type { SleepBehaviour } from '../../host/session/sleeping-model.ts';
import { BoundedWaitQueue } from '../async/wait-queue.ts';
import type { EmbeddingModel } from './embedding-model.ts';

export function embeddingSleep({ info }: EmbeddingModel): SleepBehaviour<EmbeddingModel> {
  return {
    passive: ['metrics'],
    // The limit does not count the request that is computed first.
    waitQueue: new BoundedWaitQueue(info.maxQueuedRequests + 1),
    async rest(model) {
      const metrics = await model.metrics();
      return { answers: { metrics: async () => metrics }, restore: async () => {} };
    },
  };
}
