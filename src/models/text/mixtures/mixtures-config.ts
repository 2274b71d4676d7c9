// Converts config.json of the classes in mixtures-families.ts to the configuration of llama.ts.

import { CONFIG_JSON, readConfig, type Json } from '../../config-values.ts';
import { behindLayers } from '../drafts/mtp.ts';
import { readFamilyConfig, type LlamaConfig } from '../llama/llama-config.ts';
import { MIXTURES } from './mixtures-families.ts';

/** Errors: bad_checkpoint; unsupported for settings that llama.ts does not compute. */
export function readMixtureConfig(json: Json, architecture: string, file = CONFIG_JSON): LlamaConfig {
  const config = readFamilyConfig(json, architecture, MIXTURES.get(architecture)!, file);
  return { ...config, ...behindLayers(readConfig(file, json), config.layers.length) };
}
