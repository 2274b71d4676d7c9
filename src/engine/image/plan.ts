// The schedule of a request: the checkpoint's own or the one it names, planned for its steps and size.

import { chooseSchedule, scheduleFamily, scheduleNames } from './schedules/names.ts';
import type { Plan } from './schedules/schedule.ts';
import type { Resolved } from './resolve.ts';
import type { Runner } from './runner.ts';

export interface Planner {
  /** What `scheduler` takes; the first is the checkpoint's own. */
  names: string[];
  /** Throws bad_request or unsupported, before anything is computed. */
  plan(resolved: Resolved): Plan;
}

/** `config`: scheduler_config.json; `factor`: pixels along a side of one latent. */
export function createPlanner(
  config: Readonly<Record<string, unknown>>,
  runner: Runner,
  factor: number,
): Planner {
  const own = String(config['_class_name']);
  return {
    names: [...new Set([own, ...scheduleNames(scheduleFamily(config))])],
    plan({ event: { values }, call }) {
      const { scheduler, steps, strength } = values;
      const schedule = chooseSchedule(scheduler === own ? null : scheduler, config);
      const { eta, sigmas = schedule.takesSigmas ? runner.flow?.sigmas(steps) : undefined } = call;
      return schedule.plan({
        steps,
        ...(strength === null ? {} : { strength }),
        ...(sigmas ? { sigmas } : {}),
        ...(eta === undefined ? {} : { eta }),
        ...(runner.flow
          ? { imageTokens: runner.flow.tokens(values.height / factor, values.width / factor) }
          : {}),
      });
    },
  };
}
