// The engine's page in Electron, in a hidden window: starts a worker for each model, with the ports that the main process sends, and terminates it.

import { EngineError } from '../files/error.ts';
import { toWire } from '../engine/session/wire-error.ts';
import type { ToProxy } from '../engine/session/wire-messages.ts';
import type { PageMessage } from './wire.ts';

const workers = new Map<number, Worker>();

// Messages come from the preload script of this window.
window.addEventListener('message', ({ source, data, ports }: MessageEvent<PageMessage>) => {
  if (source !== window) return;
  if (data.type === 'start') start(data, [...ports]);
  if (data.type === 'end') {
    workers.get(data.id)?.terminate();
    workers.delete(data.id);
  }
});

function start(message: Extract<PageMessage, { type: 'start' }>, ports: MessagePort[]): void {
  const worker = new Worker(new URL('./electron-worker.js', import.meta.url), {
    type: 'module',
    name: message.kind,
  });
  workers.set(message.id, worker);
  let isLoaded = false;
  worker.addEventListener('message', () => {
    isLoaded = true;
    worker.postMessage(message, ports);
  });
  worker.addEventListener('error', (event) => {
    event.preventDefault();
    if (!isLoaded) fail(ports, event.message || 'its script could not be loaded');
  });
}

/** Answers for a worker that could not be started. */
function fail(ports: readonly MessagePort[], reason: string): void {
  const error = new EngineError(
    'internal',
    `the engine's worker could not be started: ${reason}; install svc-engine again`,
  );
  for (const port of ports) {
    port.start();
    port.postMessage({ type: 'failed', error: toWire(error) } satisfies ToProxy);
  }
}

document.documentElement.dataset['engine'] = 'ready'; // the main process looks for it once the page is loaded
