// Qwen-Image with text encoders in the forms in which they are published: the whole Qwen2.5-VL by its older names, and its language
// model alone.

import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { knownPipelines } from '../../../../../src/engine/image/families/registry.ts';
import { openPipeline } from '../../../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../../../src/files/disk/source-disk.ts';
import type { ByteSource, Folder } from '../../../../../src/files/source.ts';
import { textTensors, wrappedTensors } from '../../../../../src/files/checkpoint/text-half.ts';
import { temporaryFolders } from '../../../../files/folders.ts';
import { ggufOfFolder, typeId } from '../../../../files/gguf/from-folder.ts';
import { writeGguf, type WrittenTensor } from '../../../../files/gguf/write-gguf.ts';
import { goldenRequest, imagesOf, listen, openPipelineGolden, tinyPipeline } from '../../pipeline-golden.ts';
import { readTensors, writeComponent, type StoredTensors } from '../../tiny-tensors.ts';

const GOLDEN = 'pipeline-qwen-image-unguided';
const folderOf = temporaryFolders();
const ENCODER = join(tinyPipeline('qwen-image'), 'text_encoder');

/** Writes the file that llama.cpp's converter makes of Qwen2.5-VL, whose tower stands in a file of its own. */
async function writeGgufOf(folder: string): Promise<string> {
  for (const name of ['tokenizer.json', 'tokenizer_config.json'])
    copyFileSync(join(tinyPipeline('qwen-image'), 'tokenizer', name), join(folder, name));
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as Record<string, number>;
  const head = config['hidden_size']! / config['num_attention_heads']!;
  const keys = {
    block_count: config['num_hidden_layers']!,
    context_length: config['max_position_embeddings']!,
    embedding_length: config['hidden_size']!,
    feed_forward_length: config['intermediate_size']!,
    'attention.head_count': config['num_attention_heads']!,
    'attention.head_count_kv': config['num_key_value_heads']!,
    'attention.layer_norm_rms_epsilon': { type: 'f32' as const, value: config['rms_norm_eps']! },
    'rope.freq_base': { type: 'f32' as const, value: config['rope_theta']! },
    'rope.dimension_sections': { items: 'i32' as const, values: [4, 6, 6, 0] },
  };
  const own = Object.fromEntries(Object.entries(keys).map(([key, value]) => [`qwen2vl.${key}`, value]));
  const ends = { 'tokenizer.ggml.bos_token_id': 456, 'tokenizer.ggml.eos_token_id': 458 };
  const filled = { ...config, head_dim: head };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(filled));
  const bytes = await ggufOfFolder(
    folder,
    { 'general.architecture': 'qwen2vl', ...own, ...ends },
    (tensor) => ({ ...tensor, name: tensor.name.replace('lm_head', 'output') }),
  );
  const file = join(folder, 'qwen2.5-vl.gguf');
  writeFileSync(file, bytes);
  return file;
}

const renamed = (tensors: StoredTensors): StoredTensors =>
  new Map([...tensors].map(([name, tensor]) => [name, { ...tensor, name }]));

it.each(['older names', 'the language model alone', 'the language model as a GGUF file'])(
  'the name of Qwen-Image: %s',
  async (form) => {
    const folder = join(await folderOf({}), 'text_encoder');
    let encoder = folder;
    const config = JSON.parse(readFileSync(join(ENCODER, 'config.json'), 'utf8')) as { text_config: object };
    const tensors = await readTensors(join(ENCODER, 'model.safetensors'));
    if (form === 'older names') writeComponent(folder, config, renamed(wrappedTensors(tensors)));
    else {
      const alone = { ...config.text_config, model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'] };
      writeComponent(folder, alone, renamed(textTensors(tensors).tensors));
      if (form !== 'the language model alone') encoder = await writeGgufOf(folder);
    }
    const { options } = await goldenRequest(GOLDEN);
    const { model, request } = await openPipelineGolden(GOLDEN);
    const wanted = imagesOf(await listen(model, request));
    await model.close();
    const other = await openPipelineGolden(GOLDEN, {
      componentPaths: { ...options.componentPaths, text_encoder: encoder },
    });
    expect(imagesOf(await listen(other.model, other.request))).toEqual(wanted);
    await other.model.close();
  },
);

it('the header of a GGUF file is read once, and its tensors when they are needed', async () => {
  const folder = join(await folderOf({}), 'text_encoder');
  const config = JSON.parse(readFileSync(join(ENCODER, 'config.json'), 'utf8')) as { text_config: object };
  const tensors = textTensors(await readTensors(join(ENCODER, 'model.safetensors'))).tensors;
  writeComponent(
    folder,
    { ...config.text_config, model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'] },
    renamed(tensors),
  );
  const { options } = await goldenRequest(GOLDEN);
  const componentPaths = { ...options.componentPaths, text_encoder: await writeGgufOf(folder) };
  const read: number[] = [];
  let open = 0;
  const openFolder = async (path: string): Promise<Folder> => {
    const found = await openDiskFolder(path);
    return {
      ...found,
      async open(name) {
        const source = await found.open(name);
        if (!name.endsWith('.gguf')) return source;
        open++;
        const heard: Pick<ByteSource, 'read' | 'readInto'> = {
          read: (offset, length) => (read.push(offset), source.read(offset, length)),
          readInto: (offset, target) => (read.push(offset), source.readInto(offset, target)),
        };
        const close = () => {
          open--;
          return source.close();
        };
        return { ...source, ...heard, close };
      },
    };
  };
  const { components } = await openPipeline(options.model, openFolder, knownPipelines(), {
    ...options,
    componentPaths,
  });
  expect(read.filter((offset) => offset === 0)).toHaveLength(1);
  expect(open).toBe(0);
  const count = read.length;
  const weights = await components['text_encoder']!.weights!();
  expect(read).toHaveLength(count);
  const [entry] = [...weights.tensors.values()];
  expect(await entry!.source.read(entry!.offset, entry!.bytes)).toHaveLength(entry!.bytes);
  expect(open).toBe(1);
  await Promise.all(weights.sources.map((source) => source.close()));
  expect(open).toBe(0);
});

/** Names of llama.cpp for tensors of the tower. */
const TOWER: readonly (readonly [RegExp, string])[] = [
  [/^visual\.blocks\.(\d+)\.norm(\d)\./, 'v.blk.$1.ln$2.'],
  [/^visual\.blocks\.(\d+)\.attn\.proj\./, 'v.blk.$1.attn_out.'],
  [/^visual\.blocks\.(\d+)\.mlp\.(gate|up|down)_proj\./, 'v.blk.$1.ffn_$2.'],
  [/^visual\.merger\.ln_q\./, 'v.post_ln.'],
  [/^visual\.merger\.mlp\.([02])\./, 'mm.$1.'],
];

/** The file of the tower as llama.cpp converts it: queries, keys and values apart, and each frame of the patches. */
function writeTower(file: string, tensors: StoredTensors, vision: Record<string, number>): void {
  const written = [...renamed(tensors).values()].flatMap((tensor): WrittenTensor[] => {
    const { name, dtype, shape, bytes } = tensor;
    if (!name.startsWith('visual.')) return [];
    const type = typeId(dtype as 'BF16');
    const qkv = /^visual\.blocks\.(\d+)\.attn\.qkv\.(weight|bias)$/.exec(name);
    if (qkv) {
      const size = bytes.length / 3;
      return ['q', 'k', 'v'].map((part, i) => ({
        name: `v.blk.${qkv[1]}.attn_${part}.${qkv[2]}`,
        type,
        shape: [shape[0]! / 3, ...shape.slice(1)],
        bytes: bytes.slice(i * size, (i + 1) * size),
      }));
    }
    if (name.includes('patch_embed')) {
      const [rows, channels, , ...patch] = shape as [number, number, number, number, number];
      const chunk = bytes.length / rows / channels / 2;
      const frame = (which: number): Uint8Array =>
        Buffer.concat(
          Array.from({ length: rows * channels }, (_, i) =>
            bytes.subarray((2 * i + which) * chunk, (2 * i + which + 1) * chunk),
          ),
        );
      return ['', '.1'].map((end, which) => ({
        name: `v.patch_embd.weight${end}`,
        type,
        shape: [rows, channels, ...patch],
        bytes: frame(which),
      }));
    }
    const own = TOWER.reduce((text, [pattern, other]) => text.replace(pattern, other), name);
    return [{ name: own, type, shape, bytes }];
  });
  const metadata = {
    'general.architecture': 'clip',
    'general.type': 'mmproj',
    'clip.projector_type': 'qwen2.5vl_merger',
    'clip.vision.block_count': vision['depth']!,
    'clip.vision.embedding_length': vision['hidden_size']!,
    'clip.vision.feed_forward_length': vision['intermediate_size']!,
    'clip.vision.attention.head_count': vision['num_heads']!,
    'clip.vision.patch_size': vision['patch_size']!,
    'clip.vision.window_size': vision['window_size']!,
    'clip.vision.n_wa_pattern': 2,
  };
  writeFileSync(file, writeGguf({ metadata, tensors: written }));
}

it('Qwen-Image-Edit reads Qwen2.5-VL from a GGUF file and its tower from the one beside it', async () => {
  const golden = 'pipeline-qwen-image-edit';
  const config = JSON.parse(readFileSync(join(ENCODER, 'config.json'), 'utf8')) as {
    text_config: object;
    vision_config: Record<string, number>;
  };
  const tensors = await readTensors(join(ENCODER, 'model.safetensors'));
  const alone = join(await folderOf({}), 'text_encoder');
  writeComponent(
    alone,
    { ...config.text_config, model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'] },
    renamed(textTensors(tensors).tensors),
  );
  const language = await writeGgufOf(alone);
  const folder = await folderOf({});
  const { options } = await goldenRequest(golden);
  const opened = (path: string) =>
    openPipelineGolden(golden, { componentPaths: { ...options.componentPaths, text_encoder: path } });
  copyFileSync(language, join(folder, 'qwen2.5-vl.gguf'));
  await expect(opened(folder)).rejects.toThrow(/sees images too: put its vision tower \(mmproj-….gguf\)/);
  writeTower(join(folder, 'mmproj-BF16.gguf'), wrappedTensors(tensors), config.vision_config);
  const { model, request } = await openPipelineGolden(golden);
  const wanted = imagesOf(await listen(model, request));
  await model.close();
  const other = await opened(folder);
  expect(imagesOf(await listen(other.model, other.request))).toEqual(wanted);
  await other.model.close();
});
