// A LoRA that llama.cpp's converter made of one of PEFT: the same modules, factors and scales.

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openLora, type LoraModule } from '../../../src/files/checkpoint/lora.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import type { LoraBase } from '../../../src/files/gguf/lora.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import type { Folder } from '../../../src/files/source.ts';
import { ggufClasses } from '../../../src/models/text/registry.ts';
import { memorySource } from '../memory-source.ts';
import { f32Tensor, writeGguf, type WrittenFile } from './write-gguf.ts';

const ROOT = fileURLToPath(new URL('../../golden/gguf', import.meta.url));

async function baseOf(path: string): Promise<LoraBase> {
  const { architecture, config, close } = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
  await close();
  return { architecture, config, gguf: ggufClasses() };
}

async function values({ source, offset, bytes }: TensorEntry): Promise<Float32Array> {
  return new Float32Array((await source.read(offset, bytes)).buffer);
}

const byName = (modules: readonly LoraModule[]): LoraModule[] =>
  modules.toSorted((a, b) => a.name.localeCompare(b.name));

function folderOf(file: WrittenFile): Folder {
  const bytes = writeGguf(file);
  return { path: '/a', names: async () => ['a.gguf'], open: async (name) => memorySource(name, bytes) };
}

const META = {
  'general.type': 'adapter',
  'general.architecture': 'llama',
  'adapter.type': 'lora',
  'adapter.lora.alpha': { type: 'f32', value: 4 },
} as const;
const floats = (count: number): Float32Array => Float32Array.from({ length: count }, (_, i) => i);
const pair = (name: string, rows: number, k: number) => [
  f32Tensor(`${name}.lora_a`, [2, k], floats(2 * k)),
  f32Tensor(`${name}.lora_b`, [rows, 2], floats(2 * rows)),
];

describe('a GGUF LoRA', () => {
  it.each(['llama', 'llama/model.gguf'])(
    'has the modules of the PEFT LoRA that it was made of, for %s',
    async (base) => {
      const peft = await openLora(await openDiskFolder(`${ROOT}/lora`));
      const model = await baseOf(`${ROOT}/${base}`);
      const gguf = await openLora(await openDiskFolder(`${ROOT}/lora/gguf`), model);
      expect(gguf.rank).toBe(peft.rank);
      expect(gguf.modules.length).toBe(14);
      const [wanted, found] = [byName(peft.modules), byName(gguf.modules)];
      for (const [i, { name, a, b, rank, scale }] of found.entries()) {
        const stated = wanted[i]!;
        expect([name, rank, scale, a.shape, b.shape]).toEqual([
          stated.name,
          stated.rank,
          stated.scale,
          stated.a.shape,
          stated.b.shape,
        ]);
        expect([name, await values(a), await values(b)]).toEqual([
          name,
          await values(stated.a),
          await values(stated.b),
        ]);
      }
      const again = await openLora(await openDiskFolder(`${ROOT}/lora/gguf/adapter.gguf`), model);
      expect(again.identity).toBe(gguf.identity);
      for (const file of [peft, gguf, again]) await file.close();
    },
  );

  it('is read in the order of the heads of a model whose config.json leaves their number out', async () => {
    const { gguf } = await baseOf(`${ROOT}/llama`);
    const base = {
      architecture: 'LlamaForCausalLM',
      config: { num_attention_heads: 2, hidden_size: 8 },
      gguf,
    };
    const tensors = pair('blk.0.attn_k.weight', 8, 8);
    const { modules } = await openLora(folderOf({ metadata: META, tensors }), base);
    const rows = Array.from(await values(modules[0]!.b)).filter((_, i) => i % 2 === 0);
    expect(rows.map((value) => value / 2)).toEqual([0, 2, 1, 3, 4, 6, 5, 7]);
  });

  it.each([
    ['alpha', META, 2],
    ['an alpha of 0', { ...META, 'adapter.lora.alpha': { type: 'f32', value: 0 } }, 1],
    ['no alpha', Object.fromEntries(Object.entries(META).filter(([key]) => !key.endsWith('alpha'))), 1],
  ] as const)('with %s is scaled as llama.cpp scales it', async (_, metadata, scale) => {
    const base = await baseOf(`${ROOT}/llama`);
    const file = { metadata, tensors: pair('blk.0.ffn_up.weight', 24, 16) };
    const { modules } = await openLora(folderOf(file), base);
    expect(modules.map((module) => module.scale)).toEqual([scale]);
  });

  it.each<[string, WrittenFile, RegExp]>([
    [
      'that is a model',
      { metadata: { 'general.architecture': 'llama' } },
      /is not a LoRA \(general\.type model/,
    ],
    [
      'for another architecture',
      { metadata: { ...META, 'general.architecture': 'qwen2' } },
      /is a LoRA for qwen2, and the model is LlamaForCausalLM/,
    ],
    [
      'with an alpha that is not a number',
      { metadata: { ...META, 'adapter.lora.alpha': 'x' } },
      /adapter\.lora\.alpha is "x", a number is needed/,
    ],
    [
      'of an embedding',
      { metadata: META, tensors: pair('token_embd.weight', 40, 16) },
      /adapts token_embd\.weight, which is not a linear layer/,
    ],
    [
      'of a tensor that is none',
      { metadata: META, tensors: pair('blk.0.nothing.weight', 8, 16) },
      /adapts blk\.0\.nothing\.weight/,
    ],
    [
      'with a norm',
      { metadata: META, tensors: [f32Tensor('blk.0.attn_norm.weight', [16], floats(16))] },
      /tensor blk\.0\.attn_norm\.weight is neither lora_a nor lora_b/,
    ],
    [
      'without a factor',
      { metadata: META, tensors: pair('blk.0.ffn_up.weight', 24, 16).slice(1) },
      /has the factors nothing and \[24, 2\]/,
    ],
    ['without tensors', { metadata: META }, /a\.gguf holds no tensors/],
  ])('%s is refused', async (_, file, message) => {
    const base = await baseOf(`${ROOT}/llama`);
    await expect(openLora(folderOf(file), base)).rejects.toThrow(message);
  });
});
