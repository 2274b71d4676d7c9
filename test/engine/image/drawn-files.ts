// Draws with models in one file and with the diffusers layout of the same tensors.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ImageModelOptions } from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { imagesOf, listen } from './pipeline-golden.ts';
import { scratch, type TinyPipeline } from './tiny-pipelines.ts';
import { writeTensors, type StoredTensor, type StoredTensors } from './tiny-tensors.ts';

export const REQUEST = { prompt: 'a house by the (sea:1.2)', seed: 3, width: 32, height: 16, steps: 1 };

export interface Drawn {
  pipeline: string;
  defaults: { width: number; height: number; steps: number; guidance: number };
  /** Hashes of the images. */
  images: string[];
  pixels: Uint8Array[];
  notes: string[];
}

export async function draw(options: ImageModelOptions, request: object = REQUEST): Promise<Drawn> {
  const notes: string[] = [];
  await using model = await openInline(IMAGE, nodePlatform, options, (event) => {
    if (event.type === 'note') notes.push(event.message);
  });
  const { pipeline, defaults } = model.info;
  const { width, height, steps, guidance } = defaults;
  const drawn = imagesOf(await listen(model, { ...REQUEST, ...request }));
  expect(new Set(drawn[0]!.data).size).toBeGreaterThan(10);
  const images = drawn.map(({ data }) => createHash('sha256').update(data).digest('hex'));
  const pixels = drawn.map(({ data }) => data);
  return { pipeline, defaults: { width, height, steps, guidance }, images, pixels, notes };
}

export const prefixed = (tensors: StoredTensors, prefix: string): StoredTensor[] =>
  [...tensors.values()].map((tensor) => ({ ...tensor, name: prefix + tensor.name }));

export const write = (name: string, ...tensors: (readonly StoredTensor[])[]): string =>
  writeTensors(join(scratch, `${name}.safetensors`), tensors.flat());

/** Drawings of the diffusers layouts by folder and request, each made once. */
const wantedDrawings = new Map<string, Promise<Drawn>>();

function wantedDrawing(model: string, request?: object): Promise<Drawn> {
  const key = model + JSON.stringify(request);
  const drawn = wantedDrawings.get(key) ?? draw({ model }, request);
  wantedDrawings.set(key, drawn);
  return drawn;
}

export async function expectSame(
  pipeline: TinyPipeline,
  options: ImageModelOptions,
  request?: object,
): Promise<Drawn> {
  const drawn = await draw(options, request);
  const wanted = await wantedDrawing(pipeline.folder, request);
  expect(drawn.pipeline).toBe(wanted.pipeline);
  expect(drawn.defaults).toEqual(wanted.defaults);
  expect(drawn.images).toEqual(wanted.images);
  return drawn;
}

/** Expects 99.9 % of values within 1 of those that the diffusers layout draws; returns them. */
export async function expectNear(
  pipeline: Pick<TinyPipeline, 'folder'>,
  options: ImageModelOptions,
  request?: object,
): Promise<Uint8Array[]> {
  const { pixels } = await draw(options, request);
  const wanted = (await wantedDrawing(pipeline.folder, request)).pixels;
  const differing = pixels.flatMap((data, i) =>
    [...data].filter((value, at) => Math.abs(value - wanted[i]![at]!) > 1),
  );
  expect(differing.length).toBeLessThanOrEqual(0.001 * pixels[0]!.length);
  return pixels;
}
