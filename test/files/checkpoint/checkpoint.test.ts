import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { byteLevel, standIn } from '../tokenizer/small-tokenizers.ts';
import {
  CLASSES,
  config,
  type Content,
  folderOf,
  open,
  refusal,
  shard,
  sharded,
  whole,
} from './memory-checkpoint.ts';

describe('a whole checkpoint', () => {
  it('has config, generation config and tensors, and closes its files', async () => {
    const folder = folderOf({ ...whole, 'generation_config.json': { temperature: 0.3 } });
    const checkpoint = await openCheckpoint(folder, CLASSES);
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

  it('may have a generation config that is not JSON, which is left out of account by its place', async () => {
    const text = '{\n  "top_p": 0.8,\n  "top_k": 5\n  "max_new_tokens": 9,\n}';
    const checkpoint = await open({ ...whole, 'generation_config.json': text });
    expect(checkpoint.generationConfig).toEqual({});
    expect(checkpoint.generationConfigProblem).toMatch(/^generation_config\.json is not JSON \(line 4, /);
    const list = open({ ...whole, 'generation_config.json': '[]' });
    await expect(list).rejects.toMatchObject({ code: 'bad_checkpoint', param: 'generation_config.json' });
  });

  it('is named where it lies within the folder that is given', async () => {
    const within = (...names: string[]) =>
      openCheckpoint({ ...folderOf({}), models: async () => names }, CLASSES);
    await expect(within('a', 'b')).rejects.toThrow(
      /and holds 2 folders of models: give one, such as \/m\/a$/,
    );
    await expect(within()).rejects.toThrow(/has no config\.json: give the folder of a whole checkpoint$/);
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
    expect(checkpoint.generationConfigProblem).toBeNull();
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
  const files = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, name === 'config.json' ? config : '{}']));
  it.each<[string, Record<string, Content>, string, RegExp]>([
    [
      'GGUF that is none',
      files('q4.gguf', 'config.json'),
      'bad_checkpoint',
      /q4\.gguf is not a sound GGUF file: it holds 2 bytes/,
    ],
    [
      'GGUF beside a model',
      files('mmproj-f16.gguf', 'config.json'),
      'unsupported',
      /of GGUF files only mmproj-f16\.gguf, which is not a text model by its name: fetch the file of the text model/,
    ],
    [
      "a file of torch's that is none",
      files('config.json', 'pytorch_model.bin'),
      'bad_checkpoint',
      /pytorch_model\.bin in \/m is not a sound file of torch\.save/,
    ],
    [
      "Meta's own layout",
      files('config.json', 'consolidated.00.pth'),
      'unsupported',
      /weights in consolidated\.00\.pth, and of torch's files those in transformers' layout are read/,
    ],
    [
      'a model of whisper.cpp',
      files('ggml-base.en.bin'),
      'unsupported',
      /whisper\.cpp \(ggml-base\.en\.bin\).*no GGUF/,
    ],
    [
      'diffusers',
      files('model_index.json'),
      'unsupported',
      /^\/m is a diffusion pipeline .* `openImageModel` draws/,
    ],
    ['a LoRA', files('adapter_config.json', 'adapter_model.safetensors'), 'unsupported', /is a LoRA/],
    [
      'a LoRA beside the config.json of its model',
      files('adapter_config.json', 'adapter_model.bin', 'config.json'),
      'unsupported',
      /is a LoRA/,
    ],
    [
      "Mistral's own layout",
      files('params.json', 'consolidated.safetensors', 'tekken.json'),
      'unsupported',
      /Mistral's own layout \(params\.json\).*fetch the files of the Hugging Face layout/,
    ],
    ['nothing', files('README.md'), 'bad_checkpoint', /no config\.json/],
    [
      'one file of weights',
      files('model.safetensors'),
      'unsupported',
      /^\/m is weights without config\.json: give the folder of a language model, .*; if this is an image model in one file, `openImageModel`/,
    ],
    ['no weights', files('config.json'), 'bad_checkpoint', /no weights/],
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
});

describe('the tokenizer of a checkpoint', () => {
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

describe('the chat template of a checkpoint', () => {
  const inConfig = { 'tokenizer_config.json': { chat_template: 'from config' } };
  const inJson = { 'chat_template.json': { chat_template: 'from json' } };
  it.each<[string, Record<string, Content>, unknown]>([
    ['none', {}, null],
    ['an empty file', { ...inConfig, 'chat_template.jinja': ' \n' }, null],
    ['an empty text', { 'tokenizer_config.json': { chat_template: '' } }, null],
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
