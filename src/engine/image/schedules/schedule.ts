// A noise schedule is a pure function of numbers. From the checkpoint's scheduler_config.json and the number of steps
// it makes a plan, and one loop runs every plan, whatever the method:
//
//   latents = fromNoise · noise                     (image-to-image: fromImage.image · image + fromImage.noise · noise)
//   for each step:
//     output = model(inputScale · latents, timestep)            guidance included
//     clean = limit(Σ coefficient · operand)                    where the method limits what it predicts
//     for each update, in order:  into = Σ coefficient · operand      one launch of the linear-combination kernel
//
// An update reads all operands before it writes, so `into` may stand on both sides. `noise` is a fresh standard normal
// tensor, drawn once in a step that names it. A number is a history slot; slots are written before they are read.

/** Operands of an update: the latents, the model's output, fresh noise, the limited clean latents, or a history slot. */
export type Operand = 'latents' | 'output' | 'noise' | 'clean' | number;

export interface Term {
  operand: Operand;
  coefficient: number;
}

export interface Update {
  into: 'latents' | number;
  /** At least one; each operand at most once. */
  terms: readonly Term[];
}

/**
 * Limit of the absolute values of predicted clean latents: a constant `range`, or the quantile `ratio` of their absolute values,
 * clamped to 1 … `most`, by which the limited latents are then divided.
 */
export type Limit = { kind: 'clip'; range: number } | { kind: 'threshold'; ratio: number; most: number };

/** Latents of an image at a noise level: image · clean latents + noise · standard normal noise. */
export interface Mix {
  image: number;
  noise: number;
}

export const CLEAN: Mix = { image: 1, noise: 0 };

/** A call of the model. Methods of second order make two calls for each requested step. */
export interface Step {
  /** Timestep input of the model: 0 … trained timesteps, possibly fractional; ¼ ln σ for EDM. */
  timestep: number;
  /** Factor on the latents for the model's input. */
  inputScale: number;
  /** The combination of latents and output that is limited before the updates, which read it as `clean`; null: they do not. */
  limits: { terms: readonly Term[]; by: Limit } | null;
  /** Updates in order; the last one writes the latents. */
  updates: readonly Update[];
  /** Whether a term of `updates` is fresh noise. */
  drawsNoise: boolean;
  /** The clean latents as this step sees them (previews): over latents, output and `clean`, before the updates. */
  estimate: readonly Term[];
  /** Noise level of the latents after the updates; inpainting writes the image at this level outside of its mask. */
  after: Mix;
}

export interface SchedulePlan {
  /** Text-to-image: factor on noise for the first latents. */
  fromNoise: number;
  /** Image-to-image: the first latents. */
  fromImage: Mix;
  steps: readonly Step[];
  /** History tensors of the latents' size. */
  slots: number;
}

export interface StepPlanRequest {
  /** Number of requested steps; at least 1. */
  steps: number;
  /** Image-to-image: number of steps skipped at the beginning, less than `steps`. */
  first?: number;
  /** LCM from an image: share of the timesteps of its distillation, from the lowest on, that the steps are spread over. */
  reach?: number;
  /** LCM: timesteps of its distillation; left out: as the checkpoint says. */
  origin?: number;
  /** Trained timesteps to visit, one per step, descending; left out: those of the spacing. */
  timesteps?: readonly number[];
  /**
   * Flow schedules: sigmas before the shift, one per step, descending from 1. Euler: its sigmas, including the one at which it
   * ends.
   */
  sigmas?: readonly number[];
  /** Flow schedules that shift by the image's size: the number of its tokens, or the shift's μ itself. */
  imageTokens?: number;
  mu?: number;
  /** DDIM (default 0) and TCD (default 0.3): share of fresh noise, 0 to 1. */
  eta?: number;
}

export type SpecialField = 'timesteps' | 'sigmas' | 'eta' | 'reach' | 'origin';

/** Latents x = α·clean + σ·noise with α² + σ² = 1 or (Euler and kin) x / √(1 + σ²) as the model's input; or α = 1 − σ; or as in edm.ts. */
export type ScheduleFamily = 'diffusion' | 'flow' | 'edm';

export interface Schedule {
  /** Class name in diffusers. */
  className: string;
  family: ScheduleFamily;
  /** Fields of a request beyond `steps` and `first` that have an effect. */
  takes: readonly SpecialField[];
  /** Number of timesteps in training. */
  trained: number;
  /** Calls of the model per requested step. */
  order: 1 | 2;
  /** Whether `sigmas` of a request include the one at which the last step ends. */
  sigmasEnd: boolean;
  /** Settings of the model's scheduler_config.json that this class does not use, as `key: value` texts. */
  leavesOut: readonly string[];
  /** Throws EngineError bad_request for numbers that the method cannot use. */
  plan(request: StepPlanRequest): SchedulePlan;
}

/** Plans a checked request with the settings of a schedule. */
export type PlanSteps = (request: StepPlanRequest) => SchedulePlan;
