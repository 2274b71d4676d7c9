// What a language model says while it sleeps, who waits for it then, and what it has to have again when it wakes.

import type { Sleep } from '../session/sleep.ts';
import { createTextLobby } from './text-lobby.ts';
import type { LoraInfo, TextModel, TextModelOptions } from './text-model.ts';

export function textSleep(
  { info }: TextModel,
  options: TextModelOptions,
): Pick<Sleep<TextModel>, 'passive' | 'rest' | 'lobby'> {
  const lobby = createTextLobby(info, options);
  return {
    passive: ['metrics', 'loadedAdapters', 'abort', 'flushCache'],
    lobby,
    async rest(model) {
      const [metrics, adapters] = await Promise.all([model.metrics(), model.loadedAdapters()]);
      const pages = { ...metrics.pages, used: 0, cached: 0 };
      return {
        answers: {
          metrics: async () => ({ ...metrics, pages, waiting: lobby.waiting }),
          loadedAdapters: async () => adapters,
          abort: async (id) => lobby.abort(id),
          flushCache: async () => true,
        },
        restore: (again) => restoreAdapters(again, adapters),
      };
    },
  };
}

/** One whose files are gone stays away: requests that name it are told so. */
async function restoreAdapters(model: TextModel, adapters: readonly LoraInfo[]): Promise<void> {
  const there = new Set((await model.loadedAdapters()).map(({ name }) => name));
  for (const { name, path } of adapters)
    if (!there.delete(name)) await model.loadAdapter(name, path).catch(() => {});
  for (const name of there) await model.unloadAdapter(name);
}
