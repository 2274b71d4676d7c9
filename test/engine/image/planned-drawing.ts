// Goldens drawn on a shared device with planned memory: the image, what each stage takes on the device, and what the plan says.

import { expect } from 'vitest';
import { drawOn } from '../../../src/engine/image/draw-request.ts';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import type { ImageEvent, ImageModelOptions } from '../../../src/engine/image/calls/image-model.ts';
import { openWithMemoryPlan } from '../../../src/engine/image/open-planned.ts';
import type { ImageMemoryPlan, MemoryRole } from '../../../src/engine/image/calls/memory-plan.ts';
import { measure } from '../../../src/engine/image/paper-drawing.ts';
import { openOnDevice, type OpenedPipeline } from '../../../src/engine/image/opened-pipeline.ts';
import { rolesOf, STAGED, type Residency } from '../../../src/engine/image/components/residency.ts';
import { resolveRequest } from '../../../src/engine/image/request/resolve.ts';
import type { Resolved } from '../../../src/engine/image/stages/resolved.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { openPaperTwin } from '../../../src/gpu/paper-device.ts';
import { goldenRequest, imagesOf } from './pipeline-golden.ts';

/** Bytes by stage and in host memory, and the image in base64. */
interface Drawn {
  image: string;
  stages: Record<string, number>;
  host: number;
  planned: { stages: Record<string, number>; host: number };
}

/** Peaks are at most this share above or below the plan. */
const TOLERANCE = 0.05;

/** Expects the peak of each stage, and the bytes in host memory, to be those of the plan. */
export function expectAsPlanned({ stages, host, planned }: Drawn): void {
  expect(Object.keys(stages)).toEqual(Object.keys(planned.stages));
  for (const [name, bytes] of Object.entries(planned.stages)) {
    expect(stages[name]! / bytes, name).toBeGreaterThan(1 - TOLERANCE);
    expect(stages[name]! / bytes, name).toBeLessThan(1 + TOLERANCE);
  }
  expect(Math.abs(host - planned.host)).toBeLessThanOrEqual(TOLERANCE * planned.host);
}

/** Draws a golden with all weights on the device, and returns the image. */
export function drawResident(
  device: Device,
  golden: string,
  steps = STEPS,
  options: Partial<ImageModelOptions> = {},
): Promise<string> {
  return drawIn(device, golden, options, async (parts, resolved) => {
    return (await drawImages(unplanned(parts), resolved, 1, steps)).image;
  });
}

/** Draws a golden with options of offloading. */
export function drawPlanned(
  device: Device,
  golden: string,
  options: Partial<ImageModelOptions>,
  steps = STEPS,
): Promise<Drawn & { plan: ImageMemoryPlan }> {
  return drawIn(device, golden, options, async (parts, resolved) => {
    const plan = await parts.memory!.plan(resolved);
    const stages = Object.fromEntries(plan.stages.map(({ name, bytes }) => [name, bytes]));
    // The second image is drawn with all that stays on the device.
    const drawn = await drawImages(parts, resolved, 2, steps);
    return { ...drawn, plan, planned: { stages, host: plan.host } };
  });
}

interface StreamedComponent {
  role: MemoryRole;
  all: number;
  onDevice: number;
}

/** Draws a golden with the layers of its text encoders and its denoiser in host memory. */
export function drawStreamed(
  device: Device,
  golden: string,
): Promise<Drawn & { components: StreamedComponent[] }> {
  return drawIn(device, golden, {}, async (parts, resolved, openPaper) => {
    const { components } = parts;
    const roles = rolesOf(components, parts.context.pipeline.family);
    const streamed: Residency = { kind: 'streamed', resident: { layers: 0 } };
    const isStreamed = (role: MemoryRole): boolean => role === 'text encoder' || role === 'denoiser';
    const residencies = new Map(
      [...roles].map(([name, role]) => [name, isStreamed(role) ? streamed : STAGED]),
    );
    const measured = await measure(await openPaper(), resolved, residencies, 0);
    components.reside(residencies);
    device.prefetch = 0;
    const drawn = await drawImages(unplanned(parts), resolved, 1);
    return {
      ...drawn,
      planned: { stages: Object.fromEntries(measured.stages), host: measured.host },
      components: [...roles].map(([name, role]) => ({ role, ...components.weightBytes(name) })),
    };
  });
}

async function drawIn<T>(
  device: Device,
  golden: string,
  given: Partial<ImageModelOptions>,
  run: (parts: OpenedPipeline, resolved: Resolved, openPaper: () => Promise<OpenedPipeline>) => Promise<T>,
): Promise<T> {
  const { options: own, request } = await goldenRequest(golden);
  const options = { ...own, ...given };
  const pipeline = await openPipeline(options.model, openDiskFolder, knownPipelines(), options);
  const parts = await openWithMemoryPlan(device, nodePlatform, pipeline, options, () => {});
  const { components } = parts;
  const openPaper = (): Promise<OpenedPipeline> =>
    openOnDevice(openPaperTwin(device, Number.MAX_SAFE_INTEGER), nodePlatform, pipeline, options, () => {}, {
      weights: new Map(components.names.map((name) => [name, components.filesOf(name)])),
      tokenizer: (name) => components.tokenizer(name),
      memoryBudget: device.memoryBudget,
    });
  const asked = { ...request, samples: 1, kwargs: smaller(request.kwargs ?? {}, parts.context.sizeMultiple) };
  try {
    return await run(parts, resolveRequest(asked, parts.context), openPaper);
  } finally {
    // Frees what is kept, because the device is shared.
    components.reside(new Map(components.names.map((name) => [name, STAGED])));
    await components.close();
  }
}

/** Call arguments for an image of a few of the least sides, where they have a size. */
function smaller(kwargs: Record<string, unknown>, multiple: number): Record<string, unknown> {
  const { width, height } = kwargs;
  if (typeof width !== 'number' || typeof height !== 'number') return kwargs;
  return { ...kwargs, width: Math.min(width, 4 * multiple), height: Math.min(height, 2 * multiple) };
}

/** Parts whose weights stay where they are. */
function unplanned(parts: OpenedPipeline): OpenedPipeline {
  const alone = { ...parts };
  delete alone.memory;
  return alone;
}

/** Each image is drawn in this many steps, unless a test needs several. */
const STEPS = 1;

async function drawImages(
  parts: OpenedPipeline,
  resolved: Resolved,
  images: number,
  mostSteps = STEPS,
): Promise<Omit<Drawn, 'planned'>> {
  const events: ImageEvent[] = [];
  const options = { mostSteps, report: { kernels: () => {}, trials: () => {}, note: () => {} } };
  const keepTuned = (): Promise<void> => Promise.resolve();
  for (let i = 0; i < images; i++)
    await drawOn(parts, { keepTuned }, resolved, (event) => events.push(event), options);
  const stages: Record<string, number> = {};
  for (const event of events)
    if (event.type === 'stage') stages[event.name] = Math.max(stages[event.name] ?? 0, event.peakBytes);
  const drawn = imagesOf(events).map(({ data }) => Buffer.from(data).toString('base64'));
  expect(new Set(drawn).size).toBe(1);
  return { image: drawn[0]!, stages, host: parts.device.host.bytes };
}
