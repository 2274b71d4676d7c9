// Checks timesteps or sigmas that a request lists in place of those of the configuration's spacing.

import { countText } from '../../../files/count-text.ts';
import { badRequest, type EngineError } from '../../../files/error.ts';

function wrong(param: 'timesteps' | 'sigmas', message: string): EngineError {
  return badRequest(message, param);
}

/** `spaced`: the setting that already determines the timesteps. */
export function checkTimesteps(
  name: string,
  timesteps: readonly number[],
  { steps, trained, spaced }: { steps: number; trained: number; spaced: string | undefined },
): void {
  if (spaced !== undefined) {
    throw wrong(
      'timesteps',
      `${name} with "${spaced}" takes no timesteps of one's own; leave them out, or name another schedule.`,
    );
  }
  const falls = timesteps.every(
    (timestep, i) => Number.isInteger(timestep) && timestep >= 0 && timestep < (timesteps[i - 1] ?? trained),
  );
  if (falls && timesteps.length === steps) return;
  throw wrong(
    'timesteps',
    `timesteps is [${timesteps.join(', ')}]; ${name} takes ${countText(steps, 'whole number')}, each smaller than the one before, from at most ${trained - 1} down to at least 0.`,
  );
}

/** `ends`: the last sigma is the one at which the run ends, and may be 0. */
export function checkSigmas(
  name: string,
  sigmas: readonly number[],
  { steps, ends }: { steps: number; ends: boolean },
): void {
  const most = ends ? Infinity : 1;
  const falls = sigmas.every(
    (sigma, i) =>
      sigma <= (sigmas[i - 1] ?? most) && (sigma > 0 || (ends && sigma === 0 && i === sigmas.length - 1)),
  );
  const wanted = steps + Number(ends);
  if (falls && Number.isFinite(sigmas[0]) && sigmas.length === wanted) return;
  const rule = ends
    ? 'falling and above 0, but for the last, which the run ends at'
    : 'falling from at most 1 and above 0';
  throw wrong(
    'sigmas',
    `sigmas is [${sigmas.join(', ')}]; ${name} takes ${countText(wanted, 'number')}, ${rule}.`,
  );
}
