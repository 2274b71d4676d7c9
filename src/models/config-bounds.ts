// The smallest and the largest value that each number of a foreign config may have, stated once. They are wider than everything
// published, and keep what is computed from a number finite and its tables and loops small.

/** Range of values, both ends included. */
export type Bounds = readonly [least: number, most: number];

const SIZE: Bounds = [1, 2 ** 16];
const WIDTH: Bounds = [1, 2 ** 20];
const LAYERS: Bounds = [1, 2 ** 10];
const HEADS: Bounds = [1, 2 ** 10];
const EXPERTS: Bounds = [1, 2 ** 12];
const TOKENS: Bounds = [1, 2 ** 27];
const TOKEN_ID: Bounds = [0, 2 ** 22 - 1];
const CHANNELS: Bounds = [1, 2 ** 14];
const EPS: Bounds = [1e-16, 1e-2];
const TIMESTEPS: Bounds = [1, 100_000];
const SIGMA: Bounds = [1e-6, 1e6];
const ROTATIONS: Bounds = [1e-3, 1e5];

/** Integers. */
export const COUNTS = {
  // T5
  d_model: SIZE,
  d_kv: [1, 2 ** 10],
  d_ff: WIDTH,
  relative_attention_num_buckets: [4, 2 ** 10],
  relative_attention_max_distance: TOKENS,
  // language and embedding models
  vocab_size: [1, 2 ** 22],
  type_vocab_size: SIZE,
  hidden_size: SIZE,
  intermediate_size: WIDTH,
  moe_intermediate_size: WIDTH,
  hidden_size_per_layer_input: [0, 2 ** 12],
  vocab_size_per_layer_input: [1, 2 ** 22],
  num_kv_shared_layers: [0, 2 ** 10],
  num_hidden_layers: LAYERS,
  num_attention_heads: HEADS,
  num_key_value_heads: HEADS,
  head_dim: [1, 2 ** 10],
  max_position_embeddings: TOKENS,
  original_max_position_embeddings: [2, 2 ** 27],
  sliding_window: TOKENS,
  max_window_layers: [0, 2 ** 10],
  sliding_window_pattern: LAYERS,
  _sliding_window_pattern: LAYERS,
  conv_L_cache: [2, 2 ** 6],
  block_ff_dim: WIDTH,
  block_multiple_of: WIDTH,
  full_attn_idxs: [0, 2 ** 10],
  full_attention_interval: LAYERS,
  linear_conv_kernel_dim: [2, 2 ** 6],
  linear_key_head_dim: [1, 2 ** 10],
  linear_value_head_dim: [1, 2 ** 10],
  linear_num_key_heads: HEADS,
  linear_num_value_heads: HEADS,
  no_rope_layers: [0, 1],
  no_rope_layer_interval: LAYERS,
  shared_expert_intermediate_size: WIDTH,
  num_experts: EXPERTS,
  num_local_experts: EXPERTS,
  num_experts_per_tok: EXPERTS,
  decoder_sparse_step: LAYERS,
  mlp_only_layers: [0, 2 ** 10],
  eos_token_id: TOKEN_ID,
  pad_token_id: TOKEN_ID,
  projection_dim: SIZE,
  position_sections: [0, 2 ** 9],
  image_token_id: TOKEN_ID,
  // vision towers and their images
  depth: LAYERS,
  num_heads: HEADS,
  out_hidden_size: SIZE,
  patch_size: [1, 2 ** 7],
  spatial_merge_size: [1, 2 ** 4],
  embed_dim: SIZE,
  min_frames: [1, 2 ** 16],
  max_frames: [1, 2 ** 16],
  num_position_embeddings: [1, 2 ** 20],
  deepstack_visual_indexes: [0, 2 ** 10],
  temporal_patch_size: [1, 2 ** 4],
  merge_size: [1, 2 ** 4],
  window_size: [1, 2 ** 12],
  fullatt_block_indexes: [0, 2 ** 10],
  min_pixels: [1, 2 ** 28],
  max_pixels: [1, 2 ** 28],
  shortest_edge: [1, 2 ** 28],
  longest_edge: [1, 2 ** 28],
  scale_factor: [1, 2 ** 6],
  image_seq_length: TOKENS,
  min_patches: [1, 2 ** 7],
  max_patches: [1, 2 ** 7],
  min_dynamic_patch: [1, 2 ** 7],
  max_dynamic_patch: [1, 2 ** 7],
  force_image_size: [1, 2 ** 12],
  height: [1, 2 ** 12],
  width: [1, 2 ** 12],
  num_frames: [1, 2 ** 12],
  // components of pipelines
  in_channels: CHANNELS,
  out_channels: CHANNELS,
  latent_channels: CHANNELS,
  block_out_channels: CHANNELS,
  conditioning_embedding_out_channels: CHANNELS,
  image_columns: SIZE,
  image_size: [1, 2 ** 12],
  image_tokens: [1, 2 ** 12],
  resampler_width: SIZE,
  resampler_heads: HEADS,
  resampler_layers: LAYERS,
  resampler_ffn: WIDTH,
  encoder_block_out_channels: CHANNELS,
  decoder_block_out_channels: CHANNELS,
  num_encoder_blocks: LAYERS,
  num_decoder_blocks: LAYERS,
  layers_per_block: [0, 2 ** 10],
  encoder_layers_per_block: [0, 2 ** 10],
  decoder_layers_per_block: [0, 2 ** 10],
  transformer_layers_per_block: [0, 2 ** 10],
  reverse_transformer_layers_per_block: [0, 2 ** 10],
  attention_head_dim: [0, 2 ** 10],
  cross_attention_dim: [0, 2 ** 16],
  num_cross_attention_heads: HEADS,
  cross_attention_head_dim: [1, 2 ** 10],
  caption_channels: SIZE,
  norm_num_groups: CHANNELS,
  sample_size: [0, 2 ** 14],
  time_embedding_dim: SIZE,
  time_cond_proj_dim: SIZE,
  projection_class_embeddings_input_dim: SIZE,
  addition_time_embed_dim: SIZE,
  dim: SIZE,
  n_heads: HEADS,
  n_layers: LAYERS,
  n_refiner_layers: [0, 2 ** 10],
  axes_dims: SIZE,
  axes_lens: SIZE,
  cap_feat_dim: SIZE,
  num_layers: LAYERS,
  num_single_layers: LAYERS,
  pooled_projection_dim: SIZE,
  joint_attention_dim: SIZE,
  caption_projection_dim: SIZE,
  pos_embed_max_size: [1, 2 ** 10],
  dual_attention_layers: [0, 2 ** 10],
  axes_dims_rope: SIZE,
  timestep_guidance_channels: [4, 2 ** 12],
  approximator_num_channels: [8, 2 ** 12],
  approximator_hidden_dim: SIZE,
  approximator_layers: [0, 2 ** 6],
  base_dim: CHANNELS,
  z_dim: CHANNELS,
  dim_mult: [1, 2 ** 6],
  num_res_blocks: [1, 2 ** 6],
  input_channels: CHANNELS,
  // schedules
  num_train_timesteps: TIMESTEPS,
  original_inference_steps: TIMESTEPS,
  steps_offset: [0, 100_000],
  disable_corrector: [0, 100_000],
  base_image_seq_len: TOKENS,
  max_image_seq_len: TOKENS,
} as const satisfies Readonly<Record<string, Bounds>>;

/** Numbers, whole or not. */
export const REALS = {
  rms_norm_eps: EPS,
  layer_norm_epsilon: EPS,
  layer_norm_eps: EPS,
  norm_epsilon: EPS,
  logit_scale: [1e-6, 1e6],
  block_ffn_dim_multiplier: [1e-3, 1e3],
  norm_eps: EPS,
  rope_theta: [2, 1e12],
  rope_local_base_freq: [2, 1e12],
  query_pre_attn_scalar: [1, 2 ** 16],
  swiglu_alpha: [1e-3, 1e3],
  swiglu_limit: [1e-3, 1e6],
  attn_logit_softcapping: [1e-3, 1e6],
  final_logit_softcapping: [1e-3, 1e6],
  rotary_emb_base: [2, 1e12],
  rotary_pct: [0, 1],
  partial_rotary_factor: [0, 1],
  embedding_multiplier: [1e-6, 1e6],
  residual_multiplier: [1e-6, 1e6],
  attention_multiplier: [1e-6, 1e6],
  logits_scaling: [1e-6, 1e6],
  factor: [1e-3, 1e6],
  attention_factor: [1e-3, 1e3],
  beta_fast: ROTATIONS,
  beta_slow: ROTATIONS,
  low_freq_factor: ROTATIONS,
  high_freq_factor: ROTATIONS,
  llama_4_scaling_beta: [0, 1e3],
  mscale: [0, 1e3],
  mscale_all_dim: [0, 1e3],
  short_factor: [1e-3, 1e6],
  long_factor: [1e-3, 1e6],
  freq_shift: [-1e3, 1e3],
  scaling_factor: [1e-3, 1e3],
  shift_factor: [-1e3, 1e3],
  latents_mean: [-1e6, 1e6],
  latents_std: [0, 1e6],
  t_scale: [1e-6, 1e6],
  mlp_ratio: [1e-2, 64],
  timestep_scale: [1e-6, 1e6],
  guidance_embeds_scale: [1e-6, 1e6],
  interpolation_scale: [1e-3, 1e3],
  eps: EPS,
  batch_norm_eps: EPS,
  image_mean: [-10, 10],
  image_std: [1e-6, 10],
  rescale_factor: [1e-9, 1e3],
  downsample_ratio: [1 / 16, 1],
  fps: [1e-3, 1e3],
  tokens_per_second: [1e-3, 1e4],
  initial_shift: [0, 2 ** 20],
  // schedules
  beta_start: [1e-9, 1],
  beta_end: [1e-9, 1],
  trained_betas: [0, 1],
  sigma_min: [0, 1e6],
  sigma_max: SIGMA,
  sigma_data: SIGMA,
  rho: [1e-2, 1e3],
  shift: [1e-3, 1e4],
  flow_shift: [1e-3, 1e4],
  base_shift: [-100, 100],
  max_shift: [-100, 100],
  shift_terminal: [0, 0.999],
  timestep_scaling: [1e-3, 1e6],
  lambda_min_clipped: [-1e3, 100],
  clip_sample_range: [1e-6, 1e6],
  dynamic_thresholding_ratio: [0, 1],
  sample_max_value: [1e-6, 1e9],
} as const satisfies Readonly<Record<string, Bounds>>;

export type CountKey = keyof typeof COUNTS;
export type RealKey = keyof typeof REALS;

/** Whether a value is an integer within bounds. */
export function isCount(value: unknown, [least, most]: Bounds): value is number {
  return isReal(value, [least, most]) && Number.isInteger(value);
}

/** Whether a value is a number within bounds; NaN and infinities never are. */
export function isReal(value: unknown, [least, most]: Bounds): value is number {
  return typeof value === 'number' && value >= least && value <= most;
}

/** Formats bounds for messages. */
export function boundsText([least, most]: Bounds): string {
  return `from ${least} to ${most}`;
}
