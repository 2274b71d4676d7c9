// A step that was submitted to the device, until its tokens are read.

import type { Sequence } from './sequence.ts';
import type { Part } from '../step/step-plan.ts';
import type { Drawn, Launched } from '../step/runner.ts';

export interface Step {
  parts: Part[];
  launched: Launched;
  drawn: Promise<Drawn> | null;
  /** Parts whose next token has been prescribed by the constraint after the launch: the sampled token is dropped. */
  superseded: Set<Part>;
}

/** Waits for a step that reads weights from files. */
export async function allSubmitted({ submitted, drop }: Launched): Promise<void> {
  try {
    await submitted;
  } catch (error) {
    drop();
    throw error;
  }
}

/** Whether the mask of this part needs a token that is still in flight. */
export function awaitsToken({ samples, sequence }: Part): boolean {
  return samples && sequence.isConstrained && !sequence.finished && sequence.progress.inFlight > 1;
}

/** Drops the token that a step is about to sample for a sequence, because the constraint has prescribed it meanwhile. */
export function supersede(step: Step, sequence: Sequence): void {
  const part = step.parts.find((one) => one.samples && one.sequence === sequence);
  if (part === undefined) return;
  step.superseded.add(part);
  sequence.progress.inFlight--;
}
