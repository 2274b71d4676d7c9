// Files that hold no model which can be opened: refused by what they are. Damaged files: refused, or read as they were.

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import { checkRequests } from '../../../src/engine/weights/check.ts';
import { collect } from '../../../src/engine/weights/collect.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { readText } from '../../../src/models/text/registry.ts';
import { writeGguf } from '../../files/gguf/write-gguf.ts';
import { ggufOf, nf4 } from './coded-tensors.ts';
import { draw, prefixed, write } from './drawn-files.ts';
import { bytesOf, checkedHeaders, expectDamageFound, openFiles } from './headed-files.ts';
import { originalFlux } from './original-flux.ts';
import { originalAutoencoder, originalUNet, originalZImage } from './original-names.ts';
import { tinyChroma } from './tiny-flux2.ts';
import { tinySD1 } from './tiny-pipelines.ts';
import { tinyZImage } from './tiny-transformers.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { readTensors, type StoredTensor } from './tiny-tensors.ts';

const { tensors: TINY } = tinySD1();

/** A file with tensors of these names, [8, 8] in F16. */
const fileOf = (...names: string[]): Uint8Array =>
  bytesOf(names.map((name) => ({ name, dtype: 'F16', shape: [8, 8], bytes: new Uint8Array(128) })));

describe('a single file is refused that holds', () => {
  it.each<[string, string[], RegExp]>([
    [
      'a LoRA of kohya',
      ['lora_unet_mid_block_attentions_0_proj_in.lora_down.weight'],
      /is a LoRA and not a model/,
    ],
    ['a LoRA of PEFT', ['unet.mid_block.attentions.0.proj_in.lora_A.weight'], /is a LoRA/],
    ['a LoKr', ['lycoris_blocks_0_attn.lokr_w1'], /is a LoRA/],
    ['an embedding', ['emb_params'], /is a textual inversion/],
    ['a ControlNet of FLUX', ['controlnet_blocks.0.weight'], /is a ControlNet of another family, which/],
    ['AuraFlow', ['model.diffusion_model.double_layers.0.attn.w1q.weight'], /is AuraFlow/],
    [
      'a video model',
      ['head.modulation'],
      /is a variant of Wan, which makes videos, which is not built in: this version runs stable-diffusion,/,
    ],
    [
      'HunyuanVideo 1.5',
      ['txt_in.individual_token_refiner.blocks.0.norm1.weight', 'byt5_in.layernorm.weight'],
      /is a part of HunyuanVideo 1\.5, whose pipelines are read from the folders of diffusers alone, which is not built in/,
    ],
    ['HiDream', ['double_stream_blocks.0.block.adaLN_modulation.1.bias'], /is HiDream/],
    [
      'a language model',
      ['model.layers.0.mlp.gate_proj.weight', 'model.norm.weight'],
      /holds tensors such as model\.layers\.0.*no family/,
    ],
    ['nothing', [], /holds no tensors/],
  ])('%s', async (_, names, message) => {
    const error: unknown = await openFiles({ 'm.safetensors': fileOf(...names) }).catch(
      (cause: unknown) => cause,
    );
    expect(error).toMatchObject({ code: 'unsupported', param: 'model' });
    expect(String(error)).toMatch(message);
  });

  it('one component of a model alone', async () => {
    const vae = bytesOf(originalAutoencoder(TINY['vae']!, ''));
    await expect(openFiles({ 'vae.safetensors': vae })).rejects.toThrow(
      /holds vae and no denoiser: give a model, and this file as its vae/,
    );
    const text = bytesOf([...TINY['text_encoder']!.values()]);
    await expect(openFiles({ 'clip_l.safetensors': text })).rejects.toThrow(
      /holds text_encoder and no denoiser/,
    );
    const unet = bytesOf(originalUNet(TINY['unet']!, ''));
    await expect(
      openFiles(
        { 'unet.safetensors': unet, 'clip.safetensors': text },
        { componentPaths: { vae: 'clip.safetensors' } },
      ),
    ).rejects.toThrow(
      /clip\.safetensors holds no vae of this pipeline: its tensors have names such as text_model/,
    );
    await expect(openFiles({ 'unet.safetensors': unet }, { componentPaths: { vea: 'x' } })).rejects.toThrow(
      /componentPaths names vea/,
    );
    await expect(
      openFiles({ 'unet.safetensors': unet }, { pipelineClassName: 'ZImagePipeline' }),
    ).rejects.toThrow(
      /holds a model of the family stable-diffusion, and ZImagePipeline is a class of z-image/,
    );
  });

  it.each([
    [8, /edits an image that its UNet is given \(InstructPix2Pix, 8 input channels\)/],
    [5, /gives its UNet a depth map/],
    [6, /has a UNet with 6 input channels/],
  ])('a UNet of %d input channels', async (channels, message) => {
    const unet = originalUNet(TINY['unet']!).map((tensor) => {
      if (!tensor.name.endsWith('input_blocks.0.0.weight')) return tensor;
      const shape = [tensor.shape[0]!, channels, 3, 3];
      return {
        ...tensor,
        shape,
        bytes: new Uint8Array(2 * shape.reduce((product, size) => product * size, 1)),
      };
    });
    await expect(openFiles({ 'm.safetensors': bytesOf(unet) })).rejects.toThrow(message);
  });
});

it.each([
  ['m.safetensors', 250],
  ['m.gguf', 250],
])('a damaged %s is refused with its reason, or read as it was', async (name, count) => {
  const all = [
    ...originalUNet(TINY['unet']!),
    ...originalAutoencoder(TINY['vae']!),
    ...prefixed(TINY['text_encoder']!, 'cond_stage_model.transformer.'),
  ];
  const original = name.endsWith('gguf') ? ggufOf(all, 'sd1').file : bytesOf(all);
  await expectDamageFound([name, original], count, async (file) =>
    checkedHeaders(await openFiles({ [name]: file })),
  );
});

it('shapes that imply no configuration are refused under the name of the file that has them', async () => {
  const { folder, tensors } = tinyZImage('shapes');
  const broken = originalZImage(tensors['transformer']!, '').map((tensor) =>
    tensor.name.endsWith('layers.0.attention.q_norm.weight')
      ? { ...tensor, shape: [31], bytes: tensor.bytes.subarray(2) }
      : tensor,
  );
  const componentPaths = { tokenizer: folder, text_encoder: folder, vae: folder };
  await expect(draw({ model: write('shapes', broken), componentPaths })).rejects.toMatchObject({
    code: 'bad_checkpoint',
    message: expect.stringMatching(
      /\/shapes\.safetensors: by the shapes of its tensors axes_dims is \[7\.75,/,
    ) as string,
  });
});

it('shapes that do not fit another component are refused under the name of the file that has them', async () => {
  const { folder, tensors } = tinyChroma();
  const broken = originalFlux(tensors['transformer']!, '').map((tensor) =>
    tensor.name === 'txt_in.weight' ? { ...tensor, shape: tensor.shape.toReversed() } : tensor,
  );
  const componentPaths = { tokenizer: folder, text_encoder: folder, vae: folder };
  await expect(draw({ model: write('transposed', broken), componentPaths })).rejects.toThrow(
    /\/transposed\.safetensors: by the shapes of its tensors joint_attention_dim is 64, and the states of text_encoder have 48/,
  );
});

it.each<[string, (tensors: StoredTensor[]) => StoredTensor[], RegExp]>([
  [
    'codes without their scales',
    ([first, ...tensors]) => [
      ...nf4(first!).stored.filter(({ name }) => !name.endsWith('absmax')),
      ...tensors,
    ],
    /^m\.safetensors\/?.*: tensor \S+\.absmax is missing/,
  ],
  [
    'a tensor that implies a size, and is missing',
    (tensors) => tensors.filter(({ name }) => !name.endsWith('layers.0.attention.q_norm.weight')),
    /^m\.safetensors\/?.*: the transformer has no tensor layers\.0\.attention\.norm_q\.weight/,
  ],
])('a refusal of %s names the file', async (_, damaged, message) => {
  const all = originalZImage(tinyZImage('named').tensors['transformer']!, '');
  const matrices = all.filter(({ name }) => name.endsWith('feed_forward.w1.weight'));
  const others = all.filter((tensor) => !matrices.includes(tensor));
  await expect(openFiles({ 'm.safetensors': bytesOf(damaged([...matrices, ...others])) })).rejects.toThrow(
    message,
  );
});

it.each([
  ['token_embd.weight', 'a language model'],
  ['v.patch_embd.weight', 'the tower of one'],
])('a GGUF file of llama.cpp with %s, %s, is refused with what serves it', async (name) => {
  const tensors = [{ name, shape: [8, 8], type: 1, bytes: new Uint8Array(128) }];
  await expect(openFiles({ 'm.gguf': writeGguf({ tensors }) })).rejects.toThrow(
    /m\.gguf holds a language model or a part of one, .*`openTextModel` opens it.*`componentPaths`/,
  );
});

it('an empty GGUF file is refused', async () => {
  await expect(openFiles({ 'm.gguf': writeGguf({}) })).rejects.toThrow(/holds no tensors/);
});

it('a text encoder in a GGUF file of llama.cpp has the names and the configuration of transformers', async () => {
  const path = fileURLToPath(new URL('../../golden/gguf/qwen3/model.gguf', import.meta.url));
  const pipeline = await openPipeline(tinyPipeline('z-image'), openDiskFolder, knownPipelines(), {
    componentPaths: { text_encoder: path },
  });
  const { className, config, weights } = pipeline.components['text_encoder']!;
  expect(className).toBe('Qwen3ForCausalLM');
  const { tensors, sources } = await weights!();
  const wanted = await readTensors(path.replace('.gguf', '.safetensors'));
  expect([...tensors.keys()].toSorted()).toEqual([...wanted.keys()].toSorted());
  checkRequests(
    collect(tensors, (table) => readText(config, className).states!(table, [1])),
    tensors,
  );
  await Promise.all(sources.map((source) => source.close()));
  const other = path.replace('qwen3', 'llama');
  await expect(
    openPipeline(tinyPipeline('z-image'), openDiskFolder, knownPipelines(), {
      componentPaths: { text_encoder: other },
    }),
  ).rejects.toThrow(
    /holds a LlamaForCausalLM, and the text_encoder of this pipeline is Qwen3Model or Qwen3ForCausalLM/,
  );
});
