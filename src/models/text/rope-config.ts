// Reads the rope settings of a Hugging Face config.json, in the published form (rope_theta, rope_scaling) and in that of
// transformers 5 (rope_parameters).

import { EngineError } from '../../files/error.ts';
import { isReal, REALS } from '../config-bounds.ts';
import { readConfig, shown, type ConfigReader, type Json } from '../config-values.ts';
import type { RopeConfig, RopeType } from './rope.ts';

const TYPES: readonly RopeType[] = ['default', 'linear', 'dynamic', 'yarn', 'llama3', 'longrope'];

/** Values of a class where config.json leaves them out. */
export interface RopeDefaults {
  /** max_position_embeddings. */
  context?: number;
  theta?: number;
  /** Whether partial_rotary_factor may leave some of a head's dimensions unrotated. */
  partial?: boolean;
  /** Types that the class has; null: all. */
  types?: readonly RopeType[] | null;
}

/** `headDims`: dimensions of a head; the table has those that are rotated. */
export function readRope(
  json: Json,
  headDims: number,
  { context: statedContext = 2048, theta = 10000, partial = false, types = null }: RopeDefaults = {},
): RopeConfig {
  const { file, scaling } = scalingOf(json);
  const config = readConfig('config.json', json);
  const own = readConfig(file, scaling);
  const type = ropeType(file, scaling, types ?? TYPES);
  const context = config.count('max_position_embeddings', statedContext);
  // Phi-3 and others state it beside the rope parameters, and that counts before what stands among them.
  const original = config.count(
    'original_max_position_embeddings',
    own.count('original_max_position_embeddings', context),
  );
  // The type dynamic extends the stated context in any case. Source: transformers' modeling_rope_utils.
  const originalContext = type === 'dynamic' ? context : original;
  const dims = rotatedDims(
    own.real('partial_rotary_factor', config.real('partial_rotary_factor', 1)),
    headDims,
    partial,
  );
  const isLlama3 = type === 'llama3';
  const rope: RopeConfig = {
    type,
    theta: own.real('rope_theta', config.real('rope_theta', theta)),
    dims,
    originalContext,
    factor: readFactor(own, type, context / originalContext),
    attentionFactor: 1,
    sections: null,
    betaFast: own.real('beta_fast', 32),
    betaSlow: own.real('beta_slow', 1),
    truncate: own.flag('truncate', true),
    lowFrequencyFactor: own.real('low_freq_factor', isLlama3 ? undefined : 1),
    highFrequencyFactor: own.real('high_freq_factor', isLlama3 ? undefined : 4),
    shortFactor: factors(file, scaling, 'short_factor', type, dims),
    longFactor: factors(file, scaling, 'long_factor', type, dims),
  };
  if (isLlama3 && rope.highFrequencyFactor < rope.lowFrequencyFactor) {
    throw new EngineError(
      'bad_checkpoint',
      `${file}: high_freq_factor ${rope.highFrequencyFactor} is less than low_freq_factor ${rope.lowFrequencyFactor}: take the values that the model was published with`,
      { param: 'high_freq_factor' },
    );
  }
  rope.attentionFactor = attentionFactor(rope, own, scaling);
  return rope;
}

/** Dimensions of a head that are rotated: `factor` of them, rounded down as transformers does. */
function rotatedDims(factor: number, dims: number, partial: boolean): number {
  const rotated = Math.trunc(dims * factor);
  if (rotated === dims || (partial && rotated >= 4 && rotated % 4 === 0)) return rotated;
  const remedy = partial ? `a share of ${dims} that is a multiple of 4 is` : 'only 1 is';
  throw new EngineError(
    'unsupported',
    `config.json: partial_rotary_factor is ${factor}, and ${remedy} built`,
    {
      param: 'partial_rotary_factor',
    },
  );
}

/** Returns the settings and their name in messages. If both forms exist, the published one counts, as in transformers. */
function scalingOf(json: Json): { file: string; scaling: Json } {
  const isEmpty = (value: unknown): boolean =>
    value == null || (typeof value === 'object' && Object.keys(value).length === 0);
  const key = isEmpty(json['rope_scaling']) ? 'rope_parameters' : 'rope_scaling';
  const scaling = isEmpty(json[key]) ? {} : json[key];
  const file = `config.json: ${key}`;
  if (typeof scaling !== 'object' || Array.isArray(scaling)) {
    throw new EngineError('bad_checkpoint', `${file} is ${shown(scaling)}, an object is needed`, {
      param: key,
    });
  }
  const nested = Object.entries(scaling as Json).find(
    ([, value]) => typeof value === 'object' && value !== null && !Array.isArray(value),
  );
  if (nested !== undefined) {
    throw new EngineError(
      'unsupported',
      `${file} has settings of its own for ${nested[0]}, which is not built for this architecture; choose a model with one rotation for all layers`,
      { param: key },
    );
  }
  return { file, scaling: scaling as Json };
}

function ropeType(file: string, scaling: Json, known: readonly RopeType[]): RopeType {
  const name = scaling['rope_type'] ?? scaling['type'] ?? 'default';
  if (name === 'su') return 'longrope'; // the name of longrope in Phi-3's first configs
  const found = known.find((type) => type === name);
  if (found) return found;
  throw new EngineError(
    'unsupported',
    `${file}: rope type ${shown(name)} is unknown; known are ${known.join(', ')}`,
    {
      param: 'rope_type',
    },
  );
}

/** `ratio`: factor by which the context is extended. */
function readFactor(own: ConfigReader, type: RopeType, ratio: number): number {
  if (type === 'default') return 1;
  return own.real('factor', type === 'longrope' || type === 'yarn' ? ratio : undefined);
}

/** Returns the factor on cos and sin. Source: transformers' modeling_rope_utils. */
function attentionFactor(rope: RopeConfig, own: ConfigReader, scaling: Json): number {
  if (rope.type !== 'longrope' && rope.type !== 'yarn') return 1;
  if (scaling['attention_factor'] != null) return own.real('attention_factor');
  if (rope.type === 'longrope') {
    return rope.factor <= 1 ? 1 : Math.sqrt(1 + Math.log(rope.factor) / Math.log(rope.originalContext));
  }
  const [mscale, all] = [own.real('mscale', 0), own.real('mscale_all_dim', 0)];
  const grow = (by: number): number => (rope.factor <= 1 ? 1 : 0.1 * by * Math.log(rope.factor) + 1);
  return mscale !== 0 && all !== 0 ? grow(mscale) / grow(all) : grow(1);
}

function factors(
  file: string,
  scaling: Json,
  key: 'short_factor' | 'long_factor',
  type: RopeType,
  dims: number,
): number[] {
  if (type !== 'longrope') return [];
  const list: unknown = scaling[key];
  if (Array.isArray(list) && list.length === dims / 2 && list.every((one) => isReal(one, REALS[key])))
    return list;
  const [least, most] = REALS[key];
  throw new EngineError(
    'bad_checkpoint',
    `${file}: ${key} is ${shown(list)}, longrope needs ${dims / 2} numbers from ${least} to ${most}`,
    { param: key },
  );
}
