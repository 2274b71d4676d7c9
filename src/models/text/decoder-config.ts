// Parts of config.json that decoders state alike: heads, types of layers, rope tables by type of layer.

import { EngineError } from '../../files/error.ts';
import type { HeadShape } from '../../kernels/batch.ts';
import { shown, type ConfigReader, type Json } from '../config-values.ts';
import type { DecoderLayer } from './decoder.ts';
import { readRope, type RopeDefaults } from './rope-config.ts';
import type { RopeConfig } from './rope.ts';

const FILE = 'config.json';

/** Number of heads, and their dimensions, where the file leaves them out. */
export interface HeadDefaults {
  /** Left out: the file must state it. */
  heads?: number | undefined;
  /** null: as many as heads. */
  kvHeads: number | null;
  /** null: hidden / heads. */
  dims: number | null;
}

/** Errors: bad_checkpoint, unsupported for sizes that attention is not built for. */
export function readHeads(
  config: ConfigReader,
  json: Json,
  hidden: number,
  defaults: HeadDefaults,
): HeadShape {
  const heads = config.count('num_attention_heads', defaults.heads);
  // null means as many as heads; for a missing key transformers has a different default.
  const isLeftOut = !Object.hasOwn(json, 'num_key_value_heads');
  const kvHeads = config.count('num_key_value_heads', (isLeftOut ? defaults.kvHeads : null) ?? heads);
  if (json['head_dim'] == null && defaults.dims === null && hidden % heads !== 0) {
    throw new EngineError(
      'bad_checkpoint',
      `${FILE}: hidden_size ${hidden} is no multiple of ${heads} num_attention_heads, and there is no head_dim`,
      { param: 'num_attention_heads' },
    );
  }
  const dims = config.count('head_dim', defaults.dims ?? hidden / heads);
  if (heads % kvHeads !== 0) {
    throw new EngineError(
      'bad_checkpoint',
      `${FILE}: ${heads} num_attention_heads are no multiple of ${kvHeads} num_key_value_heads`,
      { param: 'num_key_value_heads' },
    );
  }
  if (dims % 4 !== 0 || dims > 256) {
    throw new EngineError('unsupported', `${FILE}: head_dim ${dims} must be a multiple of 4 up to 256`, {
      param: 'head_dim',
    });
  }
  return { heads, kvHeads, dims };
}

const LAYER_TYPES: readonly unknown[] = ['full_attention', 'sliding_attention'];

/** Whether each layer is windowed, by layer_types; null: there is none. */
export function readWindowed(json: Json, layers: number): boolean[] | null {
  const types = json['layer_types'] ?? null;
  if (types === null) return null;
  if (!Array.isArray(types) || types.length !== layers) {
    throw new EngineError(
      'bad_checkpoint',
      `${FILE}: layer_types is ${shown(types)}, one for each of ${layers} layers is needed`,
      { param: 'layer_types' },
    );
  }
  const unknown = types.find((type) => !LAYER_TYPES.includes(type));
  if (unknown === undefined) return types.map((type) => type === 'sliding_attention');
  throw new EngineError(
    'unsupported',
    `${FILE}: layer type ${shown(unknown)} is unknown; known are ${LAYER_TYPES.join(', ')}`,
    { param: 'layer_types' },
  );
}

/** Layers of which all but each `pattern`-th are windowed, unless layer_types says otherwise; `localRope`: those have a table of their own. */
export function readLayers(
  json: Json,
  layers: number,
  { pattern, window, localRope }: { pattern: number; window: number; localRope: boolean },
): DecoderLayer[] {
  const standard = Array.from({ length: layers }, (_, i) => (i + 1) % pattern !== 0);
  return (readWindowed(json, layers) ?? standard).map((isWindowed) => ({
    window: isWindowed ? window : null,
    rope: isWindowed && localRope ? 1 : 0,
  }));
}

/** Reads the rope tables of the full and of the windowed layers. A rope_scaling in a published config.json applies to the full layers only. */
export function readRopes(
  config: ConfigReader,
  json: Json,
  dims: number,
  { theta, localTheta, ...defaults }: RopeDefaults & { theta: number; localTheta: number },
): RopeConfig[] {
  const { rope_parameters: stated, rope_scaling: scaling, ...plain } = json;
  const byType: Json = isObject(stated) ? stated : {};
  const full = byType['full_attention'] ?? (isObject(scaling) ? scaling : {});
  const windowed = byType['sliding_attention'] ?? null;
  const tables = [
    { rope_theta: config.real('rope_theta', theta), rope_parameters: full },
    { rope_theta: localTheta, rope_parameters: windowed },
  ];
  return tables.map((table) => readRope({ ...plain, ...table }, dims, defaults));
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
