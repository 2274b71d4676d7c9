// Parts of config.json that decoders state alike: heads, types of layers, rope tables by type of layer.

import type { HeadShape } from '../../../kernels/batch.ts';
import { shown, type ConfigFile, type ConfigReader, type Json } from '../../config-values.ts';
import type { DecoderLayer } from './decoder.ts';
import { readRope, type RopeDefaults } from './rope-config.ts';
import type { RopeConfig } from './rope.ts';

/**
 * Values of a family that has names of its own for keys that decoders share, under the shared names, and the file that knows its own names for
 * messages. `names`: shared key → the family's.
 */
export function withSharedKeys(
  json: Json,
  file: ConfigFile,
  names: Readonly<Record<string, string>>,
): [Json, ConfigFile] {
  const own = Object.entries(names).filter(([, name]) => Object.hasOwn(json, name));
  const values = Object.fromEntries(own.map(([key, name]) => [key, json[name]]));
  return [
    { ...json, ...values },
    { ...file, keys: { ...names, ...file.keys } },
  ];
}

/** Number of heads, and their dimensions, where the file leaves them out. */
export interface HeadDefaults {
  /** Left out: the file must state it. */
  heads?: number | undefined;
  /** null: as many as heads. */
  kvHeads: number | null;
  /** null: hidden / heads. */
  dims: number | null;
  /** Their dimensions are a multiple of it. Left out: 2. */
  step?: 2 | 4;
}

/** Errors: bad_checkpoint, unsupported for sizes that attention is not built for. */
export function readHeads(config: ConfigReader, hidden: number, defaults: HeadDefaults): HeadShape {
  const json = config.values;
  const heads = config.count('num_attention_heads', defaults.heads);
  // null means as many as heads; for a missing key transformers has a different default.
  const isLeftOut = !Object.hasOwn(json, 'num_key_value_heads');
  const kvHeads = config.count('num_key_value_heads', (isLeftOut ? defaults.kvHeads : null) ?? heads);
  if (json['head_dim'] == null && defaults.dims === null && hidden % heads !== 0) {
    throw config.error(
      'bad_checkpoint',
      'num_attention_heads',
      `is ${heads}, which does not divide hidden_size ${hidden}, and head_dim is missing: ${PUBLISHED}`,
    );
  }
  const dims = config.count('head_dim', defaults.dims ?? hidden / heads);
  if (heads % kvHeads !== 0) {
    throw config.error(
      'bad_checkpoint',
      'num_key_value_heads',
      `is ${kvHeads}, which does not divide num_attention_heads ${heads}: ${PUBLISHED}`,
    );
  }
  const { step = 2 } = defaults;
  if (dims % step !== 0 || dims > 512) {
    throw config.error(
      'unsupported',
      'head_dim',
      `${dims} is not built; choose a model whose heads have a multiple of ${step} dimensions, at most 512`,
    );
  }
  return { heads, kvHeads, dims };
}

const PUBLISHED = 'take the values that the model was published with';
const LAYER_TYPES: readonly unknown[] = ['full_attention', 'sliding_attention'];

/** Whether each layer is windowed, by layer_types; null: there is none. */
export function readWindowed(config: ConfigReader, layers: number): boolean[] | null {
  const types = config.values['layer_types'] ?? null;
  if (types === null) return null;
  if (!Array.isArray(types) || types.length !== layers) {
    throw config.error(
      'bad_checkpoint',
      'layer_types',
      `is ${shown(types)}, one for each of ${layers} layers is needed`,
    );
  }
  const unknown = types.find((type) => !LAYER_TYPES.includes(type));
  if (unknown === undefined) return types.map((type) => type === 'sliding_attention');
  throw config.error(
    'unsupported',
    'layer_types',
    `contains ${shown(unknown)}; choose a model with layers of the types ${LAYER_TYPES.join(' and ')}`,
  );
}

/** Whether each layer is of `kind` and not full_attention, by layer_types; null: there is none. */
export function readKinds(config: ConfigReader, layers: number, kind: string): boolean[] | null {
  const types = config.values['layer_types'] ?? null;
  if (types === null) return null;
  const known: readonly unknown[] = [kind, 'full_attention'];
  if (Array.isArray(types) && types.length === layers && types.every((type) => known.includes(type)))
    return types.map((type) => type === kind);
  throw config.error(
    'bad_checkpoint',
    'layer_types',
    `is ${shown(types)}, one of ${known.join(' and ')} for each of ${layers} layers is needed`,
  );
}

/** Layers of which all but each `pattern`-th are windowed, unless layer_types says otherwise; `localRope`: those have a table of their own. */
export function readLayers(
  config: ConfigReader,
  layers: number,
  { pattern, window, localRope }: { pattern: number; window: number; localRope: boolean },
): DecoderLayer[] {
  const standard = Array.from({ length: layers }, (_, i) => (i + 1) % pattern !== 0);
  return (readWindowed(config, layers) ?? standard).map((isWindowed) => ({
    window: isWindowed ? window : null,
    rope: isWindowed && localRope ? 1 : 0,
  }));
}

/** Reads the rope tables of the full and of the windowed layers. A rope_scaling in a published config.json applies to the full layers only. */
export function readRopes(
  config: ConfigReader,
  dims: number,
  { theta, localTheta, ...defaults }: RopeDefaults & { theta: number; localTheta: number },
): RopeConfig[] {
  const { rope_parameters: stated, rope_scaling: scaling, ...plain } = config.values;
  const byType: Json = isObject(stated) ? stated : {};
  const full = byType['full_attention'] ?? (isObject(scaling) ? scaling : {});
  const windowed = byType['sliding_attention'] ?? null;
  const tables = [
    { rope_theta: config.real('rope_theta', theta), rope_parameters: full },
    { rope_theta: localTheta, rope_parameters: windowed },
  ];
  return tables.map((table) => readRope(config.with({ ...plain, ...table }), dims, defaults));
}

/**
 * Returns the context after scaling. These rope types extend the trained context, and the stated context may be the trained one,
 * the extended one or, as in Qwen 3, one in between; other types state the extended context.
 */
export function scaledContext(rope: RopeConfig, stated: number): number {
  const stretches = rope.type === 'linear' || rope.type === 'dynamic' || rope.type === 'yarn';
  return stretches ? Math.max(stated, Math.floor(rope.originalContext * rope.factor)) : stated;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
