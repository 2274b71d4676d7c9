// The schedules by diffusers' class, and opening one from scheduler_config.json.

import { countText } from '../../../files/count-text.ts';
import { EngineError } from '../../../files/error.ts';
import { readConfig, type ConfigReader } from './config.ts';
import { ddim } from './ddim.ts';
import { ddpm } from './ddpm.ts';
import { dpmSolver } from './dpm-solver.ts';
import { eulerAncestral } from './euler-ancestral.ts';
import { eulerDiscrete } from './euler.ts';
import { flowMatchEuler } from './flow-match-euler.ts';
import { flowMatchHeun } from './flow-match-heun.ts';
import { flowMatchLcm } from './flow-match-lcm.ts';
import { heunDiscrete } from './heun.ts';
import { lcm } from './lcm.ts';
import { lmsDiscrete } from './lms.ts';
import { pndm } from './pndm.ts';
import type { Planner, PlanRequest, Schedule, ScheduleFamily, SpecialField } from './schedule.ts';
import { tcd } from './tcd.ts';
import { uniPC } from './unipc.ts';

interface ScheduleClass {
  /** `both`: "use_flow_sigmas" says which. */
  family: ScheduleFamily | 'both';
  open(config: ConfigReader): Planner;
  takes?: readonly SpecialField[];
}

const CLASSES: Readonly<Record<string, ScheduleClass>> = {
  DDIMScheduler: { family: 'diffusion', open: ddim, takes: ['eta'] },
  DDPMScheduler: { family: 'diffusion', open: ddpm },
  PNDMScheduler: { family: 'diffusion', open: pndm },
  LMSDiscreteScheduler: { family: 'diffusion', open: lmsDiscrete },
  EulerDiscreteScheduler: { family: 'diffusion', open: eulerDiscrete },
  EulerAncestralDiscreteScheduler: { family: 'diffusion', open: eulerAncestral },
  HeunDiscreteScheduler: { family: 'diffusion', open: heunDiscrete },
  DPMSolverMultistepScheduler: { family: 'both', open: dpmSolver },
  UniPCMultistepScheduler: { family: 'both', open: uniPC, takes: ['sigmas'] },
  LCMScheduler: { family: 'diffusion', open: lcm, takes: ['reach', 'origin'] },
  TCDScheduler: { family: 'diffusion', open: tcd, takes: ['eta'] },
  FlowMatchEulerDiscreteScheduler: { family: 'flow', open: flowMatchEuler, takes: ['sigmas'] },
  FlowMatchHeunDiscreteScheduler: { family: 'flow', open: flowMatchHeun },
  FlowMatchLCMScheduler: { family: 'flow', open: flowMatchLcm, takes: ['sigmas'] },
};

export const SCHEDULE_CLASSES: readonly string[] = Object.keys(CLASSES);
export const CLASS_FAMILIES: Readonly<Record<string, ScheduleFamily | 'both'>> = Object.fromEntries(
  Object.entries(CLASSES).map(([name, { family }]) => [name, family]),
);

/** `config`: scheduler_config.json. Throws EngineError: unsupported names the class or key, bad_checkpoint a wrong value. */
export function openSchedule(config: Readonly<Record<string, unknown>>): Schedule {
  const name = config['_class_name'];
  if (typeof name !== 'string') {
    throw new EngineError(
      'bad_checkpoint',
      'scheduler_config.json has no "_class_name"; it should name a diffusers scheduler.',
      { param: '_class_name' },
    );
  }
  const found = CLASSES[name];
  if (found === undefined) {
    throw new EngineError(
      'unsupported',
      `There is no schedule ${name} here; take one of ${SCHEDULE_CLASSES.join(', ')}.`,
      { param: '_class_name' },
    );
  }
  const reader = readConfig(name, config);
  const plan = found.open(reader);
  const { takes = [] } = found;
  const flows = reader.flag('use_flow_sigmas', false);
  const trained = reader.number('num_train_timesteps', 1000);
  return {
    className: name,
    takes,
    family: found.family === 'both' ? (flows ? 'flow' : 'diffusion') : found.family,
    plan(request) {
      check(name, request, takes, trained);
      return plan(request);
    },
  };
}

function check(name: string, request: PlanRequest, takes: readonly SpecialField[], trained: number): void {
  const { steps, first = 0, eta, sigmas } = request;
  const wrong = (param: string, message: string): EngineError =>
    new EngineError('bad_request', message, { param });
  if (!Number.isInteger(steps) || steps < 1 || steps > trained) {
    throw wrong('steps', `steps is ${steps}; ${name} takes a whole number from 1 to ${trained}.`);
  }
  if (!Number.isInteger(first) || first < 0 || first >= steps) {
    throw wrong('first', `first is ${first}; of ${countText(steps, 'step')} fewer are left out.`);
  }
  for (const field of ['reach', 'origin'] as const) {
    if (request[field] !== undefined && !takes.includes(field))
      throw wrong(field, `${name} takes no ${field} (${request[field]}); leave it out.`);
  }
  if (eta !== undefined && !(eta >= 0 && eta <= 1))
    throw wrong('eta', `eta is ${eta}; it lies between 0 and 1.`);
  if (eta !== undefined && eta !== 0 && !takes.includes('eta'))
    throw wrong('eta', `${name} takes no eta (${eta}); leave it out.`);
  if (sigmas === undefined) return;
  if (!takes.includes('sigmas'))
    throw wrong('sigmas', `${name} takes no sigmas of one's own; leave them out.`);
  if (sigmas.length !== steps || !sigmas.every((sigma, i) => sigma > 0 && sigma <= (sigmas[i - 1] ?? 1))) {
    throw wrong(
      'sigmas',
      `sigmas has ${countText(sigmas.length, 'number')}; it takes ${steps}, falling from at most 1 and above 0.`,
    );
  }
}
