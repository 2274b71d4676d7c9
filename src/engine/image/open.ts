// Opens an image model: the folder or hub id, what the pipeline consists of, a device. A lost device is opened again for the
// next image.

import { bytesText } from '../../files/bytes-text.ts';
import { EngineError } from '../../files/error.ts';
import { openPipeline } from '../../files/pipeline/pipeline-index.ts';
import { fetchModel } from '../fetch-model.ts';
import type { Platform } from '../platform.ts';
import { draw, type Drawing } from './draw.ts';
import { isTelling } from './families.ts';
import { fitImages } from './given-images.ts';
import type { OpenEvent } from '../session/open-event.ts';
import type {
  ImageEvent,
  ImageModel,
  ImageModelOptions,
  ImageRequest,
  Pixels,
  StageName,
} from './image-model.ts';
import { createImageModel, type DrawOptions } from './model.ts';
import { unknownWords } from './own-settings.ts';
import { openParts, type Parts } from './parts.ts';
import { createProfiler } from './profiler.ts';
import { notesOn } from './request-notes.ts';
import { createTuner } from './tuner.ts';
import { resolveRequest, type Resolved } from './resolve.ts';

/** Errors: those of openTextModel, and bad_request for options that the pipeline does not have. `signal` ends a download. */
export async function openImageModelInline(
  platform: Platform,
  options: ImageModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<ImageModel> {
  const path = await fetchModel(platform, options, onEvent, signal);
  const pipeline = await openPipeline(path, platform.openFolder, {
    ...options,
    find: (model, component) =>
      fetchModel(platform, { model, component }, onEvent, signal).catch((error: unknown) => {
        throw error instanceof EngineError && error.param === 'model' ? asComponent(error) : error;
      }),
  });
  for (const [name, className] of Object.entries(pipeline.unused)) {
    const message = `model_index.json names ${name} (${className}), which ${pipeline.className} has no use for: it is not read`;
    onEvent({ type: 'note', message });
  }
  const { modelId } = options;
  if (modelId !== undefined && !isTelling(modelId)) {
    onEvent({
      type: 'note',
      message: `\`modelId\` ${modelId} tells no family of models, and changes nothing`,
    });
  }
  let lost: string | null = null;
  const open = async (): Promise<Parts> => {
    const device = await platform.openDevice(options);
    lost = null;
    void device.lost.then((reason) => (lost = reason));
    try {
      return await openParts(device, platform, pipeline, options, onEvent);
    } catch (error) {
      device.destroy();
      throw error;
    }
  };

  let parts = await open();
  const { context, planner, info } = parts;
  const { tiles } = parts.autoencoder;
  const tell: Telling = {
    kernels: (stage, done, total) => onEvent({ type: 'warmup', done, total, stage }),
    note: (message) => onEvent({ type: 'note', message }),
  };
  const resolve = (request: ImageRequest): Resolved => {
    if (request.tiling && !tiles) {
      const message =
        'tiling is for an AutoencoderKL, and this one decodes in little memory anyway: leave it out';
      throw new EngineError('bad_request', message, { param: 'tiling' });
    }
    const resolved = resolveRequest(request, context);
    planner.plan(resolved);
    return resolved;
  };
  if (options.prepare) await prepare(parts, platform, resolve(plainRequest(context)), tell, onEvent, signal);
  return createImageModel({
    info,
    resolve,
    async draw(resolved, emit, drawOptions) {
      if (lost !== null) {
        const gone = parts;
        parts = await open();
        await gone.components.close();
      }
      await drawOn(parts, platform, resolved, emit, { ...drawOptions, tell }).catch(
        async (cause: unknown) => {
          if (cause instanceof EngineError) throw cause;
          const reason = await parts.device.loss();
          if (reason === null) throw cause;
          const message = `the GPU device was lost (${reason}) while the image was drawn: ask for it again, a device is opened anew`;
          throw new EngineError('device_lost', message, { cause });
        },
      );
    },
    release: () => giveBack(parts),
  });
}

/** What is wrong with a model that one of its components is taken from. */
function asComponent({ code, message, cause }: EngineError): EngineError {
  return new EngineError(code, message, { param: 'componentPaths', cause });
}

/** What fails as it is closed keeps nothing else. */
async function giveBack({ components, device }: Parts): Promise<void> {
  try {
    await components.close();
  } finally {
    device.destroy();
  }
}

/** What its user wants, and does not. */
function promptsIn({ request: { prompt }, event: { values, sources } }: Resolved): string[] {
  const isOwn = sources.negativePrompt === 'request' || sources.negativePrompt === 'kwargs';
  return isOwn ? [prompt, values.negativePrompt] : [prompt];
}

async function drawOn(
  parts: Parts,
  platform: Platform,
  resolved: Resolved,
  emit: (event: ImageEvent) => void,
  {
    signal,
    profile = false,
    compileOnly = false,
    mostSteps,
    tune = false,
    tell,
  }: DrawOptions & { tell: Telling },
): Promise<void> {
  const { device, components, runner, autoencoder, colours, planner, own, plain } = parts;
  const unknown = own.words && unknownWords(promptsIn(resolved), own.words);
  if (unknown && unknown.words.length > 0) emit({ type: 'unknown-words', ...unknown });
  for (const message of notesOn(resolved, parts)) emit({ type: 'note', message });
  const profiler = profile && device.capabilities.timestamps ? createProfiler() : undefined;
  let stage: StageName = 'text-encoding';
  const onKernels = (done: number, total: number): void => {
    // Each may take seconds.
    if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled');
    tell.kernels(stage, done, total);
  };
  if (tune && plain)
    tell.note('nothing is tuned: the generic backend has one kernel of each kind, and they are compiled');
  const plan = planner.plan(resolved);
  const drawing: Omit<Drawing, 'tiling'> = {
    components,
    runner,
    autoencoder,
    colours,
    plan: { ...plan, steps: plan.steps.slice(0, mostSteps) },
    options: {
      plain,
      compileOnly,
      signal,
      profiler,
      onKernels,
      tune: tune && !plain ? createTuner(device, platform, tell.note, onKernels) : undefined,
      onNotFinite(what) {
        const message = `${what} gave values that are not finite numbers; it is run again in plain f32`;
        emit({ type: 'note', message });
      },
    },
    resolved,
    ...(await fitImages(platform, resolved)),
    signal,
    emit,
    onStage: (name) => (stage = name),
  };
  await (compileOnly ? components.unread(() => draw(drawing)) : draw(drawing));
  if (profiler)
    emit({ type: 'kernels', milliseconds: Object.fromEntries(profiler.kernels), spent: profiler.spent });
}

interface Telling {
  kernels(stage: StageName, done: number, total: number): void;
  note(message: string): void;
}

/** Latents along a side of an image so small that a model that cannot draw it draws nothing. */
const FEW_LATENTS = 8;

/**
 * Compiles what a request needs. Where memory ends before its size, requests for smaller ones may still be drawn; throws out_of_memory
 * where it does not hold even a small one.
 */
async function prepare(
  parts: Parts,
  platform: Platform,
  resolved: Resolved,
  tell: Telling,
  onEvent: (event: OpenEvent) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await drawOn(parts, platform, resolved, () => {}, { signal, compileOnly: true, tell });
  } catch (error) {
    const isFull = error instanceof EngineError && error.code === 'out_of_memory';
    try {
      if (!isFull) throw error;
      const small = sized(resolved, FEW_LATENTS * parts.context.sizeMultiple);
      await drawOn(parts, platform, small, () => {}, { signal, compileOnly: true, tell });
    } catch (cause) {
      await giveBack(parts).catch(() => {});
      throw isFull ? tooSmall(parts, cause) : cause;
    }
    const { width, height } = resolved.event.values;
    const message = `the memory budget does not hold ${width} × ${height} pixels, the model's own size, and smaller ones may be asked for: ${error.message}`;
    onEvent({ type: 'note', message });
  }
}

/** The request for a square of so many pixels a side; the image that it starts from is blank. */
function sized(resolved: Resolved, side: number): Resolved {
  const { request, event } = resolved;
  const blank: Pixels = { width: side, height: side, data: new Uint8Array(3 * side * side) };
  const images = { ...(request.image && { image: blank }), ...(request.mask && { mask: blank }) };
  const values = { ...event.values, width: side, height: side };
  return { ...resolved, request: { ...request, ...images }, event: { ...event, values } };
}

function tooSmall({ device, info, context }: Parts, cause: unknown): EngineError {
  const side = FEW_LATENTS * context.sizeMultiple;
  const budget = bytesText(device.memoryBudget);
  return new EngineError(
    'out_of_memory',
    `the memory budget of ${budget} does not hold ${info.name}, not even for ${side} × ${side} pixels: raise \`memoryBudget\`, or choose \`quantization\` int4`,
    { param: 'memoryBudget', cause },
  );
}

/** Nothing but what the model needs of a request. */
function plainRequest({ needsMask, className, defaults: { width, height } }: Parts['context']): ImageRequest {
  const blank: Pixels = { width, height, data: new Uint8Array(3 * width * height) };
  const fills = needsMask || className.includes('Inpaint');
  const continues = fills || className.includes('Img2Img');
  return { prompt: '', seed: 0, ...(continues && { image: blank }), ...(fills && { mask: blank }) };
}
