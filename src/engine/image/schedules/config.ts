// Reads scheduler_config.json key by key. A class reads the keys that it takes; a key of another diffusers class, or of none, has no
// effect here, like in diffusers.

import { badCheckpoint, type EngineError, unsupported } from '../../../files/error.ts';
import {
  boundsText,
  COUNTS,
  isCount,
  isReal,
  REALS,
  type CountKey,
  type RealKey,
} from '../../../models/config-bounds.ts';
import { shown } from '../../../models/config-values.ts';

/** Keys of diffusers' schedulers for latent diffusion. */
const KNOWN = new Set(
  `algorithm_type base_image_seq_len base_shift beta_end beta_schedule beta_start clip_sample clip_sample_range
  disable_corrector dynamic_thresholding_ratio euler_at_final final_sigmas_type flow_shift interpolation_type
  invert_sigmas lambda_min_clipped lower_order_final max_image_seq_len max_shift noise_sampler_seed num_train_timesteps
  original_inference_steps predict_x0 prediction_type rescale_betas_zero_snr rho sample_max_value scale_factors
  set_alpha_to_one shift shift_terminal sigma_data sigma_max sigma_min sigma_schedule skip_prk_steps solver_order solver_p solver_type
  steps_offset stochastic_sampling thresholding time_shift_type timestep_scaling timestep_spacing timestep_type
  trained_betas upscale_mode use_beta_sigmas use_dynamic_shifting use_exponential_sigmas use_flow_sigmas
  use_karras_sigmas use_lu_lambdas variance_type`.split(/\s+/),
);

/** Settings that early versions wrote into every file, and that later ones imply. */
const RETIRED: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['predict_epsilon', true],
  ['tensor_format', 'pt'],
]);

type NumberKey = CountKey | RealKey;

/** Maximum length of a list of numbers. */
const MOST_NUMBERS = 100_000;

/** Reader of keys. Numbers are checked against their key's bounds (models/config-bounds.ts); null counts as missing. */
export interface ConfigReader {
  readonly className: string;
  number(key: NumberKey, fallback: number): number;
  optionalNumber(key: NumberKey): number | null;
  flag(key: string, fallback: boolean): boolean;
  choice<T extends string | number>(key: string, fallback: T, choices: readonly T[]): T;
  /** A list of numbers; null for a missing or empty list. */
  numbers(key: NumberKey): number[] | null;
  /** Throws for every value of a key that would change the result. `fallback` is the neutral value. */
  neutral(key: string, fallback: unknown, remedy: string): void;
  refusal(key: string, value: unknown, remedy: string): EngineError;
  /** Whether a key was read. */
  wasRead(key: string): boolean;
}

export function readConfig(className: string, config: Readonly<Record<string, unknown>>): ConfigReader {
  for (const [key, usual] of RETIRED) {
    const value = Object.hasOwn(config, key) ? (config[key] ?? usual) : usual;
    if (value === usual) continue;
    throw unsupported(
      `scheduler_config.json has "${key}": ${shown(value)}, which is computed only as ${shown(usual)}; choose a checkpoint without it.`,
      key,
    );
  }
  const wrong = (key: string, value: unknown, wanted: string): EngineError =>
    badCheckpoint(
      `scheduler_config.json has "${key}": ${shown(value)} for ${className}, which takes ${wanted}.`,
      key,
    );
  const read = new Set<string>();
  const value = (key: string): unknown => {
    read.add(key);
    return Object.hasOwn(config, key) ? (config[key] ?? null) : null;
  };

  const optionalNumber = (key: NumberKey): number | null => {
    const given = value(key);
    if (given === null) return null;
    // diffusers saves its default, which clips nothing, as -Infinity.
    if (key === 'lambda_min_clipped' && given === -Infinity) return null;
    if (fits(key, given)) return given;
    throw wrong(key, given, wanted(key));
  };
  const refusal = (key: string, given: unknown, remedy: string): EngineError =>
    unsupported(`${className} with "${key}": ${shown(given)} is not supported; ${remedy}.`, key);
  return {
    className,
    refusal,
    wasRead: (key) => read.has(key),
    optionalNumber,
    number: (key, fallback) => optionalNumber(key) ?? fallback,
    flag(key, fallback) {
      const given = value(key) ?? fallback;
      if (typeof given === 'boolean') return given;
      throw wrong(key, given, 'true or false');
    },
    choice(key, fallback, choices) {
      const given = value(key) ?? fallback;
      const found = choices.find((choice) => choice === given);
      if (found !== undefined) return found;
      throw refusal(key, given, `it takes ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`);
    },
    numbers(key) {
      const given = value(key);
      if (given === null || (Array.isArray(given) && given.length === 0)) return null;
      const isShort = Array.isArray(given) && given.length <= MOST_NUMBERS;
      if (isShort && given.every((item): item is number => fits(key, item))) return given;
      throw wrong(key, given, `a list of at most ${MOST_NUMBERS} of these: ${wanted(key)}`);
    },
    neutral(key, fallback, remedy) {
      const given = value(key) ?? fallback;
      if (given === null || given === false || (Array.isArray(given) && given.length === 0)) return;
      throw refusal(key, given, remedy);
    },
  };
}

const isWhole = (key: NumberKey): key is CountKey => Object.hasOwn(COUNTS, key);

function fits(key: NumberKey, value: unknown): value is number {
  return isWhole(key) ? isCount(value, COUNTS[key]) : isReal(value, REALS[key]);
}

const wanted = (key: NumberKey): string =>
  isWhole(key) ? `an integer ${boundsText(COUNTS[key])}` : `a number ${boundsText(REALS[key])}`;

/** Settings that describe the model and not the method, each with a test of whether its value has an effect. */
const OF_THE_MODEL: Readonly<Record<string, (value: unknown) => boolean>> = {
  rescale_betas_zero_snr: (value) => value === true,
  timestep_spacing: (value) => value === 'trailing',
  use_dynamic_shifting: (value) => value === true,
  shift_terminal: (value) => value !== null,
  invert_sigmas: (value) => value === true,
};

/** Settings of the model that a class has not read, as `key: value` texts. */
export function leftOut({ wasRead }: ConfigReader, config: Readonly<Record<string, unknown>>): string[] {
  // A class for distilled models computes its own spacing of timesteps.
  const spacesItself = wasRead('original_inference_steps');
  return Object.entries(OF_THE_MODEL).flatMap(([key, asks]) => {
    const isHeeded = wasRead(key) || (key === 'timestep_spacing' && spacesItself);
    return isHeeded || !asks(config[key] ?? null) ? [] : [`"${key}": ${JSON.stringify(config[key])}`];
  });
}

/** Settings that no class of diffusers has, as `key: value` texts. diffusers ignores them with a warning. */
export function unknownSettings(config: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(config).flatMap(([key, value]) =>
    key.startsWith('_') || KNOWN.has(key) || RETIRED.has(key) || value === null
      ? []
      : [`"${key}": ${shown(value)}`],
  );
}

/** Throws for a learned variance. Kinds of fixed variance only concern DDPM; other classes ignore them, like in diffusers. */
export function refuseLearnedVariance(config: ConfigReader): void {
  config.choice('variance_type', 'fixed', [
    'fixed',
    'fixed_small',
    'fixed_small_log',
    'fixed_large',
    'fixed_large_log',
  ]);
}
