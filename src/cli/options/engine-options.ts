// The command-line options of the engine: how a model is opened, and how requests share it.

import { type ModelKind, REASONING_FORMATS, TOOL_CALL_FORMATS } from '../../index.ts';
import { MEDIA_BOUNDS } from '../../options/media.ts';
import { LOADING, MODEL_SETTINGS, SHARING } from '../../options/model.ts';
import { forModels, type ModelKind as SettingsKind } from '../../options/setting.ts';
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

/** Converts command-line options to the options of a model of a kind; the others are dropped. */
export function toModelOptions<Options extends { model: string }>(
  { name }: Pick<ModelKind<Options, never>, 'name' | 'check'>,
  model: string,
  given: Partial<EngineOptions>,
): Options {
  return {
    model,
    ...settingsGiven(forModels(MODEL_SETTINGS, name as SettingsKind), given),
  } as unknown as Options;
}
