// svc-engine/ai: models as a provider of the AI SDK, specification v3. Models are opened by the program, by whichever face it uses.

import type { EmbeddingModelV3, ImageModelV3, LanguageModelV3, ProviderV3 } from '@ai-sdk/provider';
import type { EmbeddingModel } from '../../engine/embedding/embedding-model.ts';
import type { ImageModel } from '../../engine/image/calls/image-model.ts';
import type { TextModel } from '../../engine/text/calls/text-model.ts';
import { modelNotFound } from '../../files/error.ts';
import { EmbeddingAdapter } from './embedding-adapter.ts';
import { ImageAdapter } from './image-adapter.ts';
import { LanguageAdapter } from './language-adapter.ts';

/** An opened model, or a function that opens it when it is first used; a failed opening is tried again at the next use. */
export type ModelSource<M> = M | (() => Promise<M>);

export interface ProviderModels {
  text?: Readonly<Record<string, ModelSource<TextModel>>>;
  embedding?: Readonly<Record<string, ModelSource<EmbeddingModel>>>;
  image?: Readonly<Record<string, ModelSource<ImageModel>>>;
}

/** A provider of models by the names that the program gives them. Its methods throw model_not_found for other names. */
export function createSvcEngine(models: ProviderModels): ProviderV3 {
  const made = new Map<string, unknown>();
  const named =
    <Source, Adapter>(
      kind: keyof ProviderModels,
      sources: Readonly<Record<string, Source>> = {},
      make: (source: Source, name: string) => Adapter,
    ) =>
    (name: string): Adapter => {
      const key = `${kind} ${name}`;
      if (!Object.hasOwn(sources, name))
        throw modelNotFound(
          `the provider has no ${kind} model ${JSON.stringify(name)}: it has ${Object.keys(sources).join(', ') || 'none'}`,
        );
      if (!made.has(key)) made.set(key, make(sources[name]!, name));
      return made.get(key) as Adapter;
    };
  return {
    specificationVersion: 'v3',
    languageModel: named('text', models.text, languageModel),
    embeddingModel: named('embedding', models.embedding, embeddingModel),
    imageModel: named('image', models.image, imageModel),
  };
}

/**
 * A text model for generateText, streamText and the like. Members of `providerOptions['svc-engine']` become members of the TextRequest: minP, reasoning,
 * lora, constraint and others; `templateKwargs` those of its prompt.
 */
export function languageModel(source: ModelSource<TextModel>, modelId?: string): LanguageModelV3 {
  return new LanguageAdapter(opening(source), modelId ?? nameOf(source));
}

/** An embedding model for embed and embedMany. */
export function embeddingModel(source: ModelSource<EmbeddingModel>, modelId?: string): EmbeddingModelV3 {
  return new EmbeddingAdapter(opening(source), modelId ?? nameOf(source));
}

/** An image model for generateImage; images are PNG files. `providerOptions['svc-engine']`: members of the ImageRequest, such as steps. */
export function imageModel(source: ModelSource<ImageModel>, modelId?: string): ImageModelV3 {
  return new ImageAdapter(opening(source), modelId ?? nameOf(source));
}

function opening<M extends object>(source: ModelSource<M>): () => Promise<M> {
  if (typeof source !== 'function') return () => Promise.resolve(source);
  let opened: Promise<M> | null = null;
  return () => {
    opened ??= source().catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };
}

const nameOf = (source: ModelSource<{ readonly info: { name: string } }>): string =>
  typeof source === 'function' ? 'svc-engine' : source.info.name;
