// An image model in another thread.

import { remoteFace } from '../session/remote-face.ts';
import type {
  ImageEvent,
  ImageModel,
  ImageModelInfo,
  ImageModelOptions,
  ImageRequest,
} from './image-model.ts';

export const { serve: serveImageModel, connect: connectImageModel } = remoteFace<
  ImageModelOptions,
  ImageModelInfo,
  ImageRequest,
  ImageEvent,
  ImageModel
>({ resolve: true, warmUp: true });
