// What an embedding model says while it sleeps, and how many wait for it then.

import { plainLobby } from '../session/wait-queue.ts';
import type { Sleep } from '../session/sleep.ts';
import type { EmbeddingModel } from './embedding-model.ts';

export function embeddingSleep({
  info,
}: EmbeddingModel): Pick<Sleep<EmbeddingModel>, 'passive' | 'rest' | 'lobby'> {
  return {
    passive: ['metrics'],
    // One computes then, the others wait.
    lobby: plainLobby(info.maxQueuedRequests + 1),
    async rest(model) {
      const metrics = await model.metrics();
      return { answers: { metrics: async () => metrics }, restore: async () => {} };
    },
  };
}
