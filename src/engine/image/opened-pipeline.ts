// A pipeline on a device: its components, its family's model, and everything that is known before weights are loaded.

import { noteOf, option, say } from '../../files/message.ts';
import { badRequest, EngineError } from '../../files/error.ts';
import type { Pipeline } from '../../files/pipeline/pipeline-index.ts';
import { openComponentWeights, openDenoiserWeights } from '../../files/pipeline/pipeline-weights.ts';
import type { Device } from '../../gpu/device.ts';
import { ConfigError } from '../../models/config-values.ts';
import type { Upscaler } from '../../models/image/upscalers/upscaler.ts';
import type { Platform } from '../platform/platform.ts';
import { pipelineAttention } from './attention-backends.ts';
import type { PipelineAttention } from './stages/attention.ts';
import { reuseReader, type ReusingRequest } from './step-reuse.ts';
import type { StepReuseSettings } from './step-cache/cache-settings.ts';
import { orClose, type UnreadComponents } from './components/component-files.ts';
import { describe, nameOf } from './model-info.ts';
import type { Components } from './components/components.ts';
import { openComponents } from './components/open-components.ts';
import { defaultsOf, type OwnDefaults } from './families/defaults.ts';
import type { FamilyModel, ImageFamily } from './blocks/family.ts';
import { pipelineEntry, type PipelineEntry } from './families/registry.ts';
import type { OpenEvent } from '../opening/open-event.ts';
import type { ImageModelInfo, ImageModelOptions } from './calls/image-model.ts';
import { colourMap, ownColourMap, type ColourMap } from './stages/latent-colours.ts';
import type { LatentShape } from './stages/latent-shape.ts';
import { UPSCALER } from './layouts/upscaler.ts';
import type { ImageMemoryPlan } from './calls/memory-plan.ts';
import { openFamily } from './open-family.ts';
import { ownSettings, type OwnSettings } from './request/own-settings.ts';
import type { Autoencoder } from './blocks/autoencoder.ts';
import { StepPlanner } from './stages/step-planner.ts';
import { checkStated, nameOfLowRank, quantizerOf } from './quantizer.ts';
import { widenedWeights } from './widening.ts';
import type { ModelDefaults, ResolveContext, Resolved } from './stages/resolved.ts';

/** Latents along a side if neither the checkpoint nor its family states a size. */
const USUAL_LATENTS = 64;

/** Plans the memory of requests. */
export interface ImageMemory {
  /**
   * Moves the weights to where the plan of a request has them, and returns how many images are drawn at once: at most `batch` of the request.
   * Throws out_of_memory with the smallest change that fits.
   */
  apply(resolved: Resolved): Promise<number>;
  /** Returns the plan of a request. Throws like `apply`. */
  plan(resolved: Resolved): Promise<ImageMemoryPlan>;
}

/** A pipeline on a device, its weights not yet loaded. */
export interface OpenedPipeline {
  device: Device;
  components: Components;
  autoencoder: Autoencoder;
  /** The decoder of previews that the user gives; null: none. */
  previews: Autoencoder | null;
  colours: ColourMap | null;
  runner: FamilyModel;
  latents: LatentShape;
  /** Network that enlarges what is decoded; null: none was given. */
  upscaler: Upscaler | null;
  planner: StepPlanner;
  own: OwnSettings;
  /** Whether to use plain f32 kernels. */
  plain: boolean;
  attention: PipelineAttention;
  /** Returns how steps of a request reuse what others computed. Throws bad_request. */
  reuseOf(request: ReusingRequest): StepReuseSettings;
  /** Images of a request that are drawn at once; undefined: as memory allows. */
  batchSize: number | undefined;
  context: ResolveContext;
  info: ImageModelInfo;
  /** Left out: nothing is planned, and weights stay where they are. */
  memory?: ImageMemory;
}

/** `families`: those to choose from; left out: those that are built in. `rank`: of those that draw together; left out: the first. `unread`: for planning, where no weights are read. */
export async function openOnDevice(
  device: Device,
  platform: Pick<Platform, 'openFolder' | 'packed'>,
  pipeline: Pipeline,
  {
    families,
    rank = 0,
    ...options
  }: ImageModelOptions & { families?: readonly ImageFamily[]; rank?: number },
  onEvent: (event: OpenEvent) => void,
  unread?: UnreadComponents,
): Promise<OpenedPipeline> {
  const entry = pipelineEntry(pipeline.className, families);
  const { widened } = pipeline;
  // A LoRA that widens the model is named like the model that it makes of it.
  const name = [options.modelId ?? nameOf(options.model), widened?.by].join(' ').trim();
  const own = defaultsOf(entry, pipeline.components, name, pipeline.settings);
  if (own.hint !== undefined) onEvent(noteOf(own.hint));
  const plain = options.backend === 'generic';
  const { denoiser, files } = entry.family;
  const attention = pipelineAttention(options, device, {
    plain,
    denoiser,
    drawsClips: (own.defaults.frames ?? 1) > 1,
  });
  const { quantization = 'none' } = options;
  const inF32 = plain || options.allF32 === true;
  if (inF32 && quantization !== 'none' && quantization !== 'auto') {
    const why = plain ? say`${option('backend')} generic` : say`${option('allF32')}`;
    throw badRequest(
      say`${option('quantization')} is ${quantization}, and ${why} computes in f32: leave one of them out`,
      'quantization',
    );
  }
  const models = Object.values(pipeline.components).filter(({ kind }) => kind === 'model');
  const names = models.map(({ name }) => name);
  const denoisers = files?.parts[denoiser] ?? [];
  const quantizer = quantizerOf(options);
  const { tpSize = 1 } = options;
  const part = { rank: rank % tpSize, ranks: tpSize };
  if (quantizer.settings) refuseBoth(tpSize);
  const isDenoiser = (name: string): boolean => name === denoiser || name === `${denoiser}_2`;
  const components = await openComponents(device, names, {
    pipeline,
    plain,
    packed: platform.packed,
    quantization: inF32 ? 'f32' : quantization,
    ...(quantizer.settings && {
      lowRank: { settings: quantizer.settings, names: names.filter(isDenoiser) },
    }),
    ...(tpSize > 1 && { divided: new Map(names.filter(isDenoiser).map((name) => [name, part])) }),
    ...(unread && { unread }),
    async openWeights({ name, folder, weights }) {
      const known = unread?.weights.get(name);
      if (known) return known;
      const { transformerWeightsPath: path } = options;
      const opened =
        name === denoiser && path !== undefined
          ? await openDenoiserWeights(platform.openFolder, path, denoisers)
          : await (weights?.() ?? openComponentWeights(folder));
      if (isDenoiser(name)) checkStated(quantizer, opened.tensors, opened.path);
      return widened?.component === name ? widenedWeights(opened, widened) : opened;
    },
    onProgress: (bytes, totalBytes) => onEvent({ type: 'load', bytes, totalBytes }),
    onNote: (message) => onEvent(noteOf(message)),
  });
  return orClose(
    () => components.close(),
    () => openedOn(device, platform, pipeline, options, { components, entry, own, plain, attention }),
  );
}

/** Throws bad_request for a model that has no matrices to divide. */
function refuseWhole({ tpSize = 1 }: ImageModelOptions, { isDivided }: Components, model: string): void {
  if (tpSize === 1 || isDivided) return;
  throw badRequest(
    say`${model} has no matrices that ${option('tpSize')} ${tpSize} could divide: leave ${option('tpSize')} out`,
    'tpSize',
  );
}

/** Throws bad_request where matrices would be divided and get a low-rank part. */
function refuseBoth(tpSize: number): void {
  if (tpSize === 1) return;
  throw badRequest(
    say`${option('tpSize')} ${tpSize} does not divide the low-rank part that ${option('enableSvdquant')} adds: choose one of both`,
    'tpSize',
  );
}

interface Opened {
  components: Components;
  entry: PipelineEntry;
  own: OwnDefaults;
  plain: boolean;
  attention: PipelineAttention;
}

/** Errors in a configuration that follows from a file name that file in place of a config.json that is not there. */
function underImplying({ components }: Pipeline, error: unknown): unknown {
  if (!(error instanceof ConfigError)) return error;
  const { code, file, problem } = error;
  const { impliedBy } = Object.values(components).find(({ name }) => file === `${name}/config.json`) ?? {};
  if (impliedBy === undefined) return error;
  const implied = `${impliedBy}: by the shapes of its tensors ${problem}`;
  return new EngineError(code, implied, { param: impliedBy, cause: error });
}

async function openedOn(
  device: Device,
  platform: Pick<Platform, 'openFolder' | 'packed'>,
  pipeline: Pipeline,
  options: ImageModelOptions,
  { components, entry, own: implied, plain, attention }: Opened,
): Promise<OpenedPipeline> {
  const { family } = entry;
  const opened = await openFamily(family, components, pipeline).catch((error: unknown) => {
    throw underImplying(pipeline, error);
  });
  refuseWhole(options, components, pipeline.className);
  const { autoencoder, runner, previews, upscaler } = opened;
  const { factor, framesPerLatent } = autoencoder;
  const latents: LatentShape = {
    ...family.latents,
    channels: runner.latentChannels,
    factor,
    ...(framesPerLatent !== undefined && { framesPerLatent }),
  };
  const planner = plannerOf(entry, components, pipeline.path, latents);
  const sizeMultiple = autoencoder.factor * (runner.patch ?? family.latents.patch);
  const folder = await platform.openFolder(pipeline.path);
  const own = await ownSettings(folder, { sizeMultiple, framesPerLatent: framesPerLatent ?? null });
  const { latentChannels, scales } = autoencoder;
  const colours = (await ownColourMap(folder, autoencoder)) ?? colourMap(latentChannels, scales);
  const defaults = modelDefaults(implied, own.defaults, { factor, sampleSize: runner.sampleSize });
  const reuseOf = reuseReader(options.cacheDitConfig, family.denoiser, runner);
  const context: ResolveContext = {
    pipeline: entry,
    model: { components: Object.keys(pipeline.components), settings: pipeline.settings },
    sizeMultiple,
    framesPerLatent: framesPerLatent ?? null,
    defaults,
    backend: plain ? 'generic' : 'svc',
    schedulers: planner.names,
    schedulerOf: (name) => planner.nameOf(name),
    stepsOf: (call, name) => planner.stepsOf(call, name),
    mostClipSkip: runner.mostClipSkip,
    frameImages: runner.frameImages ?? null,
    ...(autoencoder.decodesOnly && { decodesOnly: true }),
    needsMask: runner.fillsMasks !== false,
    controls: runner.controls ?? 0,
    takesImagePrompt: runner.takesImagePrompt ?? false,
    words: components.words.map(({ word }) => word),
    seesControl: runner.seesControl === true,
    upscaling: upscaler?.scale ?? null,
    checkReuse: (request) => void reuseOf(request),
    ...(runner.checkRequest && { checkRequest: runner.checkRequest }),
  };
  const { upscalingModelPath: path = options.componentPaths?.[UPSCALER] ?? UPSCALER } = options;
  const enlarges = upscaler && { path, scale: upscaler.scale };
  const svdquant = nameOfLowRank(quantizerOf(options), components.filesOf(family.denoiser).tensors);
  const info = describe(pipeline, options.model, components, context, { own, runner, enlarges, svdquant });
  const { batchSize } = options;
  return {
    ...{ device, components, autoencoder, previews, colours, runner, latents, upscaler },
    ...{ planner, own, plain, attention, reuseOf, batchSize, context, info },
  };
}

/** `factor`: pixels along a side of a latent. */
function modelDefaults(
  implied: OwnDefaults,
  own: Partial<ModelDefaults>,
  { factor, sampleSize }: { factor: number; sampleSize: FamilyModel['sampleSize'] },
): ModelDefaults {
  const { frames, fps, steps, guidance, size, width: ownWidth, height: ownHeight } = implied.defaults;
  const { height = USUAL_LATENTS, width = USUAL_LATENTS } = sampleSize ?? {};
  return {
    width: ownWidth ?? size ?? width * factor,
    height: ownHeight ?? size ?? height * factor,
    frames,
    fps,
    steps,
    guidance,
    ...own,
    defaultsFrom: reasonsOf(implied, own),
  };
}

/** `path`: that of the pipeline. */
function plannerOf(
  { family, set, task }: PipelineEntry,
  components: Components,
  path: string,
  latents: LatentShape,
): StepPlanner {
  const scheduler = components.get('scheduler');
  const schedule = { ...scheduler.config, _class_name: scheduler.className };
  return new StepPlanner(set.correctScheduler?.(schedule, task) ?? schedule, {
    sigmas: family.sigmas,
    ...(family.mu && { mu: family.mu }),
    strength: set.strength,
    latents,
    path: scheduler.folder.path,
    ...(scheduler.config['_class_name'] !== scheduler.className && {
      classFile: `${path}/model_index.json`,
    }),
  });
}

/** Collects the hints for defaults that are stated neither by svc.json nor by the family alone. */
function reasonsOf(
  { defaults, defaultsFrom }: OwnDefaults,
  own: Partial<ModelDefaults>,
): ModelDefaults['defaultsFrom'] {
  if (defaultsFrom === undefined) return {};
  const { size, ...others } = defaults;
  const keys = [...Object.keys(others), ...(size === undefined ? [] : ['width', 'height'])];
  return Object.fromEntries(keys.filter((key) => !(key in own)).map((key) => [key, defaultsFrom]));
}
