// Hub models that cannot be opened are refused by their small files before their weights are downloaded.

import { describe, expect, it } from 'vitest';
import { EMBEDDING } from '../../../src/host/kinds/embedding.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { resolveModel } from '../../../src/files/hub/hub.ts';
import { hubFixture, IMPATIENT, WEIGHTS } from '../../files/hub/mock-hub-fixture.ts';
import { writeGguf } from '../../files/gguf/write-gguf.ts';
import { ID, tinyModel } from '../../files/hub/mock-hub.ts';

const LLAMA = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: 64,
  num_hidden_layers: 1,
  num_attention_heads: 4,
  vocab_size: 32,
  intermediate_size: 64,
};

async function fixture(config: object, others: Record<string, string> = {}) {
  const files = tinyModel();
  files.delete('tokenizer.json');
  for (const [name, text] of Object.entries({ 'config.json': JSON.stringify(config), ...others }))
    files.set(name, Buffer.from(text));
  const { hub, env } = await hubFixture(files);
  const platform = {
    ...nodePlatform,
    resolveModel: (id: string, options: object) => resolveModel(id, { ...options, env, limits: IMPATIENT }),
  };
  return { hub, platform };
}

describe('a model that is refused before its weights are fetched', () => {
  it.each([
    [{ architectures: ['MambaForCausalLM'] }, {}, /^acme\/tiny: the architecture is MambaForCausalLM/],
    [{ ...LLAMA, quantization_config: { quant_method: 'awq' } }, {}, /quantized with awq/],
    [
      LLAMA,
      { 'hf_quant_config.json': '{"quantization":{"quant_algo":"NVFP4_AWQ"}}' },
      /quantized with NVFP4_AWQ to 4 bits/,
    ],
    [
      { ...LLAMA, auto_map: { AutoModelForCausalLM: 'modeling_llama.LlamaForCausalLM' } },
      { 'modeling_llama.py': '' },
      /defined anew by Python code in its own repository \(modeling_llama\.py/,
    ],
    [{ ...LLAMA, hidden_act: 'relu' }, {}, /hidden_act/],
    [LLAMA, { 'modules.json': '[]' }, /makes embeddings \(by its modules.json\)/],
    [LLAMA, { 'tokenizer.model': 'x' }, /tokenizer only as tokenizer\.model/],
    [LLAMA, {}, /has no tokenizer/],
  ])('has %j with %j', async (config, others, message) => {
    const { hub, platform } = await fixture(config, others);
    await expect(openInline(TEXT, platform, { model: ID })).rejects.toThrow(message);
    expect(hub.seenOf(WEIGHTS)).toEqual([]);
  });

  it('is a GGUF file, by its header alone', async () => {
    const tensors = [
      { name: 'output.weight', type: 15, shape: [4000, 256], bytes: new Uint8Array(4000 * 292).fill(7) },
    ];
    const gguf = writeGguf({ metadata: { 'general.architecture': 'llama' }, tensors });
    const { hub, env } = await hubFixture(new Map([['tiny-IQ2_XXS.gguf', Buffer.from(gguf)]]));
    const platform = {
      ...nodePlatform,
      resolveModel: (id: string, options: object) => resolveModel(id, { ...options, env, limits: IMPATIENT }),
    };
    await expect(openInline(TEXT, platform, { model: `${ID}:IQ2_XXS` })).rejects.toThrow(
      /tiny-IQ2_XXS\.gguf: tensor output\.weight is stored as Q8_K, which is not read: fetch the file of another quantization/,
    );
    expect(hub.seenOf('tiny-IQ2_XXS.gguf').map(({ range }) => range)).toEqual(['bytes=0-262143']);
  });

  it('is asked for embeddings, which it does not make', async () => {
    const { hub, platform } = await fixture({ architectures: ['T5EncoderModel'] });
    await expect(openInline(EMBEDDING, platform, { model: ID })).rejects.toThrow(
      /architecture is T5EncoderModel/,
    );
    expect(hub.seenOf(WEIGHTS)).toEqual([]);
  });
});

it('a model that was refused by its settings counts as incomplete, and can be fetched', async () => {
  const { hub, home, resolve, env } = await hubFixture();
  const refuse = async () => {
    throw new Error('no');
  };
  await expect(resolve({ inspect: refuse })).rejects.toThrow('no');
  await expect(resolve({ env: { ...env, HF_HUB_OFFLINE: '1' } })).rejects.toThrow(/not complete/);
  const seen: (readonly string[])[] = [];
  const { path } = await resolve({ inspect: async (at, files) => void seen.push([at, ...files]) });
  expect(path.startsWith(home)).toBe(true);
  expect(seen).toEqual([expect.arrayContaining([path, 'config.json', WEIGHTS])]);
  expect(hub.seenOf(WEIGHTS).length).toBeGreaterThan(0);
});
