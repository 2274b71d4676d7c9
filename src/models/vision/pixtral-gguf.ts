// GGUF files of the towers of Pixtral and of Mistral 3, which merges cells of patches. source: llama.cpp's conversion of these classes,
// gguf-py's tensor_mapping.py.

import type { GgufTower } from '../../files/gguf/tower.ts';
import {
  encoderSizes,
  imageSizes,
  normalization,
  statedActivation,
  statedClass,
  wholePart,
  type TowerNames,
} from '../gguf-towers.ts';

const NAMES: TowerNames = {
  layer: 'vision_tower.transformer.layers.#.',
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
    'v.patch_embd.': 'vision_tower.patch_conv.',
    'v.pre_ln.': 'vision_tower.ln_pre.',
    'mm.1.': 'multi_modal_projector.linear_1.',
    'mm.2.': 'multi_modal_projector.linear_2.',
    'mm.input_norm.': 'multi_modal_projector.norm.',
    'mm.patch_merger.': 'multi_modal_projector.patch_merger.merging_layer.',
  },
};
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
    const { image_size, patch_size } = imageSizes(file);
    return {
      ...statedClass(file, className, merges ? 'mistral3' : 'llava', {
        vision_config: {
          ...encoderSizes(file),
          model_type: 'pixtral',
          image_size,
          patch_size,
          hidden_act: statedActivation(keys) ?? 'gelu',
          rope_theta: keys.real('clip.rope.freq_base', 10000),
        },
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
  parts(tensor, { keys, tensors }) {
    if (tensor.name === BREAK) return [];
    const parts = wholePart(tensor, tensors, NAMES);
    if (!ROTATED.test(tensor.name)) return parts;
    const heads = keys.count('clip.vision.attention.head_count');
    return parts?.map((part) => ({ ...part, pairedHeads: heads })) ?? null;
  },
};
