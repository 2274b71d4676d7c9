// GGUF files of Qwen's vision towers: Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5. source: llama.cpp's conversion of these classes, gguf-py's
// tensor_mapping.py; bounds of pixels are those of the published processors.

import type { GgufPart } from '../../../files/gguf/model.ts';
import type { GgufTower, TowerFile } from '../../../files/gguf/tower.ts';
import { feedForward, normalization, statedClass, wholePart, type TowerNames } from '../../gguf-towers.ts';
import type { Json } from '../../config-values.ts';

/** Modules that the towers of all classes name alike. */
const ATTENTION = {
  ln1: 'norm1.',
  ln2: 'norm2.',
  attn_q: 'attn.q.',
  attn_k: 'attn.k.',
  attn_v: 'attn.v.',
  attn_qkv: 'attn.qkv.',
  attn_out: 'attn.proj.',
};
const [LAYER, PATCHES] = ['visual.blocks.#.', 'visual.patch_embed.proj.'];
const MERGER = {
  'v.patch_embd.': PATCHES,
  'v.post_ln.': 'visual.merger.ln_q.',
  'mm.0.': 'visual.merger.mlp.0.',
  'mm.2.': 'visual.merger.mlp.2.',
};
const QWEN2: TowerNames = {
  layer: LAYER,
  modules: { ...ATTENTION, ffn_up: 'mlp.fc1.', ffn_down: 'mlp.fc2.' },
  outer: MERGER,
};
const QWEN2_5: TowerNames = {
  layer: LAYER,
  modules: { ...ATTENTION, ffn_gate: 'mlp.gate_proj.', ffn_up: 'mlp.up_proj.', ffn_down: 'mlp.down_proj.' },
  outer: MERGER,
};
const QWEN3: TowerNames = {
  layer: LAYER,
  modules: { ...ATTENTION, ffn_up: 'mlp.linear_fc1.', ffn_down: 'mlp.linear_fc2.' },
  outer: {
    'v.patch_embd.': PATCHES,
    'v.position_embd.': 'visual.pos_embed.',
    'v.post_ln.': 'visual.merger.norm.',
    'mm.0.': 'visual.merger.linear_fc1.',
    'mm.2.': 'visual.merger.linear_fc2.',
  },
};
/** Mergers of the states below the last layer; files number them by layer, the page by their order. */
const DEEP = /^v\.deepstack\.(\d+)\.(norm|fc1|fc2)\.(weight|bias)$/;

const OUTPUT = { tensor: 'mm.2.weight', dimension: 0 } as const;
/** The token in whose place an image's rows stand. */
const IMAGE = '<|image_pad|>';
const SECTIONS = 'rope.dimension_sections';

export const QWEN2_VISION_GGUF: GgufTower = {
  projector: 'qwen2vl_merger',
  texts: ['qwen2vl'],
  isExpected: ({ metadata }) => metadata === 'qwen2vl',
  classNames: ['Qwen2VLForConditionalGeneration'],
  output: OUTPUT,
  read(file) {
    const { embedding: width, ...sizes } = sizesOf(file);
    return reading(file, 'Qwen2VLForConditionalGeneration', 'qwen2_vl', {
      ...sizes,
      embed_dim: width,
      hidden_size: file.language.config['hidden_size'],
      mlp_ratio: feedForward(file.tensors) / width,
    });
  },
  parts: (tensor, { tensors }) => wholePart(tensor, tensors, QWEN2),
};

export const QWEN2_5_VISION_GGUF: GgufTower = {
  projector: 'qwen2.5vl_merger',
  texts: ['qwen2vl'],
  classNames: ['Qwen2_5_VLForConditionalGeneration'],
  output: OUTPUT,
  read(file) {
    const { embedding, ...sizes } = sizesOf(file);
    const every = file.keys.count('clip.vision.n_wa_pattern', 8);
    return reading(file, 'Qwen2_5_VLForConditionalGeneration', 'qwen2_5_vl', {
      ...sizes,
      hidden_size: embedding,
      intermediate_size: feedForward(file.tensors),
      out_hidden_size: file.language.config['hidden_size'],
      window_size: file.keys.count('clip.vision.window_size', 112),
      fullatt_block_indexes: layersWhere(sizes.depth, (i) => (i + 1) % every === 0),
      hidden_act: 'silu',
      // The file does not state it; published models have it.
      tokens_per_second: 2,
    });
  },
  parts: (tensor, { tensors }) => wholePart(tensor, tensors, QWEN2_5),
};

const QWEN3_CLASSES: Readonly<Record<string, readonly [className: string, modelType: string]>> = {
  qwen3vl: ['Qwen3VLForConditionalGeneration', 'qwen3_vl'],
  qwen3vlmoe: ['Qwen3VLMoeForConditionalGeneration', 'qwen3_vl_moe'],
  qwen35: ['Qwen3_5ForConditionalGeneration', 'qwen3_5'],
  qwen35moe: ['Qwen3_5MoeForConditionalGeneration', 'qwen3_5_moe'],
};

export const QWEN3_VISION_GGUF: GgufTower = {
  projector: 'qwen3vl_merger',
  texts: Object.keys(QWEN3_CLASSES),
  isExpected: ({ metadata }) => ['qwen3vl', 'qwen3vlmoe'].includes(metadata),
  classNames: Object.values(QWEN3_CLASSES).map(([className]) => className),
  output: OUTPUT,
  read(file) {
    const { embedding, ...sizes } = sizesOf(file);
    return reading(file, ...QWEN3_CLASSES[file.language.metadata]!, {
      ...sizes,
      hidden_size: embedding,
      intermediate_size: feedForward(file.tensors),
      out_hidden_size: file.language.config['hidden_size'],
      num_position_embeddings: file.tensors.get('v.position_embd.weight')?.shape[0],
      deepstack_visual_indexes: deepLayers(file),
    });
  },
  parts(tensor, file): GgufPart[] | null {
    const [, layer, module, kind] = DEEP.exec(tensor.name) ?? [];
    if (layer === undefined) return wholePart(tensor, file.tensors, QWEN3);
    const at = deepLayers(file).indexOf(Number(layer));
    const own = module === 'norm' ? module : `linear_${module}`;
    return [{ name: `visual.deepstack_merger_list.${at}.${own}.${kind}`, shape: tensor.shape }];
  },
};

/** Most layers that a damaged file may claim. */
const MOST_LAYERS = 4096;

function layersWhere(layers: number, is: (i: number) => boolean): number[] {
  return Array.from({ length: Math.min(layers, MOST_LAYERS) }, (_, i) => i).filter(is);
}

function deepLayers({ keys, tensors }: TowerFile): number[] {
  return layersWhere(keys.count('clip.vision.block_count'), (i) =>
    tensors.has(`v.deepstack.${i}.fc1.weight`),
  );
}

function sizesOf({ keys }: TowerFile) {
  return {
    depth: keys.count('clip.vision.block_count'),
    embedding: keys.count('clip.vision.embedding_length'),
    num_heads: keys.count('clip.vision.attention.head_count'),
    patch_size: keys.count('clip.vision.patch_size', 14),
    spatial_merge_size: keys.count('clip.vision.spatial_merge_size', 2),
    temporal_patch_size: 2,
    in_channels: 3,
  };
}

function reading(file: TowerFile, className: string, modelType: string, vision: Json) {
  const token = file.language.keys.texts('tokenizer.ggml.tokens')?.indexOf(IMAGE) ?? -1;
  const isQwen3 = modelType.startsWith('qwen3');
  return {
    ...statedClass(file, className, modelType, {
      text_config: sectionedText(file),
      vision_config: { model_type: modelType, ...vision },
      ...(token >= 0 && { image_token_id: token }),
    }),
    processors: isQwen3 ? qwen3Processors(file, vision) : qwen2Processors(file, vision),
  };
}

/** The language model's configuration with numbers of frequencies for time, row and column; the first three of the file's four. */
export function sectionedText({ language: { config, keys, metadata } }: TowerFile): Json {
  const sections = keys.numbers(`${metadata}.${SECTIONS}`);
  if (sections === null) return config;
  const { rope_scaling: scaling } = config as { rope_scaling?: Json };
  const plain = scaling ?? { type: 'default', rope_type: 'default' };
  return { ...config, rope_scaling: { ...plain, mrope_section: Array.from(sections).slice(0, 3) } };
}

const patchesOf = ({ patch_size, spatial_merge_size: merge_size, temporal_patch_size }: Json): Json => ({
  patch_size,
  merge_size,
  temporal_patch_size,
});

function qwen2Processors(file: TowerFile, vision: Json): Record<string, Record<string, unknown>> {
  const bounds = {
    min_pixels: file.keys.count('clip.vision.image_min_pixels', 56 * 56),
    max_pixels: file.keys.count('clip.vision.image_max_pixels', 28 * 28 * 128 ** 2),
  };
  return { 'preprocessor_config.json': { ...normalization(file), ...patchesOf(vision), ...bounds } };
}

function qwen3Processors(file: TowerFile, vision: Json): Record<string, Record<string, unknown>> {
  const own = { ...normalization(file), ...patchesOf(vision) };
  const size = {
    shortest_edge: file.keys.count('clip.vision.image_min_pixels', 256 ** 2),
    longest_edge: file.keys.count('clip.vision.image_max_pixels', 4096 ** 2),
  };
  return {
    'preprocessor_config.json': { ...own, size },
    'video_preprocessor_config.json': {
      ...own,
      size: { shortest_edge: 64 ** 2, longest_edge: 6 * 2048 ** 2 },
    },
  };
}
