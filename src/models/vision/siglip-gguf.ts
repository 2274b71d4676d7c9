// GGUF files of towers with SigLIP's encoder: Gemma 3, and Idefics3 with SmolVLM. source: llama.cpp's conversion of these classes, gguf-py's
// tensor_mapping.py; what files leave out is as the published processors have it.

import type { GgufTower } from '../../files/gguf/tower.ts';
import {
  encoderSizes,
  imageSizes,
  normalization,
  normEps,
  statedClass,
  wholePart,
  type TowerNames,
} from '../gguf-towers.ts';
import { GEMMA3_TOKEN } from './gemma3-media.ts';
import { GEMMA3_PROJECTION } from './gemma3.ts';

const MODULES = {
  ln1: 'layer_norm1.',
  ln2: 'layer_norm2.',
  attn_q: 'self_attn.q_proj.',
  attn_k: 'self_attn.k_proj.',
  attn_v: 'self_attn.v_proj.',
  attn_out: 'self_attn.out_proj.',
  ffn_up: 'mlp.fc1.',
  ffn_down: 'mlp.fc2.',
};

/** `root`: that of the encoder's modules, with a dot. */
export const siglipNames = (root: string): TowerNames => ({
  layer: `${root}encoder.layers.#.`,
  modules: MODULES,
  outer: {
    'v.patch_embd.': `${root}embeddings.patch_embedding.`,
    'v.position_embd.': `${root}embeddings.position_embedding.`,
    'v.post_ln.': `${root}post_layernorm.`,
  },
});

const GEMMA3 = siglipNames('vision_tower.');
const NORM = 'multi_modal_projector.mm_soft_emb_norm.weight';
/** Patches along a side of the square of which a row is the mean. */
const POOLED = 4;

export const GEMMA3_VISION_GGUF: GgufTower = {
  projector: 'gemma3',
  texts: ['gemma3'],
  // The smallest model takes text only, and has no such token.
  isExpected: ({ metadata, keys }) =>
    metadata === 'gemma3' && keys.texts('tokenizer.ggml.tokens')?.includes(GEMMA3_TOKEN) === true,
  classNames: ['Gemma3ForConditionalGeneration'],
  output: { tensor: 'mm.input_projection.weight', dimension: 1 },
  read(file) {
    const images = imageSizes(file);
    const pooled = file.keys.count('clip.vision.projector.scale_factor', POOLED);
    const side = images.image_size;
    return {
      ...statedClass(file, 'Gemma3ForConditionalGeneration', 'gemma3', {
        vision_config: { ...encoderSizes(file), ...images, layer_norm_eps: normEps(file, 1e-6) },
        mm_tokens_per_image: Math.floor(side / images.patch_size / pooled) ** 2,
      }),
      processors: {
        'preprocessor_config.json': { ...normalization(file), size: { height: side, width: side } },
      },
    };
  },
  parts(tensor, { tensors }) {
    const { name, shape } = tensor;
    if (name === 'mm.input_projection.weight') return [{ name: GEMMA3_PROJECTION, shape }];
    if (name === 'mm.soft_emb_norm.weight') return [{ name: NORM, shape, added: 1 }];
    return wholePart(tensor, tensors, GEMMA3);
  },
};

const IDEFICS3: TowerNames = {
  ...siglipNames('vision_model.'),
  outer: {
    ...siglipNames('vision_model.').outer,
    'mm.model.fc.': 'connector.modality_projection.proj.',
  },
};
/** Tiles along the longest side of an image, where files say nothing. */
const TILES = 4;

export const IDEFICS3_VISION_GGUF: GgufTower = {
  projector: 'idefics3',
  texts: ['llama'],
  classNames: ['Idefics3ForConditionalGeneration'],
  output: { tensor: 'mm.model.fc.weight', dimension: 0 },
  read(file) {
    const images = imageSizes(file);
    const side = images.image_size;
    return {
      ...statedClass(file, 'Idefics3ForConditionalGeneration', 'idefics3', {
        vision_config: { ...encoderSizes(file), ...images, layer_norm_eps: normEps(file, 1e-6) },
        scale_factor: file.keys.count('clip.vision.projector.scale_factor', 2),
      }),
      processors: {
        'preprocessor_config.json': {
          ...normalization(file),
          max_image_size: { longest_edge: side },
          size: { longest_edge: file.keys.count('clip.vision.preproc_image_size', TILES * side) },
        },
      },
    };
  },
  parts: (tensor, { tensors }) => wholePart(tensor, tensors, IDEFICS3),
};
