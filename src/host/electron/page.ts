// The engine's page in Electron, in a hidden window: starts a worker for each model, with the ports that the main process sends, and terminates it.

import type { Port } from '../../engine/platform/port.ts';
import { startWorker } from '../page/start-worker.ts';
import { toWire } from '../../engine/platform/wire-error.ts';
import type { PageMessage } from './wire.ts';

const workers = new Map<number, Port>();

// Messages come from the preload script of this window.
window.addEventListener('message', ({ source, data, ports }: MessageEvent<PageMessage>) => {
  if (source !== window) return;
  if (data.type === 'start') start(data, ports);
  if (data.type === 'end') {
    workers.get(data.id)?.end!();
    workers.delete(data.id);
  }
});

/** Starts a worker. The third port stays here, and tells the main process why the worker has ended. */
function start(message: Extract<PageMessage, { type: 'start' }>, ports: readonly MessagePort[]): void {
  const [model, calls, ending] = ports as [MessagePort, MessagePort, MessagePort];
  const fail = (error: unknown): void => ending.postMessage(toWire(error));
  const script = {
    name: 'electron-worker',
    base: import.meta.url,
    create: () => new Worker(new URL('./electron-worker.js', import.meta.url), { type: 'module' }),
    remedy: 'install svc-engine again',
  };
  try {
    const worker = startWorker(script, message, [model, calls]);
    workers.set(message.id, worker);
    worker.onLost(fail);
  } catch (error) {
    fail(error);
  }
}

document.documentElement.dataset['engine'] = 'ready'; // the main process looks for it once the page is loaded
