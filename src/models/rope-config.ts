// Reads the rope settings of a Hugging Face config.json, in the published form (rope_theta, rope_scaling) and in that of
// transformers 5 (rope_parameters).

import { EngineError } from '../files/error.ts';
import type { RopeConfig, RopeType } from './rope.ts';

type Json = Readonly<Record<string, unknown>>;

const TYPES: readonly string[] = ['default', 'linear', 'dynamic', 'yarn', 'llama3', 'longrope'];

export function readRope(config: Json, dims: number): RopeConfig {
  const scaling = (config['rope_parameters'] ?? config['rope_scaling'] ?? {}) as Json;
  const type = ropeType(scaling);
  const context = number(config, 'max_position_embeddings', 2048);
  const originalContext = number(
    scaling,
    'original_max_position_embeddings',
    number(config, 'original_max_position_embeddings', context),
  );
  const factor = number(
    scaling,
    'factor',
    type === 'longrope' || type === 'yarn' ? context / originalContext : 1,
  );
  if (number(config, 'partial_rotary_factor', number(scaling, 'partial_rotary_factor', 1)) !== 1) {
    throw new EngineError(
      'unsupported',
      'config.json: partial_rotary_factor other than 1 is not among what this engine runs',
    );
  }
  const rope: RopeConfig = {
    type,
    theta: number(scaling, 'rope_theta', number(config, 'rope_theta', 10000)),
    dims,
    originalContext,
    factor,
    attentionFactor: 1,
    betaFast: number(scaling, 'beta_fast', 32),
    betaSlow: number(scaling, 'beta_slow', 1),
    truncate: scaling['truncate'] !== false,
    lowFrequencyFactor: number(scaling, 'low_freq_factor', 1),
    highFrequencyFactor: number(scaling, 'high_freq_factor', 4),
    shortFactor: factors(scaling, 'short_factor', type, dims),
    longFactor: factors(scaling, 'long_factor', type, dims),
  };
  rope.attentionFactor = attentionFactor(rope, scaling);
  return rope;
}

function ropeType(scaling: Json): RopeType {
  const name = scaling['rope_type'] ?? scaling['type'] ?? 'default';
  if (name === 'su') return 'longrope'; // the name in Phi-3's first configs
  if (typeof name === 'string' && TYPES.includes(name)) return name as RopeType;
  throw new EngineError(
    'unsupported',
    `config.json: rope type ${JSON.stringify(name)} is unknown; known are ${TYPES.join(', ')}`,
  );
}

/** What cos and sin are multiplied with. source: transformers' modeling_rope_utils */
function attentionFactor(rope: RopeConfig, scaling: Json): number {
  const given = scaling['attention_factor'];
  if (typeof given === 'number') return given;
  if (rope.type === 'longrope') {
    return rope.factor <= 1 ? 1 : Math.sqrt(1 + Math.log(rope.factor) / Math.log(rope.originalContext));
  }
  if (rope.type !== 'yarn') return 1;
  const [mscale, all] = [number(scaling, 'mscale', 0), number(scaling, 'mscale_all_dim', 0)];
  const grow = (by: number): number => (rope.factor <= 1 ? 1 : 0.1 * by * Math.log(rope.factor) + 1);
  return mscale !== 0 && all !== 0 ? grow(mscale) / grow(all) : grow(1);
}

function factors(scaling: Json, key: string, type: RopeType, dims: number): number[] {
  if (type !== 'longrope') return [];
  const list = scaling[key];
  if (!Array.isArray(list) || list.length !== dims / 2 || !list.every((f) => typeof f === 'number')) {
    throw new EngineError('bad_checkpoint', `config.json: longrope needs ${key} with ${dims / 2} numbers`);
  }
  return list;
}

function number(object: Json, key: string, fallback: number): number {
  const value = object[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : fallback;
}
