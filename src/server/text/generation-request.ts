// From the fields that all routes for text share to the engine's request, and from the engine's words back to those of the fields.

import { EngineError, type TextModelInfo, type TextRequest } from '../../index.ts';
import { RequestError } from '../errors.ts';
import { SAMPLING, SCHEDULING } from '../../options/text-request.ts';
import { withoutMissing } from '../body/fields.ts';
import { fieldNames, settingsIn } from '../body/setting-fields.ts';
import type { GenerationBody } from './generation-fields.ts';
import { processorField, processorPaths, toProcessors } from './logit-processors.ts';
import { type ReasoningFields, reasoningPaths } from './reasoning.ts';
import { checkOneConstraint, constraintPaths, toConstraint } from './response-format.ts';
import { checkIds, checkPromptIds } from '../tokens/token-ids.ts';

/** All of a TextRequest but its prompt and its length. `adapter`: the suffix of `model`. Throws RequestError. */
export function toGeneration(body: GenerationBody, adapter?: string): Omit<TextRequest, 'prompt'> {
  const states = body.return_hidden_states;
  return withoutMissing({
    ...settingsIn(body, SAMPLING, 'chat'),
    ...settingsIn(body, SCHEDULING, 'chat'),
    constraint: toConstraint(body),
    processors: toProcessors(body),
    ...(adapter !== undefined && { lora: adapter }),
    id: body.rid,
    timeouts: timeoutsOf(body),
    cacheSalt: saltOf(body),
    hiddenStates: states ? wantedStates(states) : undefined,
    routedExperts: body.return_routed_experts ? { from: body.routed_experts_start_len ?? 0 } : undefined,
    promptIds: body.return_prompt_token_ids,
  });
}

/** Both fields as one text that no other pair of them gives. */
function saltOf({ cache_salt: salt, extra_key: key }: GenerationBody): string | undefined {
  return salt === undefined && key === undefined ? undefined : JSON.stringify([salt ?? null, key ?? null]);
}

function timeoutsOf({ queue_timeout, request_timeout }: GenerationBody): TextRequest['timeouts'] {
  if (queue_timeout === undefined && request_timeout === undefined) return undefined;
  return withoutMissing({ queue: milliseconds(queue_timeout), total: milliseconds(request_timeout) });
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.ceil(1000 * seconds);
}

function wantedStates(states: true | 'last' | 'all'): 'last' | 'all' {
  return states === 'all' ? 'all' : 'last';
}

/** Rules over more than one field. `maxTokens`: under the name the route has for it. */
export function checkGeneration(
  body: GenerationBody,
  maxTokens: [name: string, value: number | undefined],
): void {
  const refuse = (param: string, text: string): never => {
    throw new RequestError('invalid_value', `${param} ${text}`, { param });
  };
  if (body.stream_options && !body.stream)
    refuse('stream_options', 'needs stream to be true; send both or neither');
  const [name, most] = maxTokens;
  if (most !== undefined && (body.min_tokens ?? 0) > most)
    refuse('min_tokens', `must be at most ${name}, which is ${most}, got ${body.min_tokens}`);
  if (body.routed_experts_start_len && !body.return_routed_experts)
    refuse('routed_experts_start_len', 'needs return_routed_experts to be true; send both or neither');
  checkOneConstraint(body);
}

/** Ids the model does not have, and more of them than it reads. */
export function checkTokenIds(
  body: GenerationBody & { input_ids?: number[] | undefined },
  info: TextModelInfo,
): void {
  if (body.input_ids) checkPromptIds(body.input_ids, 'input_ids', info);
  checkIds(body.stop_token_ids ?? [], 'stop_token_ids', info);
  checkIds(body.allowed_token_ids ?? [], 'allowed_token_ids', info);
  const biased = Object.keys(body.logit_bias ?? {}).find((key) => Number(key) >= info.vocabSize);
  if (biased === undefined) return;
  const param = `logit_bias.${biased}`;
  throw new RequestError(
    'invalid_value',
    `${param} names no token, as the model's ids end at ${info.vocabSize - 1}; send ids of its own vocabulary`,
    { param },
  );
}

/** Where the members of an engine request stand in the body; longer ones first. */
function fieldPaths(
  body: GenerationBody & ReasoningFields & { input_ids?: number[] | undefined },
): [engine: string, field: string][] {
  return [
    ...constraintPaths(body),
    ...reasoningPaths(body, processorField(body)),
    ...(body.input_ids ? [['prompt', 'input_ids'] as [string, string]] : []),
    ['maxTokens', 'max_completion_tokens'],
    ['promptLogprobs', 'logprobs'],
    ...fieldNames(SAMPLING, 'chat'),
    ...processorPaths(body),
    ['lora', body.lora_path === undefined ? 'model' : 'lora_path'],
    ['id', 'rid'],
    ['cacheSalt', 'cache_salt'],
    ['hiddenStates', 'return_hidden_states'],
    ['timeouts.queue', 'queue_timeout'],
    ['timeouts.total', 'request_timeout'],
    ['routedExperts.from', 'routed_experts_start_len'],
    ['routedExperts', 'return_routed_experts'],
    ['toolChoice', 'tool_choice'],
    ['parallelToolCalls', 'parallel_tool_calls'],
    ['templateKwargs', 'chat_template_kwargs'],
    ['continueFinal', 'continue_final_message'],
  ];
}

/** The engine's error under the name the client knows the field by. */
export function underFieldName(error: unknown, body: GenerationBody & { functions?: unknown }): unknown {
  if (!(error instanceof EngineError) || error.param === null) return error;
  const { code, message, param, cause } = error;
  const found = fieldPaths(body).find(([engine]) => param === engine || param.startsWith(`${engine}.`));
  const path = found ? found[1] + param.slice(found[0].length) : param;
  // Functions are tools to the engine.
  const name = body.functions ? path.replace(/^tools(?:(\.\d+)\.function)?/, 'functions$1') : path;
  const text = message.startsWith(param) ? name + message.slice(param.length) : message;
  return new EngineError(code, text, { param: name, cause });
}
