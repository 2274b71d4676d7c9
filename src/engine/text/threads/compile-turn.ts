// The turn of a compilation in another thread: how many steps of work it may do before it waits for its next turn. The scheduler
// writes it to shared memory at any time; the compiling thread reads it every STEP_INTERVAL and blocks while it has no turn, so that the
// compiler itself needs no places where it can be left and entered again.

import { STEP_INTERVAL } from '../../../grammar/bounds/compile-work.ts';

/** Elements of the shared memory: 1 where the compilation shall end, and the granted steps in units of STEP_INTERVAL. */
const STOPPED = 0;
const GRANTED = 1;
const UNLIMITED = 2 ** 31 - 1;

/** Steps between two reports of a compilation whose turn is not over. */
export const REPORT_STEPS = 5_000_000;

/** The scheduler's end. */
export class CompileTurn {
  /** null in a page without cross-origin isolation, where memory cannot be shared: the compilation cannot wait. */
  readonly memory: Int32Array | null = canPause()
    ? new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
    : null;

  /** `steps`: since the begin of the compilation. */
  grant(steps: number): void {
    this.#write(GRANTED, Math.min(UNLIMITED, Math.ceil(steps / STEP_INTERVAL)));
  }

  stop(): void {
    this.#write(STOPPED, 1);
    this.grant(Infinity);
  }

  #write(at: number, value: number): void {
    if (this.memory === null) return;
    Atomics.store(this.memory, at, value);
    Atomics.notify(this.memory, at);
  }
}

/** Whether compilations can be made to wait, as memory can be shared with their threads. */
export function canPause(): boolean {
  return typeof SharedArrayBuffer !== 'undefined';
}

/** The compiling thread's end: returns a function for CompileWorkOptions.onSteps. `report` tells the scheduler the steps so far. */
export function takeTurns(
  memory: Int32Array | null,
  report: (steps: number) => void,
): (steps: number) => boolean {
  let reported = 0;
  return (steps) => {
    if (steps - reported >= REPORT_STEPS) report((reported = steps));
    if (memory === null) return true;
    while (Atomics.load(memory, STOPPED) === 0) {
      const granted = Atomics.load(memory, GRANTED);
      if (granted === UNLIMITED || steps < granted * STEP_INTERVAL) return true;
      report((reported = steps));
      Atomics.wait(memory, GRANTED, granted);
    }
    return false;
  };
}
