// Bounds of the numbers that configurations of hybrids of attention and Mamba-2 have, and of the multipliers of Granite and Falcon-H1.

const MULTIPLIER = [1e-6, 1e6] as const;
const HEADS = [1, 2 ** 10] as const;
const DIMS = [1, 2 ** 10] as const;

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
  mamba_d_ssm: [1, 2 ** 20],
  attn_layer_indices: [0, 2 ** 10],
  shared_intermediate_size: [1, 2 ** 20],
  moe_shared_expert_intermediate_size: [1, 2 ** 20],
  moe_latent_size: [1, 2 ** 16],
  n_shared_experts: [0, 2 ** 6],
} as const;

export const HYBRID_REALS = {
  embedding_multiplier: MULTIPLIER,
  residual_multiplier: MULTIPLIER,
  attention_multiplier: MULTIPLIER,
  logits_scaling: MULTIPLIER,
  lm_head_multiplier: MULTIPLIER,
  key_multiplier: MULTIPLIER,
  attention_in_multiplier: MULTIPLIER,
  attention_out_multiplier: MULTIPLIER,
  ssm_in_multiplier: MULTIPLIER,
  ssm_out_multiplier: MULTIPLIER,
  ssm_multipliers: MULTIPLIER,
  mlp_multipliers: MULTIPLIER,
  time_step_limit: [0, Infinity],
} as const;
