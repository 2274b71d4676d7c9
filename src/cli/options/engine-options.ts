// The command-line options of the engine: how a model is opened, and how requests share it.

import {
  type EmbeddingModelOptions,
  type ImageModelOptions,
  REASONING_FORMATS,
  type TextModelOptions,
  TOOL_CALL_FORMATS,
} from '../../index.ts';
import { MEDIA_BOUNDS } from '../../options/media.ts';
import { LOADING, MODEL_SETTINGS, SHARING } from '../../options/model.ts';
import { forModels } from '../../options/setting.ts';
import type { OptionTable, Values } from './option.ts';
import { optionsOf, settingsGiven } from './setting-options.ts';

const loading = optionsOf(LOADING);

export const ENGINE_OPTIONS = {
  ...loading,
  'tool-call-parser': { ...loading['tool-call-parser'], kind: 'choice', choices: TOOL_CALL_FORMATS },
  'reasoning-parser': { ...loading['reasoning-parser'], kind: 'choice', choices: REASONING_FORMATS },
  ...optionsOf(MEDIA_BOUNDS),
} as const satisfies OptionTable;

export const BATCH_OPTIONS = optionsOf(SHARING);

export type EngineOptions = Values<typeof ENGINE_OPTIONS> & Partial<Values<typeof BATCH_OPTIONS>>;

/** Converts command-line options to the options of a text model. */
export function toModelOptions(model: string, given: EngineOptions): TextModelOptions {
  return { model, ...settingsGiven(forModels(MODEL_SETTINGS, 'text'), given) };
}

/** Converts command-line options to the options of an image model; the others are dropped. */
export function toPipelineOptions(model: string, given: EngineOptions): ImageModelOptions {
  return { model, ...settingsGiven(forModels(MODEL_SETTINGS, 'image'), given) };
}

/** Converts command-line options to the options of an embedding model; the others are dropped. */
export function toEmbeddingOptions(model: string, given: EngineOptions): EmbeddingModelOptions {
  return { model, ...settingsGiven(forModels(MODEL_SETTINGS, 'embedding'), given) };
}
