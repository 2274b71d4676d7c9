import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { EngineError } from '../../../src/files/error.ts';
import { safetensorsHead, tensorBytes } from '../../../src/files/checkpoint/safetensors.ts';
import type { Folder } from '../../../src/files/source.ts';
import { memorySource } from '../memory-source.ts';
import { byteLevel, standIn } from '../tokenizer/small-tokenizers.ts';

type Content = string | object | Uint8Array;

interface Opened extends Folder {
  /** Sources that were opened and not closed. */
  leftOpen: Set<string>;
}

function folderOf(files: Record<string, Content>): Opened {
  const left = new Set<string>();
  return {
    path: '/m',
    leftOpen: left,
    names: async () => Object.keys(files),
    open: async (name) => {
      const content = files[name];
      if (content === undefined) throw new EngineError('bad_checkpoint', `${name} is missing`);
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      const source = memorySource(
        name,
        content instanceof Uint8Array ? content : new TextEncoder().encode(text),
      );
      left.add(name);
      return { ...source, close: async () => void left.delete(name) };
    },
  };
}

/** A shard with these tensors, each one float, all zero but the last byte. */
function shard(...names: string[]): Uint8Array {
  const specs = names.map((name) => ({ name, dtype: 'F32' as const, shape: [1] }));
  const head = safetensorsHead(specs);
  const bytes = new Uint8Array(head.length + specs.reduce((sum, spec) => sum + tensorBytes(spec), 0));
  bytes.set(head);
  return bytes;
}

const config = { architectures: ['LlamaForCausalLM'], model_type: 'llama' };
const whole = { 'config.json': config, 'model.safetensors': shard('a', 'b') };
const sharded = (map: unknown, shards: Record<string, Uint8Array>) => ({
  'config.json': config,
  'model.safetensors.index.json': { metadata: {}, weight_map: map },
  ...shards,
});
const open = (files: Record<string, Content>) =>
  openCheckpoint(folderOf(files), { architectures: ['LlamaForCausalLM'] });

async function refusal(files: Record<string, Content>): Promise<EngineError> {
  const folder = folderOf(files);
  const error: unknown = await openCheckpoint(folder, { architectures: ['LlamaForCausalLM'] }).catch(
    (e: unknown) => e,
  );
  if (!(error instanceof EngineError)) throw new Error(`refused with ${String(error)}`);
  expect([...folder.leftOpen]).toEqual([]);
  return error;
}

describe('weights packed elsewhere', () => {
  it.each([
    [{ quant_method: 'gptq', bits: 4 }, 'gptq'],
    [{ quant_method: 'awq' }, 'awq'],
    [{ load_in_4bit: true }, 'bitsandbytes'],
    [{ bits: 4 }, 'an unnamed method'],
  ])('%j are refused by the name of the method', async (packing, name) => {
    const { code, message } = await refusal({
      ...whole,
      'config.json': { ...config, quantization_config: packing },
    });
    expect(code).toBe('unsupported');
    expect(message).toContain(`quantized with ${name} (`);
    expect(message).toContain('`quantization` int4');
  });
});

describe('a whole checkpoint', () => {
  it('has config, generation config and tensors, and closes its files', async () => {
    const folder = folderOf({ ...whole, 'generation_config.json': { temperature: 0.3 } });
    const checkpoint = await openCheckpoint(folder, { architectures: [] });
    expect(checkpoint).toMatchObject({
      path: '/m',
      config,
      generationConfig: { temperature: 0.3 },
      shards: ['model.safetensors'],
    });
    expect([...checkpoint.tensors.keys()]).toEqual(['a', 'b']);
    expect([...folder.leftOpen]).toEqual(['model.safetensors']);
    await checkpoint.close();
    expect([...folder.leftOpen]).toEqual([]);
  });

  it('may be in shards', async () => {
    const checkpoint = await open(
      sharded(
        { a: '1.safetensors', b: '2.safetensors' },
        { '1.safetensors': shard('a'), '2.safetensors': shard('b') },
      ),
    );
    expect([...checkpoint.tensors.values()].map(({ name, source }) => [name, source.name])).toEqual([
      ['a', '1.safetensors'],
      ['b', '2.safetensors'],
    ]);
    expect(checkpoint.shards).toEqual(['1.safetensors', '2.safetensors']);
    expect(checkpoint.generationConfig).toEqual({});
  });
});

describe('shards that contradict their index', () => {
  const one = { '1.safetensors': shard('a') };
  const two = { ...one, '2.safetensors': shard('b') };
  it.each<[string, unknown, Record<string, Uint8Array>, RegExp]>([
    [
      'missing',
      { a: '1.safetensors', b: '2.safetensors', c: '2.safetensors' },
      one,
      /2\.safetensors is missing.*2 of 3 tensors/,
    ],
    [
      'not there',
      { a: '1.safetensors', b: '1.safetensors' },
      one,
      /tensor b should stand in 1\.safetensors.*does not/,
    ],
    [
      'elsewhere',
      { a: '2.safetensors', b: '1.safetensors' },
      two,
      /tensor a should stand in 2\.safetensors.*stands in 1\.safetensors/,
    ],
    [
      'twice',
      { a: '1.safetensors', b: '2.safetensors' },
      { ...one, '2.safetensors': shard('b', 'a') },
      /tensor a stands in both 1\.safetensors and 2\.safetensors/,
    ],
    ['out of the folder', { a: '../1.safetensors' }, one, /puts a into "\.\.\/1\.safetensors"/],
    ['no name', { a: 7 }, one, /puts a into 7/],
    ['no map', undefined, one, /has no weight_map/],
  ])('%s', async (_, map, shards, message) => {
    const error = await refusal(sharded(map, shards));
    expect(error.code).toBe('bad_checkpoint');
    expect(error.message).toMatch(message);
  });

  it('a broken header is named by its file', async () => {
    const error = await refusal(
      sharded({ a: '1.safetensors', b: '2.safetensors' }, { ...one, '2.safetensors': new Uint8Array(9) }),
    );
    expect(error.message).toMatch(/^2\.safetensors in \/?\S+ is not a sound safetensors file/);
  });
});

describe('other kinds of folder', () => {
  const files = (...names: string[]) => Object.fromEntries(names.map((name) => [name, '{}']));
  it.each<[string, Record<string, Content>, string, RegExp]>([
    [
      'GGUF only',
      files('q4.gguf', 'config.json'),
      'unsupported',
      /only GGUF weights \(q4\.gguf\).*fetch the original/,
    ],
    [
      'pickle only',
      files('config.json', 'pytorch_model.bin'),
      'unsupported',
      /Python pickle \(pytorch_model\.bin\).*fetch a revision/,
    ],
    ['pickle shards', files('config.json', 'pytorch_model.bin.index.json'), 'unsupported', /Python pickle/],
    [
      'diffusers',
      files('model_index.json'),
      'unsupported',
      /^\/m is a diffusion pipeline .* `npx svc-engine generate --model-path \/m --prompt …` draws/,
    ],
    ['an adapter', files('adapter_config.json', 'adapter_model.safetensors'), 'unsupported', /is an adapter/],
    ['nothing', files('README.md'), 'bad_checkpoint', /no config\.json/],
    ['no weights', files('config.json'), 'bad_checkpoint', /no safetensors file/],
    [
      'other weights',
      files('config.json', 'x.safetensors'),
      'bad_checkpoint',
      /neither model\.safetensors nor .*x\.safetensors/,
    ],
    ['no JSON', { ...whole, 'config.json': '{' }, 'bad_checkpoint', /config\.json in \/m is not JSON/],
    [
      'no JSON for generation',
      { ...whole, 'generation_config.json': '[]' },
      'bad_checkpoint',
      /generation_config\.json in \/m must hold a JSON object/,
    ],
  ])('%s', async (_, content, code, message) => {
    const error = await refusal(content);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  it('that need code of their repository are refused by its name, unless the architecture is built in', async () => {
    const auto_map = {
      AutoConfig: 'configuration_x.XConfig',
      AutoModelForCausalLM: 'o/r--modeling_x.XForCausalLM',
    };
    const custom = (name: string) => ({ ...whole, 'config.json': { architectures: [name], auto_map } });
    const error = await refusal(custom('XForCausalLM'));
    expect(error).toMatchObject({ code: 'unsupported' });
    expect(error.message).toMatch(/^XForCausalLM is defined by .* \(modeling_x\.py\), .* LlamaForCausalLM$/);
    expect((await open(custom('LlamaForCausalLM'))).tensors.size).toBe(2);
    const configOnly = {
      ...config,
      architectures: ['Y'],
      auto_map: { AutoConfig: 'configuration_x.XConfig' },
    };
    expect((await open({ ...whole, 'config.json': configOnly })).tensors.size).toBe(2);
  });
});

describe('the tokenizer', () => {
  const { tokenizerJson, tokenizerConfig } = byteLevel();
  it('is read from tokenizer.json, once', async () => {
    const checkpoint = await open({
      ...whole,
      'tokenizer.json': tokenizerJson,
      'tokenizer_config.json': tokenizerConfig,
    });
    const tokenizer = await checkpoint.tokenizer();
    expect(tokenizer.encode('hi')).toEqual([262, 257]);
    expect(await checkpoint.tokenizer()).toBe(tokenizer);
  });
  it('takes special tokens from special_tokens_map.json, but for those of a config that lists added tokens', async () => {
    const map = { eos_token: '<|begin|>', bos_token: { content: '<|end|>' } };
    const both = { ...whole, 'tokenizer.json': tokenizerJson, 'special_tokens_map.json': map };
    const specialsWith = async (files: Record<string, Content>) =>
      (await (await open({ ...both, ...files })).tokenizer()).specials;
    const mapped = { bos_token: '<|end|>', eos_token: '<|begin|>' };
    expect(await specialsWith({})).toMatchObject(mapped);
    expect(await specialsWith({ 'tokenizer_config.json': tokenizerConfig })).toMatchObject(mapped);
    const listing = { ...tokenizerConfig, added_tokens_decoder: {} };
    expect(await specialsWith({ 'tokenizer_config.json': listing })).toMatchObject({
      bos_token: '<|begin|>',
      eos_token: '<|end|>',
    });
  });
  it('is put together from vocab.json and merges.txt', async () => {
    const vocab = Object.fromEntries(
      [...Array.from({ length: 256 }, (_, byte) => standIn(byte)), 'hi'].map((token, id) => [token, id]),
    );
    const checkpoint = await open({
      ...whole,
      'vocab.json': vocab,
      'merges.txt': '#version: 0.2\nh i\n',
      'tokenizer_config.json': { tokenizer_class: 'Qwen2Tokenizer' },
    });
    expect((await checkpoint.tokenizer()).encode('hi!')).toEqual([256, 33]);
  });
  it('that is SentencePiece only, or missing, is refused', async () => {
    const sentencePiece = await open({ ...whole, 'tokenizer.model': 'x' });
    await expect(sentencePiece.tokenizer()).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/only as tokenizer\.model.*has tokenizer\.json/),
    });
    await expect((await open(whole)).tokenizer()).rejects.toThrow(/has no tokenizer: fetch tokenizer\.json/);
  });
});

describe('the chat template', () => {
  const inConfig = { 'tokenizer_config.json': { chat_template: 'from config' } };
  const inJson = { 'chat_template.json': { chat_template: 'from json' } };
  it.each<[string, Record<string, Content>, unknown]>([
    ['none', {}, null],
    ['tokenizer_config.json', inConfig, { default: 'from config' }],
    ['chat_template.json', { ...inConfig, ...inJson }, { default: 'from json' }],
    [
      'chat_template.jinja',
      { ...inConfig, ...inJson, 'chat_template.jinja': 'from jinja' },
      { default: 'from jinja' },
    ],
    [
      'several by name',
      {
        'tokenizer_config.json': {
          chat_template: [
            { name: 'default', template: 'a' },
            { name: 'tool_use', template: 'b' },
          ],
        },
      },
      { default: 'a', tool_use: 'b' },
    ],
  ])('%s', async (_, files, expected) => {
    expect((await open({ ...whole, ...files })).chatTemplate).toEqual(expected);
  });
});
