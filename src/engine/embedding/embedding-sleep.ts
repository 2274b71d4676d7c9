// How an embedding model sleeps: its metrics stay, and as many requests wait for it as for one that is open.

import type { SleepBehaviour } from '../session/sleeping-model.ts';
import { BoundedWaitQueue } from '../session/wait-queue.ts';
import type { EmbeddingModel } from './embedding-model.ts';

export function embeddingSleep({ info }: EmbeddingModel): SleepBehaviour<EmbeddingModel> {
  return {
    passive: ['metrics'],
    // The limit excludes the request that will be computed first.
    waitQueue: new BoundedWaitQueue(info.maxQueuedRequests + 1),
    async rest(model) {
      const metrics = await model.metrics();
      return { answers: { metrics: async () => metrics }, restore: async () => {} };
    },
  };
}
