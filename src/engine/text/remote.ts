// A text model in another thread: what its face has beyond every model's.

import { connectModel, serveModel, type Calls, type Port, type Serving } from '../remote.ts';
import { mergeEvents } from './merge-events.ts';
import type {
  OpenEvent,
  TextEvent,
  TextModel,
  TextModelInfo,
  TextModelOptions,
  TextPrompt,
  TextRequest,
} from './text-model.ts';

const CALLS = {
  renderPrompt: (model, prompt: TextPrompt) => model.renderPrompt(prompt),
  tokenize: (model, given: Parameters<TextModel['tokenize']>) => model.tokenize(...given),
  detokenize: (model, given: Parameters<TextModel['detokenize']>) => model.detokenize(...given),
  metrics: (model) => model.metrics(),
  abort: (model, id: string) => model.abort(id),
  flushCache: (model) => model.flushCache(),
  loadedAdapters: (model) => model.loadedAdapters(),
  loadAdapter: (model, given: Parameters<TextModel['loadAdapter']>) => model.loadAdapter(...given),
  unloadAdapter: (model, name: string) => model.unloadAdapter(name),
} satisfies Calls<TextModel>;

/** Serves one text model to the other side of a port; see serveModel. */
export function serveTextModel(
  port: Port,
  open: Serving<TextModelOptions, TextModel>['open'],
  release: () => void,
): (error: unknown) => Promise<void> {
  return serveModel(port, { open, calls: CALLS, release });
}

/** Opens a text model on the other side of a port. `onClosed` runs when it is closed; `signal` gives the opening up. */
export function connectTextModel(
  port: Port,
  options: TextModelOptions,
  onEvent: (event: OpenEvent) => void,
  onClosed: () => Promise<void>,
  signal?: AbortSignal,
): Promise<TextModel> {
  return connectModel<TextModelInfo, TextRequest, TextEvent, TextModel>(
    port,
    options,
    onEvent,
    onClosed,
    (model, invoke) => ({
      ...model,
      renderPrompt: (prompt) => invoke('renderPrompt', prompt),
      tokenize: (...given) => invoke('tokenize', given),
      detokenize: (...given) => invoke('detokenize', given),
      metrics: () => invoke('metrics'),
      abort: (id) => invoke('abort', id),
      flushCache: () => invoke('flushCache'),
      loadedAdapters: () => invoke('loadedAdapters'),
      loadAdapter: (...given) => invoke('loadAdapter', given),
      unloadAdapter: (name) => invoke('unloadAdapter', name),
    }),
    { signal, merge: mergeEvents },
  );
}
