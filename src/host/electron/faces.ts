// The kinds of models, by the names that messages between processes use, as far as callers of the engine know them.

import type { EmbeddingModel, EmbeddingModelOptions } from '../../engine/embedding/embedding-model.ts';
import { EMBEDDING_FACE } from '../kinds/embedding.ts';
import { IMAGE_FACE } from '../kinds/image.ts';
import type { ImageModel, ImageModelOptions } from '../../engine/image/calls/image-model.ts';
import type { ModelFace } from '../kinds/model-kind.ts';
import { TEXT_FACE } from '../kinds/text.ts';
import type { TextModel, TextModelOptions } from '../../engine/text/calls/text-model.ts';

/** Options and model of each kind. */
export interface KindTypes {
  text: { options: TextModelOptions; model: TextModel };
  image: { options: ImageModelOptions; model: ImageModel };
  embedding: { options: EmbeddingModelOptions; model: EmbeddingModel };
}

export const FACES: {
  readonly [Name in keyof KindTypes]: ModelFace<KindTypes[Name]['options'], KindTypes[Name]['model']>;
} = { text: TEXT_FACE, image: IMAGE_FACE, embedding: EMBEDDING_FACE };
