// The threads for long texts and grammars in Node: started here, and served here where this file is what a thread runs. They load no
// code of the GPU, so that a thread which had to be terminated is replaced within a fraction of a second.

import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { openDiskFolder } from '../files/source-disk.ts';
import type { Port } from './session/port.ts';
import { serveTextTasks } from './text/text-worker.ts';
import { portOf, startThread } from './session/thread-node.ts';

const TOKENIZER_THREAD = 'svc-tokenizer';

/** Starts such a thread. `memory`: MiB that its heap may take; left out: Node's default. */
export function startTokenizer(memory?: number): Port {
  const limits = memory === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: memory } };
  return portOf(startThread(import.meta.url, { workerData: TOKENIZER_THREAD, ...limits }));
}

if (!isMainThread && parentPort && workerData === TOKENIZER_THREAD)
  serveTextTasks(portOf(parentPort), openDiskFolder);
