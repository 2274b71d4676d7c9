// Recordings of which a predictor runs one or another in each step, and the times that their kernels take in all steps.

import type { KernelTime } from '../../../gpu/kernel-times.ts';
import type { Recording } from './compute.ts';

export class CountedRecording {
  readonly #recording: Recording;
  #runs = 0;

  constructor(recording: Recording) {
    this.#recording = recording;
  }

  run(): ReturnType<Recording['run']> {
    this.#runs++;
    return this.#recording.run();
  }

  /** GPU times of the kernels in all runs so far. */
  async times(): Promise<KernelTime[]> {
    if (this.#runs === 0) return [];
    const times = await this.#recording.times();
    return times.map((time) => ({
      ...time,
      dispatches: this.#runs * time.dispatches,
      ms: this.#runs * time.ms,
    }));
  }
}

/** GPU times of all kernels of several recordings. */
export async function timesOf(recordings: Iterable<CountedRecording>): Promise<KernelTime[]> {
  const times: KernelTime[] = [];
  for (const recording of recordings) times.push(...(await recording.times()));
  return times;
}
