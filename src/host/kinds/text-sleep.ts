// Sleep behaviour of a language model: the calls that it answers while asleep, its queue of waiting requests, and the adapters that
// are loaded again.

import type { SleepBehaviour } from '../session/sleeping-model.ts';
import type { LoraInfo, TextModel, TextModelOptions } from '../../engine/text/calls/text-model.ts';
import { TextWaitQueue } from '../../engine/text/request/text-wait-queue.ts';

export function textSleep({ info }: TextModel, options: TextModelOptions): SleepBehaviour<TextModel> {
  const waitQueue = new TextWaitQueue(info, options);
  return {
    waitQueue,
    async rest(model) {
      const [metrics, adapters] = await Promise.all([model.metrics(), model.loadedLoras()]);
      const empty = { used: 0, cached: 0 };
      const pages = { ...metrics.pages, ...empty };
      const replicas = metrics.replicas?.map((one) => ({ ...one, pages: { ...one.pages, ...empty } }));
      return {
        answers: {
          metrics: async () => ({
            ...metrics,
            pages,
            ...(replicas && { replicas }),
            waiting: waitQueue.waiting,
          }),
          loadedLoras: async () => adapters,
          abort: async (id) => waitQueue.abort(id),
          flushCache: async () => true,
        },
        restore: (again) => restoreAdapters(again, adapters),
      };
    },
  };
}

/** Loads the adapters that were loaded before. An adapter whose files are missing is left out, and requests that name it fail. */
async function restoreAdapters(model: TextModel, adapters: readonly LoraInfo[]): Promise<void> {
  const there = new Set((await model.loadedLoras()).map(({ name }) => name));
  for (const { name, path } of adapters)
    if (!there.delete(name)) await model.loadLora(name, path).catch(() => {});
  for (const name of there) await model.unloadLora(name);
}
