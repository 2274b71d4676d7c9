// Scheduler and loop on a fake device.

import { EngineLoop } from '../../../src/engine/text/run/loop.ts';
import {
  Scheduler,
  type SchedulerLimits,
  type SchedulerOptions,
} from '../../../src/engine/text/run/scheduler.ts';
import type { Speculator } from '../../../src/engine/text/speculation/speculator.ts';
import { EngineError } from '../../../src/files/error.ts';
import { randomInteger } from '../random.ts';
import { createPaperRunner, type PaperRunner } from './paper-runner.ts';
import type { PaperSequence } from './paper-sequence.ts';

export interface PaperEngine {
  scheduler: Scheduler;
  runner: PaperRunner;
  loop: EngineLoop;
  start(sequence: PaperSequence): PaperSequence;
}

export function createPaperEngine(
  limits: SchedulerLimits,
  random = randomInteger(0),
  options: SchedulerOptions = {},
  speculator: Speculator | null = null,
): PaperEngine {
  const pause = async (): Promise<void> => {
    for (let turn = random(3); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
  };
  const scheduler = new Scheduler({ ...limits, sampledRows: Math.max(limits.slots, 16) }, options);
  const runner = createPaperRunner({ ...limits, pause });
  const loop = new EngineLoop({
    scheduler,
    runner,
    speculator,
    restart: () => Promise.reject(new EngineError('device_lost', 'no device')),
  });
  return {
    scheduler,
    runner,
    loop,
    start(sequence) {
      scheduler.add(sequence);
      loop.wake();
      return sequence;
    },
  };
}

export async function until(check: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!check()) {
    if (performance.now() > deadline) throw new Error('it never came to that');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export function allFinished(sequences: readonly PaperSequence[]): Promise<void> {
  return until(() => sequences.every(({ finished }) => finished));
}
