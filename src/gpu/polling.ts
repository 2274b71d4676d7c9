// While any promise of Dawn's is pending its binding queues itself again through the global setImmediate, 150,000 times a
// second: a core burnt, and on a software adapter half the GPU with it. The binding looks the function up at each poll,
// so a hybrid in its place, which spins briefly and then sleeps a millisecond, keeps both latency and the core. Only for
// threads the engine owns: it changes setImmediate for all.

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
