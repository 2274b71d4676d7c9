// GGUF files of the tower of DeepSeek-OCR. source: llama.cpp's conversion of the class, gguf-py's tensor_mapping.py. Sizes are those of the tensors;
// the size of images and of tiles is not in files, and as published.

import type { GgufTensor } from '../../../files/gguf/gguf.ts';
import type { GgufPart } from '../../../files/gguf/model.ts';
import type { GgufTower, TowerFile } from '../../../files/gguf/tower.ts';
import type { Json } from '../../config-values.ts';
import { normalization, statedClass, wholePart, type TowerNames } from '../../gguf-towers.ts';
import { SAM_PATCH, SAM_WINDOW } from './deepseek-ocr-config.ts';

const NAMES: TowerNames = {
  layer: 'vision_model.transformer.layers.#.',
  modules: {
    ln1: 'layer_norm1.',
    ln2: 'layer_norm2.',
    attn_qkv: 'self_attn.qkv_proj.',
    attn_q: 'self_attn.q_proj.',
    attn_k: 'self_attn.k_proj.',
    attn_v: 'self_attn.v_proj.',
    attn_out: 'self_attn.out_proj.',
    ffn_up: 'mlp.fc1.',
    ffn_down: 'mlp.fc2.',
  },
  outer: {
    // The patch embedding of CLIP, which the page ignores.
    'v.patch_embd.': 'vision_model.embeddings.patch_embedding.',
    'v.position_embd.': 'vision_model.embeddings.position_embedding.',
    'v.pre_ln.': 'vision_model.pre_layrnorm.',
    'v.sam.patch_embd.': 'sam_model.patch_embed.proj.',
    'v.sam.neck.': 'sam_model.neck.',
    'v.sam.net_': 'sam_model.net_',
    'mm.model.fc.': 'projector.layers.',
  },
};
/** Vectors that no module holds. */
const VECTORS: Readonly<Record<string, string>> = {
  'v.class_embd': 'vision_model.embeddings.class_embedding',
  'v.image_newline': 'image_newline',
  'v.view_seperator': 'view_seperator',
};
const SAM_MODULES: Readonly<Record<string, string>> = {
  pre_ln: 'norm1',
  post_ln: 'norm2',
  'attn.qkv': 'attn.qkv',
  'attn.out': 'attn.proj',
  'mlp.lin1': 'mlp.lin1',
  'mlp.lin2': 'mlp.lin2',
};
const SAM_LAYER = /^v\.sam\.blk\.(\d+)\.([a-z0-9_.]+)\.(weight|bias)$/;
const PLACES = 'v.sam.pos_embd.weight';
/** Terms for the rows that lie between two patches, and for the columns. */
const BETWEEN = /^attn\.pos_([hw])$/;

const CLASS = 'DeepseekOCRForCausalLM';
/** Pixels along a side of the patches that CLIP was trained with. */
const CLIP_PATCH = 14;
const WINDOW = 'clip.vision.window_size';

export const DEEPSEEK_OCR_GGUF: GgufTower = {
  projector: 'deepseekocr',
  texts: ['deepseek2-ocr'],
  isExpected: ({ metadata }) => metadata === 'deepseek2-ocr',
  classNames: [CLASS],
  output: { tensor: 'mm.model.fc.weight', dimension: 0 },
  read(file) {
    const { keys } = file;
    if (keys.count(WINDOW, SAM_WINDOW) !== SAM_WINDOW)
      throw keys.unsupported(WINDOW, `choose a model that has ${SAM_WINDOW}`);
    const whole = keys.count('clip.vision.preproc_image_size', 1024);
    return {
      ...statedClass(file, CLASS, 'DeepseekOCR', {
        projector_config: { projector_type: 'linear' },
        vision_config: {
          image_size: SAM_PATCH * (shapeOf(file, PLACES).at(-2) ?? 0),
          width: { sam_vit_b: samSizes(file), 'clip-l-14-224': clipSizes(file) },
        },
      }),
      processors: {
        'processor_config.json': {
          ...normalization(file),
          candidate_resolutions: [[whole, whole]],
          tile_size: keys.count('clip.vision.preproc_tile_size', 640),
          min_patches: keys.count('clip.vision.preproc_min_tiles', 2),
          max_patches: keys.count('clip.vision.preproc_max_tiles', 9),
        },
      },
    };
  },
  parts: (tensor, { tensors }) => partsOf(tensor, tensors),
};

const shapeOf = ({ tensors }: TowerFile, name: string): readonly number[] => tensors.get(name)?.shape ?? [];

/** Layers whose first norm is there: those of a module `blk`. */
function layersOf({ tensors }: TowerFile, module: string, norm: string): number {
  let count = 0;
  while (tensors.has(`${module}.${count}.${norm}.weight`)) count++;
  return count;
}

function samSizes(file: TowerFile): Json {
  const hidden = shapeOf(file, PLACES).at(-1) ?? 0;
  const layers = layersOf(file, 'v.sam.blk', 'pre_ln');
  const terms = (i: number): readonly number[] => shapeOf(file, `v.sam.blk.${i}.attn.pos_h.weight`);
  const [, dims = hidden] = terms(0);
  return {
    width: hidden,
    heads: hidden / dims,
    layers,
    downsample_channels: [2, 3].map((i) => shapeOf(file, `v.sam.net_${i}.weight`)[0] ?? 0),
    // Layers with terms for more patches than a window has see all of them.
    global_attn_indexes: Array.from({ length: layers }, (_, i) => i).filter(
      (i) => terms(i)[0] !== 2 * SAM_WINDOW - 1,
    ),
  };
}

function clipSizes(file: TowerFile): Json {
  const [positions = 0, hidden = 0] = shapeOf(file, 'v.position_embd.weight');
  return {
    width: hidden,
    // Heads of the published tower have 64 dimensions.
    heads: file.keys.count('clip.vision.attention.head_count', Math.floor(hidden / 64)),
    layers: layersOf(file, 'v.blk', 'ln1'),
    image_size: CLIP_PATCH * Math.floor(Math.sqrt(positions)),
    patch_size: CLIP_PATCH,
  };
}

function partsOf(
  tensor: Pick<GgufTensor, 'name' | 'shape'>,
  tensors: TowerFile['tensors'],
): readonly GgufPart[] | null {
  const { name, shape } = tensor;
  const vector = VECTORS[name];
  if (vector !== undefined) return [{ name: vector, shape: shape.slice(-1) }];
  // Programs that quantize files leave a first dimension of 1 out.
  if (name === PLACES) return [{ name: 'sam_model.pos_embed', shape: [1, ...shape.slice(-3)] }];
  const [, layer, module, kind] = SAM_LAYER.exec(name) ?? [];
  if (module === undefined) return wholePart(tensor, tensors, NAMES);
  const [, axis] = BETWEEN.exec(module) ?? [];
  if (axis !== undefined) return [{ name: `sam_model.blocks.${layer}.attn.rel_pos_${axis}`, shape }];
  const own = SAM_MODULES[module];
  return own === undefined ? null : [{ name: `sam_model.blocks.${layer}.${own}.${kind}`, shape }];
}
