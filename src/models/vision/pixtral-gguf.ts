// GGUF files of the towers of Pixtral, and of Mistral 3 and LightOnOCR, which merge cells of patches. source: llama.cpp's conversion of these classes,
// gguf-py's tensor_mapping.py.

import type { GgufPart } from '../../files/gguf/model.ts';
import type { GgufTower, TowerFile } from '../../files/gguf/tower.ts';
import {
  encoderSizes,
  imageSizes,
  normalization,
  statedActivation,
  statedClass,
  wholePart,
  type TowerNames,
} from '../gguf-towers.ts';

/** `tower` and `projector`: modules of the class. */
const namesOf = (tower: string, projector: string): TowerNames => ({
  layer: `${tower}.transformer.layers.#.`,
  modules: {
    ln1: 'attention_norm.',
    ln2: 'ffn_norm.',
    attn_q: 'attention.q_proj.',
    attn_k: 'attention.k_proj.',
    attn_v: 'attention.v_proj.',
    attn_out: 'attention.o_proj.',
    ffn_gate: 'feed_forward.gate_proj.',
    ffn_up: 'feed_forward.up_proj.',
    ffn_down: 'feed_forward.down_proj.',
  },
  outer: {
    'v.patch_embd.': `${tower}.patch_conv.`,
    'v.pre_ln.': `${tower}.ln_pre.`,
    'mm.1.': `${projector}.linear_1.`,
    'mm.2.': `${projector}.linear_2.`,
    'mm.input_norm.': `${projector}.norm.`,
    'mm.patch_merger.': `${projector}.patch_merger.merging_layer.`,
  },
});
const NAMES = namesOf('vision_tower', 'multi_modal_projector');
const LIGHT_ON_NAMES = namesOf('vision_encoder', 'vision_projection');
/** Their rows are stored in pairs. */
const ROTATED = /^v\.blk\.\d+\.attn_[qk]\./;
/** The embedding of a token that the language model has, too. */
const BREAK = 'v.token_embd.img_break';

export const PIXTRAL_VISION_GGUF: GgufTower = {
  projector: 'pixtral',
  texts: ['llama', 'mistral3'],
  classNames: ['Mistral3ForConditionalGeneration', 'LlavaForConditionalGeneration'],
  output: { tensor: 'mm.2.weight', dimension: 0 },
  read(file) {
    const { keys, tensors } = file;
    const merges = tensors.has('mm.patch_merger.weight');
    const className = merges ? 'Mistral3ForConditionalGeneration' : 'LlavaForConditionalGeneration';
    const { image_size } = imageSizes(file);
    return {
      ...statedClass(file, className, merges ? 'mistral3' : 'llava', {
        vision_config: visionConfig(file),
        vision_feature_layer: -1,
        vision_feature_select_strategy: 'full',
        multimodal_projector_bias: tensors.has('mm.1.bias'),
        ...(merges && { spatial_merge_size: keys.count('clip.vision.spatial_merge_size', 2) }),
      }),
      processors: {
        'preprocessor_config.json': { ...normalization(file), size: { longest_edge: image_size } },
      },
    };
  },
  parts: (tensor, file) => partsOf(tensor, file, NAMES),
};

/** Sides of images are multiples of a cell, as in llama.cpp. */
export const LIGHT_ON_VISION_GGUF: GgufTower = {
  projector: 'lightonocr',
  texts: ['qwen3'],
  classNames: ['LightOnOcrForConditionalGeneration'],
  output: { tensor: 'mm.2.weight', dimension: 0 },
  read(file) {
    const { image_size, patch_size } = imageSizes(file);
    const merge = file.keys.count('clip.vision.spatial_merge_size', 2);
    return {
      ...statedClass(file, 'LightOnOcrForConditionalGeneration', 'lighton_ocr', {
        vision_config: visionConfig(file),
        spatial_merge_size: merge,
      }),
      processors: {
        'preprocessor_config.json': {
          ...normalization(file),
          size: { longest_edge: image_size },
          patch_size: patch_size * merge,
        },
      },
    };
  },
  parts: (tensor, file) => partsOf(tensor, file, LIGHT_ON_NAMES),
};

function visionConfig(file: TowerFile) {
  return {
    ...encoderSizes(file),
    ...imageSizes(file),
    model_type: 'pixtral',
    hidden_act: statedActivation(file.keys) ?? 'gelu',
    rope_theta: file.keys.real('clip.rope.freq_base', 10000),
  };
}

function partsOf(
  tensor: Parameters<GgufTower['parts']>[0],
  { keys, tensors }: TowerFile,
  names: TowerNames,
): readonly GgufPart[] | null {
  if (tensor.name === BREAK) return [];
  const parts = wholePart(tensor, tensors, names);
  if (!ROTATED.test(tensor.name)) return parts;
  const heads = keys.count('clip.vision.attention.head_count');
  return parts?.map((part) => ({ ...part, pairedHeads: heads })) ?? null;
}
