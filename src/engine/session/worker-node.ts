// The engine's threads in Node: started here, and served here when this file is what a thread runs. Only in that thread is
// Dawn's polling throttled; the user's own threads stay as they are.

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

/** Opens a model in a thread of its own. */
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
    // A terminated thread reads no more messages: the process would wait in vain for its answer.
    engines.delete(port);
    await worker.terminate();
  };
  return { port, stop };
}

/** Engines in threads of this one. Where process.exit() comes while one computes, its thread would take the process down. */
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
  // An error that nothing has caught ends the thread, but only once no promise of the GPU binding is pending.
  process.once('uncaughtException', (error) => {
    void host.fail(error).finally(() => {
      throw error;
    });
  });
}
