// Starts the engine's threads in Node, for programs that open models. It loads no engine: worker.ts, which the threads run, does.

import { isMainThread } from 'node:worker_threads';
import type { SessionOptions } from '../kinds/kind-face.ts';
import type { ModelKind } from '../kinds/model-kind.ts';
import { waitUntilReleased } from '../thread/model-host.ts';
import { openProxy } from '../thread/model-proxy.ts';
import type { AnyModel } from '../session/model.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { Port } from '../../engine/platform/port.ts';
import { builtUrl, portOf, startThread } from './thread.ts';

/** Milliseconds that a process waits at its end for steps on the device. */
const LEAVE_TIME = 5000;

/** Opens a model in a new thread. */
export function openInWorker<Options extends SessionOptions, M extends AnyModel>(
  { name, module, calls, merge }: ModelKind<Options, M>,
  options: Options,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<M> {
  const { port, stop } = startEngine({ name, module: builtUrl(module) });
  return openProxy<M>(port, calls, { options, onEvent, onClosed: stop, signal, merge });
}

/** Where a thread finds the kind of its model: a module, and the name of the kind that it exports. */
export interface KindPlace {
  name: string;
  module: string;
}

function startEngine(kind: KindPlace): { port: Port; stop(): Promise<void> } {
  const worker = startThread(import.meta.url.replace('start-worker', 'worker'), { workerData: kind });
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
process.on('exit', () => {
  const released = [...engines].map((port) => waitUntilReleased(port, LEAVE_TIME));
  if (isMainThread && released.includes(false)) endAtOnce();
});

/** Ends the process by the default action of SIGTERM. Its exit would wait for the threads and then abort. */
function endAtOnce(): void {
  process.removeAllListeners('SIGTERM');
  process.kill(process.pid, 'SIGTERM');
}
