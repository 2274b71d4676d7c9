// What an embedding model says while it sleeps.

import type { Sleep } from '../sleep.ts';
import type { EmbeddingModel } from './embedding-model.ts';

export const embeddingSleep: Pick<Sleep<EmbeddingModel>, 'passive' | 'rest'> = {
  passive: ['metrics'],
  async rest(model) {
    const metrics = await model.metrics();
    return { answers: { metrics: async () => metrics }, restore: async () => {} };
  },
};
