// Bounds of the numbers of hybrids of attention and Mamba-2.

import { HEADS, SIZE, WIDTH, type Bounds } from './bounds.ts';

const DIMS: Bounds = [1, 2 ** 10];
const MULTIPLIER: Bounds = [1e-6, 1e6];

export const HYBRID_COUNTS = {
  mamba_num_heads: HEADS,
  mamba_n_heads: HEADS,
  mamba_head_dim: DIMS,
  mamba_d_head: DIMS,
  mamba_n_groups: HEADS,
  n_groups: HEADS,
  mamba_d_state: DIMS,
  ssm_state_size: DIMS,
  mamba_d_conv: [2, 2 ** 6],
  conv_kernel: [2, 2 ** 6],
  mamba_expand: [1, 2 ** 6],
  mamba_d_ssm: WIDTH,
  attn_layer_indices: [0, 2 ** 10],
  shared_intermediate_size: WIDTH,
  moe_shared_expert_intermediate_size: WIDTH,
  moe_latent_size: SIZE,
} as const satisfies Readonly<Record<string, Bounds>>;

export const HYBRID_REALS = {
  lm_head_multiplier: MULTIPLIER,
  key_multiplier: MULTIPLIER,
  attention_in_multiplier: MULTIPLIER,
  attention_out_multiplier: MULTIPLIER,
  ssm_in_multiplier: MULTIPLIER,
  ssm_out_multiplier: MULTIPLIER,
  ssm_multipliers: MULTIPLIER,
  mlp_multipliers: MULTIPLIER,
  time_step_limit: [0, Infinity],
} as const satisfies Readonly<Record<string, Bounds>>;
