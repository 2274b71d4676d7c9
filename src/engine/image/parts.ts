// A pipeline on a device: its components, what draws with them, and what can be said of it before anything is loaded.

import { EngineError } from '../../files/error.ts';
import type { Pipeline } from '../../files/pipeline/pipeline-index.ts';
import { openComponentWeights, openDenoiserWeights } from '../../files/pipeline/pipeline-weights.ts';
import type { Device } from '../../gpu/device.ts';
import { DEFAULTS } from '../../options/limits.ts';
import type { Platform } from '../platform.ts';
import { openComponents, orClose, type Components } from './components.ts';
import { familyOf, type Family } from './families.ts';
import type { OpenEvent } from '../session/open-event.ts';
import type { ImageModelInfo, ImageModelOptions } from './image-model.ts';
import { colourMap, ownColourMap, type ColourMap } from './latent-colours.ts';
import { schedulerConfig } from './outdated.ts';
import { ownSettings, type OwnSettings } from './own-settings.ts';
import { readAutoencoder, type Autoencoder } from './autoencoder.ts';
import { createPlanner, type Planner } from './plan.ts';
import type { ModelDefaults, ResolveContext } from './resolve.ts';
import type { Runner } from './runner.ts';
import { stableDiffusion } from './stable-diffusion.ts';
import { zImageRunner } from './z-image.ts';

/** Latents along a side where neither the checkpoint nor its family says. */
const USUAL_LATENTS = 64;

export interface Parts {
  device: Device;
  components: Components;
  autoencoder: Autoencoder;
  colours: ColourMap | null;
  runner: Runner;
  planner: Planner;
  own: OwnSettings;
  /** Plain f32 kernels. */
  plain: boolean;
  context: ResolveContext;
  info: ImageModelInfo;
}

export async function openParts(
  device: Device,
  platform: Pick<Platform, 'openFolder'>,
  pipeline: Pipeline,
  options: ImageModelOptions,
  onEvent: (event: OpenEvent) => void,
): Promise<Parts> {
  const family = familyOf(pipeline, options.modelId ?? nameOf(options.model));
  if (family.hint !== undefined) onEvent({ type: 'note', message: family.hint });
  const plain = options.backend === 'generic';
  const { quantization = 'none' } = options;
  const inF32 = plain || options.allF32 === true;
  if (inF32 && (quantization === 'int8' || quantization === 'int4')) {
    const why = plain ? 'the generic backend computes' : 'everything was asked to be computed';
    throw new EngineError(
      'bad_request',
      `quantization is ${quantization}, and ${why} in f32: leave one of them out`,
      { param: 'quantization' },
    );
  }
  const names = ['text_encoder', 'text_encoder_2', family.denoiser, 'vae'].filter(
    (name) => pipeline.components[name] !== undefined,
  );
  const components = await openComponents(device, names, {
    pipeline,
    plain,
    quantization: inF32 ? 'f32' : quantization,
    openWeights: ({ name, folder }) =>
      name === family.denoiser && options.transformerWeightsPath !== undefined
        ? openDenoiserWeights(platform.openFolder, options.transformerWeightsPath)
        : openComponentWeights(folder),
    onProgress: (bytes, totalBytes) => onEvent({ type: 'load', bytes, totalBytes }),
    onNote: (message) => onEvent({ type: 'note', message }),
  });
  return orClose(components.close, () =>
    partsOf(device, platform, pipeline, options, { components, family, plain }),
  );
}

async function partsOf(
  device: Device,
  platform: Pick<Platform, 'openFolder'>,
  pipeline: Pipeline,
  options: ImageModelOptions,
  { components, family, plain }: { components: Components; family: Family; plain: boolean },
): Promise<Parts> {
  const { className, config } = components.get('vae');
  const autoencoder = readAutoencoder(className, config, 'vae/config.json');
  const runner =
    family.name === 'z-image'
      ? zImageRunner(components)
      : stableDiffusion(components, family.name === 'stable-diffusion-xl', pipeline.settings);
  if (runner.latentChannels !== autoencoder.latentChannels) {
    throw new EngineError(
      'bad_checkpoint',
      `the ${family.denoiser} of ${pipeline.path} denoises ${runner.latentChannels} channels, and its vae has ${autoencoder.latentChannels}: give the vae that it was trained with`,
      { param: 'vae/config.json' },
    );
  }
  await runner.checkFiles();
  for (const build of [autoencoder.decoder, autoencoder.encoder]) components.check('vae', build);
  const planner = createPlanner(schedulerConfig(components.get('scheduler'), pipeline.className), {
    flow: runner.flow,
    className: pipeline.className,
    factor: autoencoder.factor,
    path: components.get('scheduler').folder.path,
  });
  const sizeMultiple = autoencoder.factor * family.patch;
  const folder = await platform.openFolder(pipeline.path);
  const own = await ownSettings(folder, sizeMultiple);
  const { latentChannels, scales } = autoencoder;
  const colours = (await ownColourMap(folder, autoencoder)) ?? colourMap(latentChannels, scales);
  const { steps, guidance, size } = family.defaults;
  const { height = USUAL_LATENTS, width = USUAL_LATENTS } = runner.sampleSize ?? {};
  const defaults: ModelDefaults = {
    width: size ?? width * autoencoder.factor,
    height: size ?? height * autoencoder.factor,
    steps,
    guidance,
    ...own.defaults,
    toldBy: reasonsOf(family, own.defaults),
  };
  const context: ResolveContext = {
    family,
    sizeMultiple,
    defaults,
    backend: plain ? 'generic' : 'svc',
    schedulers: planner.names,
    schedulerOf: planner.nameOf,
    stepsOf: planner.stepsOf,
    mostClipSkip: runner.mostClipSkip,
    className: pipeline.className,
    refines: pipeline.settings['requires_aesthetics_score'] === true,
    needsMask: runner.fillsMasks,
    readsTwice: components.has('text_encoder') && components.has('text_encoder_2'),
    zerosNegative: runner.zerosNegative,
  };
  const info = describe(pipeline, options.model, components, context, own);
  return { device, components, autoencoder, colours, runner, planner, own, plain, context, info };
}

/** What values of the model's are taken from, where neither its svc.json nor its family alone says them. */
function reasonsOf({ defaults, toldBy }: Family, own: Partial<ModelDefaults>): ModelDefaults['toldBy'] {
  if (toldBy === undefined) return {};
  const { size, ...others } = defaults;
  const keys = [...Object.keys(others), ...(size === undefined ? [] : ['width', 'height'])];
  return Object.fromEntries(keys.filter((key) => !(key in own)).map((key) => [key, toldBy]));
}

function describe(
  pipeline: Pipeline,
  model: string,
  components: Components,
  { family, sizeMultiple, defaults, backend, schedulers }: ResolveContext,
  own: OwnSettings,
): ImageModelInfo {
  const { device, parameters, quantization, storedBytes } = components;
  const classes = Object.entries(pipeline.components).map(([name, component]) => [name, component.className]);
  return {
    path: pipeline.path,
    name: nameOf(model),
    pipeline: pipeline.className,
    denoiser: components.get(family.denoiser).className,
    parameters,
    quantization,
    backend,
    sizeMultiple,
    defaults: {
      width: defaults.width,
      height: defaults.height,
      steps: defaults.steps ?? DEFAULTS.steps,
      guidance: defaults.guidance ?? DEFAULTS.guidance,
      negativePrompt: defaults.negativePrompt ?? '',
    },
    schedulers: [...schedulers],
    components: Object.fromEntries(classes) as Record<string, string>,
    words: own.words?.size ?? null,
    supports: { imageToImage: true, inpainting: true, negativePrompt: true },
    memory: { budget: device.memoryBudget, weights: storedBytes },
    adapter: device.summary,
  };
}

/** Last segment of a folder or hub id; of a snapshot in the hub's cache, the repository's. */
function nameOf(model: string): string {
  const segments = model.replace(/[/\\]+$/, '').split(/[/\\]/);
  const repository = segments.at(-2) === 'snapshots' ? segments.at(-3)?.split('--').at(-1) : undefined;
  return repository ?? segments.at(-1) ?? model;
}
