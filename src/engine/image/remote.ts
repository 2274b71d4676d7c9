// An image model in another thread: what its face has beyond every model's.

import { connectModel, serveModel, type Calls, type Port, type Serving } from '../remote.ts';
import type {
  ImageEvent,
  ImageModel,
  ImageModelInfo,
  ImageModelOptions,
  ImageRequest,
  OpenEvent,
} from './image-model.ts';

const CALLS = {
  resolve: (model, request: ImageRequest) => model.resolve(request),
  warmUp: (model, { request, steps }: { request: ImageRequest; steps: number }) =>
    model.warmUp(request, steps),
} satisfies Calls<ImageModel>;

/** Serves one image model to the other side of a port; see serveModel. */
export function serveImageModel(
  port: Port,
  open: Serving<ImageModelOptions, ImageModel>['open'],
  release: () => void,
): (error: unknown) => Promise<void> {
  return serveModel(port, { open, calls: CALLS, release });
}

/** Opens an image model on the other side of a port. `onClosed` runs when it is closed; `signal` gives the opening up. */
export function connectImageModel(
  port: Port,
  options: ImageModelOptions,
  onEvent: (event: OpenEvent) => void,
  onClosed: () => Promise<void>,
  signal?: AbortSignal,
): Promise<ImageModel> {
  return connectModel<ImageModelInfo, ImageRequest, ImageEvent, ImageModel>(
    port,
    options,
    onEvent,
    onClosed,
    (model, invoke) => ({
      ...model,
      resolve: (request) => invoke('resolve', request),
      warmUp: (request, steps) => invoke('warmUp', { request, steps }),
    }),
    { signal },
  );
}
