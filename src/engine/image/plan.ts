// The schedule of a request: the checkpoint's own or the one it names, planned for its steps and size.

import { countText } from '../../files/count-text.ts';
import { EngineError } from '../../files/error.ts';
import { unknownSettings } from './schedules/config.ts';
import { chooseSchedule, scheduleFamily, scheduleName, scheduleNames } from './schedules/names.ts';
import { CLEAN, type Plan, type PlanRequest, type Schedule } from './schedules/schedule.ts';
import { roundHalfEven } from './schedules/spacing.ts';
import type { CallArguments } from './call-arguments.ts';
import type { Resolved } from './resolve.ts';
import type { ImageFamily, StrengthRule } from './families/family.ts';
import { latentTokens, type LatentShape } from './latent-shape.ts';

export interface Planner {
  /** What `scheduler` takes; the first is the checkpoint's own. */
  names: string[];
  /** What one that is given is called here; throws for those that this checkpoint does not take. */
  nameOf(scheduler: string): string;
  /** Steps that call arguments list for a schedule; undefined: they list none. */
  stepsOf(call: CallArguments, scheduler: string): number | undefined;
  /** What a schedule that was chosen leaves out of what the checkpoint says of its model; null: nothing. */
  leavesOut(scheduler: string): string | null;
  /** A note that names the settings of scheduler_config.json which no schedule has; null: there are none. */
  unknownSettings: string | null;
  /** Throws bad_request or unsupported, before anything is computed. */
  plan(resolved: Resolved): Plan;
}

interface PlannerOptions {
  /** The family's sigmas; null: the schedule makes its own, and no size shifts it. */
  sigmas: ImageFamily['sigmas'];
  strength: StrengthRule;
  latents: LatentShape;
  /** Folder of the scheduler. */
  path: string;
}

/** `config`: scheduler_config.json. */
export function createPlanner(
  config: Readonly<Record<string, unknown>>,
  { sigmas: familySigmas, strength, latents, path }: PlannerOptions,
): Planner {
  const own = String(config['_class_name']);
  const open = (name: string, sets: object = {}): Schedule => {
    try {
      return chooseSchedule(name === own ? null : name, { ...config, ...sets });
    } catch (error) {
      throw error instanceof EngineError ? inFile(error, name === own, path) : error;
    }
  };
  /** null: it refuses what the model's settings say. */
  const opens = (name: string): Schedule | null => {
    try {
      return open(name);
    } catch {
      return null;
    }
  };
  const unknown = unknownSettings(config).join(', ');
  return {
    unknownSettings:
      unknown === ''
        ? null
        : `${path}/scheduler_config.json has ${unknown}, which no schedule has: it changes nothing`,
    names: [...new Set([own, ...scheduleNames(scheduleFamily(config))])],
    nameOf: (scheduler) => (scheduler === own ? own : scheduleName(scheduler, config)),
    stepsOf: ({ timesteps, sigmas }, scheduler) =>
      timesteps?.length ?? (sigmas && sigmas.length - Number(open(scheduler).sigmasEnd)),
    leavesOut(scheduler) {
      const left = scheduler === own ? [] : open(scheduler).leavesOut;
      if (left.length === 0) return null;
      const all = scheduleNames(scheduleFamily(config)).filter(
        (name) => /^[a-z]/.test(name) && !name.endsWith('-karras'),
      );
      const others = all.filter((name) => opens(name)?.leavesOut.length === 0);
      const remedy = others.length === 0 ? '' : `; ${others.join(', ')} heed what it says`;
      return `scheduler ${scheduler} does not know ${left.join(', ')} of this model's scheduler_config.json, and draws without it${remedy}`;
    },
    plan({ event: { values }, request: { flowShift: shift }, call }) {
      const { steps } = values;
      // The flow-matching classes and the solvers name it differently.
      const shifted = { shift, flow_shift: shift, use_dynamic_shifting: false };
      const schedule = open(values.scheduler, shift === undefined ? {} : shifted);
      const { originalSteps, timesteps } = call;
      // diffusers' pipelines hand their own default to the schedule, so that TCD's is not asked.
      const eta = call.eta ?? (schedule.takes.includes('eta') ? 0 : undefined);
      const sigmas = call.sigmas ?? (schedule.takes.includes('sigmas') ? familySigmas?.(steps) : undefined);
      const request: PlanRequest = {
        steps,
        ...(timesteps ? { timesteps } : {}),
        ...(sigmas ? { sigmas } : {}),
        ...(eta === undefined ? {} : { eta }),
        ...(originalSteps === undefined ? {} : { origin: originalSteps }),
        ...(familySigmas ? { imageTokens: latentTokens(latents, values) } : {}),
      };
      const { denoisingStart, denoisingEnd } = call;
      const begins =
        denoisingStart === undefined
          ? beginning(values, schedule, request, strength)
          : { first: stepsBefore(denoisingStart, schedule, request) };
      const made = schedule.plan({ ...request, ...begins });
      // What is denoised in part gets no more noise.
      const plan = denoisingStart === undefined ? made : { ...made, fromImage: CLEAN };
      return denoisingEnd === undefined || denoisingEnd === 1 ? plan : endedAt(denoisingEnd, schedule, plan);
    },
  };
}

/** What the checkpoint's file is to blame for, by its path; what was asked for as it is. */
function inFile(error: EngineError, isOwn: boolean, path: string): EngineError {
  const { code, message, param, cause } = error;
  const [file, place] = ['scheduler_config.json', `${path}/scheduler_config.json`];
  const begins = message.startsWith(file);
  if (!begins && !isOwn) return error;
  const said = begins ? message.replace(file, place) : `${place}: ${message}`;
  return new EngineError(code, said, { param: param ?? file, cause });
}

/** The timestep at which a share of the way to an image is done. */
function cutoff(param: string, share: number, { trained, family, className }: Schedule): number {
  if (family !== 'edm') return roundHalfEven(trained - share * trained);
  const message = `${param} is ${share}, a share of the trained timesteps, and ${className} goes by levels instead: leave it out`;
  throw new EngineError('bad_request', message, { param });
}

/** Steps that are left out so that the first call is below the cutoff. */
function stepsBefore(share: number, schedule: Schedule, request: PlanRequest): number {
  const { steps: calls } = schedule.plan(request);
  const below = calls.filter(({ timestep }) => timestep < cutoff('denoising_start', share, schedule)).length;
  // No step is cut within: of second order the calls left are odd, as all are.
  const left = schedule.order === 2 && below % 2 === 0 ? below + 1 : below;
  if (left > 0) return (calls.length - left) / schedule.order;
  throw leavesNoStep('denoising_start', share, request.steps, 'lower it');
}

/** Without the calls below the cutoff; where there is a mask, what it keeps is clean after the last. */
function endedAt(share: number, schedule: Schedule, plan: Plan): Plan {
  const count = plan.steps.filter(
    ({ timestep }) => timestep >= cutoff('denoising_end', share, schedule),
  ).length;
  const last = plan.steps[count - 1];
  if (!last) throw leavesNoStep('denoising_end', share, plan.steps.length, 'raise it');
  return { ...plan, steps: [...plan.steps.slice(0, count - 1), { ...last, after: CLEAN }] };
}

function leavesNoStep(param: string, share: number, steps: number, remedy: string): EngineError {
  const message = `${param} ${share} of ${countText(steps, 'step')} leaves no step: ${remedy}`;
  return new EngineError('bad_request', message, { param });
}

/** The part of the steps that an image to start from leaves, by the pipeline's rule. */
function beginning(
  { steps, strength }: Resolved['event']['values'],
  { takes, plan }: Schedule,
  request: PlanRequest,
  rule: StrengthRule,
): Pick<PlanRequest, 'first' | 'reach'> {
  if (strength === null) return {};
  const listed = request.timesteps !== undefined;
  if (rule === 'spread' && takes.includes('reach') && !listed) return { reach: strength };
  // Of timesteps that a request lists calls are counted, of which Heun makes two a step.
  const count = listed ? plan(request).steps.length : steps;
  const taken = count * strength;
  const first = rule === 'ceil' ? Math.trunc(count - taken) : count - Math.trunc(taken);
  if (first < steps) return { first };
  throw leavesNoStep('strength', strength, steps, 'raise it, or take more steps');
}
