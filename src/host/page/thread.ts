// Message ports and the scopes of workers as ports of the engine.

import type { Port } from '../../engine/platform/port.ts';

/** Methods that a worker's own scope, the Worker object of its starter and a MessagePort have in common. */
export interface End {
  postMessage(message: unknown): void;
  addEventListener(
    type: 'message',
    listener: (event: MessageEvent) => void,
    options?: { once: boolean },
  ): void;
}

/** The port of a worker's own scope, of a Worker, or of a MessagePort that has been started. */
export function portOfEnd(end: End): Port {
  return {
    post: (message) => end.postMessage(message),
    onMessage: (listener) => end.addEventListener('message', ({ data }) => listener(data)),
    onLost: () => {},
  };
}
