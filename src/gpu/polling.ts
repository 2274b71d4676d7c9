// While a promise of Dawn is pending, its binding reschedules itself through the global setImmediate 150,000 times a second, which
// occupies a core and, on a software adapter, half of the GPU. The binding looks the function up at each poll, so that this
// replacement, which spins briefly and then sleeps a millisecond, keeps the latency low and the core free. It is only for the
// engine's own threads, because it replaces setImmediate globally.

const SPIN = 20;
const STREAK_GAP_MS = 2;

let installed = false;
/** Calls that are scheduled and have not run. */
let scheduled = 0;

/**
 * Waits until nothing is scheduled, and no promise of Dawn is pending therefore, for at most `milliseconds`. A thread that ends before that
 * aborts the process ("Promise not resolved or rejected").
 */
export async function untilSettled(milliseconds: number): Promise<void> {
  const until = performance.now() + milliseconds;
  const isPending = (): boolean => scheduled > 0 && performance.now() < until;
  while (isPending()) await new Promise((resolve) => setTimeout(resolve, 1));
}

export function throttlePolling(): void {
  if (installed) return;
  installed = true;
  const immediate = globalThis.setImmediate;
  let streak = 0;
  let last = 0;
  // A call that schedules the next one is counted until then, so that the number is 0 only after the last one.
  const run = (callback: (...args: unknown[]) => void, args: unknown[]): void => {
    try {
      callback(...args);
    } finally {
      scheduled--;
    }
  };
  const throttled = (
    callback: (...args: unknown[]) => void,
    ...args: unknown[]
  ): NodeJS.Immediate | NodeJS.Timeout => {
    const now = performance.now();
    if (now - last > STREAK_GAP_MS) streak = 0;
    last = now;
    scheduled++;
    if (++streak <= SPIN) return immediate(run, callback, args);
    return setTimeout(() => {
      last = performance.now();
      run(callback, args);
    }, 1);
  };
  globalThis.setImmediate = Object.assign<typeof throttled, typeof immediate>(throttled, immediate);
}
