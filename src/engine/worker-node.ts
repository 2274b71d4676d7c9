// The engine's threads in Node: started here, and served here when this file is what a thread runs. Only in that thread is
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
import { LLAMA_ARCHITECTURES } from '../models/llama-config.ts';
import { serveTokenizer } from './text/long-text.ts';
import { connectTextModel, serveTextModel, type Port } from './text/remote.ts';
import type { OpenEvent, TextModel, TextModelOptions } from './text/text-model.ts';

const ENGINE_THREAD = 'svc-engine';
const TOKENIZER_THREAD = 'svc-tokenizer';

/** Opens a text model in a thread of its own. */
export function openTextModelInWorker(
  options: TextModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
): Promise<TextModel> {
  const worker = startThread(ENGINE_THREAD);
  return connectTextModel(portOf(worker), options, onEvent, async () => void (await worker.terminate()));
}

/** The environment is shared, or a driver's settings would not reach its C code. */
function startThread(kind: string): Worker {
  const options: WorkerOptions = { env: SHARE_ENV, workerData: kind };
  const url = import.meta.url;
  if (!url.endsWith('.ts')) return new Worker(new URL(url), options);
  // From source: Node 20 cannot load TypeScript in a thread by itself.
  const code = `import('tsx/esm/api').then((tsx) => { tsx.register(); return import(${JSON.stringify(url)}); })`;
  return new Worker(code, { ...options, eval: true });
}

function portOf(end: Worker | NonNullable<typeof parentPort>): Port {
  return {
    post: (message) => end.postMessage(message),
    onMessage: (listener) => void end.on('message', listener),
    onLost(listener) {
      if (!(end instanceof Worker)) return;
      end.on('error', (cause) =>
        listener(new EngineError('internal', `a thread of the engine failed: ${cause.message}`, { cause })),
      );
      end.on('exit', (code) =>
        listener(
          new EngineError('internal', `a thread of the engine ended with code ${code}: open the model again`),
        ),
      );
    },
  };
}

if (!isMainThread && parentPort && workerData === ENGINE_THREAD) {
  throttlePolling();
  const tokenizer = (): Port => portOf(startThread(TOKENIZER_THREAD));
  serveTextModel(portOf(parentPort), (options, onEvent) =>
    openTextModelInline(options, onEvent, { tokenizer }),
  );
} else if (!isMainThread && parentPort && workerData === TOKENIZER_THREAD) {
  serveTokenizer(portOf(parentPort), LLAMA_ARCHITECTURES);
}
