// The text model's entry in the table of model kinds.

import type { ModelKind } from '../../host/model-kind.ts';
import { TEXT_FACE } from './face.ts';
import { openTextModelInline } from './open.ts';
import type { TextModel, TextModelOptions } from './calls/text-model.ts';

export const TEXT_MODELS: ModelKind<TextModelOptions, TextModel> = {
  ...TEXT_FACE,
  open: openTextModelInline,
};
