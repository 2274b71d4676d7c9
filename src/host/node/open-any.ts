// Opens a model of whatever kind it is.

import type { OpenedEmbeddingModel, OpenedTextModel, OpenedTranscriptionModel } from '../../chat/extend.ts';
import type { EmbeddingModelOptions } from '../../engine/embedding/embedding-model.ts';
import type { ImageModel, ImageModelOptions } from '../../engine/image/calls/image-model.ts';
import type { TextModelOptions } from '../../engine/text/calls/text-model.ts';
import type { TranscriptionModelOptions } from '../../engine/transcription/transcription-model.ts';
import { badRequest, unsupported } from '../../files/error.ts';
import type { OpenModel } from '../session/model.ts';
import { kindOfModel } from './locate-model.ts';

type Shared = keyof TextModelOptions &
  keyof ImageModelOptions &
  keyof EmbeddingModelOptions &
  keyof TranscriptionModelOptions;

/** The options that models of all kinds have, and how a language model is opened as one that ranks. */
export type AnyModelOptions = Pick<TextModelOptions, Shared> & Pick<EmbeddingModelOptions, 'judge'>;

export type OpenedModel =
  | { readonly kind: 'text'; readonly model: OpenedTextModel }
  | { readonly kind: 'image'; readonly model: ImageModel }
  | { readonly kind: 'embedding'; readonly model: OpenedEmbeddingModel }
  | { readonly kind: 'transcription'; readonly model: OpenedTranscriptionModel };

type Openers = {
  [Kind in OpenedModel['kind']]: OpenModel<AnyModelOptions, Extract<OpenedModel, { kind: Kind }>['model']>;
};

/** Makes a function that opens a model of any kind by the opener of its kind; a model alone may come as its name. */
export function anyOpener(openers: Openers): OpenModel<AnyModelOptions | string, OpenedModel> {
  return async (given, onEvent, signal) => {
    const all: AnyModelOptions = typeof given === 'string' ? { model: given } : given;
    if (typeof all?.model !== 'string')
      throw badRequest(
        `model is ${JSON.stringify(all?.model) ?? 'missing'}: give a folder, a file or an id of the hub`,
        'model',
      );
    const name = await kindOfModel(all.model, all.revision, signal);
    if (all.judge === true && name === 'text')
      return { kind: 'embedding', model: await openers.embedding(all, onEvent, signal) };
    // Models that say what they make are opened as without it.
    const { judge: _, ...options } = all;
    if (name === 'text') return { kind: name, model: await openers.text(options, onEvent, signal) };
    if (name === 'image') return { kind: name, model: await openers.image(options, onEvent, signal) };
    if (name === 'embedding') return { kind: name, model: await openers.embedding(options, onEvent, signal) };
    if (name === 'transcription')
      return { kind: name, model: await openers.transcription(options, onEvent, signal) };
    throw unsupported(
      `${options.model} is a model of the kind ${name}: open it with the opener of that kind`,
    );
  };
}
