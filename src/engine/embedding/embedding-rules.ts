// Validation rules for the options of an embedding model and the fields of a request, under the library's names.

import { badRequest } from '../../files/error.ts';
import { isRecord } from '../../files/source.ts';
import { LIMITS } from '../../options/limits.ts';
import { MODEL_SETTINGS } from '../../options/model.ts';
import { forModels } from '../../options/setting.ts';
import {
  checkOptions,
  filledText,
  flag,
  listOf,
  objectOf,
  refuse,
  rulesOf,
  text,
  whole,
  type Rule,
} from '../input/rules.ts';
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

const pair = objectOf({ text, pair: text }, { required: ['text', 'pair'] });

const input: Rule = (value, name) => {
  if (typeof value === 'string') return;
  if (isRecord(value)) return pair(value, name);
  if (!Array.isArray(value)) return refuse(value, name, 'a text, a pair of texts or a list of token ids');
  listOf(whole(0), { least: 1 })(value, name);
};

const EMBEDDING_REQUEST: Record<keyof Required<EmbeddingRequest>, Rule> = {
  inputs: listOf(input, { least: 1, most: LIMITS.inputs }),
  dimensions: whole(1),
  truncate: whole(-1),
  instruction: filledText,
  task: filledText,
  activation: flag,
};

/** Throws bad_request for the first member of a request that is unknown or out of the model's bounds. */
export function checkEmbeddingRequest(
  request: EmbeddingRequest,
  { vocabSize, dimensions, contextLength, classifier }: EmbeddingModelInfo,
): void {
  checkOptions(request, EMBEDDING_REQUEST, 'a request', ['inputs']);
  if (request.dimensions !== undefined) {
    if (classifier)
      throw badRequest('dimensions is for vectors, and this model classifies: leave it out', 'dimensions');
    whole(1, dimensions)(request.dimensions, 'dimensions');
  }
  if (request.truncate !== undefined) whole(-1, contextLength)(request.truncate, 'truncate');
  if (request.truncate === 0) refuse(0, 'truncate', 'at least 1, or -1 for all that the model takes');
  request.inputs.forEach((ids, at) => {
    if (!Array.isArray(ids)) return;
    const wrong = ids.findIndex((id) => id >= vocabSize);
    if (wrong < 0) return;
    const param = `inputs.${at}.${wrong}`;
    const message = `${param} is not a token id of this model (0 to ${vocabSize - 1})`;
    throw badRequest(message, param);
  });
}
