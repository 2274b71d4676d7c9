// Images drawn on parts of a tiny pipeline, any of which a test may replace.

import type { Components } from '../../../../src/engine/image/components/components.ts';
import type { ComputeOptions } from '../../../../src/engine/image/recording/compute.ts';
import { draw } from '../../../../src/engine/image/stages/draw.ts';
import type { StageContext } from '../../../../src/engine/image/stages/stage-context.ts';
import { knownPipelines } from '../../../../src/engine/image/families/registry.ts';
import type {
  ImageEvent,
  ImageModelOptions,
  CompleteImageRequest,
  Pixels,
} from '../../../../src/engine/image/calls/image-model.ts';
import { openOnDevice, type OpenedPipeline } from '../../../../src/engine/image/opened-pipeline.ts';
import { resolveRequest } from '../../../../src/engine/image/request/resolve.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { openPipeline } from '../../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { tinyPipeline } from '../pipeline-golden.ts';

/** Bytes: above what a stage needs, below eight times the weights, so that none of a tiny pipeline's stay. */
export const SMALL_BUDGET = 8e6;

export async function openTiny(
  device: Device,
  name = 'sd1',
  options: Partial<ImageModelOptions> = {},
): Promise<OpenedPipeline> {
  const given = { model: tinyPipeline(name), ...options };
  const pipeline = await openPipeline(given.model, openDiskFolder, knownPipelines());
  return openOnDevice(device, nodePlatform, pipeline, given, () => {});
}

/** Returns components in which the page of one component is replaced. */
export function withPage<P>(
  { components }: OpenedPipeline,
  component: string,
  change: (page: P) => P,
): Components {
  const load: Components['load'] = async (name, part, build, options) => {
    const loaded = await components.load(name, part, build, options);
    const page =
      name === component ? (change(loaded.page as never) as unknown as typeof loaded.page) : loaded.page;
    return { page, [Symbol.dispose]: () => loaded[Symbol.dispose]() };
  };
  return withLoad(components, load);
}

/** Components that load pages by another function. */
export function withLoad(components: Components, load: Components['load']): Components {
  return new Proxy(components, {
    get(target, key) {
      const own: unknown = key === 'load' ? load : Reflect.get(target, key, target);
      return typeof own === 'function' ? (own.bind(target) as unknown) : own;
    },
  });
}

const [WIDTH, HEIGHT] = [24, 16];
const REQUEST: CompleteImageRequest = { prompt: 'a house', seed: 3, width: WIDTH, height: HEIGHT, steps: 4 };

export const grey = (level: number): Pixels => ({
  width: WIDTH,
  height: HEIGHT,
  data: new Uint8Array(3 * WIDTH * HEIGHT).fill(level),
});

export interface Drawn {
  /** Ends the run at the first event for which the function returns true. */
  ends?: (event: ImageEvent) => boolean;
  options?: Partial<ComputeOptions>;
  with?: Partial<StageContext>;
}

/** Returns all events. */
export async function drawOn(...given: Parameters<typeof contextOn>): Promise<ImageEvent[]> {
  const { context, events } = contextOn(...given);
  await draw(context);
  return events;
}

/** What draws a request, and the list to which its events are added. */
export function contextOn(
  { components, runner, latents, planner, context: own, autoencoder, plain }: OpenedPipeline,
  request: Partial<CompleteImageRequest>,
  { ends = () => false, options = {}, with: other = {} }: Drawn = {},
): { context: StageContext; events: ImageEvent[] } {
  const scheduler = own.pipeline.family.sigmas ? {} : { scheduler: 'euler' };
  const resolved = resolveRequest({ ...REQUEST, ...scheduler, ...request }, own);
  const abort = new AbortController();
  const events: ImageEvent[] = [];
  const context: StageContext = {
    components,
    runner,
    latents,
    autoencoder,
    plan: planner.plan(resolved),
    resolved,
    image: request.image ?? null,
    mask: request.mask ?? null,
    signal: abort.signal,
    options: { plain, ...options },
    emit(event) {
      events.push(event);
      if (ends(event)) abort.abort();
    },
    ...other,
  };
  return { context, events };
}
