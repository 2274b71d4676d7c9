// The sequences of a request: one per choice, with the limits, the sampling values and the constraints that the request asks for.

import { EngineError } from '../../../files/error.ts';
import { opensText } from '../../../files/tokenizer/detokenizer.ts';
import type { SchemaMode } from '../../../grammar/text-constraint.ts';
import type { Grammar } from '../../../grammar/grammar.ts';
import type { StopAutomata } from '../../../grammar/stops/stop-automaton.ts';
import { lengthKey, sameFrequenciesUntil, type RopeConfig } from '../../../models/text/blocks/rope.ts';
import type { Lora } from '../lora/loras.ts';
import { Placement, SequencePrefix } from '../cache/placement.ts';
import type { Constraint } from '../calls/constraint.ts';
import type { GrammarCache } from '../threads/grammar-cache.ts';
import type { MediaLibrary } from '../media/library.ts';
import type { PromptMedia } from '../towers/prompt-media.ts';
import type { LongTextEncoder } from '../threads/text-threads.ts';
import { createCallConstraint, withCallConstraint, type CallGrammars } from '../output/call-constraint.ts';
import { createReplyConstraint } from '../output/reply-constraint.ts';
import type { Begins } from '../output/reply-start.ts';
import { createOutput, type ReplyContext, type ReplyPlan } from '../output/reply.ts';
import { createPieces } from '../calls/piece.ts';
import { allowedTokens, wgslSource, withProcessors } from './processors.ts';
import { Progress, TokenCounts } from '../run/progress.ts';
import { createRecorder, type Recorder, type Recording } from '../run/recorder.ts';
import { choiceSeed, readSampling } from './sampling-values.ts';
import { SequenceOutput } from '../run/sequence-output.ts';
import { Sequence, type SequenceRequest } from '../run/sequence.ts';
import { createStopMatcher } from '../run/stop-matcher.ts';
import type { SamplingOptions, TextEvent, TextRequest } from '../calls/text-model.ts';

export interface RequestContext extends ReplyContext {
  /** Encodes long texts in another thread; null: there is none. */
  longText: LongTextEncoder | null;
  grammars: GrammarCache;
  vocabulary: number;
  contextLength: number;
  endIds: readonly number[];
  ropes: readonly RopeConfig[];
  /** Whether requests share pages. */
  prefixCache: boolean;
  /** How JSON Schemas of requests that do not say `strict` are read. */
  jsonSchemaMode: SchemaMode;
  recording: Recording;
  sampling: Required<SamplingOptions>;
  /** Reads media of messages; null: the model takes text only. */
  library: MediaLibrary | null;
  /** Compiles a request's own function on logits; null: the model does not accept one. */
  checkProcessor: ((source: string) => Promise<void>) | null;
}

/** Data that the choices of a request share beyond their prompt. */
export interface Reply {
  plan: ReplyPlan;
  begins: Begins;
  /** Text of the answer that the prompt ends with (see `Rendered`). */
  said: string;
  grammar: Grammar | null;
  /** Grammars of optional calls; null: none restricts them. */
  callGrammars: CallGrammars | null;
  stops: readonly StopAutomata[];
  lora: Lora | null;
}

/** Creates the sequences of a checked request, ready to be scheduled. `ids`: token ids of the prompt; `media`: those among them. */
export function createSequences(
  request: TextRequest,
  { ids, media, reply }: { ids: number[]; media: PromptMedia | null; reply: Reply },
  context: RequestContext,
  emit: (event: TextEvent) => void,
): Sequence[] {
  checkLength(request, ids.length, context.contextLength);
  const choices = new ChoiceFactory(request, { ids, media, reply }, context, emit);
  const leader = choices.create(0, null);
  return [leader, ...Array.from({ length: (request.n ?? 1) - 1 }, (_, i) => choices.create(i + 1, leader))];
}

function checkLength({ prompt }: TextRequest, tokens: number, contextLength: number): void {
  const param = 'messages' in prompt ? 'messages' : 'prompt';
  if (tokens === 0)
    throw new EngineError('bad_request', 'the prompt holds no tokens: send some text', { param });
  if (tokens < contextLength) return;
  throw new EngineError(
    'context_length_exceeded',
    // The wording of Anthropic's API: agents recognize it and shorten the conversation.
    `the prompt is too long: ${tokens} tokens > ${contextLength - 1}, which the context holds with the reply: shorten the conversation`,
    { param },
  );
}

/** Options of decoding tokens to text. */
interface Reading {
  skipSpecialTokens: boolean;
  /** Ids of the text that the reply continues; empty: the reply is a separate text. */
  after: number[];
}

class ChoiceFactory {
  readonly #request: TextRequest;
  readonly #ids: number[];
  readonly #reply: Reply;
  readonly #context: RequestContext;
  readonly #emit: (event: TextEvent) => void;
  readonly #settings: SequenceRequest;
  readonly #seed: number;
  readonly #scope: string;
  readonly #reading: Reading;
  /** Whether the first token begins a text. */
  readonly #opens: boolean;
  /** Adds the request's processors to the constraint of a choice. */
  readonly #processed: (constraint: Constraint | null) => Constraint | null;

  constructor(
    request: TextRequest,
    { ids, media, reply }: { ids: number[]; media: PromptMedia | null; reply: Reply },
    context: RequestContext,
    emit: (event: TextEvent) => void,
  ) {
    this.#request = request;
    this.#ids = ids;
    this.#reply = reply;
    this.#context = context;
    this.#emit = emit;
    this.#settings = { ...readRequest(request, ids.length, reply.lora, context), ...(media && { media }) };
    this.#seed = request.seed ?? Math.floor(Math.random() * 2 ** 32);
    this.#scope = sharingScope(request, reply.lora, context, ids.length);
    // The reply continues an answer that has begun, or any prompt other than a conversation.
    const continues = reply.begins === 'answer' || !('messages' in request.prompt);
    const skipSpecialTokens = request.skipSpecialTokens ?? true;
    this.#reading = { skipSpecialTokens, after: continues ? ids : [] };
    this.#opens = opensText(context.tokenizer, this.#reading);
    this.#processed = withProcessors(request.processors ?? [], {
      vocabulary: context.grammars.vocabulary,
      prompt: ids,
      opens: this.#opens,
    });
  }

  create(choice: number, leader: Sequence | null): Sequence {
    const sampling = { ...this.#settings.sampling, ...choiceSeed(this.#seed, choice) };
    const counts = countsTokens(this.#settings) ? new TokenCounts() : null;
    return new Sequence({
      choice,
      leader,
      request: { ...this.#settings, sampling },
      progress: new Progress(this.#ids, counts),
      placement: new Placement(this.#prefix(choice)),
      output: this.#output(choice),
      constraint: this.#constraint(),
      recorder: this.#recorder(leader?.recorder ?? null),
    });
  }

  #prefix(choice: number): SequencePrefix {
    const { promptLogprobs, routedExperts } = this.#request;
    // Prompt tokens whose values are reported must be computed, by the first choice.
    const reported = promptLogprobs === undefined ? (routedExperts?.from ?? Infinity) : 0;
    const shareable = sameFrequenciesUntil(this.#context.ropes, this.#ids.length);
    return new SequencePrefix(this.#scope, shareable, choice === 0 ? reported : Infinity);
  }

  #output(choice: number): SequenceOutput {
    const keepStop = this.#request.noStopTrim ?? false;
    const stops = this.#reply.stops.map((stop) => stop.begin());
    return new SequenceOutput({
      choice,
      pieces: createPieces(this.#context.tokenizer, this.#reading),
      stops: createStopMatcher({ stops, keep: keepStop }),
      parser: createOutput(this.#reply.plan, this.#reply.begins, this.#context),
      keepStop,
      emit: this.#emit,
    });
  }

  #constraint(): Constraint | null {
    const { plan, begins, said, grammar } = this.#reply;
    // The constraint on the answer does not apply to a required tool call.
    const matched = this.#request.constraint && plan.tools.mode !== 'required' ? said : '';
    const options = { ...this.#context, matched, opens: this.#opens };
    const own = createReplyConstraint(plan, begins, grammar, options);
    return this.#processed(this.#withCallConstraint(own));
  }

  #withCallConstraint(constraint: Constraint | null): Constraint | null {
    const { plan, begins, callGrammars } = this.#reply;
    if (callGrammars === null) return constraint;
    const read = () => ({
      output: createOutput(plan, begins, this.#context),
      pieces: createPieces(this.#context.tokenizer, { ...this.#reading, skipSpecialTokens: true }),
    });
    return withCallConstraint(constraint, createCallConstraint({ ...callGrammars, read }));
  }

  #recorder(first: Recorder | null): Recorder | null {
    const pieces = createPieces(this.#context.tokenizer, { skipSpecialTokens: true });
    return createRecorder(this.#request, this.#context.recording, { ids: this.#ids, pieces }, first);
  }
}

/** Reads the values that all choices share; each choice sets its own seed. */
function readRequest(
  request: TextRequest,
  promptTokens: number,
  lora: Lora | null,
  { contextLength, endIds, vocabulary, sampling }: RequestContext,
): SequenceRequest {
  const { processors = [] } = request;
  const stopIds = new Set([...(request.ignoreEos ? [] : endIds), ...(request.stopTokenIds ?? [])]);
  return {
    priority: request.priority ?? 0,
    maxTokens: Math.min(request.maxTokens ?? contextLength, contextLength - promptTokens),
    minTokens: request.minTokens ?? 0,
    sampling: { ...readSampling(request, sampling, stopIds), seedLow: 0, seedHigh: 0 },
    stopIds,
    allowed: allowedTokens(processors, vocabulary),
    processor: wgslSource(processors),
    lora,
  };
}

/** Whether sampling depends on how often each token was generated. */
function countsTokens({ sampling, processor }: SequenceRequest): boolean {
  const { frequencyPenalty, presencePenalty, repetitionPenalty } = sampling;
  return frequencyPenalty !== 0 || presencePenalty !== 0 || repetitionPenalty !== 1 || processor !== null;
}

/** The scope in which pages are shared: equal weights, salt and rotary frequencies; without a prefix cache, this request only. */
function sharingScope(
  { cacheSalt }: TextRequest,
  lora: Lora | null,
  { ropes, prefixCache }: RequestContext,
  promptTokens: number,
): string {
  const apart = prefixCache ? null : crypto.randomUUID();
  return JSON.stringify([lora?.identity ?? null, cacheSalt ?? null, lengthKey(ropes, promptTokens), apart]);
}
