// Starts the workers for long texts and grammars of a page's model. They run text-worker-browser.ts and are workers of the engine's worker,
// with which they end.

import type { PageFolders } from './folders.ts';
import type { Port } from '../../engine/platform/port.ts';
import { startWorker } from './start-worker.ts';
import type { TextWorkerStart } from './text-worker.ts';

/**
 * Returns the function that starts such a worker. Browsers cannot limit the heap of a worker; the limits on time, and those that grammars
 * and templates count themselves, hold as in Node.
 */
export function tokenizerStarter(folders: PageFolders): () => Port {
  return () => {
    const { files, transfer } = folders.share();
    const script = {
      name: 'text-worker',
      base: import.meta.url,
      create: () => new Worker(new URL('./text-worker.js', import.meta.url), { type: 'module' }),
    };
    return startWorker(script, { files } satisfies TextWorkerStart, transfer);
  };
}
