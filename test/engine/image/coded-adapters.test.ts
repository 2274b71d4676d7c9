// Adapters beside a transformer whose file holds codes draw what they draw merged into the numbers that the codes stand for.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ImageModelOptions, CompleteImageRequest } from '../../../src/engine/image/calls/image-model.ts';
import { ggufOf, named, nf4 } from './coded-tensors.ts';
import { draw, write } from './drawn-files.ts';
import { open } from './open-model.ts';
import { imagesOf, listen } from './pipeline-golden.ts';
import { scratch } from './tiny-pipelines.ts';
import { writeTensors, type StoredTensor, type StoredTensors } from './tiny-tensors.ts';
import { tinyZImage } from './tiny-transformers.ts';

const REQUEST: CompleteImageRequest = {
  prompt: 'a house',
  seed: 3,
  width: 32,
  height: 16,
  steps: 2,
  guidance: 0,
};

const isMatrix = ({ name, shape }: StoredTensor): boolean =>
  shape.length === 2 && /\.(attention|feed_forward)\./.test(name);

/** LoRA of queries, values and feed-forward matrices; strong enough to change the image. */
function adapterOf(tensors: StoredTensors, names: RegExp, kind: 'lora' | 'dora' = 'lora'): StoredTensor[] {
  return [...tensors.values()].filter(isMatrix).flatMap(({ name, shape }, i) => {
    if (!names.test(name)) return [];
    const [rows, columns] = shape as [number, number];
    const module = `transformer.${name.replace(/\.weight$/, '')}`;
    const factor = (end: string, size: number[], scale: number): StoredTensor => {
      const count = size.reduce((product, extent) => product * extent, 1);
      const values = Float32Array.from({ length: count }, (_, at) => scale * Math.sin(i + 12.9898 * at * at));
      return { name: `${module}.${end}`, dtype: 'F32', shape: size, bytes: new Uint8Array(values.buffer) };
    };
    return [
      factor('lora_A.weight', [4, columns], 2 / Math.sqrt(columns)),
      factor('lora_B.weight', [rows, 4], 1),
      ...(kind === 'dora' ? [factor('lora_magnitude_vector', [rows], 1)] : []),
    ];
  });
}

function made(
  name: string,
  code: (tensor: StoredTensor) => { stored: StoredTensor[]; numbers: StoredTensor },
) {
  const stored: StoredTensor[] = [];
  const pipeline = tinyZImage(name, (tensors) =>
    named(
      [...tensors.values()].map((tensor) => {
        const coded = isMatrix(tensor) ? code(tensor) : { stored: [tensor], numbers: tensor };
        stored.push(...coded.stored);
        return coded.numbers;
      }),
    ),
  );
  return { pipeline, file: write(`beside ${name}`, stored) };
}

function madeGguf() {
  let file: Uint8Array = new Uint8Array();
  const pipeline = tinyZImage('gguf beside', (tensors) => {
    const coded = ggufOf([...tensors.values()], 'lumina2');
    file = coded.file;
    return named(coded.numbers);
  });
  const path = join(scratch, 'beside.gguf');
  writeFileSync(path, file);
  return { pipeline, file: path };
}

const far = (a: Uint8Array, b: Uint8Array): number =>
  a.filter((value, i) => Math.abs(value - b[i]!) > 1).length / a.length;

function adaptersOf(tensors: StoredTensors): Pick<ImageModelOptions, 'loraPath' | 'loraScale'> {
  const first = writeTensors(join(scratch, 'first.safetensors'), adapterOf(tensors, /to_[qv]|w1/));
  const second = writeTensors(join(scratch, 'second.safetensors'), adapterOf(tensors, /to_[vk]|w2/));
  return { loraPath: [first, second], loraScale: [1, -0.5] };
}

describe('a transformer in codes draws with LoRAs beside them:', { timeout: 300_000 }, () => {
  it('GGUF', async () => {
    const { pipeline, file } = madeGguf();
    const { folder: model } = pipeline;
    const adapters = adaptersOf(pipeline.tensors['transformer']!);
    const numbers = await draw({ model, ...adapters }, REQUEST);
    const found = await draw({ model, transformerWeightsPath: file, ...adapters }, REQUEST);
    expect(found.notes).toEqual([]);
    expect(far(found.pixels[0]!, numbers.pixels[0]!)).toBeLessThanOrEqual(0.001);
  });

  it('NF4, where layers are streamed; adapters come and go', async () => {
    const { pipeline, file } = made('nf4', nf4);
    const adapters = adaptersOf(pipeline.tensors['transformer']!);
    const options: ImageModelOptions = { model: pipeline.folder, transformerWeightsPath: file };
    const plain = await draw(options, REQUEST);
    const { model } = await open({ ...options, ...adapters, ditLayerwiseOffload: true });
    const drawn = async (more: Partial<CompleteImageRequest> = {}) =>
      imagesOf(await listen(model, { ...REQUEST, ...more }))[0]!.data;
    const both = await drawn();
    const planned = await model.plan(REQUEST);
    const stages = (await listen(model, REQUEST)).flatMap((event) =>
      event.type === 'stage' ? [event.peakBytes] : [],
    );
    expect(Math.max(...stages) / planned.peak).toBeCloseTo(1, 1);
    expect(planned.peak).toBeGreaterThan((await model.plan({ ...REQUEST, lora: [] })).peak);
    expect(far(both, plain.pixels[0]!)).toBeGreaterThan(0.2);
    expect(await drawn({ lora: [] })).toEqual(plain.pixels[0]);
    expect(far(await drawn({ lora: ['first'] }), both)).toBeGreaterThan(0.05);
    expect(await drawn()).toEqual(both);
    await model.close();
  });
});

it('a LoRA that cannot be applied beside codes is refused with the names of both forms', async () => {
  const { pipeline, file } = made('nf4', nf4);
  const tensors = adapterOf(pipeline.tensors['transformer']!, /to_q/, 'dora');
  const loraPath = [writeTensors(join(scratch, 'dora.safetensors'), tensors)];
  const options = { model: pipeline.folder, transformerWeightsPath: file, loraPath };
  await expect(draw(options, REQUEST)).rejects.toThrow(
    /dora\.safetensors changes .*to_q by DoRA, which scales whole rows, and the model stores .*to_q\.weight as NF4/,
  );
});
