// scheduler_config.json as it is published with models of each family.

/** Stable Diffusion 1.x. */
export const SD = {
  _class_name: 'PNDMScheduler',
  _diffusers_version: '0.6.0',
  beta_end: 0.012,
  beta_schedule: 'scaled_linear',
  beta_start: 0.00085,
  num_train_timesteps: 1000,
  set_alpha_to_one: false,
  skip_prk_steps: true,
  steps_offset: 1,
  trained_betas: null,
  clip_sample: false,
};

/** Stable Diffusion 3. */
export const FLOW = { _class_name: 'FlowMatchEulerDiscreteScheduler', num_train_timesteps: 1000, shift: 3.0 };

/** Playground v2.5. */
export const EDM = {
  _class_name: 'EDMDPMSolverMultistepScheduler',
  _diffusers_version: '0.27.0.dev0',
  algorithm_type: 'dpmsolver++',
  dynamic_thresholding_ratio: 0.995,
  euler_at_final: false,
  final_sigmas_type: 'zero',
  lower_order_final: true,
  num_train_timesteps: 1000,
  prediction_type: 'epsilon',
  rho: 7,
  sample_max_value: 1,
  sigma_data: 0.5,
  sigma_max: 80,
  sigma_min: 0.002,
  solver_order: 2,
  solver_type: 'midpoint',
  thresholding: false,
};
