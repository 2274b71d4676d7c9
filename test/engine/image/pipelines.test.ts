// Whole pipelines against diffusers on the same tiny checkpoints, including the noise: compares the final latents, because
// eight-bit values would hide small errors, and the images.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { draw } from '../../../src/engine/image/stages/draw.ts';
import { imageFamilies, knownPipelines, pipelineEntry } from '../../../src/engine/image/families/registry.ts';
import { fitImages } from '../../../src/engine/image/stages/given-images.ts';
import type { ImageEvent, Pixels } from '../../../src/engine/image/calls/image-model.ts';
import { openWords } from '../../../src/engine/image/request/open-words.ts';
import { openOnDevice } from '../../../src/engine/image/opened-pipeline.ts';
import { resolveRequest } from '../../../src/engine/image/request/resolve.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { expectClose, overheard } from './overheard.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import {
  goldenRequest,
  lastLatents,
  listen,
  openPipelineGolden,
  PIPELINE_GOLDENS,
  pipelineRun,
  imagesOf,
  storedImages,
} from './pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
const PATIENCE = 300_000;

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

async function drawGolden(name: string, on = device): Promise<{ images: Pixels[]; latents: Float32Array }> {
  const { options, request } = await goldenRequest(name);
  const opened = await openPipeline(options.model, openDiskFolder, knownPipelines(), options);
  const words = await openWords(nodePlatform, pipelineEntry(opened.className), options, (path) =>
    Promise.resolve(path),
  );
  const pipeline = { ...opened, words };
  const parts = await openOnDevice(on, nodePlatform, pipeline, options, () => {});
  using heard = overheard(on);
  const samples = ALL_SEEDS.includes(name) ? request.samples! : 1;
  const resolved = resolveRequest({ ...request, samples }, parts.context);
  const events: ImageEvent[] = [];
  try {
    await draw({
      ...parts,
      plan: parts.planner.plan(resolved),
      resolved,
      ...(await fitImages(resolved, parts.context)),
      signal: undefined,
      options: { plain: false },
      emit: (event) => events.push(event),
    });
  } finally {
    await parts.components.close();
  }
  expect(events.filter(({ type }) => type === 'note')).toEqual([]);
  const images = imagesOf(events);
  expect(images).toHaveLength(samples);
  return { images, latents: await heard.latents() };
}

/** Expects values within 1 of 255, except for one in a thousand. */
function expectSame(found: readonly Pixels[], wanted: readonly Pixels[]): void {
  expect(found.map(({ width, height }) => [width, height])).toEqual(
    wanted.map(({ width, height }) => [width, height]),
  );
  for (const [i, { data }] of wanted.entries()) {
    const far = data.filter((value, at) => Math.abs(value - found[i]!.data[at]!) > 1);
    expect(far.length).toBeLessThanOrEqual(data.length / 1000);
  }
}

const named = (names: string): string[] => names.split(' ').map((name) => `pipeline-${name}`);

/** Goldens of several seeds of which all are drawn: with a schedule of each kind, and with fresh noise in each step. Of others it is the first. */
const ALL_SEEDS = named('sd1 sd1-ancestral sd3');

/** One pipeline of each kind of denoiser, with many kinds of input, is drawn with a small binding limit too; the images within its autoencoder exceed it. */
const IN_PIECES = named(
  'control-sd1-image sdxl-end sd3-dual z-image-image flux flux2-klein chroma qwen-image qwen-image-edit sana pixart lumina2 wan ltx hunyuan',
);

/** A golden is drawn once, by one size of bindings: the others of its class show the other. */
const IN_WHOLE = PIPELINE_GOLDENS.filter((name) => !IN_PIECES.includes(name));

describe('pipelines with tuned kernels', { timeout: PATIENCE }, () => {
  it.each(IN_WHOLE)('%s', async (name) => {
    const { images, latents } = await drawGolden(name);
    expectClose(latents, await lastLatents(name));
    expectSame(images, (await storedImages(name, 'outputs', 'pixels')).slice(0, images.length));
  });
});

describe('pipelines in bindings of 256 KiB', { timeout: PATIENCE }, () => {
  it.each(IN_PIECES)('%s', async (name) => {
    const { images, latents } = await drawGolden(name, disguise(device, { bindingLimit: 256 << 10 }));
    expectClose(latents, await lastLatents(name));
    expectSame(images, (await storedImages(name, 'outputs', 'pixels')).slice(0, images.length));
  });
});

/**
 * Every module is compared with diffusers in plain kernels, too (test/models): what a pipeline adds is that all of its components get them. One
 * of each way to record a step is drawn, by a UNet, a transformer and clips; Z-Image in lora/image-loras.test.ts.
 */
const ALSO_GENERIC = named('sd1-empty flux wan-experts');

describe('pipelines with generic kernels', { timeout: PATIENCE }, () => {
  it.each(ALSO_GENERIC)('%s', async (name) => {
    const { model, request } = await openPipelineGolden(name, { backend: 'generic' });
    await using opened = model;
    const events = await listen(opened, request);
    expect(events.filter(({ type }) => type === 'note')).toEqual([]);
    expectSame(imagesOf(events), await storedImages(name, 'outputs', 'pixels'));
  });
});

describe('every registered pipeline is compared with diffusers', () => {
  /** Goldens of a class that take at least three calls of the denoiser. */
  const goldensOf = (className: string) =>
    PIPELINE_GOLDENS.filter((name) => {
      const { class: own, calls } = pipelineRun(name);
      return own === className && calls >= 3;
    });
  const families = imageFamilies().map(({ name, denoiser, components, pipelines }) => ({
    name,
    denoiser: JSON.stringify(components[denoiser]),
    classes: pipelines.flatMap((set) => Object.values(set.classes)),
  }));
  it.each(families)('$name', ({ classes, denoiser }) => {
    expect(classes.filter((one) => goldensOf(one).length === 0)).toEqual([]);
    // Families with one kind of denoiser differ in what surrounds it; the denoiser is drawn with small bindings and with whole ones.
    const akin = families.filter((one) => one.denoiser === denoiser).flatMap((one) => one.classes);
    const goldens = akin.flatMap(goldensOf);
    expect(goldens.filter((name) => IN_PIECES.includes(name))).not.toEqual([]);
    expect(goldens.filter((name) => IN_WHOLE.includes(name))).not.toEqual([]);
  });
});

it('Z-Image computes guidance above 0, as diffusers does', { timeout: PATIENCE }, async () => {
  const { model, request } = await openPipelineGolden('pipeline-z-image');
  const drawn = async (guidance: number) =>
    imagesOf(await listen(model, { ...request, samples: 1, guidance }))[0];
  const without = await drawn(0);
  expect(await drawn(1e-9)).toEqual(without); // pos + g · (pos − neg)
  expect(await drawn(1)).not.toEqual(without);
  await model.close();
});
