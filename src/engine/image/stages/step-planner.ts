// The schedule of a request: the checkpoint's own or the one it names, planned for its steps and size.

import { countText } from '../../../files/count-text.ts';
import { badRequest, EngineError } from '../../../files/error.ts';
import { unknownSettings } from '../schedules/config.ts';
import { chooseSchedule, scheduleFamily, scheduleName, scheduleNames } from '../schedules/names.ts';
import { CLEAN, type SchedulePlan, type StepPlanRequest, type Schedule } from '../schedules/schedule.ts';
import { roundHalfEven } from '../schedules/spacing.ts';
import type { CallArguments } from '../calls/call-arguments.ts';
import type { Resolved } from './resolved.ts';
import type { ImageFamily, StrengthRule } from '../blocks/family.ts';
import { latentTokens, type LatentShape } from './latent-shape.ts';

/** A plan, and the calls of the model that it would make if it did not end early. */
export interface WholeStepPlan extends SchedulePlan {
  calls: number;
}

interface PlannerOptions {
  /** The family's sigmas; null: the schedule computes its own, and the image's size does not shift them. */
  sigmas: ImageFamily['sigmas'];
  /** The family's μ; left out: the schedule computes its own. */
  mu?: NonNullable<ImageFamily['mu']>;
  strength: StrengthRule;
  latents: LatentShape;
  /** Path of the scheduler's folder. */
  path: string;
  /** Path of the file that names the schedule's class, where it is not scheduler_config.json. */
  classFile?: string;
}

export class StepPlanner {
  /** Values of `scheduler`; the first is the checkpoint's own. */
  readonly names: string[];
  /** A note that names the settings of scheduler_config.json that no schedule has; null: none. */
  readonly unknownSettings: string | null;
  readonly #own: string;
  readonly #config: Readonly<Record<string, unknown>>;
  readonly #options: PlannerOptions;

  /** `config`: scheduler_config.json. */
  constructor(config: Readonly<Record<string, unknown>>, options: PlannerOptions) {
    this.#config = config;
    this.#options = options;
    this.#own = String(config['_class_name']);
    this.names = [...new Set([this.#own, ...scheduleNames(scheduleFamily(config))])];
    const unknown = unknownSettings(config).join(', ');
    const file = `${options.path}/scheduler_config.json`;
    this.unknownSettings =
      unknown === '' ? null : `${file} has ${unknown}, which no schedule has: it changes nothing`;
  }

  /** Returns this engine's name of a requested scheduler; throws for one that this checkpoint does not take. */
  nameOf(scheduler: string): string {
    return scheduler === this.#own ? scheduler : scheduleName(scheduler, this.#config);
  }

  /** Returns the number of steps that listed timesteps or sigmas imply for a schedule; undefined: none are listed. */
  stepsOf({ timesteps, sigmas }: CallArguments, scheduler: string): number | undefined {
    return timesteps?.length ?? (sigmas && sigmas.length - Number(this.#open(scheduler).sigmasEnd));
  }

  /** Returns a note on the settings of the model that a chosen schedule does not have; null: it has all. */
  leavesOut(scheduler: string): string | null {
    const left = scheduler === this.#own ? [] : this.#open(scheduler).leavesOut;
    if (left.length === 0) return null;
    const all = scheduleNames(scheduleFamily(this.#config)).filter(
      (name) => /^[a-z]/.test(name) && !name.endsWith('-karras'),
    );
    const others = all.filter((name) => this.#tryOpen(name)?.leavesOut.length === 0);
    const remedy = others.length === 0 ? '' : `; ${others.join(', ')} heed what it says`;
    return `scheduler ${scheduler} does not know ${left.join(', ')} of this model's scheduler_config.json, and draws without it${remedy}`;
  }

  /** Plans a request. Throws bad_request or unsupported before anything is computed. */
  plan({ event: { values }, request: { flowShift: shift }, call }: Resolved): WholeStepPlan {
    // The flow-matching classes and the solvers name the shift differently.
    const shifted = { shift, flow_shift: shift, use_dynamic_shifting: false };
    const schedule = this.#open(values.scheduler, shift === undefined ? {} : shifted);
    const request = this.#requestOf(schedule, values, call);
    const { denoisingStart, denoisingEnd } = call;
    const begins =
      denoisingStart === undefined
        ? beginning(values, schedule, request, this.#options.strength)
        : { first: stepsBefore(denoisingStart, schedule, request) };
    const made = schedule.plan({ ...request, ...begins });
    // Latents that are partly denoised get no additional noise.
    const calls = made.steps.length;
    const plan = { ...made, calls, ...(denoisingStart !== undefined && { fromImage: CLEAN }) };
    return denoisingEnd === undefined || denoisingEnd === 1 ? plan : endedAt(denoisingEnd, schedule, plan);
  }

  #requestOf(
    { takes }: Schedule,
    values: Resolved['event']['values'],
    { originalSteps, timesteps, ...call }: CallArguments,
  ): StepPlanRequest {
    const { sigmas: familySigmas, mu, latents } = this.#options;
    const { steps } = values;
    const imageTokens = latentTokens(latents, values);
    // diffusers' pipelines pass their own default to the schedule, so that TCD's default is never used.
    const eta = call.eta ?? (takes.includes('eta') ? 0 : undefined);
    const sigmas = call.sigmas ?? (takes.includes('sigmas') ? familySigmas?.(steps) : undefined);
    return {
      steps,
      ...(timesteps ? { timesteps } : {}),
      ...(sigmas ? { sigmas } : {}),
      ...(eta === undefined ? {} : { eta }),
      ...(originalSteps === undefined ? {} : { origin: originalSteps }),
      // Latents of UNets are not tokens, and no schedule of theirs is shifted by the image's size.
      ...(familySigmas || latents.patch > 1 ? { imageTokens } : {}),
      ...(mu ? { mu: mu(imageTokens, steps) } : {}),
    };
  }

  #open(name: string, sets: object = {}): Schedule {
    try {
      return chooseSchedule(name === this.#own ? null : name, { ...this.#config, ...sets });
    } catch (error) {
      throw error instanceof EngineError ? inFile(error, name === this.#own, this.#options) : error;
    }
  }

  /** Returns null if the schedule refuses the model's settings. */
  #tryOpen(name: string): Schedule | null {
    try {
      return this.#open(name);
    } catch {
      return null;
    }
  }
}

/** Adds the path to an error about the checkpoint's file; returns other errors unchanged. */
function inFile(
  error: EngineError,
  isOwn: boolean,
  { path, classFile }: Pick<PlannerOptions, 'path' | 'classFile'>,
): EngineError {
  const { code, parts, param, cause } = error;
  const file = 'scheduler_config.json';
  const [first = '', ...rest] = parts;
  const begins = typeof first === 'string' && first.startsWith(file);
  if (!begins && !isOwn) return error;
  const place = (param === '_class_name' && classFile) || `${path}/${file}`;
  const said = begins ? [place + first.slice(file.length), ...rest] : [`${place}: `, ...parts];
  return new EngineError(code, { parts: said }, { param: param ?? file, cause });
}

/** Returns the timestep at which a share of the way to an image is done. */
function cutoff(param: string, share: number, { trained, family, className }: Schedule): number {
  if (family !== 'edm') return roundHalfEven(trained - share * trained);
  const message = `${param} is ${share}, a share of the trained timesteps, and ${className} goes by levels instead: leave it out`;
  throw badRequest(message, param);
}

/** Returns the number of steps to skip so that the first call is below the cutoff. */
function stepsBefore(share: number, schedule: Schedule, request: StepPlanRequest): number {
  const { steps: calls } = schedule.plan(request);
  const below = calls.filter(({ timestep }) => timestep < cutoff('denoising_start', share, schedule)).length;
  // A step is never divided: a schedule of second order keeps an odd number of calls, as it always has.
  const left = schedule.order === 2 && below % 2 === 0 ? below + 1 : below;
  if (left > 0) return (calls.length - left) / schedule.order;
  throw leavesNoStep('denoising_start', share, request.steps, 'lower it');
}

/** Drops the calls below the cutoff. With a mask, the kept region is clean after the last call. */
function endedAt(share: number, schedule: Schedule, plan: WholeStepPlan): WholeStepPlan {
  const count = plan.steps.filter(
    ({ timestep }) => timestep >= cutoff('denoising_end', share, schedule),
  ).length;
  const last = plan.steps[count - 1];
  if (!last) throw leavesNoStep('denoising_end', share, plan.steps.length, 'raise it');
  return { ...plan, steps: [...plan.steps.slice(0, count - 1), { ...last, after: CLEAN }] };
}

function leavesNoStep(param: string, share: number, steps: number, remedy: string): EngineError {
  const message = `${param} ${share} of ${countText(steps, 'step')} leaves no step: ${remedy}`;
  return badRequest(message, param);
}

/** Returns the part of the steps that remains with a source image, by the pipeline's rule. */
function beginning(
  { steps, strength }: Resolved['event']['values'],
  { takes, plan }: Schedule,
  request: StepPlanRequest,
  rule: StrengthRule,
): Pick<StepPlanRequest, 'first' | 'reach'> {
  if (strength === null) return {};
  const listed = request.timesteps !== undefined;
  if (rule === 'spread' && takes.includes('reach') && !listed) return { reach: strength };
  // For a request with listed timesteps, `strength` is a share of the model's calls; Heun makes two calls per step.
  const count = listed ? plan(request).steps.length : steps;
  const taken = count * strength;
  const first = rule === 'ceil' ? Math.trunc(count - taken) : count - Math.trunc(taken);
  if (first < steps) return { first };
  throw leavesNoStep('strength', strength, steps, 'raise it, or take more steps');
}
