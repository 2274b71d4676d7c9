// Opens a model of whatever kind it is.

import type { OpenedEmbeddingModel, OpenedTextModel } from '../../chat/extend.ts';
import type { EmbeddingModelOptions } from '../../engine/embedding/embedding-model.ts';
import type { ImageModel, ImageModelOptions } from '../../engine/image/calls/image-model.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { TextModelOptions } from '../../engine/text/calls/text-model.ts';
import { unsupported } from '../../files/error.ts';
import { openEmbeddingModel, openImageModel, openTextModel } from './open.ts';
import { kindOfModel } from './plan.ts';

type Shared = keyof TextModelOptions & keyof ImageModelOptions & keyof EmbeddingModelOptions;

/** The options that models of all kinds have. */
export type AnyModelOptions = Pick<TextModelOptions, Shared>;

export type OpenedModel =
  | { readonly kind: 'text'; readonly model: OpenedTextModel }
  | { readonly kind: 'image'; readonly model: ImageModel }
  | { readonly kind: 'embedding'; readonly model: OpenedEmbeddingModel };

/** Opens a folder, a model that ships or a hub id by what its files say that it is. Errors: those of openTextModel. */
export async function openAny(
  options: AnyModelOptions,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<OpenedModel> {
  const name = await kindOfModel(options.model, options.revision, signal);
  if (name === 'text') return { kind: name, model: await openTextModel(options, onEvent, signal) };
  if (name === 'image') return { kind: name, model: await openImageModel(options, onEvent, signal) };
  if (name === 'embedding') return { kind: name, model: await openEmbeddingModel(options, onEvent, signal) };
  throw unsupported(`${options.model} is a model of the kind ${name}: open it with the opener of that kind`);
}
