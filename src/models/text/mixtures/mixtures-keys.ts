// Keys of config.json that families of mixtures state in their own form, as llama-config.ts reads them.

import type { Json } from '../../config-values.ts';

/** A list whose entries are all equal, as one of them; anything else as it is. */
export function one(value: unknown): unknown {
  return Array.isArray(value) && value.every((each) => each === value[0]) ? value[0] : value;
}

/** Adds values for keys that are missing. */
export function inPlaceOf(missing: Json): (json: Json) => Json {
  return (json) => ({
    ...json,
    ...Object.fromEntries(Object.entries(missing).filter(([key]) => json[key] == null)),
  });
}

/** rotary_dim of a head's dimensions are rotated; `dims`: those of a head where none are stated. */
export function withPartialRotation(json: Json, dims: number): Json {
  const { rotary_dim: rotated, head_dim = dims, partial_rotary_factor: stated } = json;
  if (stated != null || typeof rotated !== 'number' || typeof head_dim !== 'number') return json;
  return { ...json, partial_rotary_factor: rotated / head_dim };
}

/** A rotation called dynamic that states an alpha has the base of one length for all lengths. Source: transformers' hunyuan_v1_dense. */
export function withStretchedBase(json: Json): Json {
  const name = json['rope_scaling'] == null ? 'rope_parameters' : 'rope_scaling';
  const stated = json[name];
  if (typeof stated !== 'object' || stated === null) return json;
  const { type, rope_type: kind = type, alpha, rope_theta: theta } = stated as Json;
  if (kind !== 'dynamic' || alpha == null) return json;
  return {
    ...json,
    ...(theta !== undefined && { rope_theta: theta }),
    rope_parameters: null,
    rope_scaling: { rope_type: 'ntk', factor: alpha },
  };
}

const MOST_LAYERS = 1024;

/** Layers with experts, of ERNIE's first and last one and the interval between them. Source: transformers' ernie4_5_moe. */
export function sparseLayers(json: Json): Json {
  const number = (key: string, missing: number): number => {
    const value = json[key];
    return typeof value === 'number' ? value : missing;
  };
  const layers = number('num_hidden_layers', 28);
  const end = number('moe_layer_end_index', -1);
  const [first, last] = [number('moe_layer_start_index', 1), end === -1 ? layers - 1 : end];
  const every = number('moe_layer_interval', 1);
  if (json['mlp_layer_types'] != null || !(layers >= 1 && layers <= MOST_LAYERS)) return json;
  const types = Array.from({ length: layers }, (_, i) =>
    (i + 1) % every === 0 && i >= first && i <= last ? 'sparse' : 'dense',
  );
  return { ...json, mlp_layer_types: types };
}
