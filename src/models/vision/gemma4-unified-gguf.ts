// GGUF files of what Gemma 4 12B has in place of towers, for images and sounds. source: llama.cpp's conversion of this class, gguf-py's
// tensor_mapping.py; what files leave out is as the published configurations have it.

import type { GgufPart } from '../../files/gguf/model.ts';
import type { GgufTower, TowerFile } from '../../files/gguf/tower.ts';
import type { Json } from '../config-values.ts';
import { normEps, statedClass } from '../gguf-towers.ts';
import { GEMMA4_POOLED, gemma4Processors } from './gemma4-gguf.ts';

const CLASS = 'Gemma4UnifiedForConditionalGeneration';
const EMBEDDER = 'vision_embedder.';
const PROJECTION = 'mm.input_projection.weight';
const [PATCHES, POSITIONS] = ['v.patch_embd.weight', 'v.position_embd.weight'];
const SOUND_PROJECTION = 'mm.a.input_projection.weight';
const [CHANNELS, AXES] = [3, 2];

const NAMES: Readonly<Record<string, string>> = {
  [PATCHES]: `${EMBEDDER}patch_dense.weight`,
  'v.patch_embd.bias': `${EMBEDDER}patch_dense.bias`,
  'v.patch_norm.1.weight': `${EMBEDDER}patch_ln1.weight`,
  'v.patch_norm.1.bias': `${EMBEDDER}patch_ln1.bias`,
  'v.patch_norm.2.weight': `${EMBEDDER}patch_ln2.weight`,
  'v.patch_norm.2.bias': `${EMBEDDER}patch_ln2.bias`,
  'v.patch_norm.3.weight': `${EMBEDDER}pos_norm.weight`,
  'v.patch_norm.3.bias': `${EMBEDDER}pos_norm.bias`,
  [POSITIONS]: `${EMBEDDER}pos_embedding`,
  [PROJECTION]: 'embed_vision.embedding_projection.weight',
  [SOUND_PROJECTION]: 'embed_audio.embedding_projection.weight',
};

export const GEMMA4_UNIFIED_GGUF: GgufTower = {
  projector: 'gemma4uv',
  sounds: 'gemma4ua',
  texts: ['gemma4'],
  classNames: [CLASS],
  output: { tensor: PROJECTION, dimension: 0 },
  read(file) {
    const { keys, language, tensors } = file;
    const sizes = {
      patch_size: keys.count('clip.vision.patch_size'),
      pooling_kernel_size: keys.count('clip.vision.projector.scale_factor', GEMMA4_POOLED),
    };
    const samples = tensors.get(SOUND_PROJECTION)?.shape[1];
    return {
      ...statedClass(file, CLASS, 'gemma4_unified', {
        // The language model's file is the same for all of Gemma 4.
        text_config: {
          ...language.config,
          model_type: 'gemma4_unified_text',
          use_bidirectional_attention: 'vision',
        },
        vision_config: { ...visionConfig(file), ...sizes },
        audio_config:
          samples === undefined ? null : { model_type: 'gemma4_unified_audio', audio_embed_dim: samples },
      }),
      processors: gemma4Processors(
        sizes,
        samples === undefined ? null : { audio_samples_per_token: samples },
      ),
    };
  },
  parts({ name: stored, shape }): GgufPart[] | null {
    const name = NAMES[stored];
    if (name === undefined) return null;
    if (stored === PATCHES || stored.startsWith('v.patch_norm.1.'))
      return [{ name, shape, planes: CHANNELS }];
    if (stored !== POSITIONS) return [{ name, shape }];
    const [axes = 0, positions = 0, hidden = 0] = shape;
    return [{ name, shape: [positions, axes, hidden], interleaved: AXES }];
  },
};

function visionConfig(file: TowerFile): Json {
  const { tensors } = file;
  return {
    model_type: 'gemma4_unified_vision',
    mm_embed_dim: tensors.get(PATCHES)?.shape[0] ?? 0,
    mm_posemb_size: tensors.get(POSITIONS)?.shape[1] ?? 0,
    rms_norm_eps: normEps(file, 1e-6),
  };
}
