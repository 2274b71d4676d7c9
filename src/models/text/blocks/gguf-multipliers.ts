// The four multipliers of Granite and its relatives in GGUF files.

import type { GgufModel } from '../../../files/gguf/model.ts';

/** Keys behind the name of the architecture, and those of config.json. */
const MULTIPLIERS: Readonly<Record<string, string>> = {
  embedding_scale: 'embedding_multiplier',
  residual_scale: 'residual_multiplier',
  'attention.scale': 'attention_multiplier',
  logit_scale: 'logits_scaling',
};

/** The keys, for the list of those that are read. */
export const MULTIPLIER_KEYS: readonly string[] = Object.keys(MULTIPLIERS);

/** `missing`: values of multipliers that a file leaves out, of which the others are 1. */
export function ggufMultipliers(
  { keys, architecture }: GgufModel,
  missing: Readonly<Record<string, number>> = {},
): Record<string, number> {
  const read = (key: string, name: string): number => keys.real(`${architecture}.${key}`, missing[name] ?? 1);
  return Object.fromEntries(Object.entries(MULTIPLIERS).map(([key, name]) => [name, read(key, name)]));
}
