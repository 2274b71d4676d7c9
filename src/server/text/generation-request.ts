// Converts the fields that all routes for text share to the engine's request, and the names in the engine's errors back to the
// fields' names; checks token ids against the model before they are copied to the engine's thread.

import { say, subject } from '../../files/message.ts';
import { EngineError, type TextModelInfo, type TextRequest } from '../../index.ts';
import { fieldError, refuseField, type RequestError } from '../http/errors.ts';
import { SAMPLING, SCHEDULING } from '../../options/text-request.ts';
import { withoutMissing } from '../body/fields.ts';
import { fieldNames, settingsIn } from '../body/setting-fields.ts';
import type { GenerationBody } from './generation-fields.ts';
import { processorField, processorPaths, toProcessors } from './logit-processors.ts';
import { type ReasoningFields, reasoningPaths } from './reasoning.ts';
import { checkOneConstraint, constraintPaths, toConstraint } from './response-format.ts';
import { mediaPaths } from './messages.ts';

/** Builds a TextRequest without its prompt and its length. `adapter`: the suffix of `model`. Throws RequestError. */
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

/** Joins cache_salt and extra_key to one text that is unique for the pair. */
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

/** Checks rules that involve more than one field. `maxTokens`: the name of that field in the route. */
export function checkGeneration(
  body: GenerationBody,
  maxTokens: [name: string, value: number | undefined],
): void {
  if (body.stream_options && !body.stream)
    refuseField('stream_options', 'needs stream to be true; send both or neither');
  const [name, most] = maxTokens;
  if (most !== undefined && (body.min_tokens ?? 0) > most)
    refuseField(
      'min_tokens',
      say`must be at most ${subject(name)}, which is ${most}, got ${body.min_tokens ?? 0}`,
    );
  if (body.routed_experts_start_len && !body.return_routed_experts)
    refuseField('routed_experts_start_len', 'needs return_routed_experts to be true; send both or neither');
  checkOneConstraint(body);
}

/** Checks token ids against the model: each must be in its vocabulary, and there may not be more than it reads. */
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
  throw fieldError(
    param,
    `names no token, as the model's ids end at ${info.vocabSize - 1}; send ids of its own vocabulary`,
  );
}

/** Members of a body that its routes do not share, under which errors are renamed. */
type RenamedBody = GenerationBody &
  ReasoningFields & {
    input_ids?: number[] | undefined;
    messages?: Parameters<typeof mediaPaths>[0];
    functions?: unknown;
  };

/** Pairs of a path in the engine's request and the path in the body; longer ones come first. */
function fieldPaths(body: RenamedBody): [engine: string, field: string][] {
  return [
    ...mediaPaths(body.messages),
    ['minTiles', 'min_dynamic_patch'],
    ['maxTiles', 'max_dynamic_patch'],
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

/** Returns the engine's error with the client's names of the fields. */
export function underFieldName(error: unknown, body: RenamedBody): unknown {
  if (!(error instanceof EngineError)) return error;
  const paths = fieldPaths(body);
  return error.withPaths((path) => {
    const found = paths.find(([engine]) => path === engine || path.startsWith(`${engine}.`));
    const own = found ? found[1] + path.slice(found[0].length) : path;
    // `functions` reach the engine as tools.
    return body.functions ? own.replace(/^tools(?:(\.\d+)\.function)?/, 'functions$1') : own;
  });
}

type Limits = Pick<TextModelInfo, 'vocabSize' | 'contextLength'>;

/** Throws if an id is outside the model's vocabulary. */
export function checkIds(ids: readonly number[], path: string, { vocabSize }: Limits): void {
  const wrong = ids.findIndex((id) => id >= vocabSize);
  if (wrong < 0) return;
  const param = `${path}.${wrong}`;
  throw fieldError(
    param,
    `is ${ids[wrong]}, and the model's ids end at ${vocabSize - 1}; send ids of its own vocabulary`,
  );
}

/** Checks the ids of a prompt, which must leave room for one token of the reply. */
export function checkPromptIds(ids: readonly number[], path: string, limits: Limits): void {
  const most = limits.contextLength - 1;
  if (ids.length > most) throw tooMany(ids, path, `the context holds ${most} with a reply; send fewer`);
  checkIds(ids, path, limits);
}

/** Checks the ids of generated text, or of a text that is read without a reply. */
export function checkTextIds(ids: readonly number[], path: string, limits: Limits): void {
  const { contextLength: most } = limits;
  if (ids.length > most) throw tooMany(ids, path, `the context holds ${most}; send them in parts`);
  checkIds(ids, path, limits);
}

function tooMany({ length }: readonly number[], path: string, limit: string): RequestError {
  return fieldError(path, `has ${length} token ids, and ${limit}`, 'context_length_exceeded');
}
