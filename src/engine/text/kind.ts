// The text model's entry in the table of model kinds.

import type { ModelKind } from '../../host/kinds/model-kind.ts';
import { TEXT_FACE } from '../../host/kinds/text.ts';
import { openTextModelInline } from './open.ts';
import type { TextModel, TextModelOptions } from './calls/text-model.ts';

export const TEXT_MODELS: ModelKind<TextModelOptions, TextModel> = {
  ...TEXT_FACE,
  open: openTextModelInline,
};
