// adapter_config.json of PEFT: rank and scale of each module. Settings that change the computation and are not built are refused by
// name, and so are invalid numbers and patterns.

import { badCheckpoint, type EngineError, unsupported } from '../error.ts';

export type Json = Readonly<Record<string, unknown>>;

export const CONFIG = 'adapter_config.json';

export interface LoraConfig {
  /** Rank of a module's factors. */
  rank(module: string): number;
  /** Factor on B · A. */
  scale(module: string): number;
}

/** Settings of other adaptation methods, with the values that have no effect. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  bias: ['none'],
  use_dora: [false],
  lora_bias: [false],
  fan_in_fan_out: [false],
  use_qalora: [false],
  modules_to_save: [],
  layer_replication: [],
  target_parameters: [],
  trainable_token_indices: [],
  exclude_modules: [],
  alora_invocation_tokens: [],
  arrow_config: [],
};

/** Initialisations that change the base weights before training. */
const OTHER_BASE = /^(pissa|olora|corda|loftq)/;

const MOST_RANK = 2 ** 16;
const MOST_ALPHA = 1e6;
const MOST_PATTERNS = 4096;
const MOST_PATTERN_LENGTH = 512;
/** Together with the length limit of names this bounds the steps of a match to about 256³ ÷ 6. */
const MOST_QUANTIFIERS = 2;

/** `path`: of the folder, for messages. Throws unsupported and bad_checkpoint with the key. */
export function readLoraConfig(path: string, config: Json): LoraConfig {
  refuseMore(path, config);
  const ranks = readPatterns(
    path,
    config,
    'rank_pattern',
    (value) => isRank(value),
    `a rank from 1 to ${MOST_RANK}`,
  );
  const alphas = readPatterns(path, config, 'alpha_pattern', isAlpha, ALPHA);
  const { r = 8, lora_alpha: alpha = 8, use_rslora: isStabilised = false } = config;
  if (!isRank(r)) throw bad(path, config, 'r', `an integer from 1 to ${MOST_RANK}`);
  if (!isAlpha(alpha)) throw bad(path, config, 'lora_alpha', ALPHA);
  if (typeof isStabilised !== 'boolean') throw bad(path, config, 'use_rslora', 'true or false');
  const rank = (module: string): number => ranks(module) ?? r;
  return {
    rank,
    scale: (module) => (alphas(module) ?? alpha) / (isStabilised ? Math.sqrt(rank(module)) : rank(module)),
  };
}

const ALPHA = `a number from -${MOST_ALPHA} to ${MOST_ALPHA}`;

function isRank(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST_RANK;
}

function isAlpha(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= MOST_ALPHA;
}

function refuseMore(path: string, config: Json): void {
  const refuse = (key: string): never => {
    const value = Object.hasOwn(config, key) ? `${key} ${JSON.stringify(config[key])}` : `no ${key}`;
    throw unsupported(
      `${path}: ${CONFIG} has ${value}, which is not built; merge the LoRA into its model, or train one without`,
      key,
    );
  };
  if (config['peft_type'] !== 'LORA') refuse('peft_type');
  for (const [key, neutral] of Object.entries(NEUTRAL)) {
    const value = config[key] ?? null;
    const isEmpty = value === null || (typeof value === 'object' && Object.keys(value).length === 0);
    // Excluded modules have no tensors in the LoRA's file.
    if (!isEmpty && !neutral.includes(value) && key !== 'exclude_modules') refuse(key);
  }
  const begin = config['init_lora_weights'];
  if (typeof begin === 'string' && OTHER_BASE.test(begin)) refuse('init_lora_weights');
}

/** Returns the value of the first pattern that matches the end of a module's name, as in PEFT; null if none matches. */
function readPatterns(
  path: string,
  config: Json,
  key: string,
  isValue: (value: unknown) => value is number,
  needed: string,
): (module: string) => number | null {
  const given = config[key] ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) throw bad(path, config, key, 'an object');
  const entries = Object.entries(given);
  if (entries.length > MOST_PATTERNS)
    throw bad(path, config, key, `an object of at most ${MOST_PATTERNS} patterns`);
  const patterns = entries.map(([pattern, value]: [string, unknown]): [RegExp, number] => {
    if (!isValue(value)) throw bad(path, config, key, `${needed} for each pattern`);
    return [compile(path, key, pattern), value];
  });
  return (module) => patterns.find(([pattern]) => pattern.test(module))?.[1] ?? null;
}

/** Converts Python's regular expressions to JavaScript's; refuses those whose matching can take exponential time. */
function compile(path: string, key: string, pattern: string): RegExp {
  const refuse = (reason: string, cause?: unknown): EngineError =>
    badCheckpoint(
      `${path}: ${CONFIG}: ${key} has the pattern ${JSON.stringify(pattern.slice(0, 100))}, ${reason}: write names of modules`,
      key,
      cause,
    );
  const quantifiers = pattern.replaceAll(/\\./g, 'x').match(/[*+{?]/g)?.length ?? 0;
  const repeatsGroup = /\)[*+{]/.test(pattern.replaceAll(/\\./g, 'x'));
  if (pattern.length > MOST_PATTERN_LENGTH || quantifiers > MOST_QUANTIFIERS || repeatsGroup)
    throw refuse('which may take too long to match');
  try {
    return new RegExp(`^(.*\\.)?(${pattern})$`);
  } catch (cause) {
    throw refuse('which is not a regular expression', cause);
  }
}

function bad(path: string, config: Json, key: string, needed: string): EngineError {
  const value = config[key];
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return badCheckpoint(
    `${path}: ${CONFIG}: ${key} is ${text.length > 200 ? `${text.slice(0, 200)}…` : text}, ${needed} is needed`,
    key,
  );
}
