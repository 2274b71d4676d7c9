// Opens an image model: the folder or hub id, what the pipeline consists of, a device, and the checks that need no weights.

import { openPipeline, type Pipeline } from '../../files/pipeline-index.ts';
import { openComponentWeights, openDenoiserWeights } from '../../files/pipeline-weights.ts';
import type { Device } from '../../gpu/device.ts';
import type { KernelTime } from '../../gpu/profile.ts';
import { fetchModel } from '../fetch-model.ts';
import type { Platform } from '../platform.ts';
import { openComponents } from './components.ts';
import { draw } from './draw.ts';
import { familyOf } from './families.ts';
import type { ImageModel, ImageModelInfo, ImageModelOptions, OpenEvent } from './image-model.ts';
import { createImageModel } from './model.ts';
import { readAutoencoder } from './pictures.ts';
import { createPlanner } from './plan.ts';
import { resolveRequest, type ModelDefaults } from './resolve.ts';
import { stableDiffusion } from './stable-diffusion.ts';
import { ownSettings, unknownWords } from './own-settings.ts';
import { zImageRunner } from './z-image.ts';

const SMALLEST_LATENTS = 64;

export async function openImageModelInline(
  platform: Platform,
  options: ImageModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<ImageModel> {
  const path = await fetchModel(platform, options, onEvent, signal);
  const pipeline = await openPipeline(path, platform.openFolder, {
    ...options,
    compose: options.backend !== 'svc',
    find: (model) => fetchModel(platform, { model }, onEvent, signal),
  });
  const device = await platform.openDevice(options);
  try {
    return await openOn(device, platform, pipeline, options, onEvent);
  } catch (error) {
    device.destroy();
    throw error;
  }
}

async function openOn(
  device: Device,
  platform: Platform,
  pipeline: Pipeline,
  options: ImageModelOptions,
  onEvent: (event: OpenEvent) => void,
): Promise<ImageModel> {
  if (pipeline.composedFrom !== null) {
    const message = `${pipeline.composedFrom} is not built in, but its components are: the generic backend composes them as ${pipeline.className}`;
    onEvent({ type: 'note', message });
  }
  const family = familyOf(pipeline, options.modelId ?? options.model);
  const plain = options.backend === 'generic' || pipeline.composedFrom !== null;
  const names = ['text_encoder', 'text_encoder_2', family.denoiser, 'vae'].filter(
    (name) => pipeline.components[name] !== undefined,
  );
  const components = await openComponents(device, names, {
    pipeline,
    quantization: plain || options.allF32 ? 'f32' : (options.quantization ?? 'none'),
    openWeights: ({ name, folder }) =>
      name === family.denoiser && options.transformerWeightsPath !== undefined
        ? openDenoiserWeights(platform.openFolder, options.transformerWeightsPath)
        : openComponentWeights(folder),
    onProgress: (bytes, totalBytes) => onEvent({ type: 'load', bytes, totalBytes }),
    onNote: (message) => onEvent({ type: 'note', message }),
  });
  const { className, config } = components.get('vae');
  const autoencoder = readAutoencoder(className, config, 'vae/config.json');
  const runner =
    family.name === 'z-image'
      ? zImageRunner(components)
      : stableDiffusion(components, family.name === 'stable-diffusion-xl', pipeline.settings);
  const own = await ownSettings(await platform.openFolder(pipeline.path));
  const side = (runner.sampleSize ?? SMALLEST_LATENTS) * autoencoder.factor;
  const size = family.defaults.size ?? side;
  const defaults: ModelDefaults = { width: size, height: size, ...own.defaults };
  const planner = createPlanner(components.get('scheduler').config, runner, autoencoder.factor);
  const backend = plain ? 'generic' : 'svc';
  const sizeMultiple = autoencoder.factor * family.patch;
  const context = {
    family,
    sizeMultiple,
    defaults,
    backend,
    schedulers: planner.names,
    mostClipSkip: runner.mostClipSkip,
  } as const;

  const info: ImageModelInfo = {
    path: pipeline.path,
    name:
      options.model
        .replace(/[/\\]+$/, '')
        .split(/[/\\]/)
        .at(-1) ?? options.model,
    pipeline: pipeline.className,
    denoiser: components.get(family.denoiser).className,
    parameters: components.parameters,
    quantization: components.quantization,
    backend,
    sizeMultiple,
    defaults: {
      width: defaults.width,
      height: defaults.height,
      steps: defaults.steps ?? family.defaults.steps ?? 50,
      guidance: defaults.guidance ?? family.defaults.guidance ?? 7.5,
      negativePrompt: defaults.negativePrompt ?? '',
    },
    schedulers: planner.names,
    components: Object.fromEntries(
      Object.entries(pipeline.components).map(([name, component]) => [name, component.className]),
    ),
    words: own.words?.size ?? null,
    supports: { imageToImage: true, inpainting: true, negativePrompt: true },
    memory: { budget: device.memoryBudget, weights: components.storedBytes },
    adapter: device.summary,
  };
  return createImageModel({
    info,
    resolve(request) {
      const resolved = resolveRequest(request, context);
      planner.plan(resolved);
      return resolved;
    },
    async draw(resolved, emit, { signal, profile = false }) {
      const { request, event } = resolved;
      const { width, height } = event.values;
      const words = own.words ? unknownWords(request.prompt, own.words) : [];
      if (words.length > 0) emit({ type: 'unknown-words', words });
      const kernels = new Map<string, number>();
      const onTimes = (times: readonly KernelTime[]): void =>
        times.forEach(({ name, ms }) => kernels.set(name, (kernels.get(name) ?? 0) + ms));
      await draw({
        components,
        runner,
        autoencoder,
        plan: planner.plan(resolved),
        options: { plain, onTimes: profile && device.capabilities.timestamps ? onTimes : undefined },
        resolved,
        image: request.image ? await platform.coverImage(request.image, width, height) : null,
        mask: request.mask ? await platform.coverImage(request.mask, width, height) : null,
        signal,
        emit,
      });
      if (kernels.size > 0) emit({ type: 'kernels', milliseconds: Object.fromEntries(kernels) });
    },
    async release() {
      await components.close();
      device.destroy();
    },
  });
}
