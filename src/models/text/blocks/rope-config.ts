// Reads the rope settings of a Hugging Face config.json, in the published form (rope_theta, rope_scaling) and in that of
// transformers 5 (rope_parameters).

import type { HeadShape } from '../../../kernels/batch.ts';
import { isReal, REALS } from '../../config-bounds.ts';
import { shown, type ConfigReader, type Json } from '../../config-values.ts';
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

/**
 * Numbers of frequencies for time, height and width of multimodal positions, one after the other (models/text/wrappers.ts); null:
 * positions have one part.
 */
function readSections(own: ConfigReader, dims: number): RopeConfig['sections'] {
  if (own.values['position_sections'] == null) return null;
  const [time = 0, height = 0, width = 0, ...rest] = own.list('position_sections');
  if (rest.length === 0 && time + height + width === dims / 2) return [time, height, width];
  const problem = `is ${shown(own.values['position_sections'])}, three numbers are needed that add up to ${dims / 2}`;
  throw own.error('bad_checkpoint', 'mrope_section', problem);
}

/** `headDims`: dimensions of a head; the table has those that are rotated. */
export function readRope(
  config: ConfigReader,
  headDims: number,
  { context: statedContext = 2048, theta = 10000, partial = false, types = null }: RopeDefaults = {},
): RopeConfig {
  const own = ropeScaling(config);
  const type = ropeType(own, types ?? TYPES);
  const context = config.count('max_position_embeddings', statedContext);
  // Phi-3 and others state it beside the rope parameters, and that counts before what stands among them.
  const original = config.count(
    'original_max_position_embeddings',
    own.count('original_max_position_embeddings', context),
  );
  // The type dynamic extends the stated context in any case. Source: transformers' modeling_rope_utils.
  const originalContext = type === 'dynamic' ? context : original;
  const share = own.real('partial_rotary_factor', config.real('partial_rotary_factor', 1));
  const isProportional = type === 'proportional';
  const dims = isProportional ? headDims : rotatedDims(config, share, headDims, partial);
  const isLlama3 = type === 'llama3';
  const rope: RopeConfig = {
    type,
    theta: own.real('rope_theta', config.real('rope_theta', theta)),
    dims,
    originalContext,
    factor: readFactor(own, type, context / originalContext),
    attentionFactor: 1,
    sections: readSections(own, dims),
    ...(own.flag('position_interleaved', false) && { interleaved: true }),
    ...(isProportional && { proportion: share }),
    betaFast: own.real('beta_fast', 32),
    betaSlow: own.real('beta_slow', 1),
    truncate: own.flag('truncate', true),
    lowFrequencyFactor: own.real('low_freq_factor', isLlama3 ? undefined : 1),
    highFrequencyFactor: own.real('high_freq_factor', isLlama3 ? undefined : 4),
    shortFactor: factors(own, 'short_factor', type, dims),
    longFactor: factors(own, 'long_factor', type, dims),
  };
  if (isLlama3 && rope.highFrequencyFactor < rope.lowFrequencyFactor) {
    const problem = `is ${rope.highFrequencyFactor}, less than low_freq_factor ${rope.lowFrequencyFactor}`;
    throw own.error(
      'bad_checkpoint',
      'high_freq_factor',
      `${problem}: take the values that the model was published with`,
    );
  }
  rope.attentionFactor = attentionFactor(rope, own);
  return rope;
}

/** llama_4_scaling_beta stands among the rope parameters; 0 leaves queries as they are. */
export function readGrowth(
  config: ConfigReader,
  { originalContext: length }: RopeConfig,
): Pick<HeadShape, 'growth'> {
  const beta = ropeScaling(config).real('llama_4_scaling_beta');
  return beta === 0 ? {} : { growth: { beta, length } };
}

/** Dimensions of a head that are rotated: `factor` of them, rounded down as transformers does. */
function rotatedDims(config: ConfigReader, factor: number, dims: number, partial: boolean): number {
  const rotated = Math.trunc(dims * factor);
  if (rotated === dims || (partial && rotated >= 2 && rotated % 2 === 0)) return rotated;
  const built = partial ? `an even share of ${dims}` : '1';
  throw config.error(
    'unsupported',
    'partial_rotary_factor',
    `${factor} is not built; choose a model that has ${built}`,
  );
}

/** Reads the settings of the rotation. If both forms exist, the published one counts, as in transformers. */
export function ropeScaling(config: ConfigReader): ConfigReader {
  const json = config.values;
  const isEmpty = (value: unknown): boolean =>
    value == null || (typeof value === 'object' && Object.keys(value).length === 0);
  const key = isEmpty(json['rope_scaling']) ? 'rope_parameters' : 'rope_scaling';
  const scaling = isEmpty(json[key]) ? {} : json[key];
  if (typeof scaling !== 'object' || Array.isArray(scaling)) {
    throw config.error('bad_checkpoint', key, `is ${shown(scaling)}, an object is needed`);
  }
  const nested = Object.entries(scaling as Json).find(
    ([, value]) => typeof value === 'object' && value !== null && !Array.isArray(value),
  );
  if (nested !== undefined) {
    throw config.error(
      'unsupported',
      key,
      `has settings of its own for ${nested[0]}, which is not built for this architecture; choose a model with one rotation for all layers`,
    );
  }
  return config.within(key, scaling as Json);
}

function ropeType(own: ConfigReader, known: readonly RopeType[]): RopeType {
  const name = own.values['rope_type'] ?? own.values['type'] ?? 'default';
  if (name === 'su') return 'longrope'; // the name of longrope in Phi-3's first configs
  const found = known.find((type) => type === name);
  if (found) return found;
  throw own.error(
    'unsupported',
    'rope_type',
    `${shown(name)} is not built; choose a model that has ${known.join(' or ')}`,
  );
}

/** `ratio`: factor by which the context is extended. */
function readFactor(own: ConfigReader, type: RopeType, ratio: number): number {
  if (type === 'default') return 1;
  if (type === 'proportional') return own.real('factor', 1);
  return own.real('factor', type === 'longrope' || type === 'yarn' ? ratio : undefined);
}

/** Returns the factor on cos and sin. Source: transformers' modeling_rope_utils. */
function attentionFactor(rope: RopeConfig, own: ConfigReader): number {
  if (rope.type !== 'longrope' && rope.type !== 'yarn') return 1;
  if (own.values['attention_factor'] != null) return own.real('attention_factor');
  if (rope.type === 'longrope') {
    if (own.values['short_mscale'] != null) return readMscale(own);
    return rope.factor <= 1 ? 1 : Math.sqrt(1 + Math.log(rope.factor) / Math.log(rope.originalContext));
  }
  const [mscale, all] = [own.real('mscale', 0), own.real('mscale_all_dim', 0)];
  const grow = (by: number): number => (rope.factor <= 1 ? 1 : 0.1 * by * Math.log(rope.factor) + 1);
  return mscale !== 0 && all !== 0 ? grow(mscale) / grow(all) : grow(1);
}

/** PhiMoE states a factor for short texts and one for long ones. */
function readMscale(own: ConfigReader): number {
  const [short, long] = [own.real('short_mscale'), own.real('long_mscale')];
  if (short === long) return short;
  throw own.error(
    'unsupported',
    'long_mscale',
    `${long} is not built where short_mscale is ${short}; choose a model that has equal ones`,
  );
}

function factors(
  own: ConfigReader,
  key: 'short_factor' | 'long_factor',
  type: RopeType,
  dims: number,
): number[] {
  if (type !== 'longrope') return [];
  const list: unknown = own.values[key];
  if (Array.isArray(list) && list.length === dims / 2 && list.every((one) => isReal(one, REALS[key])))
    return list;
  const [least, most] = REALS[key];
  throw own.error(
    'bad_checkpoint',
    key,
    `is ${shown(list)}, longrope needs ${dims / 2} numbers from ${least} to ${most}`,
  );
}
