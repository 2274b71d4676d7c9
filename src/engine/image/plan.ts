// The schedule of a request: the checkpoint's own or the one it names, planned for its steps and size.

import { countText } from '../../files/count-text.ts';
import { EngineError } from '../../files/error.ts';
import { chooseSchedule, scheduleFamily, scheduleNames } from './schedules/names.ts';
import type { Plan, PlanRequest, Schedule } from './schedules/schedule.ts';
import type { Resolved } from './resolve.ts';
import type { Runner } from './runner.ts';

export interface Planner {
  /** What `scheduler` takes; the first is the checkpoint's own. */
  names: string[];
  /** Throws bad_request or unsupported, before anything is computed. */
  plan(resolved: Resolved): Plan;
}

interface PlannerOptions {
  flow: Runner['flow'];
  /** The pipeline's class. */
  className: string;
  /** Pixels along a side of one latent. */
  factor: number;
}

/** `config`: scheduler_config.json. */
export function createPlanner(
  config: Readonly<Record<string, unknown>>,
  { flow, className, factor }: PlannerOptions,
): Planner {
  const own = String(config['_class_name']);
  return {
    names: [...new Set([own, ...scheduleNames(scheduleFamily(config))])],
    plan({ event: { values }, request: { flowShift: shift }, call }) {
      const { scheduler, steps } = values;
      // The flow-matching classes and the solvers name it differently.
      const shifted = { shift, flow_shift: shift, use_dynamic_shifting: false };
      const schedule = chooseSchedule(scheduler === own ? null : scheduler, {
        ...config,
        ...(shift === undefined ? {} : shifted),
      });
      const { eta, originalSteps } = call;
      const sigmas = call.sigmas ?? (schedule.takes.includes('sigmas') ? flow?.sigmas(steps) : undefined);
      return schedule.plan({
        steps,
        ...beginning(values, schedule, { flow: flow !== null, className }),
        ...(sigmas ? { sigmas } : {}),
        ...(eta === undefined ? {} : { eta }),
        ...(originalSteps === undefined ? {} : { origin: originalSteps }),
        ...(flow ? { imageTokens: flow.tokens(values.height / factor, values.width / factor) } : {}),
      });
    },
  };
}

/** What a picture to start from makes of the steps, as in diffusers: it differs from pipeline to pipeline. */
function beginning(
  { steps, strength }: Resolved['event']['values'],
  { takes }: Schedule,
  { flow, className }: { flow: boolean; className: string },
): Pick<PlanRequest, 'first' | 'reach'> {
  if (strength === null) return {};
  if (className.startsWith('LatentConsistencyModel') && takes.includes('reach')) return { reach: strength };
  // A part of a step counts as a step for flow models, and as none for others.
  const taken = steps * strength;
  const first = flow ? Math.trunc(steps - taken) : steps - Math.trunc(taken);
  if (first < steps) return { first };
  throw new EngineError(
    'bad_request',
    `strength ${strength} of ${countText(steps, 'step')} leaves no step: raise one of them`,
    { param: 'strength' },
  );
}
