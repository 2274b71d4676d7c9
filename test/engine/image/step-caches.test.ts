// Step caches on tiny pipelines: against diffusers' hooks, the steps that reuse and the latents behind the last one; and against runs without.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  CompleteImageRequest,
  ImageEvent,
  ImageModelOptions,
} from '../../../src/engine/image/calls/image-model.ts';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import { drawOn } from '../../../src/engine/image/draw-request.ts';
import { openOnDevice } from '../../../src/engine/image/opened-pipeline.ts';
import { resolveRequest } from '../../../src/engine/image/request/resolve.ts';
import type { EngineError } from '../../../src/files/error.ts';
import { openDiskFolder, openDiskSource } from '../../../src/files/disk/source-disk.ts';
import { parseJson } from '../../../src/files/json.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { readSafetensors } from '../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { expectClose, overheard } from './overheard.ts';
import { goldenRequest, type GoldenRequest } from './pipeline-golden.ts';

const PATIENCE = 300_000;
const FOLDER = fileURLToPath(new URL('../../golden/image/step-caches', import.meta.url));

interface CacheCase {
  pipeline: string;
  arguments: Record<string, unknown>;
  settings: Record<string, unknown>;
  /** Whether each call of the denoiser computed its blocks; of guided pipelines two calls are one step. */
  computed: boolean[];
}

const { cases } = parseJson(readFileSync(`${FOLDER}/cases.json`, 'utf8')) as {
  cases: Record<string, CacheCase>;
};

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

interface Drawn {
  latents: Float32Array;
  /** Share of the passes of each step that reused what others computed; undefined: nothing may be reused. */
  reused: (number | undefined)[];
}

async function drawn(
  { options, request: base }: GoldenRequest,
  cacheDitConfig: Record<string, unknown> | undefined,
  request: Partial<CompleteImageRequest> = {},
  further: Partial<ImageModelOptions> = {},
): Promise<Drawn> {
  const asked = { ...base, samples: 1, ...request };
  const opened = await openPipeline(options.model, openDiskFolder, knownPipelines(), options);
  const all = { ...options, ...further, ...(cacheDitConfig && { cacheDitConfig }) };
  const parts = await openOnDevice(device, nodePlatform, { ...opened, words: [] }, all, () => {});
  using heard = overheard(device);
  const events: ImageEvent[] = [];
  const report = { kernels: () => {}, trials: () => {}, note: () => {} };
  // The latents are compared: they are not decoded.
  const stop = new AbortController();
  const emit = (event: ImageEvent): void => {
    events.push(event);
    if (event.type === 'stage' && event.name === 'denoising') stop.abort();
  };
  try {
    const resolved = resolveRequest(asked, parts.context);
    await drawOn(parts, nodePlatform, resolved, emit, { report, signal: stop.signal }).catch(
      (error: unknown) => {
        if ((error as EngineError).code !== 'cancelled') throw error;
      },
    );
  } finally {
    await parts.components.close();
  }
  return {
    latents: await heard.latents(),
    reused: events.flatMap((event) => (event.type === 'step' ? [event.reused] : [])),
  };
}

async function storedLatents(name: string): Promise<Float32Array> {
  const source = await openDiskSource(`${FOLDER}/outputs.safetensors`);
  try {
    const { offset, bytes } = (await readSafetensors(source)).tensors.get(name)!;
    return new Float32Array((await source.read(offset, bytes)).buffer);
  } finally {
    await source.close();
  }
}

/** The share of each step's calls that did not compute. */
function reusedIn({ computed, arguments: { num_inference_steps: steps } }: CacheCase): number[] {
  const calls = computed.length / (steps as number);
  return Array.from({ length: steps as number }, (_, i) => {
    const own = computed.slice(i * calls, (i + 1) * calls);
    return own.filter((one) => !one).length / calls;
  });
}

async function requestOf(name: string, changed: Record<string, unknown>): Promise<GoldenRequest> {
  const { options, request } = await goldenRequest(name);
  return { options, request: { ...request, kwargs: { ...request.kwargs, ...changed } } };
}

describe('step caches as diffusers has them', { timeout: PATIENCE }, () => {
  it.each(Object.entries(cases))('%s', async (name, one) => {
    const { latents, reused } = await drawn(await requestOf(one.pipeline, one.arguments), one.settings);
    if (one.computed.length > 0) expect(reused).toEqual(reusedIn(one));
    expectClose(latents, await storedLatents(name));
  });
});

describe('runs with a step cache', { timeout: PATIENCE }, () => {
  const bits = ({ latents }: Drawn): Uint32Array => new Uint32Array(latents.slice().buffer);

  it.each<[pipeline: string, settings: Record<string, unknown>]>([
    ['pipeline-flux', { residual_diff_threshold: 0, Fn_compute_blocks: 1, Bn_compute_blocks: 1 }],
    ['pipeline-wan', { method: 'teacache', teacache_thresh: 0, coefficients: [1, 0] }],
    ['pipeline-sdxl', { method: 'deepcache', cache_interval: 1 }],
    ['pipeline-sd3', { method: 'taylorseer', cache_interval: 1, use_lite_mode: true }],
  ])('%s has the bits of a run without, where nothing is reused', async (pipeline, settings) => {
    const request = await requestOf(pipeline, { width: 32, height: 16 });
    const [without, cached] = [await drawn(request, undefined), await drawn(request, settings)];
    expect(without.reused.every((share) => share === undefined)).toBe(true);
    expect(cached.reused.every((share) => share === 0)).toBe(true);
    expect(bits(cached)).toEqual(bits(without));
  });
});

describe('a step cache that the model cannot have', { timeout: PATIENCE }, () => {
  it.each<[pipeline: string, settings: Record<string, unknown>, message: RegExp]>([
    ['pipeline-wan', { Fn_compute_blocks: 2 }, /computes 2 first and 0 last blocks .* the model has 2/],
    ['pipeline-sd3', { method: 'teacache', coefficients: [1, 0] }, /choose dbcache/],
    ['pipeline-control-sd1', { method: 'deepcache' }, /ControlNets steer all levels/],
    ['pipeline-sd3', { guidance_interval: [0, 0.5] }, /no second pass of its own here/],
    ['pipeline-flux', { guidance_interval: [0, 0.5] }, /no second pass of its own here/],
  ])('%s %j is refused', async (pipeline, settings, message) => {
    await expect(drawn(await requestOf(pipeline, {}), settings)).rejects.toThrow(message);
  });

  it('has fewer first blocks where their number is not given', async () => {
    const { reused } = await drawn(await requestOf('pipeline-wan', { width: 32, height: 16 }), {
      max_warmup_steps: 4,
    });
    expect(reused).toEqual([0, 0, 0]);
  });
});
