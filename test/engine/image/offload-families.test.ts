// Every kind of denoiser draws the same bits wherever its weights are, in the memory that its plan states. A family is found by the
// goldens of its pipeline classes, so that a new kind of denoiser is tested here without being named.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { imageFamilies } from '../../../src/engine/image/families/registry.ts';
import type { ImageModelOptions } from '../../../src/engine/image/calls/image-model.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { goldenRequest, PIPELINE_GOLDENS } from './pipeline-golden.ts';
import { drawPlanned, drawResident, drawStreamed, expectAsPlanned } from './planned-drawing.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const GOLDENS = await Promise.all(
  PIPELINE_GOLDENS.map(async (golden) => {
    const { options } = await goldenRequest(golden);
    return { golden, className: options.pipelineClassName };
  }),
);

/** The golden with the shortest name among those of a family's first class that has any. */
function goldenOf({ pipelines }: (typeof FAMILIES)[number]): string | undefined {
  const classes = pipelines.flatMap((set) => Object.values(set.classes));
  const found = classes.map((own) => GOLDENS.filter(({ className }) => className === own));
  const names = (found.find(({ length }) => length > 0) ?? []).map(({ golden }) => golden);
  return names.sort((a, b) => a.length - b.length)[0];
}

const FAMILIES = imageFamilies();
const denoiserOf = ({ components, denoiser }: (typeof FAMILIES)[number]): string =>
  JSON.stringify(components[denoiser]);
/** The first family of each kind of denoiser: the pages of denoisers declare the layers that are streamed. */
const CASES = FAMILIES.flatMap((family, i) => {
  if (FAMILIES.findIndex((one) => denoiserOf(one) === denoiserOf(family)) < i) return [];
  return [{ family: family.name, golden: goldenOf(family)! }];
});

it('each family has a golden, by which it is tested here', () => {
  expect(FAMILIES.filter((family) => goldenOf(family) === undefined)).toEqual([]);
});

const OFFLOADED: Partial<ImageModelOptions> = {
  ditCpuOffload: true,
  textEncoderCpuOffload: true,
  vaeCpuOffload: true,
};
/** A denoiser whose layers are streamed leaves at most this share of its weights on the device. */
const SHARE_BESIDE_LAYERS = 0.75;
/** Bytes of denoisers that no configuration makes smaller: a matrix of 2048 rows and columns. */
const FIXED_BYTES: Readonly<Record<string, number>> = { 'hunyuan-video': 2 * 2048 ** 2 };

const RESIDENT = new Map<string, Promise<string>>();

/** A golden drawn with all weights on the device, once for all that are compared with it. */
function resident(golden: string): Promise<string> {
  const image = RESIDENT.get(golden) ?? drawResident(device, golden);
  RESIDENT.set(golden, image);
  return image;
}

describe.each(CASES)('streaming the layers of the family $family', ({ family, golden }) => {
  it('draws the same bits, as planned', async () => {
    const streamed = await drawStreamed(device, golden);
    expect(streamed.image).toBe(await resident(golden));
    expectAsPlanned(streamed);
    for (const { role, all, onDevice } of streamed.components) {
      if (role === 'text encoder') expect(onDevice).toBeLessThan(all);
      const { [family]: fixed = 0 } = FIXED_BYTES;
      if (role === 'denoiser') expect(onDevice - fixed).toBeLessThan(SHARE_BESIDE_LAYERS * (all - fixed));
    }
  });
});

/** Whole components are loaded alike in each family: one is drawn of each way to record a step, by a UNet, a transformer and clips. */
it.each(['pipeline-sd1', 'pipeline-flux', 'pipeline-wan'])(
  '%s draws the same bits where all components are offloaded, as planned',
  async (golden) => {
    const image = await resident(golden);
    const offloaded = await drawPlanned(device, golden, OFFLOADED);
    expect(offloaded.image).toBe(image);
    expectAsPlanned(offloaded);
    const { components } = offloaded.plan;
    expect(components.map(({ place }) => place)).toEqual(components.map(() => 'offloaded'));
  },
);

describe('each option of offloading alone', () => {
  it.each<[Partial<ImageModelOptions>, string, string]>([
    [{ ditCpuOffload: true }, 'transformer', 'offloaded'],
    [{ textEncoderCpuOffload: true }, 'text_encoder', 'offloaded'],
    [{ vaeCpuOffload: true }, 'vae', 'offloaded'],
    [{ ditLayerwiseOffload: true }, 'transformer', 'streamed'],
    [{ ditLayerwiseOffload: true, ditOffloadPrefetch: 0 }, 'transformer', 'streamed'],
    [{ ditLayerwiseOffload: true, ditOffloadPrefetch: 3 }, 'transformer', 'streamed'],
    [{ ditLayerwiseOffload: true, ditLayerwiseResidentLayers: 2 }, 'transformer', 'streamed'],
  ])('%j', async (options, component, place) => {
    const image = await resident('pipeline-z-image');
    const drawn = await drawPlanned(device, 'pipeline-z-image', options);
    expect(drawn.image).toBe(image);
    expectAsPlanned(drawn);
    const elsewhere = drawn.plan.components.filter((one) => one.place !== 'resident');
    expect(elsewhere).toMatchObject([{ name: component, place }]);
    expect(drawn.plan.prefetch).toBe(place === 'streamed' ? (options.ditOffloadPrefetch ?? 1) : null);
  });
});

describe('components beside those of a family', () => {
  it.each<[string, Partial<ImageModelOptions>, string[]]>([
    ['pipeline-sd1-image-prompt', { imageEncoderCpuOffload: true }, ['image encoder']],
    ['pipeline-control-sd1', { ditLayerwiseOffload: true }, ['denoiser']],
  ])('%s %j', async (golden, options, roles) => {
    const image = await resident(golden);
    const drawn = await drawPlanned(device, golden, options);
    expect(drawn.image).toBe(image);
    expectAsPlanned(drawn);
    const elsewhere = drawn.plan.components.filter(({ place }) => place !== 'resident');
    expect([...new Set(elsewhere.map(({ role }) => role))]).toEqual(roles);
  });
});

it('two transformers are streamed, each for its steps', async () => {
  const golden = 'pipeline-wan-experts';
  const image = await drawResident(device, golden, 3);
  const drawn = await drawPlanned(device, golden, { ditLayerwiseOffload: true }, 3);
  expect(drawn.image).toBe(image);
  expectAsPlanned(drawn);
  const streamed = drawn.plan.components.filter(({ place }) => place === 'streamed');
  expect(streamed.map(({ name }) => name)).toEqual(['transformer', 'transformer_2']);
});

it.each<[golden: string, cacheDitConfig: Record<string, unknown>]>([
  [
    'pipeline-flux',
    { Fn_compute_blocks: 1, steps_computation_mask: [1, 0, 1], steps_computation_policy: 'static' },
  ],
  ['pipeline-wan', { method: 'taylorseer', cache_interval: 2, disable_cache_before_step: 1 }],
])('%s with steps that reuse blocks, of which the layers are streamed', async (golden, cacheDitConfig) => {
  const image = await drawResident(device, golden, 3, { cacheDitConfig });
  expect(image).not.toBe(await drawResident(device, golden, 3));
  const drawn = await drawPlanned(device, golden, { cacheDitConfig, ditLayerwiseOffload: true }, 3);
  expect(drawn.image).toBe(image);
  expectAsPlanned(drawn);
});
