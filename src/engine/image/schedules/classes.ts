// The schedules by diffusers' class, and opening one from scheduler_config.json.

import { field, say } from '../../../files/message.ts';
import { countText } from '../../../files/count-text.ts';
import { badCheckpoint, badRequest, type EngineError, unsupported } from '../../../files/error.ts';
import { leftOut, readConfig, type ConfigReader } from './config.ts';
import { ddim } from './ddim.ts';
import { ddpm } from './ddpm.ts';
import { deis } from './deis.ts';
import { dpmSolverSinglestep } from './dpm-solver-singlestep.ts';
import { dpmSolver } from './dpm-solver.ts';
import { edmDpmSolver, edmEuler } from './edm.ts';
import { eulerAncestral } from './euler-ancestral.ts';
import { eulerDiscrete } from './euler.ts';
import { flowMatchEuler } from './flow-match-euler.ts';
import { flowMatchHeun } from './flow-match-heun.ts';
import { flowMatchLcm } from './flow-match-lcm.ts';
import { heunDiscrete } from './heun.ts';
import { kdpm2, kdpm2Ancestral } from './kdpm2.ts';
import { lcm } from './lcm.ts';
import { lmsDiscrete } from './lms.ts';
import { checkSigmas, checkTimesteps } from './own-lists.ts';
import { pndm } from './pndm.ts';
import type { PlanSteps, StepPlanRequest, Schedule, ScheduleFamily, SpecialField } from './schedule.ts';
import { tcd } from './tcd.ts';
import { uniPC } from './unipc.ts';

interface ScheduleClass {
  /** `both`: diffusion or flow, "use_flow_sigmas" says which. */
  family: ScheduleFamily | 'both';
  open(config: ConfigReader): PlanSteps;
  takes?: readonly SpecialField[];
  /** Settings that determine the timesteps, so that a request cannot list any. */
  spacedBy?: readonly string[];
  sigmasEnd?: boolean;
  order?: 2;
}

const RESPACED = ['use_karras_sigmas', 'use_exponential_sigmas', 'use_beta_sigmas'];

const CLASSES: Readonly<Record<string, ScheduleClass>> = {
  DDIMScheduler: { family: 'diffusion', open: ddim, takes: ['eta'] },
  DDPMScheduler: { family: 'diffusion', open: ddpm, takes: ['timesteps'] },
  PNDMScheduler: { family: 'diffusion', open: pndm },
  LMSDiscreteScheduler: { family: 'diffusion', open: lmsDiscrete },
  EulerDiscreteScheduler: {
    family: 'diffusion',
    open: eulerDiscrete,
    takes: ['timesteps', 'sigmas'],
    spacedBy: RESPACED,
    sigmasEnd: true,
  },
  EulerAncestralDiscreteScheduler: { family: 'diffusion', open: eulerAncestral },
  HeunDiscreteScheduler: {
    family: 'diffusion',
    open: heunDiscrete,
    takes: ['timesteps'],
    spacedBy: RESPACED,
    order: 2,
  },
  KDPM2DiscreteScheduler: { family: 'diffusion', open: kdpm2, order: 2 },
  KDPM2AncestralDiscreteScheduler: { family: 'diffusion', open: kdpm2Ancestral, order: 2 },
  DPMSolverMultistepScheduler: {
    family: 'both',
    open: dpmSolver,
    takes: ['timesteps'],
    spacedBy: [...RESPACED, 'use_lu_lambdas', 'use_flow_sigmas'],
  },
  DPMSolverSinglestepScheduler: {
    family: 'both',
    open: dpmSolverSinglestep,
    takes: ['timesteps'],
    spacedBy: [...RESPACED, 'use_flow_sigmas'],
  },
  DEISMultistepScheduler: { family: 'diffusion', open: deis },
  UniPCMultistepScheduler: { family: 'both', open: uniPC, takes: ['sigmas'] },
  LCMScheduler: { family: 'diffusion', open: lcm, takes: ['timesteps', 'reach', 'origin'] },
  TCDScheduler: { family: 'diffusion', open: tcd, takes: ['timesteps', 'eta'] },
  EDMEulerScheduler: { family: 'edm', open: edmEuler },
  EDMDPMSolverMultistepScheduler: { family: 'edm', open: edmDpmSolver },
  FlowMatchEulerDiscreteScheduler: { family: 'flow', open: flowMatchEuler, takes: ['sigmas'] },
  FlowMatchHeunDiscreteScheduler: { family: 'flow', open: flowMatchHeun, order: 2 },
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
    throw badCheckpoint(
      'scheduler_config.json has no "_class_name"; it should name a diffusers scheduler.',
      '_class_name',
    );
  }
  const found = Object.hasOwn(CLASSES, name) ? CLASSES[name] : undefined;
  if (found === undefined) {
    throw unsupported(
      say`There is no schedule ${name} here; take one of ${SCHEDULE_CLASSES.join(', ')} with ${field('scheduler')}.`,
      '_class_name',
    );
  }
  const reader = readConfig(name, config);
  const plan = found.open(reader);
  const { takes = [], spacedBy = [], sigmasEnd = false, order = 1 } = found;
  const flows = reader.flag('use_flow_sigmas', false);
  const trained = reader.number('num_train_timesteps', 1000);
  return {
    className: name,
    takes,
    trained,
    order,
    sigmasEnd,
    leavesOut: leftOut(reader, config),
    family: found.family === 'both' ? (flows ? 'flow' : 'diffusion') : found.family,
    plan(request) {
      check(name, request, takes, trained);
      const { steps, timesteps, sigmas } = request;
      const spaced = spacedBy.find((key) => reader.flag(key, false));
      if (timesteps) checkTimesteps(name, timesteps, { steps, trained, spaced });
      if (sigmas) checkSigmas(name, sigmas, { steps, ends: sigmasEnd });
      const made = plan(request);
      if (made.steps.length > 0) return made;
      const message = `first is ${request.first}; of ${countText(steps, 'step')} fewer are left out.`;
      throw badRequest(message, 'first');
    },
  };
}

function check(
  name: string,
  request: StepPlanRequest,
  takes: readonly SpecialField[],
  trained: number,
): void {
  const { steps, first = 0, eta } = request;
  const wrong = (param: string, message: string): EngineError => badRequest(message, param);
  if (!Number.isInteger(steps) || steps < 1 || steps > trained) {
    throw wrong('steps', `steps is ${steps}; ${name} takes a whole number from 1 to ${trained}.`);
  }
  if (!Number.isInteger(first) || first < 0)
    throw wrong('first', `first is ${first}; it is a whole number of at least 0.`);
  for (const field of ['reach', 'origin'] as const) {
    if (request[field] !== undefined && !takes.includes(field))
      throw wrong(field, `${name} takes no ${field} (${request[field]}); leave it out.`);
  }
  if (eta !== undefined && !(eta >= 0 && eta <= 1))
    throw wrong('eta', `eta is ${eta}; it lies between 0 and 1.`);
  if (eta !== undefined && eta !== 0 && !takes.includes('eta'))
    throw wrong('eta', `${name} takes no eta (${eta}); leave it out.`);
  for (const field of ['timesteps', 'sigmas'] as const) {
    if (request[field] !== undefined && !takes.includes(field))
      throw wrong(field, `${name} takes no ${field} of one's own; leave them out.`);
  }
}
