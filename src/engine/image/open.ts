// The files of an image model as it is opened, how its components are loaded onto a device, and what draws on it. A lost device is opened
// again for the next image.

import { noteOf, option, say } from '../../files/message.ts';
import { bytesText } from '../../files/bytes-text.ts';
import { badRequest, EngineError } from '../../files/error.ts';
import { numberedName, OPTIONS_OF_COMPONENTS } from '../../files/pipeline/given-components.ts';
import { openPipeline, type Pipeline } from '../../files/pipeline/pipeline-index.ts';
import { fetchModel } from '../opening/fetch-model.ts';
import { aboutLora, ImageLoras } from './lora/image-loras.ts';
import { contextWith, shiftedBy } from './request/few-steps.ts';
import type { Platform } from '../platform/platform.ts';
import { batchLimit, drawOn, plainRequest, type Reporter, withBatch } from './draw-request.ts';
import { joinKey } from './request/join-key.ts';
import type { ImageFamily } from './blocks/family.ts';
import { imageFamilies, isKnownName, knownPipelines, pipelineEntry } from './families/registry.ts';
import type { Opening, ReadModel, ServedDevice } from '../opening/served.ts';
import type { ImageModel, ImageModelOptions, Pixels } from './calls/image-model.ts';
import { checkFirstRequest, inspectFirst } from './request/first-request.ts';
import type { ImageMemoryPlan } from './calls/memory-plan.ts';
import { LocalImageModel, type Draw, type Resolve } from './model.ts';
import { openWords, underOption } from './request/open-words.ts';
import { UPSCALER } from './layouts/upscaler.ts';
import {
  checkDivided,
  closeRanks,
  drawOnRanks,
  openOnRanks,
  placeOf,
  type RankedPipeline,
} from './open-ranks.ts';
import { widenedBy } from './widening.ts';
import type { OpenedPipeline } from './opened-pipeline.ts';
import { checkImageRequest, completeRequest } from './request/request-rules.ts';
import { resolveRequest } from './request/resolve.ts';
import type { Resolved } from './stages/resolved.ts';

/** Reads an image model's files; bad_request also for options that the pipeline does not have. See ReadFiles. `families`: those to choose from. */
export async function openImage(
  platform: Platform,
  options: ImageModelOptions,
  opening: Opening,
  families: readonly ImageFamily[] = imageFamilies(),
): Promise<ReadModel<ImageModel, RankedPipeline>> {
  const { pipeline, loraPaths } = await openFiles(platform, options, opening, families);
  const given = { ...options, families };
  return {
    openDevice: () => platform.openDevice(withPlace(options)),
    load: (device, _, onLoad) => openOnRanks(device, platform, pipeline, given, onLoad),
    unload: closeRanks,
    serve: (session) => serve(platform, options, session, opening, loraPaths),
  };
}

function withPlace(options: ImageModelOptions): Parameters<Platform['openDevice']>[0] {
  const place = placeOf(options);
  return place ? { ...options, place } : options;
}

async function serve(
  platform: Platform,
  options: ImageModelOptions,
  session: ServedDevice<RankedPipeline>,
  opening: Opening,
  loraPaths: OpenedFiles['loraPaths'],
): Promise<LocalImageModel> {
  const { note, onEvent } = opening;
  const report: Reporter = {
    kernels: (stage, done, total) => onEvent({ type: 'warmup', done, total, stage }),
    trials: (stage, done, total) => onEvent({ type: 'tune', done, total, stage }),
    note,
  };
  const loras = await openLoras(platform, options, session, { note, loraPaths });
  const resolve = resolver(session.parts, loras, platform);
  if (options.prepare) await prepare(session.parts, platform, resolve, report, opening);
  const draw: Draw = (requests, given) => drawIn(session, platform, requests, { ...given, report });
  const plan = async (resolved: Resolved): Promise<ImageMemoryPlan> => {
    const opened = await session.ready();
    return opened.memory!.plan(withBatch(opened, resolved));
  };
  const info = { ...session.parts.info, ...loras.shown() };
  return new LocalImageModel(info, session, { resolve, draw, plan });
}

/** Opens the LoRAs of the options, which are closed with the model. */
async function openLoras(
  platform: Platform,
  options: ImageModelOptions,
  session: ServedDevice<OpenedPipeline>,
  { note, loraPaths }: Pick<Opening, 'note'> & Pick<OpenedFiles, 'loraPaths'>,
): Promise<ImageLoras> {
  const { components, context } = session.parts;
  const files = {
    platform,
    find: async (path: string) => loraPaths.get(path)!,
    onNote: note,
  };
  const target = { ...context.pipeline, components };
  const loras = await ImageLoras.open(files, options, target);
  session.defer(() => loras.close());
  return loras;
}

interface OpenedFiles {
  pipeline: Pipeline;
  /** Files and folders of the LoRAs, by the paths and hub ids that the options give. */
  loraPaths: ReadonlyMap<string, string>;
}

async function openFiles(
  platform: Platform,
  options: ImageModelOptions,
  { onEvent, signal }: Opening,
  families: readonly ImageFamily[],
): Promise<OpenedFiles> {
  const loraPaths = await findLoras(platform, options, { onEvent, signal });
  const path = await fetchModel(platform, { ...options, singleFiles: true }, onEvent, signal, (_, settings) =>
    inspectFirst(platform, settings, options, families),
  );
  const pipeline = await openPipeline(path, platform.openFolder, knownPipelines(families), {
    ...options,
    componentPaths: componentPathsOf(options),
    find: (model, component) =>
      fetchModel(platform, { model, component }, onEvent, signal).catch((error: unknown) => {
        const { [component]: param } = OPTIONS_OF_COMPONENTS;
        throw param === undefined
          ? underOption(error, 'componentPaths', component)
          : underOption(error, param);
      }),
  });
  if (options.firstRequest) checkFirstRequest(pipeline, options.firstRequest, families);
  const find = (model: string): Promise<string> => fetchModel(platform, { model }, onEvent, signal);
  const words = await openWords(platform, pipelineEntry(pipeline.className, families), options, find);
  for (const [name, className] of Object.entries(pipeline.unused)) {
    const message = `model_index.json names ${name} (${className}), which ${pipeline.className} has no use for: it is not read`;
    onEvent(noteOf(message));
  }
  pipeline.notes.forEach((note) => onEvent(noteOf(note)));
  const { modelId } = options;
  if (modelId !== undefined && !isKnownName(modelId, families)) {
    onEvent(noteOf(say`${option('modelId')} ${modelId} names no family of models and has no effect`));
  }
  try {
    const widened = await widenedBy(platform, pipeline, [...loraPaths.values()], families);
    return { pipeline: { ...widened, words }, loraPaths };
  } catch (error) {
    throw aboutLora(error, 'loraPath');
  }
}

/** Finds the LoRAs of the options before the model, because a path that leads nowhere costs nothing to refuse. */
async function findLoras(
  platform: Platform,
  { loraPath = [] }: ImageModelOptions,
  { onEvent, signal }: Pick<Opening, 'onEvent' | 'signal'>,
): Promise<Map<string, string>> {
  const paths = new Map<string, string>();
  try {
    for (const model of loraPath) paths.set(model, await fetchModel(platform, { model }, onEvent, signal));
    return paths;
  } catch (error) {
    throw aboutLora(error, 'loraPath');
  }
}

/** Creates the function that resolves requests with the pipeline's defaults and bounds, and the LoRAs that they draw with. */
function resolver(opened: RankedPipeline, loras: ImageLoras, platform: Platform): Resolve {
  const { context, planner, autoencoder } = opened;
  return async (given) => {
    checkImageRequest(given);
    const request = await completeRequest(platform, given);
    if (request.tiling && !autoencoder.tiles) {
      const message = 'tiling is not built for the autoencoder of this model: leave it out';
      throw badRequest(message, 'tiling');
    }
    const { prompt, applied } = await loras.choose(request);
    const shifted = shiftedBy(applied, request, context);
    const resolved = resolveRequest({ ...shifted, prompt }, contextWith(applied, context));
    planner.plan(resolved);
    const whole = { ...resolved, loras: applied };
    checkDivided(opened, whole);
    const [key, most] = [joinKey(whole), batchLimit(opened, whole)];
    if (opened.peers.length > 0 || key === null || typeof most === 'string' || most === 1) return whole;
    return { ...whole, event: { ...whole.event, joins: { key, most } } };
  };
}

/**
 * Draws on the session's device, which is opened again if it was lost before. A request during which it is lost ends with
 * device_lost.
 */
async function drawIn(
  session: ServedDevice<RankedPipeline>,
  platform: Platform,
  requests: Parameters<Draw>[0],
  options: Parameters<Draw>[1] & { report: Reporter },
): Promise<void> {
  const opened = await session.ready();
  try {
    await drawOnRanks(opened, platform, requests, options);
  } catch (cause) {
    const reason = cause instanceof EngineError ? null : await session.loss();
    if (reason === null) throw cause;
    const message = `the GPU device was lost (${reason}) while the image was drawn: ask for it again, a device is opened anew`;
    throw new EngineError('device_lost', message, { cause });
  }
}

/** Components that the ControlNets of a pipeline and its IP-Adapter are. */
const CONTROLNET = 'controlnet';
const IP_ADAPTER = 'ip_adapter';

/** Paths of components, with those of ControlNets, of an IP-Adapter, and of a network that enlarges results. */
function componentPathsOf({
  componentPaths = {},
  controlnetPath = [],
  ipAdapterPath,
  upscalingModelPath,
}: ImageModelOptions): Record<string, string> {
  const nets = controlnetPath.map((path, i) => [numberedName(CONTROLNET, i), path]);
  const own: Record<string, string> = {
    ...(Object.fromEntries(nets) as Record<string, string>),
    ...(ipAdapterPath !== undefined && { [IP_ADAPTER]: ipAdapterPath }),
    ...(upscalingModelPath !== undefined && { [UPSCALER]: upscalingModelPath }),
  };
  const twice = Object.keys(own).find((name) => name in componentPaths);
  if (twice !== undefined)
    throw badRequest(
      `${twice} is given twice, as ${componentPaths[twice]} and, by an option of its own, as ${own[twice]}: give one of them`,
      'componentPaths',
    );
  return { ...componentPaths, ...own };
}

/** Latents along a side of the smallest image: a model that cannot draw it cannot draw anything. */
const FEW_LATENTS = 8;

/**
 * Compiles the kernels that a request needs. If memory is insufficient for its size, smaller requests may still succeed; throws
 * out_of_memory if even a small one does not fit.
 */
async function prepare(
  opened: OpenedPipeline,
  platform: Platform,
  resolve: Resolve,
  report: Reporter,
  { note, signal }: Opening,
): Promise<void> {
  const resolved = await resolve(plainRequest(opened.context));
  try {
    await drawOn(opened, platform, resolved, () => {}, { signal, compileOnly: true, report });
  } catch (error) {
    const isFull = error instanceof EngineError && error.code === 'out_of_memory';
    try {
      if (!isFull) throw error;
      const small = sized(resolved, FEW_LATENTS * opened.context.sizeMultiple);
      await drawOn(opened, platform, small, () => {}, { signal, compileOnly: true, report });
    } catch (cause) {
      throw isFull ? tooSmall(opened, cause) : cause;
    }
    const { width, height } = resolved.event.values;
    note(
      say`the memory budget does not hold ${width} × ${height} pixels, the model's own size, and smaller ones may be asked for: ${error}`,
    );
  }
}

/** Returns the request for a square with `side` pixels a side and a blank source image. */
function sized(resolved: Resolved, side: number): Resolved {
  const { request, event } = resolved;
  const blank: Pixels = { width: side, height: side, data: new Uint8Array(3 * side * side) };
  const { controlImages } = request;
  const images = {
    ...(request.image && { image: blank }),
    ...(request.mask && { mask: blank }),
    ...(request.lastImage && { lastImage: blank }),
    ...(controlImages && { controlImages: controlImages.map(() => blank) }),
  };
  const values = { ...event.values, width: side, height: side };
  const call = { ...resolved.call, binning: 0 };
  return { ...resolved, request: { ...request, ...images }, event: { ...event, values }, call };
}

function tooSmall({ device, info, context }: OpenedPipeline, cause: unknown): EngineError {
  const side = FEW_LATENTS * context.sizeMultiple;
  const budget = bytesText(device.memoryBudget);
  return new EngineError(
    'out_of_memory',
    say`the memory budget of ${budget} does not hold ${info.name}, not even for ${side} × ${side} pixels: raise ${option('memoryBudget')}, or choose ${option('quantization')} int4`,
    { param: 'memoryBudget', cause },
  );
}
