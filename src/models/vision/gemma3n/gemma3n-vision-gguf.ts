// GGUF files of Gemma 3n's towers, for images and for sounds. source: llama.cpp's first conversion of this class (pull request 18256), gguf-py's
// tensor_mapping.py. The blocks of MobileNet V5 follow from the shapes of their tensors; what files leave out is as the published configurations have it.

import type { GgufTower, TowerFile } from '../../../files/gguf/tower.ts';
import type { Json } from '../../config-values.ts';
import { normalization, normEps, statedClass, towerName, type TowerNames } from '../../gguf-towers.ts';

const ENCODER = 'vision_tower.timm_model.';
const CONVOLUTIONS = 'audio_tower.subsample_conv_projection.';
const NAMES: TowerNames = {
  layer: 'audio_tower.conformer.#.',
  modules: {
    ffn_norm: 'ffw_layer_start.pre_layer_norm.',
    ffn_up: 'ffw_layer_start.ffw_layer_1.',
    ffn_down: 'ffw_layer_start.ffw_layer_2.',
    ffn_post_norm: 'ffw_layer_start.post_layer_norm.',
    ln1: 'attention.pre_attn_norm.',
    attn_q: 'attention.attn.q_proj.',
    attn_k: 'attention.attn.k_proj.',
    attn_v: 'attention.attn.v_proj.',
    linear_pos: 'attention.attn.relative_position_embedding.pos_proj.',
    per_dim_scale: 'attention.attn.per_dim_scale.',
    attn_out: 'attention.post.',
    ln2: 'attention.post_norm.',
    conv_norm: 'lconv1d.pre_layer_norm.',
    conv_pw1: 'lconv1d.linear_start.',
    conv_dw: 'lconv1d.depthwise_conv1d.',
    norm_conv: 'lconv1d.conv_norm.',
    conv_pw2: 'lconv1d.linear_end.',
    ffn_norm_1: 'ffw_layer_end.pre_layer_norm.',
    ffn_up_1: 'ffw_layer_end.ffw_layer_1.',
    ffn_down_1: 'ffw_layer_end.ffw_layer_2.',
    ffn_post_norm_1: 'ffw_layer_end.post_layer_norm.',
    layer_pre_norm: 'norm.',
  },
  outer: {
    'v.blk.': `${ENCODER}blocks.`,
    'v.conv_stem.': `${ENCODER}conv_stem.`,
    'v.msfa.': `${ENCODER}msfa.`,
    'mm.embedding.': 'embed_vision.embedding.',
    'mm.hard_emb_norm.': 'embed_vision.hard_embedding_norm.',
    'mm.soft_emb_norm.': 'embed_vision.soft_embedding_norm.',
    'mm.input_projection.': 'embed_vision.embedding_projection.',
    'a.conv1d.0.norm.': `${CONVOLUTIONS}conv_0.norm.`,
    'a.conv1d.0.': `${CONVOLUTIONS}conv_0.conv.`,
    'a.conv1d.1.norm.': `${CONVOLUTIONS}conv_1.norm.`,
    'a.conv1d.1.': `${CONVOLUTIONS}conv_1.conv.`,
    'a.pre_encode.out.': `${CONVOLUTIONS}input_proj_linear.`,
    'mm.a.embedding.': 'embed_audio.embedding.',
    'mm.a.hard_emb_norm.': 'embed_audio.hard_embedding_norm.',
    'mm.a.soft_emb_norm.': 'embed_audio.soft_embedding_norm.',
    'mm.a.input_projection.': 'embed_audio.embedding_projection.',
  },
};

const CLASS = 'Gemma3nForConditionalGeneration';
const IMAGE = '<image_soft_token>';
/** Vectors that files may hold as an image of one pixel, [1, columns, 1, 1]. */
const PIXEL = /\.(?:layer_scale\.gamma|conv_stem\.conv\.bias)$/;
const SPREAD = /\.per_dim_scale$/;
/** The number for torch's bilinear filter. */
const BILINEAR = 2;

export const GEMMA3N_VISION_GGUF: GgufTower = {
  projector: 'gemma3nv',
  sounds: 'gemma3na',
  texts: ['gemma3n'],
  token: IMAGE,
  isExpected: ({ metadata, keys }) =>
    metadata === 'gemma3n' && keys.texts('tokenizer.ggml.tokens')?.includes(IMAGE) === true,
  classNames: [CLASS],
  output: { tensor: 'mm.input_projection.weight', dimension: 0 },
  read(file) {
    const { keys } = file;
    const side = keys.count('clip.vision.image_size');
    // The size of patches that files state is the side of images divided by the number of an image's tokens.
    const tokens = side / keys.count('clip.vision.patch_size');
    const [images, sounds] = [rowsOf(file, 'mm.embedding'), rowsOf(file, 'mm.a.embedding')];
    // The last tokens of the vocabulary are those of sounds, and those of images stand before them. Each kind begins with the token that ends a medium.
    const endOfSound = Number(file.language.config['vocab_size']) - sounds;
    const endOfImage = endOfSound - images;
    return {
      ...statedClass(file, CLASS, 'gemma3n', {
        vision_config: {
          ...visionConfig(file, Math.sqrt(tokens)),
          ...{ vocab_size: images, vocab_offset: endOfImage },
        },
        audio_config: { ...audioConfig(file), vocab_size: sounds, vocab_offset: endOfSound },
        vision_soft_tokens_per_image: tokens,
        eoi_token_id: endOfImage,
        eoa_token_id: endOfSound,
      }),
      processors: {
        'processor_config.json': {
          image_processor: {
            size: { height: side, width: side },
            resample: BILINEAR,
            ...normalization(file),
          },
          feature_extractor: { feature_size: keys.count('clip.audio.num_mel_bins') },
        },
      },
    };
  },
  parts({ name: stored, shape }, { tensors }) {
    const name = towerName({ name: stored.replace(SPREAD, '$&.weight'), shape }, tensors, NAMES);
    if (name === null) return null;
    if (SPREAD.test(stored)) return [{ name: name.replace(/\.weight$/, ''), shape }];
    return [{ name, shape: PIXEL.test(stored) ? [shape.reduce((product, one) => product * one, 1)] : shape }];
  },
};

const shapeOf = ({ tensors }: TowerFile, name: string): readonly number[] =>
  tensors.get(`${name}.weight`)?.shape ?? [];

const rowsOf = (file: TowerFile, name: string): number => shapeOf(file, name)[0] ?? 0;

function visionConfig(file: TowerFile, across: number): Json {
  const stem = rowsOf(file, 'v.conv_stem.conv');
  return {
    model_type: 'gemma3n_vision',
    hidden_size: file.keys.count('clip.vision.embedding_length'),
    rms_norm_eps: normEps(file, 1e-6),
    model_args: { stem_size: stem, msfa_output_resolution: across, block_args: stagesOf(file, stem) },
  };
}

/** block_args: for each stage a list of its blocks. */
function stagesOf(file: TowerFile, stem: number): Json[][] {
  const stages: Json[][] = [];
  let from = stem;
  for (;;) {
    const stage: Json[] = [];
    for (;;) {
      const stride = stage.length === 0 ? 2 : 1;
      const block = blockOf(file, `v.blk.${stages.length}.${stage.length}.`, from);
      if (block === null) break;
      stage.push({ ...block, stride });
      from = block.out_chs;
    }
    if (stage.length === 0) return stages;
    stages.push(stage);
  }
}

/** The block of pixels of `from` columns whose tensors' names begin with `root`; null: there is none. */
function blockOf(file: TowerFile, root: string, from: number): (Json & { out_chs: number }) | null {
  const rows = (name: string): number => rowsOf(file, `${root}${name}`);
  const kernel = (name: string): number => shapeOf(file, `${root}${name}`)[2] ?? 0;
  if (rows('conv_exp') > 0)
    return {
      block_type: 'er',
      ...{ out_chs: rows('conv_pwl'), exp_ratio: rows('conv_exp') / from },
      exp_kernel_size: kernel('conv_exp'),
    };
  if (rows('pw_exp.conv') > 0)
    return {
      block_type: 'uir',
      ...{ out_chs: rows('pw_proj.conv'), exp_ratio: rows('pw_exp.conv') / from },
      dw_kernel_size_start: kernel('dw_start.conv'),
      dw_kernel_size_mid: kernel('dw_mid.conv'),
    };
  if (rows('attn.query.proj') === 0) return null;
  const dims = rows('attn.key.proj');
  const halved = kernel('attn.key.down_conv');
  return {
    block_type: 'mqa',
    out_chs: rows('attn.output.proj'),
    ...{ num_heads: rows('attn.query.proj') / dims, key_dim: dims, value_dim: rows('attn.value.proj') },
    ...(halved > 0 ? { kv_stride: 2, dw_kernel_size: halved } : { kv_stride: 1 }),
  };
}

function audioConfig(file: TowerFile): Json {
  const { keys } = file;
  return {
    model_type: 'gemma3n_audio',
    hidden_size: keys.count('clip.audio.embedding_length'),
    conf_num_hidden_layers: keys.count('clip.audio.block_count'),
    conf_num_attention_heads: keys.count('clip.audio.attention.head_count'),
    conf_conv_kernel_size: shapeOf(file, 'a.blk.0.conv_dw').at(-1) ?? 0,
    input_feat_size: keys.count('clip.audio.num_mel_bins'),
    sscp_conv_channel_size: [0, 1].map((i) => rowsOf(file, `a.conv1d.${i}`)),
  };
}
