// GGUF files of the tower of Llama 4. source: llama.cpp's conversion of the class, gguf-py's tensor_mapping.py; how many tiles an image has is not in
// files, and as published.

import type { GgufTower } from '../../../files/gguf/tower.ts';
import {
  encoderSizes,
  imageSizes,
  normalization,
  statedClass,
  wholePart,
  type TowerNames,
} from '../../gguf-towers.ts';

const FIRST = 'mm.model.mlp.1.';
const BETWEEN = 'post_attention_layernorm.';
const NAMES: TowerNames = {
  layer: 'vision_model.model.layers.#.',
  modules: {
    ln1: 'input_layernorm.',
    // Files of the first converters have the norm before the second block as ln2.
    ln2: BETWEEN,
    attn_post_norm: BETWEEN,
    attn_q: 'self_attn.q_proj.',
    attn_k: 'self_attn.k_proj.',
    attn_v: 'self_attn.v_proj.',
    attn_out: 'self_attn.o_proj.',
    ffn_up: 'mlp.fc1.',
    ffn_down: 'mlp.fc2.',
  },
  outer: {
    'v.class_embd': 'vision_model.class_embedding',
    'v.patch_embd.': 'vision_model.patch_embedding.linear.',
    'v.position_embd.weight': 'vision_model.positional_embedding_vlm',
    'v.pre_ln.': 'vision_model.layernorm_pre.',
    'v.post_ln.': 'vision_model.layernorm_post.',
    [FIRST]: 'vision_model.vision_adapter.mlp.fc1.',
    'mm.model.mlp.2.': 'vision_model.vision_adapter.mlp.fc2.',
    'mm.model.fc.': 'multi_modal_projector.linear_1.',
  },
};

export const LLAMA4_VISION_GGUF: GgufTower = {
  projector: 'llama4',
  texts: ['llama4'],
  classNames: ['Llama4ForConditionalGeneration'],
  output: { tensor: 'mm.model.fc.weight', dimension: 0 },
  read(file) {
    const { keys, tensors } = file;
    const columns = tensors.get(`${FIRST}weight`)?.shape[0];
    const { image_size: side, patch_size } = imageSizes(file);
    return {
      ...statedClass(file, 'Llama4ForConditionalGeneration', 'llama4', {
        vision_config: {
          ...encoderSizes(file),
          ...{ image_size: side, patch_size },
          model_type: 'llama4_vision_model',
          pixel_shuffle_ratio: 1 / keys.count('clip.vision.projector.scale_factor', 2),
          projector_input_dim: columns,
          projector_output_dim: columns,
          vision_output_dim: columns,
          rope_theta: keys.real('clip.rope.freq_base', 10000),
        },
      }),
      processors: {
        'preprocessor_config.json': { ...normalization(file), size: { height: side, width: side } },
        'processor_config.json': { patch_size },
      },
    };
  },
  parts: (tensor, { tensors }) => wholePart(tensor, tensors, NAMES),
};
