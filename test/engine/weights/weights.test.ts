// From a checkpoint to a running model, or to the error message.

import { readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import type { OpenEvent } from '../../../src/engine/opening/open-event.ts';
import type { TextModelInfo, TextModelOptions } from '../../../src/engine/text/calls/text-model.ts';
import { EngineError } from '../../../src/files/error.ts';
import { editTensors, randomLlama } from '../checkpoint-folder.ts';
import { CACHE, collect, goldenCases, goldenModel, greedy } from '../fixture.ts';

let folder: { path: string; remove(): void };
afterEach(() => folder.remove());

interface Opened {
  tokens: number[];
  notes: string[];
  info: TextModelInfo;
  pages: number;
}

const golden = goldenCases('qwen3').find(({ name }) => name === 'default')!.greedy!;

/** Opens the folder, generates as many tokens, and closes it. */
async function open(options: Partial<TextModelOptions> = {}, count = golden.tokens.length): Promise<Opened> {
  const notes: string[] = [];
  const onEvent = (event: OpenEvent): void => {
    if (event.type === 'note') notes.push(event.message);
  };
  const model = await openInline(
    TEXT,
    nodePlatform,
    { model: folder.path, safe: true, memoryBudget: 2 ** 30, ...options },
    onEvent,
  );
  const { ids } = await collect(model.generate(greedy(golden.prompt_ids, count)));
  const { total } = (await model.metrics()).pages;
  await model.close();
  return { tokens: ids[0]!, notes, info: model.info, pages: total };
}

async function refusal(options: Partial<TextModelOptions> = {}): Promise<EngineError> {
  const outcome = await open(options).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(EngineError);
  return outcome as EngineError;
}

function editConfig(edit: Record<string, unknown>): void {
  const file = join(folder.path, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...config, ...edit }));
}

describe('a checkpoint that does not fit its config', () => {
  const NAME = 'model.layers.1.mlp.up_proj.weight';
  beforeEach(() => {
    folder = goldenModel('qwen3');
  });

  it('lacks a tensor', async () => {
    editTensors(folder.path, (tensors) => void tensors.delete(NAME));
    const { code, message, param } = await refusal();
    expect({ code, param }).toEqual({ code: 'bad_checkpoint', param: NAME });
    expect(message).toContain(`${NAME} is missing`);
  });

  it('has one in another shape', async () => {
    editTensors(folder.path, (tensors) => {
      const tensor = tensors.get(NAME)!;
      tensors.set(NAME, { ...tensor, shape: tensor.shape.toReversed() });
    });
    const { code, message } = await refusal();
    expect(code).toBe('bad_checkpoint');
    expect(message).toContain('[64, 144]');
    expect(message).toContain('[144, 64]');
  });

  it('has one in a type that is not read', async () => {
    editTensors(folder.path, (tensors) => void tensors.set(NAME, { ...tensors.get(NAME)!, dtype: 'I16' }));
    const { code, message } = await refusal();
    expect(code).toBe('bad_checkpoint');
    expect(message).toContain('I16');
    expect(message).toContain('BF16');
  });

  it('has one too many', async () => {
    const extra = 'model.layers.0.mlp.router.weight';
    editTensors(folder.path, (tensors) => void tensors.set(extra, tensors.get(NAME)!));
    const { code, message, param } = await refusal();
    expect({ code, param }).toEqual({ code: 'bad_checkpoint', param: extra });
    expect(message).toContain(extra);
  });
});

describe('a model that does not run here', () => {
  beforeEach(() => {
    folder = goldenModel('qwen3');
  });

  it('has an architecture that is not built: the message says where those that run are listed', async () => {
    editConfig({ architectures: ['MambaForCausalLM'] });
    const { code, message } = await refusal();
    expect(code).toBe('unsupported');
    expect(message).toMatch(
      /MambaForCausalLM, which is not built; .*`SUPPORTED` lists the classes that run$/,
    );
  });

  it('names none, nor a model_type', async () => {
    editConfig({ architectures: undefined, model_type: undefined });
    expect((await refusal()).code).toBe('unsupported');
  });

  it('needs code of its repository', async () => {
    editConfig({
      architectures: ['OwnForCausalLM'],
      auto_map: { AutoModelForCausalLM: 'modeling_own.OwnForCausalLM' },
    });
    const { code, message } = await refusal();
    expect(code).toBe('unsupported');
    expect(message).toContain('modeling_own.py');
  });

  it('is a GGUF file of another version, or a folder that holds only one', async () => {
    const file = join(folder.path, 'tiny.gguf');
    renameSync(join(folder.path, 'model.safetensors'), file);
    for (const model of [folder.path, file]) {
      writeFileSync(file, 'GGUF0000');
      const { code, message } = await refusal({ model });
      expect(code).toBe('unsupported');
      expect(message).toMatch(/tiny\.gguf is a GGUF file of version \d+, and versions 2 and 3 are read/);
    }
  });
});

const PACKED = join(CACHE, 'svc-engine', 'packed');

/** Returns the only packed file of the folder. */
function packedFile(): string {
  const names = readdirSync(PACKED).filter((name) => name.startsWith(basename(folder.path)));
  expect(names).toHaveLength(1);
  return join(PACKED, names[0]!);
}

describe.each(['int8', 'int4'] as const)('weights packed as %s', (quantization) => {
  beforeEach(() => {
    folder = goldenModel('qwen3');
  });

  it('are written once and read from then on, to the same tokens', async () => {
    const file = join(folder.path, 'model.safetensors');
    const rewrite = (edit: (bytes: Uint8Array) => void): void => {
      editTensors(folder.path, (tensors) => tensors.forEach(({ bytes }) => edit(bytes)));
      utimesSync(file, 1e9, 1e9);
    };
    rewrite(() => {});
    const first = await open({ quantization });
    expect(first.info.quantization).toBe(quantization);
    const written = statSync(packedFile());
    // Overwrites the checkpoint's own weights, so that only the packed ones can give these tokens.
    rewrite((bytes) => bytes.fill(0));
    expect((await open({ quantization })).tokens).toEqual(first.tokens);
    expect(statSync(packedFile()).mtimeMs).toBe(written.mtimeMs);
  });

  it('are packed anew, without a word, where the file is damaged', async () => {
    const { tokens } = await open({ quantization });
    const whole = readFileSync(packedFile());
    const flipped = whole.map((byte, at) => (at === whole.length - 1000 ? byte ^ 4 : byte));
    for (const damaged of [flipped, whole.subarray(0, whole.length / 2)]) {
      writeFileSync(packedFile(), damaged);
      const again = await open({ quantization });
      expect(again.notes).toEqual([]);
      expect(again.tokens).toEqual(tokens);
      expect(readFileSync(packedFile()).equals(whole)).toBe(true);
    }
  });
});

it('a cache that cannot be written is a note, not an end', async () => {
  folder = goldenModel('qwen3');
  const { tokens } = await open({ quantization: 'int4' });
  rmSync(PACKED, { recursive: true });
  writeFileSync(PACKED, 'a file where a folder should be');
  try {
    const again = await open({ quantization: 'int4' });
    expect(again.notes).toEqual([expect.stringContaining(PACKED)]);
    expect(again.tokens).toEqual(tokens);
  } finally {
    rmSync(PACKED);
  }
});

describe('the memory budget of a text model', () => {
  // 12.6 M weights: 24 MiB as stored, 13.5 as int8, 7.5 as int4.
  const SIZE = { hidden: 512, layers: 4, heads: 8, kvHeads: 8, ffn: 1024, vocabulary: 4096, context: 65536 };
  const MiB = 2 ** 20;

  beforeEach(() => {
    folder = randomLlama(SIZE);
  });

  it.each([
    ['none', 40],
    ['int8', 27],
    ['int4', 16],
  ] as const)('with --quantization auto takes %s in %d MiB, with a note', async (quantization, budget) => {
    const { info, notes } = await open({ quantization: 'auto', memoryBudget: budget * MiB }, 1);
    expect(info.quantization).toBe(quantization);
    expect(notes[0]).toContain(`auto: ${quantization}`);
    expect(notes[0]).toContain(`${budget} MiB`);
    const { weights, kv, arena } = info.memory;
    expect(weights + kv + arena).toBeLessThanOrEqual(budget * MiB);
  });

  it('with --quantization auto refuses a model that does not fit', async () => {
    const { code, message } = await refusal({ quantization: 'auto', memoryBudget: 8 * MiB });
    expect(code).toBe('out_of_memory');
    expect(message).toMatch(/7\.5 MiB.* 8 MiB.*`memoryBudget`/);
  });

  it('that is too small is refused with what was asked for, what is free and what to change', async () => {
    const { code, message } = await refusal({ memoryBudget: 12 * MiB });
    expect(code).toBe('out_of_memory');
    expect(message).toMatch(
      /needs [\d.]+ MiB, .*budget of 12 MiB .*only [\d.]+ MiB are free: it fits with `quantization` int4 .*, or in a larger `memoryBudget`$/,
    );
  });

  it('shortens the context to what fits, which a note states', async () => {
    const { info, notes, pages } = await open({ memoryBudget: 64 * MiB }, 1);
    expect(info.modelContextLength).toBe(65536);
    expect(info.contextLength).toBeLessThan(65536);
    expect(info.contextLength).toBe(pages * 32);
    expect(info.memory.weights + info.memory.kv + info.memory.arena).toBeLessThanOrEqual(64 * MiB);
    expect(notes).toEqual([expect.stringMatching(`from 65536 to ${info.contextLength} tokens.*64 MiB`)]);
  });

  it('holds as many tokens as asked for', async () => {
    const { info, notes, pages } = await open({ maxTotalTokens: 1000 }, 1);
    expect(pages).toBe(32);
    expect(info.contextLength).toBe(1024);
    expect(notes).toEqual([expect.stringMatching('from 65536 to 1024 tokens to fit `maxTotalTokens` 1000')]);
  });
});

test('a context longer than the model was made for is shortened, which a note states', async () => {
  folder = goldenModel('qwen3');
  const { info, notes } = await open({ contextLength: 4096 }, 1);
  expect(info.contextLength).toBe(128);
  expect(notes).toEqual([expect.stringContaining('4096')]);
});
