// The engine's threads in Node: started here, and served here when this file is what a thread runs. Only in that thread is
// Dawn's polling throttled; the user's own threads stay as they are.

import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { destroyDevices } from '../../gpu/node.ts';
import { throttlePolling } from '../../gpu/polling.ts';
import { nodePlatform } from '../platform-node.ts';
import { portOf, startThread } from './thread-node.ts';
import { startTokenizer } from '../tokenizer-node.ts';
import type { EmbeddingModel, EmbeddingModelOptions } from '../embedding/embedding-model.ts';
import { openEmbeddingModelInline } from '../embedding/open.ts';
import { connectEmbeddingModel, serveEmbeddingModel } from '../embedding/remote.ts';
import { openImageModelInline } from '../image/open.ts';
import type { ImageModel, ImageModelOptions } from '../image/image-model.ts';
import { connectImageModel, serveImageModel } from '../image/remote.ts';
import { openTextModelInline } from '../text/open.ts';
import { waitUntilReleased, type Port } from './model-proxy.ts';
import { connectTextModel, serveTextModel } from '../text/remote.ts';
import type { OpenEvent } from './open-event.ts';
import type { TextModel, TextModelOptions } from '../text/text-model.ts';

/** Milliseconds that a process waits at its end for steps on the device. */
const LEAVE_TIME = 5000;

const TEXT_THREAD = 'svc-engine text';
const IMAGE_THREAD = 'svc-engine images';
const EMBEDDING_THREAD = 'svc-engine embeddings';

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
  const worker = startThread(import.meta.url, { workerData: kind });
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

if (!isMainThread && parentPort) {
  const port = portOf(parentPort);
  const platform = { ...nodePlatform, tokenizerThread: startTokenizer };
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
