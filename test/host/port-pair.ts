// The two ends of a connection within one thread: what one posts, the other gets as a copy, in a later tick.

import type { Port } from '../../src/engine/platform/port.ts';

type Listener = (message: unknown) => void;

/** `break` closes both ends: no further message is delivered, and each side is notified. */
export function portPair(): { near: Port; far: Port; break(error: Error): void } {
  const listeners: { near: Listener[]; far: Listener[] } = { near: [], far: [] };
  const lost: ((error: Error) => void)[] = [];
  let broken = false;
  const port = (to: Listener[], own: Listener[]): Port => ({
    post(message) {
      const copy: unknown = structuredClone(message);
      queueMicrotask(() => !broken && to.forEach((listener) => listener(copy)));
    },
    onMessage: (listener) => void own.push(listener),
    onLost: (listener) => void lost.push(listener),
  });
  return {
    near: port(listeners.far, listeners.near),
    far: port(listeners.near, listeners.far),
    break(error) {
      broken = true;
      lost.forEach((listener) => listener(error));
    },
  };
}
