// The text model's entry in the table of model kinds.

import type { ModelKind } from '../session/model-kind.ts';
import { mergeEvents } from './merge-events.ts';
import { TEXT_CALLS } from './model.ts';
import { openTextModelInline } from './open.ts';
import type { TextModel, TextModelOptions } from './text-model.ts';
import { checkTextModelOptions } from './text-rules.ts';
import { textSleep } from './text-sleep.ts';

export const TEXT_MODELS: ModelKind<TextModelOptions, TextModel> = {
  name: 'svc-engine text',
  calls: TEXT_CALLS,
  merge: mergeEvents,
  check: checkTextModelOptions,
  open: openTextModelInline,
  sleep: textSleep,
};
