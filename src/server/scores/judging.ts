// What the routes that judge texts share: the model with the request's signal and its count of tokens, and names of fields in errors.

import { randomUUID } from 'node:crypto';
import type { H3Event } from 'h3';
import { countText } from '../../files/count-text.ts';
import { option, say } from '../../files/message.ts';
import {
  type EmbeddingModel,
  type EmbeddingRequest,
  EngineError,
  extendEmbeddingModel,
  MODEL_KINDS,
} from '../../index.ts';
import { isOneInput, type TokenInputs } from '../body/bounded.ts';
import { refuseField, RequestError } from '../http/errors.ts';
import { abortWithClient, whileRunning } from '../service/model-call.ts';
import { type Finding, slotFor } from '../service/models.ts';
import type { Service } from '../service/service.ts';
import { type Asking, useModel } from '../service/use-model.ts';

/** The fields that all of them have. */
export interface JudgingBody {
  model?: string | undefined;
  truncate_prompt_tokens?: number | undefined;
  instruct?: string | undefined;
  instruction?: string | undefined;
  use_activation?: boolean | undefined;
  activation?: boolean | undefined;
}

/** The model of a request. */
export interface Judge {
  info: EmbeddingModel['info'];
  /** Its calls, whose texts are counted, and which end when the client leaves. */
  model: ReturnType<typeof judged>;
  options: { truncate?: number; instruction?: string; activation?: boolean };
  usage(): { prompt_tokens: number; total_tokens: number };
}

/** The purpose that errors state of routes which rank texts. */
export const RANKING = { article: 'a', noun: 'reranker or embedding model' } as const;

/** `wanted`: what the route is for; left out: an embedding model. */
export async function judgeOf(
  asking: { service: Service; event: H3Event },
  body: JudgingBody,
  wanted?: Finding['wanted'],
): Promise<Judge> {
  const { model: requested = 'default' } = body;
  const { name, article, noun } = MODEL_KINDS.embedding;
  const { req, url } = asking.event;
  const finding = {
    endpoints: { [name]: `${req.method} ${url.pathname}` },
    wanted: wanted ?? { article, noun },
  };
  const { model } = await useModel(asking, MODEL_KINDS.embedding, requested, finding).catch(
    (error: unknown) => {
      throw wanted === RANKING ? withJudgeOption(asking, requested, error) : error;
    },
  );
  const { instruct, instruction = instruct } = body;
  if (instruct !== undefined && body.instruction !== undefined)
    refuseField('instruct', 'is another name of instruction, which is sent as well; send one of them');
  const { truncate_prompt_tokens: truncate, use_activation: uses, activation = uses } = body;
  if (truncate === 0) refuseField('truncate_prompt_tokens', 'is 0; send at least 1, or -1 for all');
  const most = model.info.contextLength;
  const count = { tokens: 0, texts: 0 };
  const { call } = asking.event.context;
  if (call) call.detail = () => `${countText(count.texts, 'text')}, ${countText(count.tokens, 'token')}`;
  return {
    info: model.info,
    model: judged(asking, model, count),
    options: {
      ...(truncate !== undefined && { truncate: Math.min(truncate, most) }),
      ...(instruction !== undefined && { instruction }),
      ...(activation === false && { activation }),
    },
    usage: () => ({ prompt_tokens: count.tokens, total_tokens: count.tokens }),
  };
}

/** The refusal of a language model says in addition how one that judges is served; other errors stay. */
function withJudgeOption({ service }: Asking, requested: string, error: unknown): unknown {
  if (!(error instanceof RequestError) || !['unsupported', 'model_not_found'].includes(error.code))
    return error;
  try {
    slotFor(service, MODEL_KINDS.text, requested);
  } catch {
    return error;
  }
  const message = say`${error.message}; Qwen3-Reranker and models like it are served with ${option('judge')}`;
  return new RequestError(error.code, message, { param: 'model' });
}

function judged(
  { service, event }: { service: Service; event: H3Event },
  model: EmbeddingModel,
  count: { tokens: number; texts: number },
) {
  const generate: EmbeddingModel['generate'] = async function* (request) {
    const abort = abortWithClient(event);
    const generated = model.generate(request, { signal: abort.signal });
    for await (const made of whileRunning(service, abort, generated)) {
      if (made.type === 'accepted') {
        count.texts += made.tokens.length;
        count.tokens += made.tokens.reduce((sum, each) => sum + each, 0);
      }
      yield made;
    }
  };
  return extendEmbeddingModel({ info: model.info, generate });
}

/** Runs a call, whose errors get the names of the request's own fields for the engine's `inputs.0`. */
export async function underNames<T>(nameOf: (input: number) => string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const at = error instanceof EngineError && /^inputs\.(\d+)/.exec(error.param ?? '')?.[1];
    if (!at || !(error instanceof EngineError)) throw error;
    throw error.withPaths((path) => (path === error.param ? nameOf(Number(at)) : null));
  }
}

/** What the model gives for each input, in their order. `sent`: the client's input, for errors. */
export async function valuesOf(
  { model, options }: Judge,
  request: EmbeddingRequest,
  sent: TokenInputs,
): Promise<Float32Array[]> {
  const values: Float32Array[] = [];
  const nameOf = (at: number): string => (isOneInput(sent) ? 'input' : `input.${at}`);
  await underNames(nameOf, async () => {
    for await (const made of model.generate({ ...options, ...request }))
      if (made.type === 'embedding') values[made.index] = made.values;
  });
  return values;
}

/** What replies of these routes begin with. */
export const replyHead = (prefix: string, model = 'default') => ({
  id: `${prefix}-${randomUUID()}`,
  object: 'list',
  created: Math.floor(Date.now() / 1000),
  model,
});
