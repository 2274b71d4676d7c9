// The tasks of embedding models, and the refusal of another one.

import type { EmbeddingModel } from '../../index.ts';
import { RequestError } from '../http/errors.ts';

/** What a model is for, in vLLM's words. */
export function taskOf({ classifier }: EmbeddingModel['info']): 'embed' | 'classify' | 'token_classify' {
  if (!classifier) return 'embed';
  return classifier.per === 'token' ? 'token_classify' : 'classify';
}

const ROUTES = {
  embed: 'POST /v1/embeddings',
  classify: 'POST /v1/classify or /v1/rerank',
  token_classify: 'POST /pooling',
};

/** Throws the error of a request for another task than the model's. */
export function refuseTask(info: EmbeddingModel['info'], task: string): never {
  const own = taskOf(info);
  throw new RequestError(
    'unsupported',
    `${info.name} (${info.architecture}) is for the task ${own}, not ${task}; send it to ${ROUTES[own]}`,
    { param: 'model' },
  );
}
