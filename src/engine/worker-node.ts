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
import { destroyDevices } from '../gpu/node.ts';
import { throttlePolling } from '../gpu/polling.ts';
import { nodePlatform } from './platform-node.ts';
import type { EmbeddingModel, EmbeddingModelOptions } from './embedding/embedding-model.ts';
import { openEmbeddingModelInline } from './embedding/open.ts';
import { connectEmbeddingModel, serveEmbeddingModel } from './embedding/remote.ts';
import { openImageModelInline } from './image/open.ts';
import type { ImageModel, ImageModelOptions } from './image/image-model.ts';
import { connectImageModel, serveImageModel } from './image/remote.ts';
import { openTextModelInline } from './text/open.ts';
import { LLAMA_ARCHITECTURES } from '../models/llama-config.ts';
import { serveTokenizer } from './text/long-text.ts';
import { waitUntilReleased, type Port } from './remote.ts';
import { connectTextModel, serveTextModel } from './text/remote.ts';
import type { OpenEvent } from './open-event.ts';
import type { TextModel, TextModelOptions } from './text/text-model.ts';

/** Milliseconds that a process waits at its end for steps on the device. */
const LEAVE_TIME = 5000;

const TEXT_THREAD = 'svc-engine text';
const IMAGE_THREAD = 'svc-engine images';
const EMBEDDING_THREAD = 'svc-engine embeddings';
const TOKENIZER_THREAD = 'svc-tokenizer';

/** Opens a text model in a thread of its own. */
export function openTextModelInWorker(
  options: TextModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<TextModel> {
  const { port, stop } = startEngine(TEXT_THREAD);
  return connectTextModel(port, options, onEvent, stop, signal);
}

/** Opens an image model in a thread of its own. */
export function openImageModelInWorker(
  options: ImageModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<ImageModel> {
  const { port, stop } = startEngine(IMAGE_THREAD);
  return connectImageModel(port, options, onEvent, stop, signal);
}

/** Opens an embedding model in a thread of its own. */
export function openEmbeddingModelInWorker(
  options: EmbeddingModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<EmbeddingModel> {
  const { port, stop } = startEngine(EMBEDDING_THREAD);
  return connectEmbeddingModel(port, options, onEvent, stop, signal);
}

function startEngine(kind: string): { port: Port; stop(): Promise<void> } {
  const worker = startThread(kind);
  const port = portOf(worker);
  engines.add(port);
  worker.once('exit', () => engines.delete(port));
  const stop = async (): Promise<void> => {
    // A terminated thread reads no more messages: the process would wait in vain for its answer.
    engines.delete(port);
    await worker.terminate();
  };
  return { port, stop };
}

/** Engines in threads of this one. Where process.exit() came while one computes, its thread would take the process down. */
const engines = new Set<Port>();
process.on('exit', () => engines.forEach((port) => waitUntilReleased(port, LEAVE_TIME)));

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
    hold: (waits) => (waits ? end.ref() : end.unref()),
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

if (!isMainThread && parentPort) {
  const port = portOf(parentPort);
  const platform = { ...nodePlatform, tokenizerThread: () => portOf(startThread(TOKENIZER_THREAD)) };
  if (workerData === TEXT_THREAD) {
    serveEngine(serveTextModel(port, (...given) => openTextModelInline(platform, ...given), destroyDevices));
  } else if (workerData === IMAGE_THREAD) {
    serveEngine(
      serveImageModel(port, (...given) => openImageModelInline(platform, ...given), destroyDevices),
    );
  } else if (workerData === EMBEDDING_THREAD) {
    serveEngine(
      serveEmbeddingModel(port, (...given) => openEmbeddingModelInline(platform, ...given), destroyDevices),
    );
  } else if (workerData === TOKENIZER_THREAD) {
    serveTokenizer(port, nodePlatform.openFolder, LLAMA_ARCHITECTURES);
  }
}

/** What nobody caught ends the thread, but only once nothing of the GPU binding is pending. */
function serveEngine(fail: (error: unknown) => Promise<void>): void {
  throttlePolling();
  process.once('uncaughtException', (error) => {
    void fail(error).finally(() => {
      throw error;
    });
  });
}
