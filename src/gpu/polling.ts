// While a promise of Dawn is pending, its binding reschedules itself through the global setImmediate 150,000 times a second, which
// occupies a core and, on a software adapter, half of the GPU. The binding looks the function up at each poll, so that this
// replacement, which spins briefly and then sleeps a millisecond, keeps the latency low and the core free. It is only for the
// engine's own threads, because it replaces setImmediate globally.

const SPIN = 20;
const STREAK_GAP_MS = 2;

let installed = false;

export function throttlePolling(): void {
  if (installed) return;
  installed = true;
  const immediate = globalThis.setImmediate;
  let streak = 0;
  let last = 0;
  const throttled = (
    callback: (...args: unknown[]) => void,
    ...args: unknown[]
  ): NodeJS.Immediate | NodeJS.Timeout => {
    const now = performance.now();
    if (now - last > STREAK_GAP_MS) streak = 0;
    last = now;
    if (++streak <= SPIN) return immediate(callback, ...args);
    return setTimeout(() => {
      last = performance.now();
      callback(...args);
    }, 1);
  };
  globalThis.setImmediate = Object.assign<typeof throttled, typeof immediate>(throttled, immediate);
}
