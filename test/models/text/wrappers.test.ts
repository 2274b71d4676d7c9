// Classes that wrap a text model, as transformers saves them, opened as their text model: logits of the wrapping class for text alone.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { readSafetensors } from '../../../src/files/tensors/safetensors.ts';
import type { Folder } from '../../../src/files/source.ts';
import { openDiskFolder, openDiskSource } from '../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { textHalf } from '../../../src/models/text/wrappers.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { openForward } from '../forward.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/wrappers/', import.meta.url));

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

async function valuesOf(name: string): Promise<{ ids: Int32Array; logits: Float32Array }> {
  const source = await openDiskSource(`${GOLDEN}${name}/logits.safetensors`);
  const { tensors } = await readSafetensors(source);
  const read = async (tensor: string): Promise<ArrayBuffer> => {
    const { offset, bytes } = tensors.get(tensor)!;
    return (await source.read(offset, bytes)).slice().buffer;
  };
  const values = { ids: new Int32Array(await read('ids')), logits: new Float32Array(await read('logits')) };
  await source.close();
  return values;
}

const MODELS: [name: string, opened: string, left: readonly string[]][] = [
  ['llava', 'LlamaForCausalLM', ['multi_modal_projector', 'vision_tower']],
  ['mistral3', 'MistralForCausalLM', ['multi_modal_projector', 'vision_tower']],
  ['ministral3', 'Ministral3ForCausalLM', ['multi_modal_projector', 'vision_tower']],
  ['qwen2-vl', 'Qwen2ForCausalLM', []],
  ['qwen3-vl', 'Qwen3ForCausalLM', ['model.visual']],
  ['qwen3-5', 'Qwen3_5ForCausalLM', ['model.visual']],
  ['qwen3-5-moe', 'Qwen3_5MoeForCausalLM', ['model.visual']],
  ['gemma3', 'Gemma3ForCausalLM', ['multi_modal_projector', 'vision_tower']],
  ['gemma4', 'Gemma4ForCausalLM', ['model.embed_vision', 'model.vision_tower']],
  ['smolvlm', 'LlamaForCausalLM', ['model.connector', 'model.vision_model']],
];

it.each(MODELS)('the wrapper %s gives the logits of its class', async (name, opened, left) => {
  const checkpoint = await openCheckpoint(await openDiskFolder(GOLDEN + name), TEXT_CLASSES);
  expect(checkpoint.architecture).toBe(opened);
  expect(checkpoint.wrapper?.left).toEqual(left);
  await checkpoint.close();
  const { ids, logits } = await valuesOf(name);
  const forward = await openForward(device, GOLDEN + name);
  const rows = await forward.step([...ids], () => ids.length);
  forward.close();
  const columns = logits.length / ids.length;
  let worst = 0;
  rows.forEach((row, i) => {
    const wanted = logits.subarray(i * columns, (i + 1) * columns);
    const scale = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    row.forEach((value, token) => {
      const error = Math.abs(value - wanted[token]!) / scale;
      worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
    });
  });
  expect(worst).toBeLessThan(1e-4);
});

describe('the class InternVLChatModel', () => {
  const INTERNVL = fileURLToPath(new URL('../../golden/internvl/', import.meta.url));

  /** The folder as published: with the Python code that auto_map names. */
  const withCode = async (name: string): Promise<Folder> => {
    const disk = await openDiskFolder(INTERNVL + name);
    const code = ['configuration_internvl_chat.py', 'modeling_internvl_chat.py', 'modeling_intern_vit.py'];
    return {
      path: disk.path,
      open: (file) => disk.open(file),
      names: async () => [...(await disk.names()), ...code],
    };
  };

  it.each([
    ['qwen2-original', 'Qwen2ForCausalLM', false],
    ['qwen3-original', 'Qwen3ForCausalLM', true],
  ])('%s opens as its text model, whatever Python code defines the class', async (name, opened, isTied) => {
    const checkpoint = await openCheckpoint(await withCode(name), TEXT_CLASSES);
    expect(checkpoint.architecture).toBe(opened);
    expect(checkpoint.wrapper).toMatchObject({
      architecture: 'InternVLChatModel',
      left: ['mlp1', 'vision_model'],
    });
    expect(checkpoint.config['tie_word_embeddings']).toBe(isTied);
    expect(checkpoint.tensors.has('lm_head.weight')).toBe(!isTied);
    expect(checkpoint.tensors.has('model.embed_tokens.weight')).toBe(true);
    await checkpoint.close();
  });

  it('refuses language models that are not built by their names', () => {
    const config = {
      architectures: ['InternVLChatModel'],
      llm_config: { architectures: ['NanbeigeForCausalLM'], model_type: 'nanbeige', vocab_size: 92553 },
      model_type: 'internvl_chat',
    };
    expect(() => textHalf(config, 'InternVLChatModel')).toThrow(
      'config.json: the language model of this InternVLChatModel is NanbeigeForCausalLM, which is not built; choose one whose language model is: ',
    );
  });
});

describe('the text half of a config.json', () => {
  const LLAVA = {
    eos_token_id: 7,
    text_config: { model_type: 'llama', architectures: ['LlamaForCausalLM'], max_position_embeddings: 4096 },
  };

  it('has the sizes of its class where it leaves them out, and what the outer one states for both', () => {
    expect(textHalf(LLAVA, 'LlavaForConditionalGeneration')).toMatchObject({
      architecture: 'LlamaForCausalLM',
      config: { hidden_size: 4096, intermediate_size: 11008, eos_token_id: 7, max_position_embeddings: 4096 },
    });
  });

  it('ties the head as the outer configuration says, or its class', () => {
    const tied = (config: Record<string, unknown>, name: string): unknown =>
      textHalf({ ...LLAVA, ...config }, name)?.config['tie_word_embeddings'];
    expect(tied({}, 'LlavaForConditionalGeneration')).toBe(false);
    expect(tied({}, 'Mistral3ForConditionalGeneration')).toBe(true);
    expect(tied({ tie_word_embeddings: false }, 'Mistral3ForConditionalGeneration')).toBe(false);
    expect(tied({}, 'VoxtralForConditionalGeneration')).toBeUndefined();
  });

  it('is that of Qwen2-VL itself before it had one', () => {
    const config = { model_type: 'qwen2_vl', rope_scaling: { type: 'mrope', mrope_section: [16, 24, 24] } };
    expect(textHalf(config, 'Qwen2VLForConditionalGeneration')).toMatchObject({
      architecture: 'Qwen2ForCausalLM',
      config: { model_type: 'qwen2', rope_scaling: { type: 'default' }, rms_norm_eps: 1e-5, rope_theta: 1e6 },
    });
  });

  it('is none where the text model is not built in, or its class changes more than the embedding', () => {
    const rwkv = { text_config: { model_type: 'rwkv' } };
    expect(textHalf(rwkv, 'LlavaForConditionalGeneration')).toBeNull();
    expect(textHalf(LLAVA, 'MllamaForConditionalGeneration')).toBeNull();
  });
});
