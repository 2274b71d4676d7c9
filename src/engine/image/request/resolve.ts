// Resolves every value of a request: from the request itself, else its call arguments, else the model's own defaults, else the
// contract's.

import { DEFAULTS } from '../../../options/limits.ts';
import { entryFor } from '../families/registry.ts';
import { checkControl, checkImagePrompt } from '../calls/control.ts';
import { sizeFrom } from './size.ts';
import type { CompleteImageRequest, ResolvedImageRequest, ValueSource } from '../calls/image-model.ts';
import { startsFromImage } from '../stages/given-images.ts';
import { greyMask, requireMarked } from '../stages/mask-crop.ts';
import { readCallArguments, type CallArguments } from '../calls/call-arguments.ts';
import { checkUpscaling, checkUpscaledSize } from './upscaling-rules.ts';
import { checkFields, checkInputs, checkValues } from './request-check.ts';
import type { ModelDefaults, Resolved, ResolveContext } from '../stages/resolved.ts';

type Values = ResolvedImageRequest;
type Sources = Record<keyof Values, ValueSource>;

/** Throws bad_request with the name of the field. */
export function resolveRequest(given: CompleteImageRequest, context: ResolveContext): Resolved {
  const task = given.mask ? 'inpainting' : given.image ? 'image-to-image' : context.pipeline.task;
  const called = entryFor(context.pipeline, task);
  const table = called.set.callArguments(called.task, context.model);
  const { request: named, call } = readCallArguments(given.kwargs ?? {}, called.className, table);
  const { values, sources } = decideValues(given, named, call, context);
  checkValues({ values, sources }, given, context);
  checkUpscaledSize(values);
  checkInputs(given, values, context);
  const mask = given.mask && greyMask(given.mask);
  if (call.maskPadding !== undefined && mask) requireMarked(mask);
  const { [called.task]: controlScale } = called.set.controlScale ?? {};
  const steered = controlScale !== undefined && context.controls > 0 && { controlScale: [controlScale] };
  const stated = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const request = { ...given, ...steered, ...named, ...stated, ...(mask && { mask }) };
  const { maxSequenceLength } = request;
  context.checkRequest?.({
    values,
    sources,
    call,
    hasImage: given.image !== undefined,
    ...(maxSequenceLength !== undefined && { maxSequenceLength }),
  });
  checkFields(request, values, context);
  checkControl(request, context);
  checkImagePrompt(request, context.takesImagePrompt);
  const reasons = reasonsOf(values, sources, context.defaults);
  const resolved: Resolved = { event: { type: 'resolved', values, sources, reasons }, request, call };
  context.checkReuse?.(resolved);
  return resolved;
}

/** `named`: fields of the request that its call arguments set. */
function decideValues(
  given: CompleteImageRequest,
  named: Partial<CompleteImageRequest>,
  call: CallArguments,
  context: ResolveContext,
): { values: Values; sources: Sources } {
  const { sizeMultiple, defaults, backend, schedulers } = context;
  const sources = {} as Sources;
  /** Takes the first defined value. */
  const decide = <K extends keyof Values & keyof CompleteImageRequest>(
    key: K,
    model: Values[K] | undefined,
    contract: Values[K],
  ): Values[K] => {
    const candidates: [ValueSource, CompleteImageRequest[K] | Values[K] | undefined][] = [
      ['request', given[key]],
      ['kwargs', named[key]],
      ['model', model],
      ['contract', contract],
    ];
    const [source, value] = candidates.find(([, candidate]) => candidate !== undefined)!;
    sources[key] = source;
    return value as Values[K];
  };

  const { references } = context.pipeline.set;
  const source = given.image ?? given.controlImages?.[0];
  const fitted =
    source &&
    (references
      ? references.sizeOf(
          (references.drawn === 'first' && given.furtherImages?.[0]) || source,
          defaults.width * defaults.height,
          sizeMultiple,
        )
      : sizeFrom(source, { ...sizeOf(named), ...sizeOf(given) }, { sizeMultiple, defaults }));
  const scheduler = context.schedulerOf(decide('scheduler', schedulers[0], ''));
  const listed = context.stepsOf(call, scheduler);
  const starts = startsFromImage(context.pipeline.set, given);
  const isEnlarged = checkUpscaling({ ...named, ...given }, context);
  const strength = decide('strength', undefined, starts ? (given.mask ? 1 : 0.8) : null);
  const values: Values = {
    width: decide('width', fitted?.width, defaults.width),
    height: decide('height', fitted?.height, defaults.height),
    frames: decide('frames', defaults.frames, 1),
    fps: decide('fps', defaults.fps, context.framesPerLatent === null ? null : DEFAULTS.frameRate),
    steps: listed ?? decide('steps', stepsFor(strength, defaults.steps, context), DEFAULTS.steps),
    guidance: decide('guidance', defaults.guidance, DEFAULTS.guidance),
    guidanceRescale: decide('guidanceRescale', undefined, 0),
    negativePrompt: decide('negativePrompt', defaults.negativePrompt, ''),
    scheduler,
    strength,
    clipSkip: decide('clipSkip', undefined, 0),
    samples: decide('samples', undefined, 1),
    generatorDevice: decide('generatorDevice', undefined, 'cpu'),
    upscalingScale: decide('upscalingScale', isEnlarged ? context.upscaling! : null, null),
    backend,
  };
  if (!isEnlarged) values.upscalingScale = null;
  for (const key of ['width', 'height'] as const) {
    if (sources[key] === 'model' && fitted) sources[key] = 'image';
    if (sources[key] === 'contract') sources[key] = 'model';
  }
  const size = context.pipeline.set.sizeOf?.(values, call, sizeMultiple);
  if (size) {
    Object.assign(values, size);
    sources.width = sources.height = 'kwargs';
  }
  // The length of a list of timesteps or sigmas replaces `steps`, like in diffusers.
  if (listed !== undefined) sources.steps = 'kwargs';
  sources.backend = 'request';
  return { values, sources };
}

/** Collects the hints from which the model's values were taken. */
function reasonsOf(
  values: Values,
  sources: Sources,
  { defaultsFrom = {}, steps }: ModelDefaults,
): Resolved['event']['reasons'] {
  const isRaised = sources.steps === 'model' && values.steps !== steps;
  const raised = { steps: `its ${steps}, raised to leave one at strength ${values.strength}` };
  const reasons = Object.entries({ ...defaultsFrom, ...(isRaised ? raised : {}) });
  return Object.fromEntries(reasons.filter(([key]) => sources[key as keyof Values] === 'model'));
}

/** Returns the model's own number of steps, raised if a strength would leave none of them: turbo models have a single step. */
function stepsFor(
  strength: number | null,
  steps: number | undefined,
  { pipeline }: ResolveContext,
): number | undefined {
  const mayLeaveNone = pipeline.set.strength === 'floor';
  if (steps === undefined || strength === null || !(strength > 0) || !mayLeaveNone) return steps;
  return Math.max(steps, Math.ceil(1 / strength));
}

/** Returns the sides that a request gives. */
function sizeOf({ width, height }: Partial<CompleteImageRequest>): { width?: number; height?: number } {
  return { ...(width === undefined ? {} : { width }), ...(height === undefined ? {} : { height }) };
}
