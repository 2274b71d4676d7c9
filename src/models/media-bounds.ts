// Bounds of numbers in the configurations of towers and of their processors: see config-bounds.ts.

type Bounds = readonly [least: number, most: number];

const SIZE: Bounds = [1, 2 ** 16];
const WIDTH: Bounds = [1, 2 ** 20];
const LAYERS: Bounds = [1, 2 ** 10];
const HEADS: Bounds = [1, 2 ** 10];
const TOKENS: Bounds = [1, 2 ** 27];

/** Integers. */
export const MEDIA_COUNTS = {
  // vision towers and their images
  depth: LAYERS,
  num_heads: HEADS,
  out_hidden_size: SIZE,
  patch_size: [1, 2 ** 7],
  spatial_merge_size: [1, 2 ** 4],
  embed_dim: SIZE,
  min_frames: [1, 2 ** 16],
  max_frames: [1, 2 ** 16],
  max_video_tokens: [1, 2 ** 20],
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
  mm_tokens_per_image: [1, 2 ** 16],
  max_soft_tokens: [1, 2 ** 16],
  pooling_kernel_size: [1, 2 ** 4],
  position_embedding_size: [1, 2 ** 16],
  mm_embed_dim: SIZE,
  mm_posemb_size: SIZE,
  pan_and_scan_min_crop_size: SIZE,
  pan_and_scan_max_num_crops: [1, 2 ** 6],
  image_seq_length: TOKENS,
  image_seq_len: TOKENS,
  min_patches: [1, 2 ** 7],
  max_patches: [1, 2 ** 7],
  min_dynamic_patch: [1, 2 ** 7],
  max_dynamic_patch: [1, 2 ** 7],
  force_image_size: [1, 2 ** 12],
  height: [1, 2 ** 12],
  width: [1, 2 ** 12],
  num_frames: [1, 2 ** 12],
  // encoders of sounds
  num_mel_bins: [1, 2 ** 10],
  subsampling_conv_channels: [1, 2 ** 14],
  conv_kernel_size: [1, 2 ** 6],
  attention_chunk_size: [1, 2 ** 12],
  attention_context_left: [1, 2 ** 12],
  attention_context_right: [0, 2 ** 12],
  output_proj_dims: SIZE,
  audio_embed_dim: SIZE,
  audio_samples_per_token: SIZE,
  feature_size: [1, 2 ** 10],
  max_source_positions: [2, 2 ** 16],
  chunk_length: [1, 2 ** 10],
  encoder_layers: LAYERS,
  encoder_attention_heads: HEADS,
  encoder_ffn_dim: WIDTH,
} as const satisfies Readonly<Record<string, Bounds>>;
