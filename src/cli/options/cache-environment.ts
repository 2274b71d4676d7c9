// SGLang's environment variables of step caches, with SVC_ in place of SGLANG_, as settings of --cache-dit-config.

import { UsageError } from '../process/exit.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'SVC_CACHE_DIT_';

interface Variable {
  key: string;
  read(name: string, text: string): unknown;
  /** SGLang's value where the variable is not set; left out: the setting is left out too. */
  otherwise?: unknown;
}

const number = (name: string, text: string): number => {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new UsageError(`${name} is "${text}": give a number, or unset it`);
};

const flag = (name: string, text: string): boolean => {
  if (/^(1|true|yes|on)$/i.test(text)) return true;
  if (/^(0|false|no|off)$/i.test(text)) return false;
  throw new UsageError(`${name} is "${text}": give 1 or 0, or unset it`);
};

const numbers = (name: string, text: string): number[] => text.split(',').map((one) => number(name, one));
const text = (_: string, value: string): string => value;

const VARIABLES: Readonly<Record<string, Variable>> = {
  FN: { key: 'Fn_compute_blocks', read: number, otherwise: 1 },
  BN: { key: 'Bn_compute_blocks', read: number, otherwise: 0 },
  WARMUP: { key: 'max_warmup_steps', read: number, otherwise: 4 },
  RDT: { key: 'residual_diff_threshold', read: number, otherwise: 0.24 },
  MC: { key: 'max_continuous_cached_steps', read: number, otherwise: 3 },
  TAYLORSEER: { key: 'enable_taylorseer', read: flag },
  TS_ORDER: { key: 'taylorseer_order', read: number },
};

const MASKS: Readonly<Record<string, Variable>> = {
  SCM_PRESET: { key: 'steps_computation_mask', read: text },
  SCM_COMPUTE_BINS: { key: 'compute_bins', read: numbers },
  SCM_CACHE_BINS: { key: 'cache_bins', read: numbers },
  SCM_POLICY: { key: 'steps_computation_policy', read: text },
};

/** Returns settings for --cache-dit-config; null: SVC_CACHE_DIT_ENABLED is not set. Throws UsageError. */
export function cacheFromEnvironment(environment: Environment): Record<string, unknown> | null {
  const enabled = environment[`${PREFIX}ENABLED`];
  if (!enabled || !flag(`${PREFIX}ENABLED`, enabled)) return null;
  const secondary = readAll(environment, VARIABLES, `${PREFIX}SECONDARY_`, false);
  return {
    method: 'dbcache',
    ...readAll(environment, VARIABLES, PREFIX, true),
    ...readAll(environment, MASKS, PREFIX, false),
    ...(Object.keys(secondary).length > 0 && { secondary }),
  };
}

function readAll(
  environment: Environment,
  variables: Readonly<Record<string, Variable>>,
  prefix: string,
  fills: boolean,
): Record<string, unknown> {
  const values = Object.entries(variables).flatMap(([name, { key, read, otherwise }]) => {
    const given = environment[prefix + name] || undefined;
    if (given === 'none') return [];
    if (given !== undefined) return [[key, read(prefix + name, given)]];
    return fills && otherwise !== undefined ? [[key, otherwise]] : [];
  });
  return Object.fromEntries(values) as Record<string, unknown>;
}
