// Goldens of single modules that scripts/reference made with diffusers and transformers: inputs and outputs.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../src/engine/weights/weights.ts';
import { readSafetensors, type TensorEntry } from '../../src/files/tensors/safetensors.ts';
import { openDiskSource } from '../../src/files/disk/source-disk.ts';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import type { WeightTable } from '../../src/models/weights.ts';
import { disguise, openModelTestDevice } from '../gpu/test-device.ts';

/** Values as they lie in the file, integers widened. */
export interface Values {
  shape: readonly number[];
  values: Float32Array;
}

export interface ModuleGolden {
  /** Class of the module. */
  class: string;
  /** The checkpoint's config.json with the case's overrides. */
  config: Record<string, unknown>;
  /** The checkpoint's weights. */
  weightsPath: string;
  inputs: Map<string, Values>;
  outputs: Map<string, Values>;
}

const FOLDER = fileURLToPath(new URL('../golden/image', import.meta.url));

export async function openModuleGolden(name: string): Promise<ModuleGolden> {
  const json = (path: string) =>
    JSON.parse(readFileSync(`${FOLDER}/${path}`, 'utf8')) as Record<string, unknown>;
  const golden = json(`${name}/case.json`) as { class: string; checkpoint: string; config: object };
  const isFile = golden.checkpoint.endsWith('.safetensors');
  const config = isFile ? {} : json(`${golden.checkpoint}/config.json`);
  const file = 'architectures' in config ? 'model' : 'diffusion_pytorch_model';
  return {
    class: golden.class,
    config: { ...config, ...golden.config },
    weightsPath: `${FOLDER}/${golden.checkpoint}${isFile ? '' : `/${file}.safetensors`}`,
    inputs: await readValues(`${FOLDER}/${name}/inputs.safetensors`),
    outputs: await readValues(`${FOLDER}/${name}/outputs.safetensors`),
  };
}

export async function readValues(path: string): Promise<Map<string, Values>> {
  const source = await openDiskSource(path);
  const found = new Map<string, Values>();
  for (const [name, { shape, dtype, offset, bytes }] of (await readSafetensors(source)).tensors) {
    const { buffer } = await source.read(offset, bytes);
    const values =
      dtype === 'I64'
        ? Float32Array.from(new BigInt64Array(buffer), Number)
        : dtype === 'U8'
          ? Float32Array.from(new Uint8Array(buffer))
          : new Float32Array(buffer);
    found.set(name, { shape, values });
  }
  await source.close();
  return found;
}

/** Builds a model page on the checkpoint's weights and loads them; `named` gives tensors the names that the page knows. */
export async function load<M>(
  device: Device,
  golden: ModuleGolden,
  build: (weights: WeightTable) => M,
  named: (tensors: Map<string, TensorEntry>) => Map<string, TensorEntry> = (tensors) => tensors,
): Promise<M> {
  const source = await openDiskSource(golden.weightsPath);
  const { tensors } = await readSafetensors(source);
  const weights = openWeights(device, named(tensors), build, { format: null });
  await weights.load();
  await source.close();
  return weights.page;
}

/** [batch, channels, height, width] → [batch, height, width, channels] */
export function channelsLast({ shape, values }: Values): Values {
  const [batch, channels, height, width] = shape as [number, number, number, number];
  const y = new Float32Array(values.length);
  const pixels = height * width;
  for (let i = 0; i < values.length; i++) {
    const pixel = i % pixels;
    const channel = Math.floor(i / pixels) % channels;
    const image = Math.floor(i / (pixels * channels));
    y[(image * pixels + pixel) * channels + channel] = values[i]!;
  }
  return { shape: [batch, height, width, channels], values: y };
}

/** [1, channels, frames, height, width] → [frames, height, width, channels] */
export function framesLast({ shape, values }: Values): Values {
  const [, channels, frames, height, width] = shape as [number, number, number, number, number];
  const pixels = frames * height * width;
  const y = new Float32Array(values.length);
  for (let i = 0; i < y.length; i++) y[i] = values[(i % channels) * pixels + Math.floor(i / channels)]!;
  return { shape: [frames, height, width, channels], values: y };
}

export interface Computed {
  /** Rows of each recorded tensor without their padding. */
  values: Float32Array[];
  dispatches: number;
}

/** The values of several tensors one after the other, as of the frames of a clip. */
export function inOne(values: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(values.reduce((sum, some) => sum + some.length, 0));
  let at = 0;
  for (const some of values) {
    all.set(some, at);
    at += some.length;
  }
  return all;
}

/** One item of a batch. */
export function itemOf({ shape, values }: Values, i: number): Values {
  const size = values.length / shape[0]!;
  return { shape: [1, ...shape.slice(1)], values: values.slice(i * size, (i + 1) * size) };
}

/** Records outputs; `input` makes a tensor that holds these values. */
export type Run = (tape: Tape, input: (values: Values, integers?: boolean) => Tensor) => Tensor[];

/** Records on a tape of its own, runs it, and reads what `record` returns. */
export async function compute(device: Device, record: Run, options = { plain: false }): Promise<Computed> {
  const tape = new Tape(device, {}, options);
  const inputs: Tensor[] = [];
  const outputs = record(tape, ({ shape, values }, integers = false) => {
    const data = integers ? Uint32Array.from(values) : values;
    const tensor = device.tensor('step', 'input', [...shape], data);
    inputs.push(tensor);
    return tensor.on(tape);
  });
  for (const output of outputs) tape.keep(output);
  tape.finish();
  tape.run({});
  const values: Float32Array[] = [];
  for (const output of outputs) {
    const floats = new Float32Array(await device.read(tape.region(output)));
    const { columns, stride } = output;
    const rows = output.rows({});
    const found = new Float32Array(rows * columns);
    for (let row = 0; row < rows; row++) {
      found.set(floats.subarray(row * stride, row * stride + columns), row * columns);
    }
    values.push(found);
  }
  const error = device.takeError();
  for (const { region } of inputs) device.free(region!.buffer);
  tape.destroy();
  if (error) throw error;
  return { values, dispatches: tape.dispatchCount };
}

/** Limit on the relative error of a module, in all values together and in the worst of them. */
const RELATIVE = 1e-4;

/**
 * Asserts that a module's values are those of the reference: ‖found − wanted‖ / ‖wanted‖ and max|found − wanted| / max|wanted| are within
 * 1e-4. Modules compute in f32 on every adapter, so that one limit holds for all kernels.
 */
export function expectAgreement(found: Float32Array, { values }: Values, limit = RELATIVE): void {
  expect(found.length).toBe(values.length);
  let [squares, wantedSquares, worst, largest] = [0, 0, 0, 0];
  for (let i = 0; i < values.length; i++) {
    const wanted = values[i]!;
    const difference = found[i]! - wanted;
    squares += difference * difference;
    wantedSquares += wanted * wanted;
    worst = Math.max(worst, Number.isNaN(difference) ? Infinity : Math.abs(difference));
    largest = Math.max(largest, Math.abs(wanted));
  }
  expect(Math.sqrt(squares / wantedSquares)).toBeLessThanOrEqual(limit);
  expect(worst / largest).toBeLessThanOrEqual(limit);
}

/**
 * Variants in which every module is tested: the adapter's kernels, plain kernels (on the second driver, by test/second-driver.mjs), and tensors in
 * several pieces.
 */
const WAYS = [
  { title: 'tuned', as: {}, plain: false },
  { title: 'plain', as: {}, plain: true },
  { title: 'bindings of 256 KiB', as: { bindingLimit: 256 << 10 }, plain: false },
];

/** Milliseconds that a software adapter may need to compile a module's kernels on a busy machine. */
const COMPILING = 240_000;

/** Declares tests of goldens in every way; `run` computes as the way asks for. */
export function describeGoldens(
  names: readonly string[],
  check: (golden: ModuleGolden, device: Device, run: (record: Run) => Promise<Computed>) => Promise<void>,
): void {
  let device: Device;
  beforeAll(async () => void (device = await openModelTestDevice()));
  afterAll(() => device.destroy());
  for (const { title, as, plain } of WAYS) {
    describe(title, () => {
      it.each(names)('%s', { timeout: COMPILING }, async (name) => {
        const seen = disguise(device, as);
        await check(await openModuleGolden(name), seen, (record) => compute(seen, record, { plain }));
      });
    });
  }
}
