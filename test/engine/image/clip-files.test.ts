// Files of models that draw clips: kernels over time in each form that GGUF files have them in, and damaged files.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { typeId } from '../../files/gguf/from-folder.ts';
import { writeGguf, type Written, type WrittenTensor } from '../../files/gguf/write-gguf.ts';
import { ggufOf, named, valuesOf } from './coded-tensors.ts';
import { prefixed } from './drawn-files.ts';
import { bytesOf, checkedHeaders, expectDamageFound, openFiles } from './headed-files.ts';
import { originalLTX, originalLTXAutoencoder } from './original-ltx.ts';
import { originalWan } from './original-names.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { tinyLTX, tinyWan } from './tiny-clips.ts';
import type { StoredTensor, StoredTensors } from './tiny-tensors.ts';

interface Clips {
  make: typeof tinyWan;
  /** Components that a file implies, as its makers name their tensors. */
  parts: Readonly<Record<string, (tensors: StoredTensors) => StoredTensor[]>>;
  text: string;
  /** general.architecture of the files of ComfyUI-GGUF. */
  architecture: string;
}

const FAMILIES: [string, Clips][] = [
  [
    'Wan',
    {
      make: tinyWan,
      parts: { transformer: (tensors) => originalWan(tensors, '') },
      text: 'umt5xxl',
      architecture: 'wan',
    },
  ],
  [
    'LTX-Video',
    {
      make: tinyLTX,
      parts: {
        transformer: (tensors) => originalLTX(tensors, ''),
        vae: (tensors) => originalLTXAutoencoder(tensors, ''),
      },
      text: 't5xxl',
      architecture: 'ltxv',
    },
  ],
];

type Form = (tensor: StoredTensor) => { shape: readonly number[]; states: boolean };

/** A GGUF file in F32, with kernels over time in another form; files state the shapes of those that are to state them. */
function reshaped(tensors: readonly StoredTensor[], form: Form): Uint8Array {
  const metadata: Record<string, Written> = {};
  const written = tensors.map((tensor): WrittenTensor => {
    const { name, shape } = tensor;
    const other = shape.length === 5 ? form(tensor) : { shape, states: false };
    if (other.states) metadata[`comfy.gguf.orig_shape.${name}`] = { items: 'i32', values: shape };
    const bytes = new Uint8Array(valuesOf(tensor).buffer);
    return { name, shape: other.shape, type: typeId('F32'), bytes };
  });
  return writeGguf({ metadata, tensors: written });
}

const count = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

/** As stable-diffusion.cpp writes them: [out · in, frames, height, width]. */
const inFour: Form = ({ shape: [out = 1, from = 1, ...kernel] }) => ({
  shape: [out * from, ...kernel],
  states: false,
});
const inOne: Form = ({ shape }) => ({ shape: [count(shape)], states: true });

describe.each(FAMILIES)('a GGUF file of %s', (_, { make, architecture, parts }) => {
  it('has kernels over time with five dimensions, with four, or with one and a statement of their shape', async () => {
    const { folder, tensors } = await make();
    const model = { text_encoder: folder, tokenizer: join(folder, 'tokenizer') };
    for (const [part, original] of Object.entries(parts)) {
      const own = original(tensors[part]!);
      const files = [ggufOf(own, architecture).file, reshaped(own, inFour), reshaped(own, inOne)];
      const shapesOf = async (bytes: Uint8Array, name: string): Promise<string[]> => {
        const paths = { ...model, transformer: folder, vae: folder, [part]: name };
        const pipeline = await openFiles({ [name]: bytes }, { componentPaths: paths }, folder);
        const headers = await checkedHeaders(pipeline);
        return [...headers.get(part)!.tensors.values()].map(({ name, shape }) => `${name} ${shape.join()}`);
      };
      const wanted = await shapesOf(bytesOf(own), 'm.safetensors');
      for (const file of files) expect(await shapesOf(file, 'm.gguf')).toEqual(wanted);
    }
  });
});

it.each<[string, (shape: readonly number[]) => readonly number[], RegExp]>([
  [
    'as a matrix',
    ([out, ...behind]) => [out!, count(behind)],
    /m\.gguf: tensor patch_embedding\.weight has the shape \[128, 16\], which does not tell .* comfy\.gguf\.orig_shape/,
  ],
  [
    'with more outputs than its bias has',
    ([out, from, ...kernel]) => [out! * from! + 1, ...kernel],
    /m\.gguf: tensor patch_embedding\.weight has the shape \[513, 1, 2, 2\], which does not tell/,
  ],
])('a patch embedding %s is refused', async (_, shapeOf, message) => {
  const { folder, tensors } = await tinyWan();
  const own = originalWan(tensors['transformer']!, '').map((tensor) => {
    const shape = tensor.shape.length === 5 ? shapeOf(tensor.shape) : tensor.shape;
    return { ...tensor, shape: [...shape], bytes: new Uint8Array(2 * count(shape)) };
  });
  const file = reshaped(own, inFour);
  const opening = openFiles({ 'm.gguf': file }, { componentPaths: { transformer: 'm.gguf' } }, folder);
  await expect(opening).rejects.toMatchObject({
    code: 'bad_checkpoint',
    message: expect.stringMatching(message) as string,
  });
});

describe('a damaged file is refused with its reason, or read as it was', () => {
  it.each(FAMILIES)('of %s', async (_, { make, architecture, parts, text }) => {
    const { folder, tensors } = await make();
    const prefixes: Record<string, string> = { transformer: 'model.diffusion_model.', vae: 'vae.' };
    const whole = [
      ...Object.entries(parts).flatMap(([part, original]) =>
        prefixed(named(original(tensors[part]!)), prefixes[part]!),
      ),
      ...prefixed(tensors['text_encoder']!, `text_encoders.${text}.transformer.`),
    ];
    const componentPaths = {
      tokenizer: join(folder, 'tokenizer'),
      ...(!parts['vae'] && { vae: folder }),
    };
    for (const [name, file] of [
      ['m.safetensors', bytesOf(whole)],
      ['m.gguf', ggufOf(whole, architecture).file],
    ] as const)
      await expectDamageFound([name, file], 60, async (headed) =>
        checkedHeaders(await openFiles({ [name]: headed }, { componentPaths })),
      );
  });

  it.each([
    ['TAEHV', 'wan', 'vae', 'taehv/wan'],
    ['an RRDBNet', 'sd1', 'upscaler', 'upscalers/upscale-rrdb-x2'],
    ['an SRVGGNetCompact', 'sd1', 'upscaler', 'upscalers/upscale-compact-x3'],
  ])('of %s', async (_, model, component, file) => {
    const name = 'm.safetensors';
    const options = { componentPaths: { [component]: name } };
    const original = readFileSync(tinyPipeline(`${file}.safetensors`));
    await expectDamageFound([name, original], 60, async (headed) =>
      checkedHeaders(await openFiles({ [name]: headed }, options, tinyPipeline(model))),
    );
  });
});
