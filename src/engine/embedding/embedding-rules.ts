// Validation rules for the options of an embedding model and the fields of a request, under the library's names.

import { badRequest } from '../../files/error.ts';
import { LIMITS } from '../../options/limits.ts';
import { MODEL_SETTINGS } from '../../options/model.ts';
import { forModels } from '../../options/setting.ts';
import { checkOptions, filledText, listOf, refuse, rulesOf, whole, type Rule } from '../input/rules.ts';
import { checkReplicas } from '../opening/replicas.ts';
import type { EmbeddingModelInfo, EmbeddingModelOptions, EmbeddingRequest } from './embedding-model.ts';

const EMBEDDING_MODEL_OPTIONS: Record<keyof Required<EmbeddingModelOptions>, Rule> = {
  model: filledText,
  ...rulesOf(forModels(MODEL_SETTINGS, 'embedding')),
};

/** Throws bad_request for the first option that is unknown or out of bounds. */
export function checkEmbeddingModelOptions(options: EmbeddingModelOptions): void {
  checkOptions(options, EMBEDDING_MODEL_OPTIONS, 'openEmbeddingModel', ['model']);
  checkReplicas(options);
}

const input: Rule = (value, name) => {
  if (typeof value === 'string') return;
  if (!Array.isArray(value)) return refuse(value, name, 'a text or a list of token ids');
  listOf(whole(0), { least: 1 })(value, name);
};

const EMBEDDING_REQUEST: Record<keyof Required<EmbeddingRequest>, Rule> = {
  inputs: listOf(input, { least: 1, most: LIMITS.inputs }),
  dimensions: whole(1),
};

/** Throws bad_request for the first member of a request that is unknown or out of the model's bounds. */
export function checkEmbeddingRequest(
  request: EmbeddingRequest,
  { vocabSize, dimensions }: EmbeddingModelInfo,
): void {
  checkOptions(request, EMBEDDING_REQUEST, 'a request', ['inputs']);
  if (request.dimensions !== undefined) whole(1, dimensions)(request.dimensions, 'dimensions');
  request.inputs.forEach((ids, at) => {
    if (typeof ids === 'string') return;
    const wrong = ids.findIndex((id) => id >= vocabSize);
    if (wrong < 0) return;
    const param = `inputs.${at}.${wrong}`;
    const message = `${param} is not a token id of this model (0 to ${vocabSize - 1})`;
    throw badRequest(message, param);
  });
}
