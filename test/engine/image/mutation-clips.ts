// Sound files of models that draw clips, of the small decoder of clips, and of networks that enlarge results.

import { ggufOf } from './coded-tensors.ts';
import { prefixed } from './drawn-files.ts';
import type { MutationBase, MutationBases } from './mutation-bases.ts';
import { originalLTX, originalLTXAutoencoder } from './original-ltx.ts';
import { originalWan } from './original-names.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { tinyLTX, tinyWan } from './tiny-clips.ts';
import { readTensors, type StoredTensor } from './tiny-tensors.ts';

const REQUEST = { frames: 5, maxSequenceLength: 20 };

const stored = (path: string): Promise<StoredTensor[]> =>
  readTensors(tinyPipeline(path)).then((tensors) => [...tensors.values()]);

const upscaler = (name: string) => async (): Promise<MutationBase> => ({
  files: { 'upscaler.safetensors': await stored(`upscalers/${name}.safetensors`) },
  options: { model: tinyPipeline('sd1'), upscalingModelPath: '@/upscaler.safetensors' },
  request: { enableUpscaling: true },
});

export const CLIP_BASES: MutationBases = {
  'file-wan': async () => {
    const { folder, tensors } = await tinyWan();
    return {
      files: {
        'm.safetensors': originalWan(tensors['transformer']!),
        'umt5.safetensors': [...tensors['text_encoder']!.values()],
      },
      options: {
        model: '@/m.safetensors',
        componentPaths: { tokenizer: folder, text_encoder: '@/umt5.safetensors', vae: folder },
      },
      request: REQUEST,
    };
  },
  'file-ltx': async () => {
    const { folder, tensors } = await tinyLTX();
    const file = [
      ...originalLTX(tensors['transformer']!),
      ...originalLTXAutoencoder(tensors['vae']!),
      ...prefixed(tensors['text_encoder']!, 'text_encoders.t5xxl.transformer.'),
    ];
    return {
      files: { 'm.safetensors': file },
      options: { model: '@/m.safetensors', componentPaths: { tokenizer: folder } },
      request: REQUEST,
    };
  },
  'gguf-wan': async () => {
    const { folder, tensors } = await tinyWan();
    return {
      files: { 'wan.gguf': ggufOf(originalWan(tensors['transformer']!, ''), 'wan').file },
      options: { model: folder, transformerWeightsPath: '@/wan.gguf' },
      request: REQUEST,
    };
  },
  'file-taehv': async () => ({
    files: { 'taew2_1.safetensors': await stored('taehv/wan.safetensors') },
    options: { model: tinyPipeline('wan'), componentPaths: { vae: '@/taew2_1.safetensors' } },
    request: REQUEST,
  }),
  'upscaler-rrdb': upscaler('upscale-rrdb-x2'),
  'upscaler-compact': upscaler('upscale-compact-x3'),
};
