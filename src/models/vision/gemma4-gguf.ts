// GGUF files of Gemma 4's towers, for images and, of the small models, for sounds. source: llama.cpp's conversion of this class, gguf-py's
// tensor_mapping.py; what files leave out is as the published configurations have it.

import type { GgufPart } from '../../files/gguf/model.ts';
import type { GgufTower, TowerFile } from '../../files/gguf/tower.ts';
import { encoderSizes, normEps, statedClass, towerName, type TowerNames } from '../gguf-towers.ts';
import { GEMMA4_IMAGE } from './gemma4-media.ts';
import type { Json } from '../config-values.ts';

const VISION: TowerNames = {
  layer: 'vision_tower.encoder.layers.#.',
  modules: {
    ln1: 'input_layernorm.',
    ln2: 'pre_feedforward_layernorm.',
    attn_post_norm: 'post_attention_layernorm.',
    ffn_post_norm: 'post_feedforward_layernorm.',
    attn_q: 'self_attn.q_proj.linear.',
    attn_k: 'self_attn.k_proj.linear.',
    attn_v: 'self_attn.v_proj.linear.',
    attn_q_norm: 'self_attn.q_norm.',
    attn_k_norm: 'self_attn.k_norm.',
    attn_out: 'self_attn.o_proj.linear.',
    ffn_gate: 'mlp.gate_proj.linear.',
    ffn_up: 'mlp.up_proj.linear.',
    ffn_down: 'mlp.down_proj.linear.',
  },
  outer: {
    'v.patch_embd.': 'vision_tower.patch_embedder.input_proj.',
    'v.position_embd.weight': 'vision_tower.patch_embedder.position_embedding_table',
    'v.std_': 'vision_tower.std_',
    'mm.input_projection.': 'embed_vision.embedding_projection.',
  },
};

const CONVOLUTIONS = 'audio_tower.subsample_conv_projection.';
const AUDIO: TowerNames = {
  layer: 'audio_tower.layers.#.',
  modules: {
    ffn_norm: 'feed_forward1.pre_layer_norm.',
    ffn_up: 'feed_forward1.ffw_layer_1.linear.',
    ffn_down: 'feed_forward1.ffw_layer_2.linear.',
    ffn_post_norm: 'feed_forward1.post_layer_norm.',
    attn_pre_norm: 'norm_pre_attn.',
    attn_q: 'self_attn.q_proj.linear.',
    attn_k: 'self_attn.k_proj.linear.',
    attn_v: 'self_attn.v_proj.linear.',
    attn_k_rel: 'self_attn.relative_k_proj.',
    per_dim_scale: 'self_attn.per_dim_scale.',
    attn_out: 'self_attn.post.linear.',
    attn_post_norm: 'norm_post_attn.',
    conv_norm: 'lconv1d.pre_layer_norm.',
    conv_pw1: 'lconv1d.linear_start.linear.',
    conv_dw: 'lconv1d.depthwise_conv1d.',
    norm_conv: 'lconv1d.conv_norm.',
    conv_pw2: 'lconv1d.linear_end.linear.',
    ffn_norm_1: 'feed_forward2.pre_layer_norm.',
    ffn_up_1: 'feed_forward2.ffw_layer_1.linear.',
    ffn_down_1: 'feed_forward2.ffw_layer_2.linear.',
    ffn_post_norm_1: 'feed_forward2.post_layer_norm.',
    ln2: 'norm_out.',
  },
  outer: {
    'a.conv1d.0.norm.': `${CONVOLUTIONS}layer0.norm.`,
    'a.conv1d.0.': `${CONVOLUTIONS}layer0.conv.`,
    'a.conv1d.1.norm.': `${CONVOLUTIONS}layer1.norm.`,
    'a.conv1d.1.': `${CONVOLUTIONS}layer1.conv.`,
    'a.input_projection.': `${CONVOLUTIONS}input_proj_linear.`,
    'a.pre_encode.out.': 'audio_tower.output_proj.',
    'mm.a.input_projection.': 'embed_audio.embedding_projection.',
  },
};

const CLASS = 'Gemma4ForConditionalGeneration';
const SOUNDS = 'clip.audio.projector_type';
/** A bound of what a linear layer takes or gives, behind the layer's name. */
const BOUND = /\.((?:in|out)put_(?:min|max))$/;
/** Patches along a side of the square that makes a row. */
export const GEMMA4_POOLED = 3;

export const GEMMA4_VISION_GGUF: GgufTower = {
  projector: 'gemma4v',
  sounds: 'gemma4a',
  texts: ['gemma4'],
  isExpected: ({ metadata, keys }) =>
    metadata === 'gemma4' && keys.texts('tokenizer.ggml.tokens')?.includes(GEMMA4_IMAGE) === true,
  classNames: [CLASS],
  output: { tensor: 'mm.input_projection.weight', dimension: 0 },
  read(file) {
    const { keys, language } = file;
    const hears = keys.get(SOUNDS) !== undefined;
    const squares = {
      patch_size: keys.count('clip.vision.patch_size'),
      pooling_kernel_size: keys.count('clip.vision.projector.scale_factor', GEMMA4_POOLED),
    };
    // Tokens of an image see each other in the models whose layers have no rows of tokens of their own.
    const sees = language.config['hidden_size_per_layer_input'] ? null : 'vision';
    const mels = hears ? keys.count('clip.audio.num_mel_bins') : 0;
    return {
      ...statedClass(file, CLASS, 'gemma4', {
        text_config: { ...language.config, use_bidirectional_attention: sees },
        vision_config: { ...visionConfig(file), ...squares },
        audio_config: hears ? audioConfig(file) : null,
      }),
      processors: gemma4Processors(squares, hears ? { feature_size: mels } : null),
    };
  },
  parts: (tensor, file) => partsOf(tensor, file),
};

/** `squares`: sizes of patches and of the squares that make a row; `heard`: the settings of sounds, null: there are none. */
export function gemma4Processors(squares: Json, heard: Json | null): Record<string, Json> {
  const video = { ...squares, image_mean: [0, 0, 0], image_std: [1, 1, 1] };
  return {
    'processor_config.json': {
      ...{ image_processor: squares, video_processor: video },
      ...(heard && { feature_extractor: heard }),
    },
  };
}

const shapeOf = ({ tensors }: TowerFile, name: string): readonly number[] => tensors.get(name)?.shape ?? [];

function visionConfig(file: TowerFile): Json {
  const [dims = 0] = shapeOf(file, 'v.blk.0.attn_q_norm.weight');
  const [keyRows = 0] = shapeOf(file, 'v.blk.0.attn_k.weight');
  const [, positions = 0] = shapeOf(file, 'v.position_embd.weight');
  return {
    ...encoderSizes(file),
    model_type: 'gemma4_vision',
    head_dim: dims,
    num_key_value_heads: keyRows / dims,
    position_embedding_size: positions,
    rms_norm_eps: normEps(file, 1e-6),
    rope_parameters: { rope_type: 'axial', rope_theta: file.keys.real('clip.rope.freq_base', 100) },
    use_clipped_linears: file.tensors.has('v.blk.0.attn_q.input_min'),
    standardize: file.tensors.has('v.std_scale'),
  };
}

function audioConfig(file: TowerFile): Json {
  const { intermediate_size: _fourfold, ...sizes } = encoderSizes(file, 'audio');
  const [, taps = 0] = shapeOf(file, 'a.blk.0.conv_dw.weight');
  const [made = 0] = shapeOf(file, 'a.pre_encode.out.weight');
  return {
    ...sizes,
    model_type: 'gemma4_audio',
    subsampling_conv_channels: [0, 1].map((i) => shapeOf(file, `a.conv1d.${i}.weight`)[0] ?? 0),
    conv_kernel_size: taps,
    output_proj_dims: made,
    use_clipped_linears: file.tensors.has('a.blk.0.attn_q.input_min'),
  };
}

function partsOf(
  { name: stored, shape }: Parameters<GgufTower['parts']>[0],
  { tensors }: TowerFile,
): readonly GgufPart[] | null {
  const names = /^(?:mm\.)?a\./.test(stored) ? AUDIO : VISION;
  const [, bound] = BOUND.exec(stored) ?? [];
  const name = towerName({ name: stored.replace(BOUND, '.weight'), shape }, tensors, names);
  if (name === null) return null;
  if (bound !== undefined) return [{ name: name.replace('linear.weight', bound), shape }];
  if (stored === 'v.patch_embd.weight') {
    const [rows = 0, channels = 0, ...patch] = shape;
    const columns = patch.reduce((product, side) => product * side, channels);
    return [{ name, shape: [rows, columns], planes: channels }];
  }
  if (stored.endsWith('.per_dim_scale.weight'))
    return [{ name: name.replace(/\.weight$/, ''), shape, isSoftplus: true }];
  if (stored.endsWith('.conv_dw.weight')) return [{ name, shape: [shape[0] ?? 0, 1, shape[1] ?? 0] }];
  return [{ name, shape }];
}
