// The built-in kinds, as callers of the public face see them.

import type { EmbeddingModel, EmbeddingModelOptions } from '../../engine/embedding/embedding-model.ts';
import type { ImageModel, ImageModelOptions } from '../../engine/image/calls/image-model.ts';
import type { TextModel, TextModelOptions } from '../../engine/text/calls/text-model.ts';
import type {
  TranscriptionModel,
  TranscriptionModelOptions,
} from '../../engine/transcription/transcription-model.ts';
import type { KindFace } from './kind-face.ts';
import { KINDS } from './kinds.ts';

export const MODEL_KINDS: {
  readonly text: KindFace<TextModelOptions, TextModel>;
  readonly image: KindFace<ImageModelOptions, ImageModel>;
  readonly embedding: KindFace<EmbeddingModelOptions, EmbeddingModel>;
  readonly transcription: KindFace<TranscriptionModelOptions, TranscriptionModel>;
} = KINDS;
