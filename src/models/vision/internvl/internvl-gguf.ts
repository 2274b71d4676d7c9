// GGUF files of InternVL's vision towers, which are converted from repositories in the original layout. source: llama.cpp's conversion of
// InternVisionModel, gguf-py's tensor_mapping.py.

import type { GgufTower, TowerFile } from '../../../files/gguf/tower.ts';
import {
  encoderSizes,
  imageSizes,
  normalization,
  normEps,
  wholePart,
  type TowerNames,
} from '../../gguf-towers.ts';
import { INTERNVL_COLOURS } from './internvl-config.ts';

const NAMES: TowerNames = {
  layer: 'vision_model.encoder.layers.#.',
  modules: {
    ln1: 'norm1.',
    ln2: 'norm2.',
    attn_q: 'attn.q.',
    attn_k: 'attn.k.',
    attn_v: 'attn.v.',
    attn_q_norm: 'attn.q_norm.',
    attn_k_norm: 'attn.k_norm.',
    attn_out: 'attn.proj.',
    ffn_up: 'mlp.fc1.',
    ffn_down: 'mlp.fc2.',
  },
  outer: { 'v.patch_embd.': 'vision_model.embeddings.patch_embedding.', 'mm.model.mlp.': 'mlp1.' },
};
/** Parameters that no module holds, which files call weights. */
const PARAMETERS: Readonly<Record<string, string>> = {
  'v.class_embd': 'vision_model.embeddings.class_embedding',
  'v.class_embd.weight': 'vision_model.embeddings.class_embedding',
  'v.position_embd.weight': 'vision_model.embeddings.position_embedding',
};
const SCALE = /^v\.blk\.(\d+)\.(ls[12])\.weight$/;
/** Least and most tiles of an image, where files say nothing. */
const TILES = { least: 1, most: 12 };

export const INTERNVL_VISION_GGUF: GgufTower = {
  projector: 'internvl',
  texts: null,
  classNames: ['InternVLChatModel'],
  output: { tensor: 'mm.model.mlp.3.weight', dimension: 0 },
  read(file) {
    const { keys, tensors, language } = file;
    checkNormalization(file);
    return {
      className: 'InternVLChatModel',
      config: {
        model_type: 'internvl_chat',
        architectures: ['InternVLChatModel'],
        tie_word_embeddings: language.config['tie_word_embeddings'],
        llm_config: language.config,
        vision_config: {
          ...encoderSizes(file),
          ...imageSizes(file),
          layer_norm_eps: normEps(file, 1e-6),
          norm_type: tensors.has('v.blk.0.ln1.bias') ? 'layer_norm' : 'rms_norm',
          qk_normalization: tensors.has('v.blk.0.attn_q_norm.weight'),
          qkv_bias: tensors.has('v.blk.0.attn_q.bias'),
          hidden_act: 'gelu',
        },
        downsample_ratio: 1 / keys.count('clip.vision.projector.scale_factor', 2),
        ps_version: 'v2',
        dynamic_image_size: true,
        use_thumbnail: true,
        min_dynamic_patch: keys.count('clip.vision.preproc_min_tiles', TILES.least),
        max_dynamic_patch: keys.count('clip.vision.preproc_max_tiles', TILES.most),
      },
      processors: {},
    };
  },
  parts(tensor, { tensors }) {
    const { name, shape } = tensor;
    const [, layer, scale] = SCALE.exec(name) ?? [];
    const own = scale ? `vision_model.encoder.layers.${layer}.${scale}` : PARAMETERS[name];
    return own === undefined ? wholePart(tensor, tensors, NAMES) : [{ name: own, shape }];
  },
};

/** The original program has numbers of its own for all models. Throws unsupported for others. */
function checkNormalization(file: TowerFile): void {
  const stated = normalization(file);
  for (const [key, own] of [
    ['image_mean', INTERNVL_COLOURS.means],
    ['image_std', INTERNVL_COLOURS.spreads],
  ] as const) {
    const isOwn = (stated[key] ?? own).every((value, i) => Math.abs(value - own[i]!) < 1e-6);
    if (!isOwn)
      throw file.keys.unsupported(`clip.vision.${key}`, `towers of InternVL with ${own.join(', ')} are`);
  }
}
