// GGUF files of the towers of Qwen2-Audio and Voxtral, both with Whisper's encoder. source: llama.cpp's conversion of these classes,
// gguf-py's tensor_mapping.py.

import type { GgufTower, TowerFile } from '../../files/gguf/tower.ts';
import { encoderSizes, statedClass, wholePart, type TowerNames } from '../gguf-towers.ts';

const MODULES = {
  ln1: 'self_attn_layer_norm.',
  ln2: 'final_layer_norm.',
  attn_q: 'self_attn.q_proj.',
  attn_k: 'self_attn.k_proj.',
  attn_v: 'self_attn.v_proj.',
  attn_out: 'self_attn.out_proj.',
  ffn_up: 'fc1.',
  ffn_down: 'fc2.',
};

/** `projector`: names of the projector's tensors. */
const names = (projector: Readonly<Record<string, string>>): TowerNames => ({
  layer: 'audio_tower.layers.#.',
  modules: MODULES,
  outer: {
    'a.conv1d.1.': 'audio_tower.conv1.',
    'a.conv1d.2.': 'audio_tower.conv2.',
    'a.position_embd.': 'audio_tower.embed_positions.',
    'a.post_ln.': 'audio_tower.layer_norm.',
    ...projector,
  },
});

interface WhisperFiles extends Pick<GgufTower, 'projector' | 'texts' | 'output'> {
  className: string;
  modelType: string;
  names: TowerNames;
}

/** Biases of convolutions, which are stored as columns. */
const COLUMN = /^a\.conv1d\.[12]\.bias$/;
/** Rows that the encoder makes of a second. */
const ROWS = 50;

const tower = ({ className, modelType, names: own, ...declared }: WhisperFiles): GgufTower => ({
  ...declared,
  classNames: [className],
  read: (file) => ({
    ...statedClass(file, className, modelType, {
      audio_config: {
        ...encoderSizes(file, 'audio'),
        num_mel_bins: melsOf(file),
        max_source_positions: rowsOf(file),
      },
    }),
    processors: {
      'preprocessor_config.json': { feature_size: melsOf(file), chunk_length: rowsOf(file) / ROWS },
    },
  }),
  parts(tensor, { tensors }) {
    const parts = wholePart(tensor, tensors, own);
    return COLUMN.test(tensor.name)
      ? (parts?.map((part) => ({ ...part, shape: [part.shape[0]!] })) ?? null)
      : parts;
  },
});

const melsOf = ({ keys }: TowerFile): number => keys.count('clip.audio.num_mel_bins');

const rowsOf = ({ tensors }: TowerFile): number => tensors.get('a.position_embd.weight')?.shape[0] ?? 0;

export const QWEN2_AUDIO_GGUF = tower({
  projector: 'qwen2a',
  texts: ['qwen2'],
  output: { tensor: 'mm.a.fc.weight', dimension: 0 },
  className: 'Qwen2AudioForConditionalGeneration',
  modelType: 'qwen2_audio',
  names: names({ 'mm.a.fc.': 'multi_modal_projector.linear.' }),
});

export const VOXTRAL_GGUF = tower({
  projector: 'voxtral',
  texts: ['llama'],
  output: { tensor: 'mm.a.mlp.2.weight', dimension: 0 },
  className: 'VoxtralForConditionalGeneration',
  modelType: 'voxtral',
  names: names({
    'mm.a.mlp.1.': 'multi_modal_projector.linear_1.',
    'mm.a.mlp.2.': 'multi_modal_projector.linear_2.',
  }),
});
