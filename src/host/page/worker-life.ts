// Tells a thread that a worker of it has ended without an error event, as a worker that the browser ended for want of memory does. The worker
// holds a Web Lock as long as it lives, however busy it is, and the browser gives the lock to its starter afterwards.

interface Life {
  /** Name of the lock that the worker holds. */
  lifeLock: string;
}

/** Takes the worker's lock, and tells its starter. To be called when a worker's script begins. */
export function announceLife(worker: { postMessage(message: unknown): void }): void {
  const { locks } = navigator as { locks?: LockManager };
  if (locks === undefined) return; // a page that is not a secure context, which has no WebGPU either
  const name = `svc-engine worker ${crypto.randomUUID()}`;
  const live = (): Promise<never> => {
    worker.postMessage({ lifeLock: name } satisfies Life);
    return new Promise(() => {});
  };
  locks.request(name, live).catch(() => {}); // a page in a sandboxed frame has no locks
}

/** Whether a worker's message is that of announceLife(). */
export function isLife(message: unknown): message is Life {
  return typeof message === 'object' && message !== null && 'lifeLock' in message;
}

/** Resolves when the worker has ended. */
export async function untilDeath({ lifeLock }: Life): Promise<void> {
  await navigator.locks.request(lifeLock, () => {});
}
