// GGUF files that llama.cpp's converter made of tiny checkpoints: config and tensors must be those of the checkpoint. Equal tensors and an
// equal declaration make equal logits; test/models/text compares the classes' logits with transformers.

import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EMBEDDING_CLASSES, TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { openCheckpoint, type Checkpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { readBertConfig } from '../../../src/models/text/bert/bert-config.ts';
import { readCohereConfig } from '../../../src/models/text/cohere/cohere-config.ts';
import { readDeepseekConfig } from '../../../src/models/text/deepseek/deepseek-config.ts';
import { readExaone4Config } from '../../../src/models/text/exaone4/exaone4-config.ts';
import { readGlmConfig } from '../../../src/models/text/glm/glm-config.ts';
import { FAMILIES as GPTS } from '../../../src/models/text/gpt/gpt-families.ts';
import { readGptConfig } from '../../../src/models/text/gpt/gpt-config.ts';
import { readBambaConfig } from '../../../src/models/text/bamba/bamba-config.ts';
import { readNemotronHConfig } from '../../../src/models/text/nemotron-h/nemotron-h-config.ts';
import { readLfm2Config } from '../../../src/models/text/lfm2/lfm2-config.ts';
import { readMixtureConfig } from '../../../src/models/text/mixtures/mixtures-config.ts';
import { MIXTURES } from '../../../src/models/text/mixtures/mixtures-families.ts';
import { readNeoxConfig } from '../../../src/models/text/neox/neox-config.ts';
import { readQwen3NextConfig } from '../../../src/models/text/qwen3-next/qwen3-next-config.ts';
import { FAMILIES as PLAINS } from '../../../src/models/text/plain/plain-families.ts';
import { readPlainConfig } from '../../../src/models/text/plain/plain-config.ts';
import { readStarcoderConfig } from '../../../src/models/text/starcoder/starcoder-config.ts';
import { readGemma3nConfig } from '../../../src/models/text/gemma3n/gemma3n-config.ts';
import { readGemma4Config } from '../../../src/models/text/gemma4/gemma4-config.ts';
import { readGemmaConfig } from '../../../src/models/text/gemma/gemma-config.ts';
import { readLlama4Config } from '../../../src/models/text/llama4/llama4-config.ts';
import { readLlamaConfig } from '../../../src/models/text/llama/llama-config.ts';
import { readOlmoConfig } from '../../../src/models/text/olmo/olmo-config.ts';
import { inverseFrequencies, type RopeConfig } from '../../../src/models/text/blocks/rope.ts';

const ROOT = fileURLToPath(new URL('../../golden/gguf', import.meta.url));
const ENCODERS = ['bert', 'xlm-roberta'];
const NAMES = readdirSync(ROOT, { withFileTypes: true })
  // Experts of gpt-oss are stored otherwise in a checkpoint: test/models/text/gpt-oss/gpt-oss.test.ts compares the two.
  .filter((one) => existsSync(`${ROOT}/${one.name}/model.gguf`) && one.name !== 'gpt-oss')
  .map(({ name }) => name);

/** The checkpoint, and its GGUF file as one. */
async function both(name: string): Promise<[Checkpoint, Checkpoint]> {
  const known = ENCODERS.includes(name) ? EMBEDDING_CLASSES : TEXT_CLASSES;
  const path = `${ROOT}/${name}`;
  return [
    await openCheckpoint(await openDiskFolder(path), known),
    await openCheckpoint(await openDiskFolder(`${path}/model.gguf`), known),
  ];
}

async function valuesOf({ source, offset, bytes, dtype }: TensorEntry): Promise<Float32Array> {
  expect(dtype).toBe('F32');
  return new Float32Array((await source.read(offset, bytes)).buffer);
}

/** The configuration that a page computes by, its rotations apart. */
function configOf({ config, architecture }: Checkpoint): {
  rest: Record<string, unknown>;
  ropes: readonly RopeConfig[];
} {
  const readers = {
    Gemma3n: readGemma3nConfig,
    Gemma4: readGemma4Config,
    Gemma: readGemmaConfig,
    Olmo2: readOlmoConfig,
    Olmo3: readOlmoConfig,
    Cohere: readCohereConfig,
    Exaone4: readExaone4Config,
    Deepseek: readDeepseekConfig,
    Llama4: readLlama4Config,
    MiniCPM3: readDeepseekConfig,
    Mistral4: readDeepseekConfig,
    Starcoder2: readStarcoderConfig,
    GPTNeoX: readNeoxConfig,
    Glm: readGlmConfig,
    Lfm2: readLfm2Config,
    GraniteMoeHybrid: readBambaConfig,
    NemotronH: readNemotronHConfig,
    Qwen3Next: readQwen3NextConfig,
    Qwen3_5: readQwen3NextConfig,
  };
  const own = Object.entries(readers).find(([name]) => architecture.startsWith(name));
  const readTable = MIXTURES.has(architecture)
    ? readMixtureConfig
    : GPTS.has(architecture)
      ? readGptConfig
      : PLAINS.has(architecture)
        ? readPlainConfig
        : null;
  // Which tensors are left unread differs: files have no heads behind the layers.
  const { ropes, ignored: _, ...rest } = (readTable ?? own?.[1] ?? readLlamaConfig)(config, architecture);
  return { rest, ropes };
}

/** Files in which rates of decay are exponentials, and some projections are taken apart: test/engine/gguf-greedy.test.ts compares tokens. */
const HYBRIDS = ['granite-hybrid', 'falcon-h1', 'nemotron-h-moe'];
/** Tensors of a checkpoint that GGUF files hold otherwise, or not at all. */
const LEFT_OUT = /position_ids|^pooler\.|position_embeddings|\.act_fn\./;

describe('a GGUF file of', () => {
  it('each architecture is among the goldens', () => {
    expect(NAMES.length).toBeGreaterThanOrEqual(66);
  });

  for (const name of NAMES) {
    // Rows of linear attention are in another order: test/models/text/qwen3-next/qwen3-next-gguf.test.ts compares logits.
    // Products with latents are turned, and some mixtures have in one tensor what their files have in two or three: test/engine/gguf-greedy.test.ts compares tokens.
    const isSplit = ['granite-moe', 'bailing-moe', 'gemma4-moe', 'llama4'].includes(name);
    const isReordered =
      name === 'qwen3-next' ||
      name.startsWith('qwen3-5') ||
      name === 'gpt2' ||
      isSplit ||
      name === 'deepseek-v3' ||
      name === 'mistral4' ||
      HYBRIDS.includes(name);
    it.skipIf(isReordered)(`${name} has the tensors of its checkpoint`, async () => {
      const [checkpoint, gguf] = await both(name);
      const names = (tensors: Checkpoint['tensors']): string[] =>
        [...tensors.keys()].filter((one) => !LEFT_OUT.test(one)).sort();
      expect(names(gguf.tensors)).toEqual(names(checkpoint.tensors));
      for (const one of names(gguf.tensors)) {
        const [stored, found] = [checkpoint.tensors.get(one)!, gguf.tensors.get(one)!];
        // LFM2's convolutions are stored without their dimension of one channel.
        const shape = one.endsWith('conv.conv.weight')
          ? stored.shape.filter((size) => size !== 1)
          : stored.shape;
        expect([one, found.shape]).toEqual([one, shape]);
        // Norms of Gemma and Nemotron are 1 + w, which is the number that the file has.
        const plus = /^(gemma[23]?|nemotron)$/.test(name) && one.endsWith('norm.weight') ? 1 : 0;
        const read = async (entry: TensorEntry): Promise<number[]> =>
          Array.from(await valuesOf(entry), (value) => Math.fround(plus + value));
        expect([one, await read(found)]).toEqual([one, await read(stored)]);
      }
      await Promise.all([checkpoint.close(), gguf.close()]);
    });

    // Falcon-H1's multipliers are in its weights.
    if (ENCODERS.includes(name) || name === 'falcon-h1') continue;
    it(`${name} has the configuration of its checkpoint`, async () => {
      const [checkpoint, gguf] = await both(name);
      const [stated, found] = [configOf(checkpoint), configOf(gguf)];
      // Without a window Mistral computes what Llama does, and its files say llama.
      if (name === 'mistral') stated.rest['architecture'] = 'LlamaForCausalLM';
      // Parameters that a checkpoint has as tensors.
      delete found.rest['xielu'];
      if (name.startsWith('qwen3-5')) Object.assign(stated.rest['delta']!, { tiled: true });
      // The converter leaves the growth of queries out.
      if (name === 'mistral4') delete (stated.rest['latents'] as { growth?: unknown }).growth;
      // Their converter states a context of its own.
      if (HYBRIDS.includes(name)) stated.rest['context'] = 2 ** 20;
      expect(found.rest).toEqual(stated.rest);
      expect(found.ropes.length).toBe(stated.ropes.length);
      found.ropes.forEach((rope, i) => {
        const wanted = stated.ropes[i]!;
        for (const length of [1, 50]) {
          // Factors are stored in single precision.
          const [a, b] = [inverseFrequencies(wanted, length), inverseFrequencies(rope, length)];
          expect(b.length).toBe(a.length);
          b.forEach((frequency, at) =>
            expect(Math.abs(frequency - a[at]!)).toBeLessThanOrEqual(1e-7 * a[at]!),
          );
        }
        expect(rope.attentionFactor).toBeCloseTo(wanted.attentionFactor, 6);
      });
      await Promise.all([checkpoint.close(), gguf.close()]);
    });
  }

  it('BERT has its configuration and its pooling', async () => {
    const [checkpoint, gguf] = await both('bert');
    const [stated, found] = [checkpoint, gguf].map(({ config, architecture }) =>
      readBertConfig(config, architecture),
    );
    expect(found).toEqual(stated);
    const layout = { pooling: 'cls', normalize: true, mostTokens: null, dense: [], tokenScore: null };
    expect(await gguf.layout('mean')).toEqual({ ...layout, isStated: true, prompts: {}, usualPrompt: null });
    await Promise.all([checkpoint.close(), gguf.close()]);
  });

  it('XLM-RoBERTa is BERT without the positions for padding', async () => {
    const [checkpoint, gguf] = await both('xlm-roberta');
    const [{ positions, firstPosition, ...stated }, found] = [checkpoint, gguf].map(
      ({ config, architecture }) => readBertConfig(config, architecture),
    ) as [ReturnType<typeof readBertConfig>, ReturnType<typeof readBertConfig>];
    expect(found).toEqual({
      ...stated,
      ...{ architecture: 'BertModel', layout: 'bert' },
      positions: positions - firstPosition,
      firstPosition: 0,
    });
    const table = 'embeddings.position_embeddings.weight';
    const [all, cut] = [
      await valuesOf(checkpoint.tensors.get(table)!),
      await valuesOf(gguf.tensors.get(table)!),
    ];
    expect(cut).toEqual(all.subarray(firstPosition * stated.hidden));
    await Promise.all([checkpoint.close(), gguf.close()]);
  });
});
