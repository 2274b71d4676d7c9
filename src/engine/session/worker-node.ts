// The engine's threads in Node. This file starts them, and is also the file that they run. Dawn's polling is throttled only in such
// a thread, never in the user's own threads.

import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { destroyDevices } from '../../gpu/node.ts';
import { throttlePolling } from '../../gpu/polling.ts';
import { EMBEDDING_MODELS } from '../embedding/kind.ts';
import { IMAGE_MODELS } from '../image/kind.ts';
import { nodePlatform } from '../platform-node.ts';
import { TEXT_MODELS } from '../text/kind.ts';
import { startTokenizer } from '../tokenizer-node.ts';
import { ModelHost, waitUntilReleased } from './model-host.ts';
import type { ModelKind, SessionOptions } from './model-kind.ts';
import { openProxy } from './model-proxy.ts';
import type { AnyModel } from './model.ts';
import type { OpenEvent } from './open-event.ts';
import type { Port } from './port.ts';
import { portOf, startThread } from './thread-node.ts';

/** Milliseconds that a process waits at its end for steps on the device. */
const LEAVE_TIME = 5000;

/** Opens a model in a new thread. */
export function openInWorker<Options extends SessionOptions, M extends AnyModel>(
  { name, calls, merge }: ModelKind<Options, M>,
  options: Options,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<M> {
  const { port, stop } = startEngine(name);
  return openProxy<M>(port, calls, { options, onEvent, onClosed: stop, signal, merge });
}

function startEngine(kind: string): { port: Port; stop(): Promise<void> } {
  const worker = startThread(import.meta.url, { workerData: kind });
  const port = portOf(worker);
  engines.add(port);
  worker.once('exit', () => engines.delete(port));
  const stop = async (): Promise<void> => {
    // A terminated thread reads no messages: waiting for its answer would never end.
    engines.delete(port);
    await worker.terminate();
  };
  return { port, stop };
}

/** Engine threads of this one. If process.exit() is called while a thread computes, Dawn would crash the process. */
const engines = new Set<Port>();
process.on('exit', () => engines.forEach((port) => waitUntilReleased(port, LEAVE_TIME)));

if (!isMainThread && parentPort) {
  const port = portOf(parentPort);
  if (workerData === TEXT_MODELS.name) serve(port, TEXT_MODELS);
  if (workerData === IMAGE_MODELS.name) serve(port, IMAGE_MODELS);
  if (workerData === EMBEDDING_MODELS.name) serve(port, EMBEDDING_MODELS);
}

/** Serves a model to the thread that started this one. */
function serve<Options extends SessionOptions, M extends AnyModel>(
  port: Port,
  { calls, open }: ModelKind<Options, M>,
): void {
  const platform = { ...nodePlatform, tokenizerThread: startTokenizer };
  const host = new ModelHost<Options, M>(port, {
    calls,
    open: (options, onEvent, signal) => open(platform, options, onEvent, signal),
    release: destroyDevices,
  });
  throttlePolling();
  // An uncaught error ends the thread, but only after pending promises of the GPU binding have settled.
  process.once('uncaughtException', (error) => {
    void host.fail(error).finally(() => {
      throw error;
    });
  });
}
