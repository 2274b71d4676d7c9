// The engine's thread in Node: started here, and served here when this file is what the thread runs. Only in that thread is
// Dawn's polling throttled; the user's own threads stay as they are.

import {
  isMainThread,
  parentPort,
  SHARE_ENV,
  Worker,
  workerData,
  type WorkerOptions,
} from 'node:worker_threads';
import { EngineError } from '../files/error.ts';
import { throttlePolling } from '../gpu/polling.ts';
import { openTextModelInline } from './text/open.ts';
import { connectTextModel, serveTextModel } from './text/remote.ts';
import type { OpenEvent, TextModel, TextModelOptions } from './text/text-model.ts';

const ENGINE_THREAD = 'svc-engine';

/** Opens a text model in a thread of its own. */
export async function openTextModelInWorker(
  options: TextModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
): Promise<TextModel> {
  const worker = startThread();
  const connection = connectTextModel(
    {
      post: (message) => worker.postMessage(message),
      onMessage: (listener) => worker.on('message', listener),
    },
    options,
    onEvent,
    async () => void (await worker.terminate()),
  );
  worker.on('error', (error) =>
    connection.lost(
      new EngineError('internal', `the engine's thread failed: ${error.message}`, { cause: error }),
    ),
  );
  worker.on('exit', (code) =>
    connection.lost(
      new EngineError('internal', `the engine's thread ended with code ${code}: open the model again`),
    ),
  );
  return connection.model;
}

/** The environment is shared, or a driver's settings would not reach its C code. */
function startThread(): Worker {
  const options: WorkerOptions = { env: SHARE_ENV, workerData: ENGINE_THREAD };
  const url = import.meta.url;
  if (!url.endsWith('.ts')) return new Worker(new URL(url), options);
  // From source: Node 20 cannot load TypeScript in a thread by itself.
  const code = `import('tsx/esm/api').then((tsx) => { tsx.register(); return import(${JSON.stringify(url)}); })`;
  return new Worker(code, { ...options, eval: true });
}

if (!isMainThread && workerData === ENGINE_THREAD) {
  const port = parentPort!;
  throttlePolling();
  serveTextModel(
    { post: (message) => port.postMessage(message), onMessage: (listener) => port.on('message', listener) },
    openTextModelInline,
  );
}
