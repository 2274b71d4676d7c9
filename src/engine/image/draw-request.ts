// Draws one request, or several of one shape, on an opened pipeline: their plan, what users should know about it, and the stages.

import { EngineError } from '../../files/error.ts';
import { type Prose, noteOf, option, say } from '../../files/message.ts';
import type { Platform } from '../platform/platform.ts';
import { tokenRanks } from './blocks/token-parts.ts';
import { changesOf } from './lora/image-loras.ts';
import { drawTogether } from './stages/draw.ts';
import { asDrawn, type StageContext } from './stages/stage-context.ts';
import { fitImages } from './stages/given-images.ts';
import type { ImageEvent, CompleteImageRequest, Pixels, StageName } from './calls/image-model.ts';
import type { DrawnRequest, DrawOptions } from './model.ts';
import { colourNotes } from './request/own-colours.ts';
import { unknownWords } from './request/own-settings.ts';
import type { PartSums } from '../../gpu/tape-options.ts';
import { decisionSums, type RankExchanges } from './ranks/exchange.ts';
import type { OpenedPipeline } from './opened-pipeline.ts';
import { assertWanted } from './recording/compute.ts';
import { createProfiler } from './recording/profiler.ts';
import { notesOn } from './request/request-notes.ts';
import { shapeOfLatents } from './stages/latent-shape.ts';
import type { Resolved } from './stages/resolved.ts';
import { isDivisible } from './stages/sampler.ts';
import { createTuner } from './stages/tuner.ts';

/** Returns the prompt, and the negative prompt if the user gave one. */
function promptsIn({ request: { prompt }, event: { values, sources } }: Resolved): string[] {
  const isOwn = sources.negativePrompt === 'request' || sources.negativePrompt === 'kwargs';
  return isOwn ? [prompt, values.negativePrompt] : [prompt];
}

/** How many results the denoiser may take at once; a string: why it takes one. */
export function batchLimit(opened: OpenedPipeline, resolved: Resolved): number | string {
  const { device, batchSize } = opened;
  return aloneBecause(opened, resolved) ?? batchSize ?? device.profile.imagesAtOnce;
}

/** Why results of a request are drawn one at a time; null: they are not. */
function aloneBecause({ runner, latents, reuseOf }: OpenedPipeline, resolved: Resolved): string | null {
  const { request, event, call } = resolved;
  if (reuseOf(resolved).rule?.decision.measure)
    return 'steps that reuse others by what has changed draw one result at a time';
  const takes =
    runner.batches?.({ values: event.values, call }) ?? 'models of this family draw one at a time';
  if (takes !== true) return takes;
  if (runner.seesControl || (request.mask && runner.fillsMasks !== false))
    return 'models that see an image in further channels of the latents draw one at a time';
  if (runner.frameImages && (request.image ?? request.lastImage))
    return 'clips that begin or end with an image are drawn one at a time';
  const shape = shapeOfLatents(latents, asDrawn(resolved, runner).event.values);
  const [, height, width] = shape;
  return isDivisible(shape)
    ? null
    : `results of ${height} × ${width} latents are drawn one at a time, because their bytes are not a multiple of 256: choose sides of multiples of ${4 * latents.factor} pixels`;
}

/** The request with the most images that may be drawn at once. `samples`: of all requests that are drawn together. */
export function withBatch(
  opened: OpenedPipeline,
  resolved: Resolved,
  samples = resolved.event.values.samples,
): Resolved {
  const limit = batchLimit(opened, resolved);
  if (resolved.batch !== undefined || typeof limit === 'string') return resolved;
  const { event } = resolved;
  const batch = Math.min(samples, limit);
  return { ...resolved, event: { ...event, values: { ...event.values, samples } }, batch };
}

/** Other devices where nothing is computed. */
const SUMS_ON_PAPER: PartSums = { allReduce: (own) => Promise.resolve(own) };

type Requests = readonly [DrawnRequest, ...DrawnRequest[]];
type DrawingOptions = Omit<DrawOptions, 'signal'> & {
  onPaper?: boolean;
  report: Reporter;
  /** The exchanges of this rank with those that draw the same results; only the first rank decodes. */
  exchange?: RankExchanges;
};

/** Draws a request on an opened pipeline; whether their device works is the caller's concern. */
export async function drawOn(
  opened: OpenedPipeline,
  platform: Pick<Platform, 'keepTuned'>,
  resolved: Resolved,
  emit: (event: ImageEvent) => void,
  { signal, ...options }: DrawingOptions & { signal?: AbortSignal | undefined },
): Promise<void> {
  let failure: unknown = null;
  const request = { resolved, signal, emit, ended: (error: unknown) => (failure = error) };
  await drawTogetherOn(opened, platform, [request], options);
  if (failure !== null) throw failure;
}

/** Draws requests of one shape on an opened pipeline. An error that is thrown ends all that have not ended. */
export async function drawTogetherOn(
  opened: OpenedPipeline,
  platform: Pick<Platform, 'keepTuned'>,
  requests: Requests,
  options: DrawingOptions,
): Promise<void> {
  const { profile = false, compileOnly = false, mostSteps, onPaper = false, tune = false, report } = options;
  const { exchange } = options;
  const { device, components, runner, planner, plain, upscaler } = opened;
  const { latents, autoencoder, previews, colours, attention, reuseOf } = opened;
  const [{ resolved }] = requests;
  const samples = requests.reduce((sum, one) => sum + one.resolved.event.values.samples, 0);
  const drawn = asDrawn(withBatch(opened, withLongestTexts(requests), samples), runner);
  let batch = drawn.batch;
  try {
    batch = (await opened.memory?.apply(drawn)) ?? batch;
  } catch (error) {
    if (requests.length === 1 || !isOutOfMemory(error)) throw error;
    return drawEach(opened, platform, requests, options);
  }
  // Ranks have memory of their own.
  if (exchange && batch !== undefined) batch = await exchange.all.least(batch);
  for (const request of requests) tellNotes(opened, request);
  const profiler = profile && device.capabilities.timestamps ? createProfiler() : undefined;
  let stage: StageName = 'text-encoding';
  const assertAnyWanted = (): void => {
    if (requests.every(({ signal }) => signal?.aborted)) assertWanted(requests[0].signal);
  };
  const onKernels = (done: number, total: number): void => {
    assertAnyWanted(); // each component may take seconds to check
    report.kernels(stage, done, total);
  };
  const onTrials = (done: number, total: number): void => {
    assertAnyWanted();
    report.trials(stage, done, total);
  };
  if (tune && plain)
    report.note('nothing is tuned: the generic backend has one kernel of each kind, and they are compiled');
  const plan = planner.plan(asDrawn(resolved, runner));
  components.adapt(changesOf(resolved.loras ?? []));
  const tuner =
    tune && !plain ? createTuner(device, platform, { note: report.note, onKernels, onTrials }) : undefined;
  const shaders = new Set<string>();
  const contextOf = async (request: DrawnRequest): Promise<StageContext> => ({
    ...{ components, runner, latents, autoencoder, previews, colours, attention, shaders },
    reuse: reuseOf(request.resolved),
    upscaler: resolved.event.values.upscalingScale === null ? null : upscaler,
    ...(exchange && exchange.rank > 0 && { decodesNothing: true }),
    ...((mostSteps !== undefined || compileOnly) && { mostEnlarged: 1 }),
    plan: { ...plan, steps: fewSteps(plan.steps, mostSteps, onPaper) },
    options: {
      ...{ plain, compileOnly, onPaper, profiler, onKernels, signal: request.signal, tune: tuner },
      ...(exchange && {
        exchange: exchange.passes,
        tokens: tokenRanks(exchange),
        decides: decisionSums(exchange),
      }),
      matrices: onPaper ? SUMS_ON_PAPER : exchange?.matrices,
      onShaders: (names) => names.forEach((name) => shaders.add(name)),
      onNotFinite(what) {
        const message = `${what} gave values that are not finite numbers; it is run again in plain f32`;
        request.emit(noteOf(message));
      },
    },
    ...(await fitImages(request.resolved, opened.context)),
    ...request,
    signal: request.signal,
    resolved: { ...request.resolved, ...(batch !== undefined && { batch }) },
    onStage: (name) => (stage = name),
  });
  const [first, ...others] = requests;
  await drawTogether([await contextOf(first), ...(await Promise.all(others.map(contextOf)))]);
  if (profiler)
    first.emit({
      type: 'kernels',
      milliseconds: Object.fromEntries(profiler.kernels),
      spent: profiler.spent,
    });
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof EngineError && error.code === 'out_of_memory';

/** Draws requests one after the other, of which the longest text has no room: each ends with an error of its own, or without. */
async function drawEach(
  opened: OpenedPipeline,
  platform: Pick<Platform, 'keepTuned'>,
  requests: Requests,
  options: DrawingOptions,
): Promise<void> {
  for (const request of requests)
    await drawTogetherOn(opened, platform, [request], options).catch((error: unknown) => {
      if (!isOutOfMemory(error)) throw error;
      request.ended?.(error);
    });
}

/** The first request with the longest texts of all, which take the most memory. */
function withLongestTexts(requests: Requests): Resolved {
  const all = requests.map(({ resolved }) => resolved);
  const { request, event, ...rest } = all[0]!;
  const longest = (texts: readonly string[]): string => texts.reduce((a, b) => (b.length > a.length ? b : a));
  const prompt = longest(all.map((one) => one.request.prompt));
  const negativePrompt = longest(all.map((one) => one.event.values.negativePrompt));
  const values = { ...event.values, negativePrompt };
  return { ...rest, request: { ...request, prompt }, event: { ...event, values } };
}

/** Tells what users should know about a request. */
function tellNotes(opened: OpenedPipeline, { resolved, emit }: DrawnRequest): void {
  const { own } = opened;
  const unknown = own.words && unknownWords(promptsIn(resolved), own.words);
  if (unknown && unknown.words.length > 0) emit({ type: 'unknown-words', ...unknown });
  if (own.colours) for (const note of colourNotes(resolved.request.prompt, own.colours)) emit(noteOf(note));
  for (const message of notesOn(resolved, opened)) emit(noteOf(message));
  const limit = batchLimit(opened, resolved);
  if (typeof limit === 'string' && (opened.batchSize ?? 1) > 1)
    emit(noteOf(say`${option('batchSize')} ${opened.batchSize!} changes nothing: ${limit}`));
}

/** The first steps; `drawsLast`: the last step is among them, which another denoiser may compute. */
function fewSteps<S>(steps: readonly S[], most: number | undefined, drawsLast: boolean): readonly S[] {
  if (!drawsLast || most === undefined || steps.length <= most) return steps.slice(0, most);
  return [...steps.slice(0, most - 1), steps.at(-1)!];
}

/** Listener of what concerns no single request. */
export interface Reporter {
  kernels(stage: StageName, done: number, total: number): void;
  /** Trials in which the variants of a stage's kernels are timed. */
  trials(stage: StageName, done: number, total: number): void;
  note(message: Prose): void;
}

/** Returns a request with only the fields that the model requires; images that it starts from are blank. */
export function plainRequest({
  needsMask,
  controls,
  takesImagePrompt,
  frameImages,
  pipeline,
  defaults: { width, height },
}: OpenedPipeline['context']): CompleteImageRequest {
  const blank: Pixels = { width, height, data: new Uint8Array(3 * width * height) };
  const fills = needsMask || pipeline.task === 'inpainting';
  const continues = fills || pipeline.task === 'image-to-image' || frameImages?.first === 'must';
  return {
    prompt: '',
    seed: 0,
    ...(continues && { image: blank }),
    ...(frameImages?.last === 'must' && { lastImage: blank }),
    ...(fills && { mask: blank }),
    ...(takesImagePrompt && { ipAdapterImage: blank }),
    ...(controls > 0 && { controlImages: Array.from({ length: controls }, () => blank) }),
  };
}
