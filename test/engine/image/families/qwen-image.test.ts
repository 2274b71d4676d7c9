// Qwen-Image with text encoders in the forms in which they are published: the whole Qwen2.5-VL by its older names, and its language
// model alone.

import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { textTensors, wrappedTensors } from '../../../../src/files/checkpoint/text-half.ts';
import { temporaryFolders } from '../../../files/folders.ts';
import { ggufOfFolder } from '../../../files/gguf/from-folder.ts';
import { goldenRequest, imagesOf, listen, openPipelineGolden, tinyPipeline } from '../pipeline-golden.ts';
import { readTensors, writeComponent, type StoredTensors } from '../tiny-tensors.ts';

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
  '%s',
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
