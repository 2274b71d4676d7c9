// Draws one request on an opened pipeline: its plan, what users should know about it, and the stages.

import { type Prose, noteOf } from '../../files/message.ts';
import type { Platform } from '../platform/platform.ts';
import { changesOf } from './lora/image-loras.ts';
import { draw } from './stages/draw.ts';
import { asDrawn } from './stages/stage-context.ts';
import { fitImages } from './stages/given-images.ts';
import type { ImageEvent, CompleteImageRequest, Pixels, StageName } from './calls/image-model.ts';
import type { DrawOptions } from './model.ts';
import { colourNotes } from './request/own-colours.ts';
import { unknownWords } from './request/own-settings.ts';
import type { OpenedPipeline } from './opened-pipeline.ts';
import { assertWanted } from './recording/compute.ts';
import { createProfiler } from './recording/profiler.ts';
import { notesOn } from './request/request-notes.ts';
import type { Resolved } from './stages/resolved.ts';
import { createTuner } from './stages/tuner.ts';

/** Returns the prompt, and the negative prompt if the user gave one. */
function promptsIn({ request: { prompt }, event: { values, sources } }: Resolved): string[] {
  const isOwn = sources.negativePrompt === 'request' || sources.negativePrompt === 'kwargs';
  return isOwn ? [prompt, values.negativePrompt] : [prompt];
}

/** The request with the most images that may be drawn at once. */
export function withBatch(
  { device, runner, batchSize = device.profile.imagesAtOnce }: OpenedPipeline,
  resolved: Resolved,
): Resolved {
  const { values } = resolved.event;
  if (resolved.batch !== undefined || runner.batches?.(values) !== true) return resolved;
  return { ...resolved, batch: Math.min(values.samples, batchSize) };
}

/** Draws a request on an opened pipeline; whether their device works is the caller's concern. */
export async function drawOn(
  opened: OpenedPipeline,
  platform: Pick<Platform, 'keepTuned'>,
  resolved: Resolved,
  emit: (event: ImageEvent) => void,
  {
    signal,
    profile = false,
    compileOnly = false,
    mostSteps,
    onPaper = false,
    tune = false,
    report,
  }: DrawOptions & { onPaper?: boolean; report: Reporter },
): Promise<void> {
  const { device, components, runner, latents, autoencoder, colours, planner, own, plain } = opened;
  const drawn = asDrawn(withBatch(opened, resolved), runner);
  const batch = (await opened.memory?.apply(drawn)) ?? drawn.batch;
  const unknown = own.words && unknownWords(promptsIn(resolved), own.words);
  if (unknown && unknown.words.length > 0) emit({ type: 'unknown-words', ...unknown });
  if (own.colours) for (const note of colourNotes(resolved.request.prompt, own.colours)) emit(noteOf(note));
  for (const message of notesOn(resolved, opened)) emit(noteOf(message));
  const profiler = profile && device.capabilities.timestamps ? createProfiler() : undefined;
  let stage: StageName = 'text-encoding';
  const onKernels = (done: number, total: number): void => {
    assertWanted(signal); // each component may take seconds to check
    report.kernels(stage, done, total);
  };
  const onTrials = (done: number, total: number): void => {
    assertWanted(signal);
    report.trials(stage, done, total);
  };
  if (tune && plain)
    report.note('nothing is tuned: the generic backend has one kernel of each kind, and they are compiled');
  const plan = planner.plan(drawn);
  components.adapt(changesOf(resolved.loras ?? []));
  await draw({
    components,
    runner,
    latents,
    autoencoder,
    colours,
    plan: { ...plan, steps: fewSteps(plan.steps, mostSteps, onPaper) },
    options: {
      plain,
      compileOnly,
      onPaper,
      signal,
      profiler,
      onKernels,
      tune:
        tune && !plain
          ? createTuner(device, platform, { note: report.note, onKernels, onTrials })
          : undefined,
      onNotFinite(what) {
        const message = `${what} gave values that are not finite numbers; it is run again in plain f32`;
        emit(noteOf(message));
      },
    },
    resolved: { ...resolved, ...(batch !== undefined && { batch }) },
    ...(await fitImages(resolved, opened.context)),
    signal,
    emit,
    onStage: (name) => (stage = name),
  });
  if (profiler)
    emit({ type: 'kernels', milliseconds: Object.fromEntries(profiler.kernels), spent: profiler.spent });
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
