// Dedicated workers of a page, and their two ends as ports.

import { EngineError } from '../../files/error.ts';
import type { Port } from './port.ts';

/** What a worker's own scope and the Worker object of its starter share. */
export interface End {
  postMessage(message: unknown): void;
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void;
}

/** The port of a worker, for the thread that started it. */
export function portOfWorker(worker: Worker): Port {
  const lost = (reason: string): EngineError =>
    new EngineError('internal', `a worker of the engine failed: ${reason}; open the model again`);
  return {
    ...portOfEnd(worker),
    end: () => worker.terminate(),
    onLost(listener) {
      worker.addEventListener('error', (event) => {
        event.preventDefault();
        listener(lost(event.message || 'its script could not be loaded'));
      });
      worker.addEventListener('messageerror', () => listener(lost('a message could not be read')));
    },
  };
}

/** The port of a worker's own scope, or of a MessagePort that has been started. */
export function portOfEnd(end: End): Port {
  return {
    post: (message) => end.postMessage(message),
    onMessage: (listener) => end.addEventListener('message', ({ data }) => listener(data)),
    onLost: () => {},
  };
}
