import { expect, test } from 'vitest';
import { pipelineFolders } from '../../../src/engine/image/families/registry.ts';
import { namedFile } from '../../../src/files/hub/hub-gguf.ts';
import { selectFiles } from '../../../src/files/hub/hub-select.ts';

const select = (paths: string[], allow?: (path: string) => boolean): string[] =>
  selectFiles(
    'a/b',
    { files: paths.map((path) => ({ path })), baseModel: null },
    { pipelines: pipelineFolders(), ...(allow && { allow }) },
  )
    .map(({ path }) => path)
    .sort();

test('the files of a model are configuration, tokenizer, template and safetensors, nothing else', () => {
  const wanted = [
    'chat_template.jinja',
    'config.json',
    'generation_config.json',
    'merges.txt',
    'model.safetensors',
    'tokenizer.json',
    '1_Pooling/config.json',
    '2_Dense/model.safetensors',
  ];
  const others = [
    'README.md',
    '.gitattributes',
    'pytorch_model.bin',
    'pytorch_model.bin.index.json',
    'tf_model.h5',
    'flax_model.msgpack',
    'model.gguf',
    'model.onnx',
    'rust_model.ot',
    'onnx/config.json',
    'original/params.json',
    'original/model.safetensors',
    'metal/model.safetensors',
    'checkpoint-500/model.safetensors',
    '.cache/x.json',
  ];
  expect(select([...wanted, ...others])).toEqual(wanted.sort());
});

test('shards are fetched with their index, without a second copy of the weights', () => {
  const shards = [
    'model-00001-of-00002.safetensors',
    'model-00002-of-00002.safetensors',
    'model.safetensors.index.json',
  ];
  const copies = [
    'consolidated.safetensors',
    'consolidated-00001-of-00002.safetensors',
    'consolidated.safetensors.index.json',
    'model.fp16-00001-of-00002.safetensors',
  ];
  expect(select([...shards, ...copies])).toEqual(shards);
  expect(select(['consolidated.safetensors', 'params.json'])).toEqual([
    'consolidated.safetensors',
    'params.json',
  ]);
  expect(select(['model.fp16.safetensors'])).toEqual(['model.fp16.safetensors']);
});

test('a pipeline is fetched as folders of components, each weight in half precision where the hub has it', () => {
  const wanted = [
    'model_index.json',
    'scheduler/scheduler_config.json',
    'text_encoder/config.json',
    'text_encoder/model.fp16.safetensors',
    'text_encoder_2/model.safetensors',
    'tokenizer/merges.txt',
    'transformer/diffusion_pytorch_model.fp16-00001-of-00002.safetensors',
    'transformer/diffusion_pytorch_model.fp16-00002-of-00002.safetensors',
    'transformer/diffusion_pytorch_model.safetensors.index.fp16.json',
    'vae/config.json',
    'vae/diffusion_pytorch_model.fp16.safetensors',
  ];
  const others = [
    'sd_xl_base_1.0.safetensors',
    'text_encoder/model.safetensors',
    'text_encoder/openvino_model.bin',
    'transformer/diffusion_pytorch_model.non_ema.safetensors',
    'transformer/diffusion_pytorch_model-00001-of-00002.safetensors',
    'transformer/diffusion_pytorch_model-00002-of-00002.safetensors',
    'transformer/diffusion_pytorch_model.safetensors.index.json',
    'safety_checker/model.safetensors',
    'safety_checker/config.json',
    'transformer/diffusion_pytorch_model.non_ema.safetensors.index.json',
    'vae_decoder/model.onnx',
    'vae_1_0/diffusion_pytorch_model.fp16.safetensors',
    'image_encoder/model.safetensors',
  ];
  expect(select([...wanted, ...others])).toEqual(wanted.sort());
});

test('a component is fetched without its copy for other programs', () => {
  const wanted = ['config.json', 'diffusion_pytorch_model.safetensors'];
  expect(select([...wanted, 'sdxl_vae.safetensors', 'diffusion_pytorch_model.bin'])).toEqual(wanted);
  const half = ['config.json', 'diffusion_pytorch_model.fp16.safetensors'];
  expect(select([...half, 'diffusion_pytorch_model.safetensors', 'lcm.safetensors'])).toEqual(half);
  expect(select(['taesd_decoder.safetensors', 'taesd_encoder.safetensors'])).toHaveLength(2);
});

test("a component has torch's files where it has no safetensors", () => {
  const files = [
    'model_index.json',
    'text_encoder/pytorch_model.bin',
    'unet/diffusion_pytorch_model.safetensors',
    'unet/diffusion_pytorch_model.bin',
    'vae/diffusion_pytorch_model.bin',
    'text_encoder_2/openvino_model.bin',
  ];
  expect(select(files)).toEqual(files.filter((path) => !/unet.*bin|openvino/.test(path)).sort());
});

test('the option allow replaces the rules', () => {
  expect(select(['a.gguf', 'b.safetensors'], (path) => path.endsWith('.gguf'))).toEqual(['a.gguf']);
  expect(() => select(['a.gguf'], () => false)).toThrow('none of the files asked for; it holds 1 .gguf');
});

test.each([
  [
    ['q4.gguf', 'q8.gguf', 'README.md'],
    'acme/original',
    /it holds 2 \.gguf, 1 \.md; GGUF files are read one at a time: name one as .*:FILE, or fetch acme\/original, which its card names/,
  ],
  [['q4.gguf'], null, /GGUF files are read one at a time: name one as .*:FILE$/],
  [
    ['weights.pt', 'config.json'],
    null,
    /1 \.pt, 1 \.json; of torch's files those in the layout of transformers or diffusers are read/,
  ],
  [['onnx/model.safetensors', 'Makefile'], null, /1 \.safetensors, 1 Makefile; name a repository/],
  [[], null, /it holds no files/],
])('a repository of %j is refused with what it holds instead', (paths, base, words) => {
  const files = paths.map((path) => ({ path }));
  expect(() => selectFiles('a/b', { files, baseModel: base }, { pipelines: pipelineFolders() })).toThrow(
    words,
  );
  expect(() => selectFiles('a/b', { files, baseModel: base }, { pipelines: pipelineFolders() })).toThrow(
    expect.objectContaining({ code: 'unsupported' }),
  );
});

test('components of a pipeline are those that the families declare', () => {
  const paths = [
    'model_index.json',
    'painter/model.safetensors',
    'unet/model.safetensors',
    'judge/config.json',
  ];
  const files = paths.map((path) => ({ path }));
  const folders = {
    weights: new Set(['painter']),
    replaceable: new Set<string>(),
    unread: new Set(['judge']),
  };
  const chosen = selectFiles('a/b', { files, baseModel: null }, { pipelines: folders }).map(
    ({ path }) => path,
  );
  expect(chosen.toSorted()).toEqual(['model_index.json', 'painter/model.safetensors']);
  const beside = { ...folders, beside: new Map([['judge', 'jury']]) };
  const taken = (...more: string[]): boolean => {
    const all = [...files, ...more.map((path) => ({ path }))];
    const found = selectFiles('a/b', { files: all, baseModel: null }, { pipelines: beside });
    return found.some(({ path }) => path === 'judge/config.json');
  };
  expect([taken(), taken('jury/config.json')]).toEqual([false, true]);
  const torch = [...files, { path: 'unet/pytorch_model.bin' }, { path: 'other/pytorch_model.bin' }];
  const two = { ...folders, weights: new Set(['painter', 'other']) };
  const both = selectFiles('a/b', { files: torch, baseModel: null }, { pipelines: two });
  expect(both.map(({ path }) => path).toSorted()).toEqual([
    'model_index.json',
    'other/pytorch_model.bin',
    'painter/model.safetensors',
  ]);
});

test("T5's spiece.model is taken where its folder has no tokenizer.json", () => {
  const weights = ['model_index.json', 'text_encoder_2/model.safetensors', 'transformer/model.safetensors'];
  const tokenizers = [
    'tokenizer/vocab.json',
    'tokenizer_2/spiece.model',
    'tokenizer_2/tokenizer_config.json',
  ];
  expect(select([...weights, ...tokenizers])).toEqual([...weights, ...tokenizers].sort());
  const whole = [...weights, ...tokenizers, 'tokenizer_2/tokenizer.json'];
  expect(select(whole)).toEqual(whole.filter((path) => !path.endsWith('.model')).sort());
  const files = [...weights, ...tokenizers].map((path) => ({ path }));
  const options = { component: 'tokenizer_2', pipelines: pipelineFolders() };
  const alone = selectFiles('a/b', { files, baseModel: null }, options).map(({ path }) => path);
  expect(alone).toEqual([
    'model_index.json',
    'tokenizer_2/spiece.model',
    'tokenizer_2/tokenizer_config.json',
  ]);
});

test.each(['source.spm', 'sentencepiece.bpe.model'])('%s is taken beside vocab.json', (name) => {
  const files = ['config.json', 'model.safetensors', name, 'vocab.json'].sort();
  expect(select(files)).toEqual(files);
  const whole = [...files, 'tokenizer.json'];
  expect(select(whole)).toEqual(whole.filter((path) => path !== name).sort());
});

test("PEFT's settings come with the only file of a repository, and with one that is named", () => {
  const paths = ['adapter_config.json', 'adapter_model.safetensors', 'README.md'];
  const files = paths.map((path) => ({ path, size: 1 }));
  const wanted = ['adapter_config.json', 'adapter_model.safetensors'];
  const names = (chosen: readonly { path: string }[]) => chosen.map(({ path }) => path).sort();
  expect(names(selectFiles('a/b', { files, baseModel: null }, { singleFiles: true }))).toEqual(wanted);
  expect(names(namedFile('a/b', 'adapter_model.safetensors', files))).toEqual(wanted);
  const other = [{ path: 'style.safetensors', size: 1 }, ...files];
  expect(names(namedFile('a/b', 'style.safetensors', other))).toEqual(['style.safetensors']);
});
