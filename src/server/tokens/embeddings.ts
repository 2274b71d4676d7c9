// POST /v1/embeddings: texts for an embedding model, and its vectors as the reply.

import type { H3Event } from 'h3';
import { type EmbeddingModel, type EmbeddingRequest, EngineError, MODEL_KINDS } from '../../index.ts';
import { countText } from '../../files/count-text.ts';
import { isOneInput, listInputs, type TokenInputs } from '../body/bounded.ts';
import { abortWithClient, whileRunning } from '../service/model-call.ts';
import { bodyRoute } from '../service/route.ts';
import { useModel } from '../service/use-model.ts';
import type { Service } from '../service/service.ts';
import { refuseTask } from './task.ts';
import { EMBEDDING_FIELDS } from './token-schema.ts';

export const EMBEDDINGS = bodyRoute(
  {
    summary: 'Embeddings of texts; `dimensions`, `base64`.',
    group: 'Embeddings',
    fields: EMBEDDING_FIELDS,
    required: ['input', 'model'],
    reply: 'Embeddings',
    schemas: [() => import('./token-reply-schema.ts')],
  },
  async ({ service, event, body }) => {
    const { model } = await useModel({ service, event }, MODEL_KINDS.embedding, body.model);
    const { dimensions, task } = body;
    const request = {
      inputs: listInputs(body.input),
      ...(dimensions !== undefined && { dimensions }),
      ...(task !== undefined && { task }),
    };
    const { vectors, tokens } = await embed(service, event, model, request, body.input);
    const encode = body.encoding_format === 'base64' ? base64 : (values: Float32Array) => [...values];
    return {
      object: 'list',
      data: vectors.map((values, index) => ({ object: 'embedding', index, embedding: encode(values) })),
      model: body.model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  },
);

/** Returns vectors in the order of the inputs, and the total of the inputs' tokens. `sent`: the client's input, for errors. */
export async function embed(
  service: Service,
  event: H3Event,
  model: EmbeddingModel,
  request: EmbeddingRequest,
  sent: TokenInputs,
): Promise<{ vectors: Float32Array[]; tokens: number }> {
  if (model.info.classifier) refuseTask(model.info, 'embed');
  const abort = abortWithClient(event);
  const vectors: Float32Array[] = [];
  let tokens = 0;
  const { call } = event.context;
  if (call) call.detail = () => `${countText(request.inputs.length, 'text')}, ${countText(tokens, 'token')}`;
  const generated = model.generate(request, { signal: abort.signal });
  try {
    for await (const made of whileRunning(service, abort, generated)) {
      if (made.type === 'embedding') vectors[made.index] = made.values;
      else tokens = made.tokens.reduce((sum, count) => sum + count, 0);
    }
  } catch (error) {
    throw underInputName(error, sent);
  }
  return { vectors, tokens };
}

/** Renames `inputs.0` in the engine's errors to the client's `input`, or `input.0` if the client sent a list. */
function underInputName(error: unknown, input: TokenInputs): unknown {
  if (!(error instanceof EngineError) || !error.param?.startsWith('inputs.')) return error;
  const [, at, ...rest] = error.param.split('.');
  const param = ['input', ...(isOneInput(input) ? [] : [at]), ...rest].join('.');
  return error.withPaths((path) => (path === error.param ? param : null));
}

/** Base64 of little-endian 32-bit floats, as OpenAI sends it. */
export function base64(values: Float32Array): string {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeFloatLE(value, 4 * i));
  return bytes.toString('base64');
}
