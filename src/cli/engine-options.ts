// The options of the engine: how a model is opened, and how its requests share it.

import {
  type EmbeddingModelOptions,
  type ImageModelOptions,
  REASONING_FORMATS,
  type TextModelOptions,
  TOOL_CALL_FORMATS,
} from '../index.ts';
import { LOADING, MODEL_SETTINGS, SHARING } from '../options/model.ts';
import { forModels } from '../options/setting.ts';
import type { OptionTable, Values } from './option.ts';
import { optionsOf, settingsGiven } from './setting-options.ts';

const loading = optionsOf(LOADING);

export const ENGINE_OPTIONS = {
  ...loading,
  'tool-call-parser': { ...loading['tool-call-parser'], kind: 'choice', choices: TOOL_CALL_FORMATS },
  'reasoning-parser': { ...loading['reasoning-parser'], kind: 'choice', choices: REASONING_FORMATS },
} as const satisfies OptionTable;

export const BATCH_OPTIONS = optionsOf(SHARING);

export type EngineOptions = Values<typeof ENGINE_OPTIONS> & Partial<Values<typeof BATCH_OPTIONS>>;

/** The options of a text model under the engine's names. */
export function toModelOptions(model: string, given: EngineOptions): TextModelOptions {
  return { model, ...settingsGiven(forModels(MODEL_SETTINGS, 'text'), given) };
}

/** The options that a diffusion pipeline has too. */
export function toPipelineOptions(model: string, given: EngineOptions): ImageModelOptions {
  return { model, ...settingsGiven(forModels(MODEL_SETTINGS, 'image'), given) };
}

/** The options that an embedding model has too. */
export function toEmbeddingOptions(model: string, given: EngineOptions): EmbeddingModelOptions {
  return { model, ...settingsGiven(forModels(MODEL_SETTINGS, 'embedding'), given) };
}
