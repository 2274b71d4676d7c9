// An embedding model in another thread: what its face has beyond every model's.

import { connectModel, serveModel, type Calls, type Port, type Serving } from '../remote.ts';
import type { OpenEvent } from '../text/text-model.ts';
import type {
  EmbeddingEvent,
  EmbeddingModel,
  EmbeddingModelInfo,
  EmbeddingModelOptions,
  EmbeddingRequest,
} from './embedding-model.ts';

const CALLS = {
  tokenize: (model, given: Parameters<EmbeddingModel['tokenize']>) => model.tokenize(...given),
  detokenize: (model, given: Parameters<EmbeddingModel['detokenize']>) => model.detokenize(...given),
  metrics: (model) => model.metrics(),
} satisfies Calls<EmbeddingModel>;

/** Serves one embedding model to the other side of a port; see serveModel. */
export function serveEmbeddingModel(
  port: Port,
  open: Serving<EmbeddingModelOptions, EmbeddingModel>['open'],
  release: () => void,
): (error: unknown) => Promise<void> {
  return serveModel(port, { open, calls: CALLS, release });
}

/** Opens an embedding model on the other side of a port. `onClosed` runs when it is closed; `signal` gives the opening up. */
export function connectEmbeddingModel(
  port: Port,
  options: EmbeddingModelOptions,
  onEvent: (event: OpenEvent) => void,
  onClosed: () => Promise<void>,
  signal?: AbortSignal,
): Promise<EmbeddingModel> {
  return connectModel<EmbeddingModelInfo, EmbeddingRequest, EmbeddingEvent, EmbeddingModel>(
    port,
    options,
    onEvent,
    onClosed,
    (model, invoke) => ({
      ...model,
      tokenize: (...given) => invoke('tokenize', given),
      detokenize: (...given) => invoke('detokenize', given),
      metrics: () => invoke('metrics'),
    }),
    { signal },
  );
}
