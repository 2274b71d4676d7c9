// Converts config.json of the classes in gpt-families.ts to the configuration of plain-layer.ts. Keys that decoders share are read in
// decoder-config.ts.

import type { HeadShape } from '../../../kernels/batch.ts';
import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import { ACTIVATIONS } from '../blocks/activation-names.ts';
import { readHeads, withSharedKeys } from '../blocks/decoder-config.ts';
import type { PlainConfig } from '../blocks/plain-layer.ts';
import { readRope } from '../blocks/rope-config.ts';
import { FAMILIES } from './gpt-families.ts';
import type { GptParts } from './gpt-family.ts';

/** Errors: bad_checkpoint; unsupported for settings that plain-layer.ts does not compute. */
export function readGptConfig(stated: Json, architecture: string, statedIn = CONFIG_JSON): PlainConfig {
  const family = FAMILIES.get(architecture)!;
  const [json, file] = withSharedKeys(stated, statedIn, family.keys);
  const config = readConfig(file, json);
  config.only(family.only);
  const hidden = config.count('hidden_size');
  // No class takes the size of a head from the file, and the number of keys only where it reads it.
  const plain = readHeads(config.with({ ...json, head_dim: null, num_key_value_heads: null }), hidden, {
    kvHeads: null,
    dims: null,
  });
  const context = config.count('max_position_embeddings', family.context);
  const parts = family.read(config, { hidden, heads: plain.heads, dims: plain.dims, context });
  const { kvHeads = plain.kvHeads, order, alibi, rotation, ...own } = parts;
  const keys = readHeads(config.with({ ...json, head_dim: null, num_key_value_heads: kvHeads }), hidden, {
    kvHeads: null,
    dims: null,
  });
  const heads: HeadShape = {
    ...keys,
    ...(order && { order }),
    ...(alibi && { alibi }),
  };
  const rope = rotation ? rotate(config, heads, rotation, context) : null;
  const count = config.count('num_hidden_layers');
  return {
    parallel: false,
    norm: 'layer',
    ...own,
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden,
    ffn: config.count('intermediate_size', 4 * hidden),
    heads: rope?.heads ?? heads,
    layers: Array.from({ length: count }, () => ({ window: null, rope: rope ? 0 : null })),
    ropes: rope ? [rope.table] : [],
    eps: config.real('layer_norm_eps', 1e-5),
    context,
    tied: config.flag('tie_word_embeddings', family.tied),
    fusedQkv: order !== undefined,
    activation: config.choice('hidden_act', ACTIVATIONS, family.activation),
  };
}

/** The rotation's table, and the heads that it turns. */
function rotate(
  config: ConfigReader,
  heads: HeadShape,
  { share, pairs }: NonNullable<GptParts['rotation']>,
  context: number,
) {
  const json = { ...config.values, partial_rotary_factor: share };
  const table = readRope(config.with(json), heads.dims, { context, partial: true });
  return { table, heads: { ...heads, rotated: table.dims, pairs } };
}
