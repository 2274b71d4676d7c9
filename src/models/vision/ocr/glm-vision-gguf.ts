// GGUF files of the towers of GLM-4.1V to GLM-4.6V and of GLM-OCR. source: llama.cpp's conversion of these classes, gguf-py's tensor_mapping.py; what
// files leave out is as published.

import type { GgufTower, TowerFile } from '../../../files/gguf/tower.ts';
import {
  feedForward,
  imageSizes,
  normalization,
  normEps,
  statedClass,
  wholePart,
} from '../../gguf-towers.ts';
import type { TowerNames } from '../../gguf-towers.ts';
import { sectionedText } from '../qwen/qwen-vision-gguf.ts';

const NAMES: TowerNames = {
  layer: 'visual.blocks.#.',
  modules: {
    ln1: 'norm1.',
    ln2: 'norm2.',
    attn_qkv: 'attn.qkv.',
    attn_q_norm: 'attn.q_norm.',
    attn_k_norm: 'attn.k_norm.',
    attn_out: 'attn.proj.',
    ffn_gate: 'mlp.gate_proj.',
    ffn_up: 'mlp.up_proj.',
    ffn_down: 'mlp.down_proj.',
  },
  outer: {
    'v.patch_embd.': 'visual.patch_embed.proj.',
    'v.norm_embd.': 'visual.post_conv_layernorm.',
    'v.position_embd.': 'visual.embeddings.position_embedding.',
    'v.post_ln.': 'visual.post_layernorm.',
    'mm.patch_merger.': 'visual.downsample.',
    'mm.model.fc.': 'visual.merger.proj.',
    'mm.post_norm.': 'visual.merger.post_projection_norm.',
    'mm.gate.': 'visual.merger.gate_proj.',
    'mm.up.': 'visual.merger.up_proj.',
    'mm.down.': 'visual.merger.down_proj.',
  },
};
const CLASSES = {
  ocr: ['GlmOcrForConditionalGeneration', 'glm_ocr'],
  glm4: ['Glm4vForConditionalGeneration', 'glm4v'],
  glm4moe: ['Glm4vMoeForConditionalGeneration', 'glm4v_moe'],
} as const;
/** Tokens of the context of GLM-4.1V and GLM-4.5V; GLM-4.6V has more, and another processor of videos, which files do not name. */
const FIRST_CONTEXT = 65536;

export const GLM_VISION_GGUF: GgufTower = {
  projector: 'glm4v',
  texts: ['glm4', 'glm4moe'],
  isExpected: ({ metadata, keys }) =>
    ['glm4', 'glm4moe'].includes(metadata) && keys.numbers(`${metadata}.rope.dimension_sections`) !== null,
  classNames: Object.values(CLASSES).map(([className]) => className),
  output: { tensor: 'mm.down.weight', dimension: 0 },
  read(file) {
    const { keys, tensors, language } = file;
    const isOcr = tensors.has('v.blk.0.attn_q_norm.weight');
    const [className, modelType] = CLASSES[isOcr ? 'ocr' : language.metadata === 'glm4' ? 'glm4' : 'glm4moe'];
    const { patch_size: patch } = imageSizes(file);
    const positions = tensors.get('v.position_embd.weight')?.shape[0];
    return {
      ...statedClass(file, className, modelType, {
        text_config: sectionedText(file),
        vision_config: {
          depth: keys.count('clip.vision.block_count'),
          hidden_size: keys.count('clip.vision.embedding_length'),
          num_heads: keys.count('clip.vision.attention.head_count'),
          patch_size: patch,
          spatial_merge_size: keys.count('clip.vision.spatial_merge_size', 2),
          intermediate_size: isOcr ? feedForward(tensors) : tensors.get('mm.up.weight')?.shape[0],
          out_hidden_size: language.config['hidden_size'],
          attention_bias: tensors.has('v.blk.0.attn_qkv.bias'),
          rms_norm_eps: normEps(file, 1e-5),
          ...(positions !== undefined && { image_size: Math.floor(Math.sqrt(positions)) * patch }),
        },
      }),
      processors: processors(file, isOcr),
    };
  },
  parts: (tensor, { tensors }) => wholePart(tensor, tensors, NAMES),
};

function processors(file: TowerFile, isOcr: boolean): Record<string, Record<string, unknown>> {
  const { keys, language } = file;
  const own = {
    ...normalization(file),
    patch_size: imageSizes(file).patch_size,
    merge_size: keys.count('clip.vision.spatial_merge_size', 2),
  };
  // Bounds that a file states are those of videos, too.
  const size = (most: number): Record<string, number> => ({
    shortest_edge: keys.count('clip.vision.image_min_pixels', 112 ** 2),
    longest_edge: keys.count('clip.vision.image_max_pixels', 28 ** 2 * most),
  });
  const isLater = isOcr || (language.config['max_position_embeddings'] as number) > FIRST_CONTEXT;
  return {
    'preprocessor_config.json': { ...own, size: size(15000) },
    'video_preprocessor_config.json': {
      ...own,
      size: size(60000),
      video_processor_type: `${isLater ? 'Glm46V' : 'Glm4v'}VideoProcessor`,
    },
  };
}
