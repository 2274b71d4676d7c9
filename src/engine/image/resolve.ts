// A request with every value decided: what it says, then call arguments, then the model's own defaults, then the contract's.

import { EngineError } from '../../files/error.ts';
import { DEFAULTS, LIMITS } from '../../options/limits.ts';
import { guidanceProblem, sideProblem, stepsProblem, wholeProblem } from './bounds.ts';
import type { Family } from './families.ts';
import { sizeFrom } from './size.ts';
import type { ImageEvent, ImageRequest, ResolvedImageRequest, ValueSource } from './image-model.ts';
import { isEmpty } from './mask-crop.ts';
import { readCallArguments, type CallArguments } from './kwargs.ts';

/** What a checkpoint says of itself. */
export interface ModelDefaults {
  width: number;
  height: number;
  steps?: number | undefined;
  guidance?: number | undefined;
  negativePrompt?: string | undefined;
  /** What was taken from something that only hints at it, and from what. */
  toldBy?: Readonly<Partial<Record<keyof ResolvedImageRequest, string>>>;
}

export interface ResolveContext {
  family: Family;
  /** Width and height are multiples of it. */
  sizeMultiple: number;
  defaults: ModelDefaults;
  backend: ResolvedImageRequest['backend'];
  /** Names that `scheduler` takes; the first is the checkpoint's own. */
  schedulers: readonly string[];
  /** What one that is given is called here; throws for those that this checkpoint does not take. */
  schedulerOf(name: string): string;
  /** Steps that call arguments list for a schedule; undefined: they list none. */
  stepsOf(call: CallArguments, scheduler: string): number | undefined;
  /** Layers of the text encoder that clip skip may leave out; 0: the family has none. */
  mostClipSkip: number;
  /** The pipeline's class. */
  className: string;
  /** It is SDXL's refiner. */
  refines: boolean;
  /** The model fills masks and does nothing else. */
  needsMask: boolean;
  /** It has two text encoders. */
  readsTwice: boolean;
  /** Nothing is unwanted where nothing is said, not the empty text. */
  zerosNegative: boolean;
}

export interface Resolved {
  event: Extract<ImageEvent, { type: 'resolved' }>;
  request: ImageRequest;
  call: CallArguments;
}

export function resolveRequest(given: ImageRequest, context: ResolveContext): Resolved {
  const { className, sizeMultiple, defaults, backend, schedulers } = context;
  const { request: named, call } = readCallArguments(given.kwargs ?? {}, {
    className,
    refines: context.refines,
    readsTwice: context.readsTwice,
    image: given.image !== undefined,
    mask: given.mask !== undefined,
  });
  const sources = {} as Record<keyof ResolvedImageRequest, ValueSource>;
  /** The first that is there decides. */
  const decide = <K extends keyof ResolvedImageRequest & keyof ImageRequest>(
    key: K,
    model: ResolvedImageRequest[K] | undefined,
    contract: ResolvedImageRequest[K],
  ): ResolvedImageRequest[K] => {
    const candidates: [ValueSource, ImageRequest[K] | ResolvedImageRequest[K] | undefined][] = [
      ['request', given[key]],
      ['kwargs', named[key]],
      ['model', model],
      ['contract', contract],
    ];
    const [source, value] = candidates.find(([, candidate]) => candidate !== undefined)!;
    sources[key] = source;
    return value as ResolvedImageRequest[K];
  };

  const fitted =
    given.image && sizeFrom(given.image, { ...sizeOf(named), ...sizeOf(given) }, { sizeMultiple, defaults });
  const scheduler = context.schedulerOf(decide('scheduler', schedulers[0], ''));
  const listed = context.stepsOf(call, scheduler);
  const strength = decide('strength', undefined, fitted ? (given.mask ? 1 : 0.8) : null);
  const values: ResolvedImageRequest = {
    width: decide('width', fitted?.width, defaults.width),
    height: decide('height', fitted?.height, defaults.height),
    steps: listed ?? decide('steps', enoughFor(strength, defaults.steps, context), DEFAULTS.steps),
    guidance: decide('guidance', defaults.guidance, DEFAULTS.guidance),
    guidanceRescale: decide('guidanceRescale', undefined, 0),
    negativePrompt: decide('negativePrompt', defaults.negativePrompt, ''),
    scheduler,
    strength,
    clipSkip: decide('clipSkip', undefined, 0),
    samples: decide('samples', undefined, 1),
    generatorDevice: decide('generatorDevice', undefined, 'cpu'),
    backend,
  };
  for (const key of ['width', 'height'] as const) {
    if (sources[key] === 'model' && fitted) sources[key] = 'picture';
    if (sources[key] === 'contract') sources[key] = 'model';
  }
  // As in diffusers, a list of steps is their number.
  if (listed !== undefined) sources.steps = 'kwargs';
  sources.backend = 'request';
  check({ values, sources }, given, context);
  if (call.maskPadding !== undefined && given.mask && isEmpty(given.mask)) {
    const message = 'the mask is black throughout, and padding_mask_crop draws what lies around its white';
    throw new EngineError('bad_request', `${message}: mark what to draw`, { param: 'mask' });
  }
  if (call.negativePrompt2 && context.zerosNegative && sources.negativePrompt === 'contract') {
    const message =
      'negative_prompt_2 is given without a negative prompt, and the model then takes zeros for both: give both';
    throw new EngineError('bad_request', message, { param: 'negative_prompt_2' });
  }
  const request = { ...named, ...given };
  checkFlow(request, context);
  const reasons = reasonsOf(values, sources, defaults);
  return { event: { type: 'resolved', values, sources, reasons }, request, call };
}

/** By what the model's values came to be, where not by a statement of its own. */
function reasonsOf(
  values: ResolvedImageRequest,
  sources: Resolved['event']['sources'],
  { toldBy = {}, steps }: ModelDefaults,
): Resolved['event']['reasons'] {
  const isRaised = sources.steps === 'model' && values.steps !== steps;
  const raised = { steps: `its ${steps}, raised to leave one at strength ${values.strength}` };
  const told = Object.entries({ ...toldBy, ...(isRaised ? raised : {}) });
  return Object.fromEntries(told.filter(([key]) => sources[key as keyof typeof sources] === 'model'));
}

/** A model's own steps, or as many as leave one to take from an image: turbo models have a single one. */
function enoughFor(
  strength: number | null,
  steps: number | undefined,
  { family, className }: ResolveContext,
): number | undefined {
  const roundsUp = family.name === 'z-image' || className.startsWith('LatentConsistencyModel');
  if (steps === undefined || strength === null || !(strength > 0) || roundsUp) return steps;
  return Math.max(steps, Math.ceil(1 / strength));
}

function check(
  { values, sources }: Pick<Resolved['event'], 'values' | 'sources'>,
  given: ImageRequest,
  context: ResolveContext,
): void {
  const { family, className, sizeMultiple, mostClipSkip } = context;
  const refuse = (param: string, message: string): never => {
    throw new EngineError('bad_request', message, { param });
  };
  const hold = (key: keyof ResolvedImageRequest, problem: string | null): void => {
    if (problem !== null) refuse(key, `${key} ${problem}`);
  };
  for (const key of ['width', 'height'] as const) {
    const problem = sideProblem(values[key], sizeMultiple);
    if (problem !== null && sources[key] === 'picture')
      refuse(key, `${key} by the image's proportions ${problem}: give \`width\` and \`height\``);
    hold(key, problem);
  }
  hold('steps', stepsProblem(values.steps));
  hold('samples', wholeProblem(values.samples, 1, LIMITS.samples));
  if (values.clipSkip !== 0 && mostClipSkip === 0)
    refuse(
      'clipSkip',
      `clipSkip is for models with a CLIP text encoder, and ${family.name} has none: leave it out`,
    );
  hold('clipSkip', wholeProblem(values.clipSkip, 0, mostClipSkip));
  hold('guidance', guidanceProblem(values.guidance));
  if (!(values.guidanceRescale >= 0 && values.guidanceRescale <= 1))
    refuse('guidanceRescale', `guidanceRescale is ${values.guidanceRescale}; it is a number from 0 to 1`);
  if (values.guidanceRescale !== 0 && family.name === 'z-image')
    refuse('guidanceRescale', `guidanceRescale is not for ${family.name}: leave it out`);
  if (!Number.isSafeInteger(given.seed) || given.seed < 0)
    refuse('seed', `seed is ${given.seed}; it is an integer from 0 to ${Number.MAX_SAFE_INTEGER}`);
  if (values.strength !== null && !(values.strength > 0 && values.strength <= 1))
    refuse('strength', `strength is ${values.strength}; it is a number above 0 and at most 1`);
  if (given.mask && !given.image) refuse('mask', 'a mask needs the image that it is a mask of: give both');
  if (context.needsMask && !given.mask)
    refuse(
      'mask',
      'this model was made to fill masks: give `image`, and a `mask` that is white where to draw',
    );
  if (/Img2Img|Inpaint/.test(className) && !given.image)
    refuse(
      'image',
      `${className} draws from an image, and none is given: give \`image\`, or take the class that draws from text`,
    );
  if (className.includes('Inpaint') && !given.mask)
    refuse('mask', `${className} fills a mask, and none is given: give \`mask\`, or take another class`);
  if (values.strength !== null && !given.image)
    refuse('strength', 'strength is for drawing from an image, and none is given: leave it out, or give one');
}

/** What only models that flow take. */
function checkFlow({ maxSequenceLength, flowShift }: ImageRequest, { family }: ResolveContext): void {
  for (const [param, value] of Object.entries({ maxSequenceLength, flowShift })) {
    if (value === undefined) continue;
    if (family.name !== 'z-image') {
      throw new EngineError('bad_request', `${param} is not for ${family.name}: leave it out`, { param });
    }
    const whole = param === 'maxSequenceLength';
    if (value > 0 && (whole ? Number.isInteger(value) : Number.isFinite(value))) continue;
    const wanted = whole ? 'an integer of at least 1' : 'a number above 0';
    throw new EngineError('bad_request', `${param} is ${value}; it is ${wanted}`, { param });
  }
}

/** What a request says of the size. */
function sizeOf({ width, height }: Partial<ImageRequest>): { width?: number; height?: number } {
  return { ...(width === undefined ? {} : { width }), ...(height === undefined ? {} : { height }) };
}
