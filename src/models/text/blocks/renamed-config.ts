// Settings that a family states under names of its own.

import { readConfig, type ConfigFile, type ConfigReader, type Json } from '../../config-values.ts';

/** `names`: the family's own names, by those that are read. Errors have the own ones. */
export function readRenamed(
  { name, keys }: ConfigFile,
  json: Json,
  names: Readonly<Record<string, string>>,
): ConfigReader {
  const values = Object.entries(names).map(([key, own]) => [key, json[own]] as const);
  return readConfig({ name, keys: { ...names, ...keys } }, { ...json, ...Object.fromEntries(values) });
}
