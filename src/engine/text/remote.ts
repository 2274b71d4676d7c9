// A text model in another thread.

import { remoteFace } from '../session/remote-face.ts';
import { mergeEvents } from './merge-events.ts';
import type { TextEvent, TextModel, TextModelInfo, TextModelOptions, TextRequest } from './text-model.ts';

export const { serve: serveTextModel, connect: connectTextModel } = remoteFace<
  TextModelOptions,
  TextModelInfo,
  TextRequest,
  TextEvent,
  TextModel
>(
  {
    renderPrompt: true,
    tokenize: true,
    detokenize: true,
    metrics: true,
    abort: true,
    flushCache: true,
    loadedAdapters: true,
    loadAdapter: true,
    unloadAdapter: true,
  },
  mergeEvents,
);
