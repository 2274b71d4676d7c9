// Opens an image model: the folder or hub id, what the pipeline consists of, a device. A lost device is opened again for the
// next picture.

import { EngineError } from '../../files/error.ts';
import { openPipeline } from '../../files/pipeline-index.ts';
import type { KernelTime } from '../../gpu/profile.ts';
import { fetchModel } from '../fetch-model.ts';
import type { Platform } from '../platform.ts';
import { draw } from './draw.ts';
import { isTelling } from './families.ts';
import type { ImageEvent, ImageModel, ImageModelOptions, OpenEvent } from './image-model.ts';
import { createImageModel, type DrawOptions } from './model.ts';
import { unknownWords } from './own-settings.ts';
import { openParts, type Parts } from './parts.ts';
import { resolveRequest, type Resolved } from './resolve.ts';

/** Milliseconds in which a device that fails tells that it is lost. */
const LOSS_TIME = 100;

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
    compose: options.backend !== 'svc',
    find: (model) => fetchModel(platform, { model }, onEvent, signal),
  });
  if (pipeline.composedFrom !== null) {
    const message = `${pipeline.composedFrom} is not built in, but its components are: the generic backend composes them as ${pipeline.className}`;
    onEvent({ type: 'note', message });
  }
  const { modelId } = options;
  if (modelId !== undefined && !isTelling(modelId)) {
    onEvent({
      type: 'note',
      message: `--model-id ${modelId} tells no family of models, and changes nothing`,
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
  return createImageModel({
    info,
    resolve(request) {
      if (request.tiling && !tiles) {
        const message =
          'tiling is for an AutoencoderKL, and this one decodes in little memory anyway: leave it out';
        throw new EngineError('bad_request', message, { param: 'tiling' });
      }
      const resolved = resolveRequest(request, context);
      planner.plan(resolved);
      return resolved;
    },
    async draw(resolved, emit, drawOptions) {
      if (lost !== null) {
        const gone = parts;
        parts = await open();
        await gone.components.close();
      }
      await drawOn(parts, platform, resolved, emit, drawOptions).catch(async (cause: unknown) => {
        if (cause instanceof EngineError) throw cause;
        // What waits on a lost device may fail before the device says that it is lost.
        await Promise.race([parts.device.lost, new Promise((resolve) => setTimeout(resolve, LOSS_TIME))]);
        if (lost === null) throw cause;
        const message = `the GPU device was lost (${lost}) while the picture was drawn: ask for it again, a device is opened anew`;
        throw new EngineError('device_lost', message, { cause });
      });
    },
    async release() {
      await parts.components.close();
      parts.device.destroy();
    },
  });
}

async function drawOn(
  { device, components, runner, autoencoder, planner, own, plain }: Parts,
  platform: Platform,
  resolved: Resolved,
  emit: (event: ImageEvent) => void,
  { signal, profile = false }: DrawOptions,
): Promise<void> {
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
}
