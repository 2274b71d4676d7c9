// From a request to sequences: the prompt's ids, the sampling values in force, one sequence a choice.

import { EngineError } from '../../files/error.ts';
import type { Adapter } from './adapters.ts';
import { TemplateLimitError } from '../../files/template/jinja/meter.ts';
import type { ChatRendering } from '../../files/template/template.ts';
import { opensText } from '../../files/tokenizer/detokenizer.ts';
import { assertLengths } from '../../files/tokenizer/tokenizer.ts';
import { mapSampling, SAMPLING } from '../../options/text-request.ts';
import { MASKED } from '../../kernels/sample.ts';
import { lengthKey, sameFrequenciesUntil, type RopeConfig } from '../../models/text/rope.ts';
import { fitTurns } from './fitting.ts';
import type { Constraint } from './constraint.ts';
import type { Grammar } from '../../grammar/grammar.ts';
import type { GrammarCache } from './grammar-cache.ts';
import { LONG_TEXT, type LongTextEncoder } from './long-text.ts';
import { createOutput, type ReplyContext, type ReplyPlan } from './output/reply.ts';
import { holdCalls, withHeldCalls } from './output/held-calls.ts';
import { createReplyConstraint } from './output/reply-constraint.ts';
import { beginsAfter, renderConversation, type Begins, type Rendered } from './output/reply-start.ts';
import { thinkingTags } from './output/thinking.ts';
import { createPieces } from './piece.ts';
import { allowedTokens, wgslSource, withProcessors } from './processors.ts';
import { createRecorder, type Recording } from './recorder.ts';
import { Progress } from './progress.ts';
import { SequenceOutput } from './sequence-output.ts';
import { Sequence, type SequenceRequest, type SequenceSampling } from './sequence.ts';
import { Placement, SequencePrefix } from './cache/placement.ts';
import type { StopAutomata } from '../../grammar/stops/stop-automaton.ts';
import { createStopMatcher } from './stop-matcher.ts';
import type { ChatMessage, SamplingOptions, TextEvent, TextPrompt, TextRequest } from './text-model.ts';
import { checkPrompt } from './text-rules.ts';
import { createTokenCounts } from './token-counts.ts';

export interface RequestContext extends ReplyContext {
  /** For texts that would hold up the thread; null: there is no other. */
  longText: LongTextEncoder | null;
  grammars: GrammarCache;
  vocabulary: number;
  contextLength: number;
  endIds: readonly number[];
  rope: RopeConfig;
  /** Whether requests share pages. */
  prefixCache: boolean;
  recording: Recording;
  sampling: Required<SamplingOptions>;
  /** Compiles a request's own function; null: none is taken. */
  checkProcessor: ((source: string) => Promise<void>) | null;
}

/** The prompt as the model sees it. Throws bad_request for what is no prompt. */
export async function renderPrompt(
  prompt: TextPrompt,
  context: RequestContext,
  signal?: AbortSignal,
): Promise<Rendered & { ids: number[] }> {
  checkPrompt(prompt);
  const { tokenizer, vocabulary, output, contextLength } = context;
  const thinking = thinkingTags(output);
  if ('ids' in prompt) {
    const bad = prompt.ids.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabulary);
    if (bad !== undefined) {
      throw new EngineError('bad_request', `token id ${bad} is outside the vocabulary of ${vocabulary}`, {
        param: 'prompt',
      });
    }
    const text = tokenizer.decode(prompt.ids, { skipSpecialTokens: false });
    return { text, ids: prompt.ids, begins: beginsAfter(text, thinking), said: '' };
  }
  if ('text' in prompt) {
    const { text } = prompt;
    const ids = await encode(text, 'prompt', context);
    return { text, ids, begins: beginsAfter(text, thinking), said: '' };
  }
  const render = async (messages: ChatMessage[]) => {
    const byTemplate = (rendering: ChatRendering) => renderChat(rendering, context, signal);
    const rendered = await renderConversation({ ...prompt, messages }, byTemplate, thinking, output.tools);
    return { ...rendered, ids: await encode(rendered.text, 'messages', context) };
  };
  return prompt.dropOldest ? fitTurns(prompt.messages, contextLength - 1, render) : render(prompt.messages);
}

/** A conversation that its template takes long for is rendered off this thread, which other requests wait for. */
function renderChat(
  rendering: ChatRendering,
  { template, longText }: RequestContext,
  signal: AbortSignal | undefined,
): string | Promise<string> {
  try {
    return template.render(rendering, { quick: longText !== null });
  } catch (error) {
    if (!(error instanceof TemplateLimitError) || longText === null) throw error;
    return longText.render(template.portable(rendering), signal);
  }
}

/** A tokenizer may know more tokens than the model has rows for. */
function checkIds(ids: number[], vocabulary: number, from: 'messages' | 'prompt'): number[] {
  const beyond = ids.find((id) => id >= vocabulary);
  if (beyond === undefined) return ids;
  throw new EngineError(
    'bad_request',
    `${from} has token ${beyond}, and the model has ${vocabulary}: the token was added to the tokenizer and not to the model, leave its text out`,
    { param: from },
  );
}

/** A rendered conversation has its special tokens already. */
async function encode(
  text: string,
  from: 'messages' | 'prompt',
  { tokenizer, longText, vocabulary }: RequestContext,
): Promise<number[]> {
  assertLengths(text, from);
  const addSpecialTokens = from === 'prompt';
  const isLong = longText !== null && text.length > LONG_TEXT;
  const encoding = isLong
    ? longText.encode(text, addSpecialTokens)
    : tokenizer.encode(text, { addSpecialTokens });
  return checkIds(await encoding, vocabulary, from);
}

/** What a request's sequences have beyond their prompt. */
export interface Reply {
  plan: ReplyPlan;
  begins: Begins;
  /** See Rendered. */
  said: string;
  grammar: Grammar | null;
  /** See held-calls.ts; null: calls are free. */
  heldArguments: Grammar | null;
  stops: readonly StopAutomata[];
  adapter: Adapter | null;
}

/** Sequences of a request that was checked, ready to be scheduled. */
export function createSequences(
  request: TextRequest,
  ids: number[],
  { plan, begins, said, grammar, heldArguments, stops, adapter }: Reply,
  context: RequestContext,
  emit: (event: TextEvent) => void,
): Sequence[] {
  const { contextLength, tokenizer, endIds, grammars } = context;
  const param = 'messages' in request.prompt ? 'messages' : 'prompt';
  if (ids.length === 0)
    throw new EngineError('bad_request', 'the prompt holds no tokens: send some text', { param });
  if (ids.length >= contextLength) {
    throw new EngineError(
      'context_length_exceeded',
      // In the words of Anthropic's API, by which agents know that they have to make it shorter.
      `the prompt is too long: ${ids.length} tokens > ${contextLength}, which the context holds with the reply: shorten the conversation`,
      { param },
    );
  }
  const maxTokens = Math.min(request.maxTokens ?? contextLength, contextLength - ids.length);
  const choices = request.n ?? 1;
  const seed = request.seed ?? Math.floor(Math.random() * 2 ** 32);
  const stopIds = new Set([...(request.ignoreEos ? [] : endIds), ...(request.stopTokenIds ?? [])]);
  const { processors = [] } = request;
  const processor = wgslSource(processors);
  const sampling = readSampling(request, context, stopIds);
  const { frequencyPenalty, presencePenalty, repetitionPenalty } = sampling;
  const counts =
    frequencyPenalty !== 0 || presencePenalty !== 0 || repetitionPenalty !== 1 || processor !== null;
  /** Ids of the text that the reply continues: an answer that has begun, and any prompt but a conversation, whose answer is a text of its own. */
  const after = begins === 'answer' || !('messages' in request.prompt) ? ids : [];
  const reading = { skipSpecialTokens: request.skipSpecialTokens ?? true, after };
  const opens = opensText(tokenizer, reading);
  const allowed = allowedTokens(processors, context.vocabulary);
  const processed = withProcessors(processors, {
    vocabulary: grammars.vocabulary,
    prompt: ids,
    opens,
  });
  const holding = (constraint: Constraint | null): Constraint | null => {
    if (heldArguments === null) return constraint;
    const read = () => ({
      output: createOutput(plan, begins, context),
      pieces: createPieces(tokenizer, { ...reading, skipSpecialTokens: true }),
    });
    return withHeldCalls(constraint, holdCalls({ grammar: heldArguments, read }));
  };
  // A call that must be made has nothing to do with the answer's form.
  const matched = request.constraint && plan.tools.mode !== 'required' ? said : '';
  const sequences: Sequence[] = [];
  // What is told of each prompt token has to be computed, by the first choice.
  const untold = request.promptLogprobs === undefined ? (request.routedExperts?.from ?? Infinity) : 0;
  const scope = sharingScope(request, adapter, context, ids.length);
  const asked: Omit<SequenceRequest, 'sampling'> = {
    priority: request.priority ?? 0,
    maxTokens,
    minTokens: request.minTokens ?? 0,
    stopIds,
    allowed,
    processor,
    adapter,
  };
  const shareable = sameFrequenciesUntil(context.rope, ids.length);
  const keepStop = request.noStopTrim ?? false;
  const create = (choice: number): Sequence =>
    new Sequence({
      choice,
      leader: sequences[0] ?? null,
      request: { ...asked, sampling: { ...sampling, ...choiceSeed(seed, choice) } },
      progress: new Progress(ids, counts ? createTokenCounts() : null),
      placement: new Placement(new SequencePrefix(scope, shareable, choice === 0 ? untold : Infinity)),
      output: new SequenceOutput({
        choice,
        pieces: createPieces(tokenizer, reading),
        stops: createStopMatcher({ stops: stops.map((stop) => stop.begin()), keep: keepStop }),
        parser: createOutput(plan, begins, context),
        keepStop,
        emit,
      }),
      constraint: processed(
        holding(createReplyConstraint(plan, begins, grammar, { ...context, matched, opens })),
      ),
      recorder: createRecorder(
        request,
        context.recording,
        { ids, pieces: createPieces(tokenizer, { skipSpecialTokens: true }) },
        sequences[0]?.recorder ?? null,
      ),
    });
  while (sequences.length < choices) sequences.push(create(sequences.length));
  return sequences;
}

/** Pages are shared among requests with the same weights, salt and rotary frequencies; without a cache among the choices of one. */
function sharingScope(
  { cacheSalt }: TextRequest,
  adapter: Adapter | null,
  { rope, prefixCache }: RequestContext,
  promptTokens: number,
): string {
  const apart = prefixCache ? null : crypto.randomUUID();
  return JSON.stringify([adapter?.identity ?? null, cacheSalt ?? null, lengthKey(rope, promptTokens), apart]);
}

/** Request over generation_config.json over the contract. Below a millionth a temperature is greedy. */
function readSampling(
  request: TextRequest,
  { sampling: defaults }: RequestContext,
  stopIds: ReadonlySet<number>,
): Omit<SequenceSampling, 'seedLow' | 'seedHigh'> {
  const values = mapSampling((name) => request[name] ?? defaults[name]);
  const biases = new Map(
    Object.entries(request.logitBias ?? {}).map(([token, value]) => [Number(token), value]),
  );
  const masked = [...stopIds].map((id) => [id, MASKED] as const);
  return {
    ...values,
    temperature: values.temperature < 1e-6 ? 0 : values.temperature,
    frequencyPenalty: request.frequencyPenalty ?? SAMPLING.frequencyPenalty.default,
    presencePenalty: request.presencePenalty ?? SAMPLING.presencePenalty.default,
    bias: [...biases],
    biasBelowMin: [...new Map([...biases, ...masked])],
    logprobs: request.logprobs ?? null,
  };
}

function choiceSeed(seed: number, choice: number): { seedLow: number; seedHigh: number } {
  const wide = BigInt.asUintN(64, BigInt(seed));
  const high = Number(wide >> 32n);
  return {
    seedLow: Number(wide & 0xffffffffn),
    seedHigh: (high ^ Math.imul(choice, 0x9e3779b9)) >>> 0,
  };
}
