// Measures the GPU time of a run's kernels: each tape is replayed once more, dispatch by dispatch. The time of these replays is not
// counted in any stage.

import type { KernelTime } from '../../../gpu/kernel-times.ts';

export interface Profiler {
  add(replay: () => Promise<readonly KernelTime[]>): Promise<void>;
  /** Milliseconds by kernel. */
  readonly kernels: ReadonlyMap<string, number>;
  /** Milliseconds that the additional replays took. */
  readonly spent: number;
}

export function createProfiler(): Profiler {
  const kernels = new Map<string, number>();
  let spent = 0;
  return {
    kernels,
    get spent() {
      return spent;
    },
    async add(replay) {
      const startedAt = performance.now();
      for (const { name, ms } of await replay()) kernels.set(name, (kernels.get(name) ?? 0) + ms);
      spent += performance.now() - startedAt;
    },
  };
}
