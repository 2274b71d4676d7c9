// Qwen-Image with text encoders in the forms in which they are published: the whole Qwen2.5-VL by its older names, and its language
// model alone.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { textTensors, wrappedTensors } from '../../../../src/files/checkpoint/text-half.ts';
import { temporaryFolders } from '../../../files/folders.ts';
import { goldenRequest, imagesOf, listen, openPipelineGolden, tinyPipeline } from '../pipeline-golden.ts';
import { readTensors, writeComponent, type StoredTensors } from '../tiny-tensors.ts';

const GOLDEN = 'pipeline-qwen-image-unguided';
const folderOf = temporaryFolders();
const ENCODER = join(tinyPipeline('qwen-image'), 'text_encoder');

const renamed = (tensors: StoredTensors): StoredTensors =>
  new Map([...tensors].map(([name, tensor]) => [name, { ...tensor, name }]));

it.each(['older names', 'the language model alone'])('%s', async (form) => {
  const folder = join(await folderOf({}), 'text_encoder');
  const config = JSON.parse(readFileSync(join(ENCODER, 'config.json'), 'utf8')) as { text_config: object };
  const tensors = await readTensors(join(ENCODER, 'model.safetensors'));
  if (form === 'older names') writeComponent(folder, config, renamed(wrappedTensors(tensors)));
  else {
    const alone = { ...config.text_config, model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'] };
    writeComponent(folder, alone, renamed(textTensors(tensors).tensors));
  }
  const { options } = await goldenRequest(GOLDEN);
  const { model, request } = await openPipelineGolden(GOLDEN);
  const wanted = imagesOf(await listen(model, request));
  await model.close();
  const other = await openPipelineGolden(GOLDEN, {
    componentPaths: { ...options.componentPaths, text_encoder: folder },
  });
  expect(imagesOf(await listen(other.model, other.request))).toEqual(wanted);
  await other.model.close();
});
