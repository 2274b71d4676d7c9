// GGUF files as checkpoints: split files, tensors that hold several, and damage.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { checkRequests } from '../../../src/engine/weights/check.ts';
import { collect } from '../../../src/engine/weights/collect.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { EngineError } from '../../../src/files/error.ts';
import { readGguf, type GgufTensor } from '../../../src/files/gguf/gguf.ts';
import { entryOf } from '../../../src/files/gguf/tensors.ts';
import type { Folder } from '../../../src/files/source.ts';
import { decoderParts, type DecoderLayout } from '../../../src/models/text/blocks/gguf-tensors.ts';
import { readText } from '../../../src/models/text/registry.ts';
import { memorySource } from '../memory-source.ts';
import { mutations } from '../gguf/mutations.ts';
import { rewritten } from '../gguf/rewritten.ts';
import { f32Tensor, writeGguf, type Written, type WrittenTensor } from '../gguf/write-gguf.ts';

const LLAMA = fileURLToPath(new URL('../../golden/gguf/llama/model.gguf', import.meta.url));

interface OpenFolder extends Folder {
  leftOpen: Set<string>;
}

function folderOf(files: Record<string, Uint8Array>): OpenFolder {
  const leftOpen = new Set<string>();
  return {
    path: '/m',
    leftOpen,
    names: async () => Object.keys(files),
    async open(name) {
      leftOpen.add(name);
      return { ...memorySource(name, files[name]!), close: async () => void leftOpen.delete(name) };
    },
  };
}

const split = (no: number, count: number, tensors: number): Record<string, Written> => ({
  'split.no': { type: 'u16', value: no },
  'split.count': { type: 'u16', value: count },
  'split.tensors.count': { type: 'i32', value: tensors },
});

describe('a split GGUF file', () => {
  const parts = async (second = split(1, 2, 24), tensors = 24): Promise<Record<string, Uint8Array>> => ({
    'm-00001-of-00002.gguf': await rewritten(LLAMA, (nth) => nth < 9, split(0, 2, tensors)),
    'm-00002-of-00002.gguf': await rewritten(LLAMA, (nth) => nth >= 9, second),
  });

  it('has the tensors of all its parts, and closes them', async () => {
    const whole = await openCheckpoint(folderOf({ 'm.gguf': readFileSync(LLAMA) }), TEXT_CLASSES);
    const count = (await readGguf(memorySource('m.gguf', readFileSync(LLAMA)))).tensors.length;
    const folder = folderOf(await parts(split(1, 2, count), count));
    const { tensors, shards, close } = await openCheckpoint(folder, TEXT_CLASSES);
    expect([...tensors.keys()].sort()).toEqual([...whole.tensors.keys()].sort());
    expect(shards).toEqual(['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf']);
    expect(folder.leftOpen.size).toBe(2);
    await close();
    expect(folder.leftOpen.size).toBe(0);
  });

  it.each([
    [
      'without a part',
      async () => ({ 'm-00001-of-00002.gguf': (await parts())['m-00001-of-00002.gguf']! }),
      /m-00001-of-00002\.gguf is one of 2 parts, and m-00002-of-00002\.gguf is not beside it: fetch all parts/,
    ],
    [
      'with a part of another number',
      () => parts(split(0, 2, 24)),
      /it is part 1 of 2 by its metadata, and part 2 of 2 by its name/,
    ],
    [
      'with fewer tensors than it claims',
      () => parts(split(1, 2, 99), 99),
      /split\.tensors\.count is 99, and its parts have \d+ tensors/,
    ],
  ])('%s is refused, and nothing stays open', async (_, files, message) => {
    const folder = folderOf(await files());
    await expect(openCheckpoint(folder, TEXT_CLASSES)).rejects.toThrow(message);
    expect(folder.leftOpen.size).toBe(0);
  });
});

describe('tensors of a GGUF file', () => {
  const layout: DecoderLayout = { paired: null, fused: { q: 8, kv: 4 }, normsAdded: 0 };
  const stored = (name: string, shape: number[], bytes?: Uint8Array): GgufTensor => {
    const size = 4 * shape.reduce((a, b) => a * b, 1);
    const values = Float32Array.from({ length: size / 4 }, (_, i) => i);
    const source = memorySource('m.gguf', bytes ?? new Uint8Array(values.buffer));
    return { name, type: 'F32', shape, source, offset: 0, bytes: size };
  };
  const read = async ({ source, offset, bytes }: TensorEntry): Promise<number[]> =>
    Array.from(new Float32Array((await source.read(offset, bytes)).buffer));
  const first = async (tensor: GgufTensor, of: DecoderLayout): Promise<[string, number[]][]> =>
    Promise.all(
      decoderParts(tensor, of)!.map(async (part) => [part.name, await read(entryOf(tensor, part))]),
    );

  it('of queries, keys and values together are three', async () => {
    const found = await first(stored('blk.3.attn_qkv.weight', [16, 1]), layout);
    const rows = Array.from({ length: 16 }, (_, i) => i);
    expect(found).toEqual([
      ['model.layers.3.self_attn.q_proj.weight', rows.slice(0, 8)],
      ['model.layers.3.self_attn.k_proj.weight', rows.slice(8, 12)],
      ['model.layers.3.self_attn.v_proj.weight', rows.slice(12)],
    ]);
  });

  it('with rows of heads in pairs are read in the order of the halves, at any place', async () => {
    const tensor = stored('blk.0.attn_q.weight', [8, 3]);
    const [part] = decoderParts(tensor, { ...layout, paired: { heads: 2, kvHeads: 1 } })!;
    const entry = entryOf(tensor, part!);
    const rowsOf = (values: number[]): number[] =>
      values.filter((_, i) => i % 3 === 0).map((value) => value / 3);
    const all = await read(entry);
    expect(rowsOf(all)).toEqual([0, 2, 1, 3, 4, 6, 5, 7]);
    const bytes = await entry.source.read(0, entry.bytes);
    for (const [at, length] of [
      [0, 12],
      [5, 40],
      [36, 60],
      [95, 1],
    ] as const)
      expect(await entry.source.read(at, length)).toEqual(bytes.slice(at, at + length));
  });

  it('with gate and up of all experts together are two of each', async () => {
    const found = await first(stored('blk.0.ffn_gate_up_exps.weight', [2, 4, 1]), layout);
    expect(found).toEqual([
      ['model.layers.0.mlp.experts.0.gate_proj.weight', [0, 1]],
      ['model.layers.0.mlp.experts.0.up_proj.weight', [2, 3]],
      ['model.layers.0.mlp.experts.1.gate_proj.weight', [4, 5]],
      ['model.layers.0.mlp.experts.1.up_proj.weight', [6, 7]],
    ]);
  });

  it('with 1 added to norms are read without it', async () => {
    const found = await first(stored('blk.0.attn_norm.weight', [4]), { ...layout, normsAdded: 1 });
    expect(found).toEqual([['model.layers.0.input_layernorm.weight', [-1, 0, 1, 2]]]);
    expect(await first(stored('blk.0.ffn_up.weight', [2, 1]), { ...layout, normsAdded: 1 })).toEqual([
      ['model.layers.0.mlp.up_proj.weight', [0, 1]],
    ]);
  });
});

describe('a GGUF file that is not what its model needs', () => {
  const META = { 'general.architecture': 'llama', 'llama.embedding_length': 16 };
  const embedding = f32Tensor('token_embd.weight', [4, 16], new Float32Array(64));
  it.each<[string, Record<string, Written>, WrittenTensor[], string, RegExp]>([
    [
      'without an architecture',
      {},
      [],
      'bad_checkpoint',
      /general\.architecture is missing, a text is needed/,
    ],
    ['of a LoRA', { ...META, 'general.type': 'adapter' }, [], 'unsupported', /holds a LoRA: open the model/],
    [
      'without its embedding',
      { ...META, 'llama.attention.head_count': 2 },
      [],
      'bad_checkpoint',
      /tensor token_embd\.weight is missing/,
    ],
    [
      'without heads',
      META,
      [embedding],
      'bad_checkpoint',
      /llama\.attention\.head_count is missing, a whole number is needed/,
    ],
    [
      'with a scale of logits',
      { ...META, 'llama.logit_scale': 0.5 },
      [],
      'unsupported',
      /llama\.logit_scale 0\.5 is not built/,
    ],
    [
      'with values of another size than keys',
      { ...META, 'llama.attention.head_count': 2, 'llama.attention.value_length': 4 },
      [embedding],
      'unsupported',
      /llama\.attention\.value_length 4 is not built; choose a model whose values have 8 dimensions/,
    ],
  ])('%s is refused by key', async (_, metadata, tensors, code, message) => {
    const folder = folderOf({ 'm.gguf': writeGguf({ metadata, tensors }) });
    const error: unknown = await openCheckpoint(folder, TEXT_CLASSES).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(EngineError);
    expect([(error as EngineError).code, (error as EngineError).message]).toEqual([
      code,
      expect.stringMatching(message),
    ]);
    expect(folder.leftOpen.size).toBe(0);
  });

  const opened = async (metadata: Record<string, Written>) => {
    const folder = folderOf({ 'm.gguf': await rewritten(LLAMA, () => true, metadata) });
    return openCheckpoint(folder, TEXT_CLASSES);
  };

  it('is refused by the file and its metadata key where the model cannot have such values', async () => {
    const { config, architecture, configSource } = await opened({
      'llama.attention.key_length': 9,
      'llama.attention.value_length': 9,
    });
    expect(() => readText(config, architecture, configSource)).toThrow(
      expect.objectContaining({
        code: 'unsupported',
        message: expect.stringMatching(/^m\.gguf: llama\.attention\.key_length 9 is not built; choose/),
        param: 'llama.attention.key_length',
      }) as Error,
    );
  });

  it('names end tokens and those that replies never have; with an end token beyond the vocabulary it opens, and says so', async () => {
    const tokens: Record<string, Written> = {
      'tokenizer.ggml.model': 'llama',
      'tokenizer.ggml.tokens': { items: 'string', values: ['<unk>', '<s>', '</s>'] },
      'tokenizer.ggml.token_type': { items: 'i32', values: [2, 3, 3] },
    };
    const suppressed: Written = { items: 'i32', values: [1, 0] };
    const sound = await opened({
      ...tokens,
      'tokenizer.ggml.eos_token_id': 2,
      'tokenizer.ggml.suppress_tokens': suppressed,
    });
    expect(sound.generationConfigProblem).toBeNull();
    expect(sound.generationConfig).toEqual({ eos_token_id: [2], suppress_tokens: [1, 0] });
    const beyond = await opened({ ...tokens, 'tokenizer.ggml.eos_token_id': 32_000 });
    expect(beyond.generationConfigProblem).toMatch(
      /eos_token_id is 32000, beyond .*; replies end with "<\/s>"$/,
    );
  });

  it('is refused by the file and its own name of a tensor where tensors and metadata differ', async () => {
    const { config, architecture, configSource, tensors } = await opened({ 'llama.feed_forward_length': 7 });
    const { generate } = readText(config, architecture, configSource);
    expect(() => checkRequests(collect(tensors, generate!), tensors, configSource)).toThrow(
      expect.objectContaining({
        code: 'bad_checkpoint',
        message: expect.stringMatching(
          /^m\.gguf: tensor blk\.0\.ffn_gate\.weight has the shape .*, its metadata asks for \[7, .* fetch the file again or convert/,
        ),
        param: 'blk.0.ffn_gate.weight',
      }) as Error,
    );
  });

  it('in 500 mutations of its header is refused, or opens with tensors within the file', async () => {
    const original = new Uint8Array(readFileSync(LLAMA));
    let refused = 0;
    for (const bytes of mutations(original, 500, 3000)) {
      const folder = folderOf({ 'm.gguf': bytes });
      try {
        const { tensors, config, architecture, close, tokenizer } = await openCheckpoint(
          folder,
          TEXT_CLASSES,
        );
        for (const { offset, bytes: size } of tensors.values())
          expect(offset + size).toBeLessThanOrEqual(bytes.length);
        await close();
        readText(config, architecture);
        (await tokenizer()).encode('ab a');
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
        refused++;
      }
      expect(folder.leftOpen.size).toBe(0);
    }
    expect(refused).toBeGreaterThan(300);
  });
});
