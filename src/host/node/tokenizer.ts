// The threads for long texts and grammars in Node. This file starts them, and is also the file that they run. They load no GPU
// code, so that a terminated thread is replaced within a fraction of a second.

import { getHeapStatistics } from 'node:v8';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { openDiskFolder } from '../../files/disk/source-disk.ts';
import type { Port } from '../../engine/platform/port.ts';
import { serveTextTasks } from '../../engine/text/threads/text-worker.ts';
import { portOf, startThread } from './thread.ts';

const TOKENIZER_THREAD = 'svc-tokenizer';

/** Starts such a thread. `memory`: heap limit in MiB; left out: Node's default. */
export function startTokenizer(memory?: number): Port {
  const limits = memory === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: memory } };
  return portOf(startThread(import.meta.url, { workerData: TOKENIZER_THREAD, ...limits }));
}

if (!isMainThread && parentPort && workerData === TOKENIZER_THREAD)
  serveTextTasks(portOf(parentPort), openDiskFolder, measureHeap);

/** Bytes that this thread has reserved for JavaScript objects and for array buffers. */
function measureHeap(): number {
  const { total_heap_size: objects, external_memory: buffers } = getHeapStatistics();
  return objects + buffers;
}
