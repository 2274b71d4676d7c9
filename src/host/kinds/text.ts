// What a caller's thread knows of language models: their calls, the checks of their options, their sleep. It loads no engine.

import type { ModelFace } from './model-kind.ts';
import type { CallNames } from '../session/model.ts';
import { mergeEvents } from '../../engine/text/run/merge-events.ts';
import type { TextModel, TextModelOptions } from '../../engine/text/calls/text-model.ts';
import { checkTextModelOptions } from '../../engine/text/request/text-rules.ts';
import { textSleep } from './text-sleep.ts';

/** Method names of TextModel that the proxy forwards; see CallNames. */
export const TEXT_CALLS: CallNames<TextModel> = {
  renderPrompt: true,
  tokenize: true,
  detokenize: true,
  metrics: true,
  abort: true,
  flushCache: true,
  loadedAdapters: true,
  loadAdapter: true,
  unloadAdapter: true,
};

export const TEXT_FACE: ModelFace<TextModelOptions, TextModel> = {
  name: 'svc-engine text',
  calls: TEXT_CALLS,
  merge: mergeEvents,
  check: checkTextModelOptions,
  sleep: textSleep,
};
