// The sequences of a request: one per choice, with the limits, the sampling values and the constraints that the request asks for.

import { badRequest, EngineError } from '../../../files/error.ts';
import { MASKED } from '../../../kernels/sample.ts';
import { lengthKey, sameFrequenciesUntil } from '../../../models/text/blocks/rope.ts';
import { mapSampling, SAMPLING } from '../../../options/text-request.ts';
import { Placement, SequencePrefix } from '../cache/placement.ts';
import type { Constraint } from '../calls/constraint.ts';
import { createPieces } from '../calls/piece.ts';
import type { TextEvent, TextRequest } from '../calls/text-model.ts';
import { createOutput } from '../output/parser.ts';
import { Progress } from '../run/progress.ts';
import { TokenCounts } from '../speculation/token-counts.ts';
import { createRecorder, type Recorder } from '../run/recorder.ts';
import { SequenceOutput } from '../run/sequence-output.ts';
import { Sequence, type SequenceRequest } from '../run/sequence.ts';
import { createStopMatcher } from '../run/sequence-output.ts';
import type { SequenceSampling } from '../step/step-part.ts';
import { constraintsOf, type Reading } from './constrain.ts';
import { allowedTokens, wgslSource } from './processors.ts';
import type { PreparedReply, RenderedPrompt, RequestContext } from './request-context.ts';
import { beginningOf, wholePages } from './source-prompt.ts';

/** Creates the sequences of a checked request, ready to be scheduled. */
export function createSequences(
  request: TextRequest,
  prepared: PreparedReply,
  context: RequestContext,
  emit: (event: TextEvent) => void,
): Sequence[] {
  checkLength(request, prepared.prompt, context.contextLength);
  const choices = new ChoiceFactory(request, prepared, context, emit);
  const leader = choices.create(0, null);
  return [leader, ...Array.from({ length: (request.n ?? 1) - 1 }, (_, i) => choices.create(i + 1, leader))];
}

function checkLength({ prompt }: TextRequest, rendered: RenderedPrompt, contextLength: number): void {
  const param = 'messages' in prompt ? 'messages' : 'prompt';
  const { ids, source } = rendered;
  if (ids.length === 0) throw badRequest('the prompt holds no tokens: send some text', param);
  if (ids.length < contextLength) return;
  const tokens = source?.tokens ?? ids.length;
  const room = contextLength - 1;
  const most = source ? wholePages(room - beginningOf(rendered).length) : room;
  const remedy = source ? 'shorten the text, or send it in parts' : 'shorten the conversation';
  throw new EngineError(
    'context_length_exceeded',
    // The wording of Anthropic's API: agents recognize it and shorten the conversation.
    `the prompt is too long: ${tokens} tokens > ${most}, which the context holds with the reply: ${remedy}`,
    { param },
  );
}

class ChoiceFactory {
  readonly #request: TextRequest;
  readonly #prepared: PreparedReply;
  readonly #context: RequestContext;
  readonly #emit: (event: TextEvent) => void;
  readonly #settings: SequenceRequest;
  readonly #seed: number;
  readonly #scope: string;
  readonly #reading: Reading;
  /** Makes the constraint of a choice. */
  readonly #constraint: () => Constraint | null;

  constructor(
    request: TextRequest,
    prepared: PreparedReply,
    context: RequestContext,
    emit: (event: TextEvent) => void,
  ) {
    const { prompt } = prepared;
    this.#request = request;
    this.#prepared = prepared;
    this.#context = context;
    this.#emit = emit;
    this.#settings = readRequest(request, prepared, context);
    this.#seed = request.seed ?? Math.floor(Math.random() * 2 ** 32);
    this.#scope = sharingScope(request, prepared, context);
    // The reply continues an answer that has begun, or any prompt other than a conversation or a source.
    const continues = prompt.begins === 'answer' || !(prompt.source || 'messages' in request.prompt);
    this.#reading = {
      skipSpecialTokens: request.skipSpecialTokens ?? true,
      after: continues ? [...beginningOf(prompt)] : [],
    };
    this.#constraint = constraintsOf(request, prepared, this.#reading, context);
  }

  create(choice: number, leader: Sequence | null): Sequence {
    const sampling = { ...this.#settings.sampling, ...choiceSeed(this.#seed, choice) };
    const counts = countsTokens(this.#settings) ? new TokenCounts() : null;
    return new Sequence({
      choice,
      leader,
      request: { ...this.#settings, sampling },
      progress: new Progress(this.#prepared.prompt.ids, counts),
      placement: new Placement(this.#prefix(choice)),
      output: this.#output(choice),
      constraint: this.#constraint(),
      recorder: this.#recorder(leader?.recorder ?? null),
    });
  }

  #prefix(choice: number): SequencePrefix {
    const { promptLogprobs, routedExperts } = this.#request;
    // An encoder's states of a token depend on the whole source, so that sources with a common beginning share nothing.
    if (this.#prepared.prompt.source) return new SequencePrefix(this.#scope, 0, 0);
    // Prompt tokens whose values are reported must be computed, by the first choice.
    const reported = promptLogprobs === undefined ? (routedExperts?.from ?? Infinity) : 0;
    const shareable = sameFrequenciesUntil(this.#context.ropes, this.#prepared.prompt.ids.length);
    return new SequencePrefix(this.#scope, shareable, choice === 0 ? reported : Infinity);
  }

  #output(choice: number): SequenceOutput {
    const { plan, prompt, stops: own } = this.#prepared;
    const keepStop = this.#request.noStopTrim ?? false;
    const stops = own.map((stop) => stop.begin());
    return new SequenceOutput({
      choice,
      pieces: createPieces(this.#context.tokenizer, this.#reading),
      stops: createStopMatcher({ stops, keep: keepStop }),
      parser: createOutput(plan, prompt.begins, this.#context),
      keepStop,
      emit: this.#emit,
    });
  }

  #recorder(first: Recorder | null): Recorder | null {
    const pieces = createPieces(this.#context.tokenizer, { skipSpecialTokens: true });
    return createRecorder(
      this.#request,
      this.#context.recording,
      { ids: this.#prepared.prompt.ids, pieces },
      first,
    );
  }
}

/** Reads the values that all choices share; each choice sets its own seed. */
function readRequest(
  request: TextRequest,
  { prompt, lora, predicted }: PreparedReply,
  context: RequestContext,
): SequenceRequest {
  const { source: settings, contextLength, endIds, vocabulary, prefixCache } = context;
  const { processors = [] } = request;
  const { ids, media, source } = prompt;
  const room = settings ? settings.written - beginningOf(prompt).length : Infinity;
  const longest = Math.min(contextLength, media?.mostTokens ?? Infinity);
  const stopIds = new Set([...(request.ignoreEos ? [] : endIds), ...(request.stopTokenIds ?? [])]);
  return {
    priority: request.priority ?? 0,
    maxTokens: Math.min(request.maxTokens ?? contextLength, room, longest - ids.length),
    minTokens: request.minTokens ?? 0,
    sampling: { ...readSampling(request, context, stopIds), seedLow: 0, seedHigh: 0 },
    stopIds,
    allowed: allowedTokens(processors, vocabulary),
    speculative: request.speculative ?? true,
    predicted,
    isShared: prefixCache && request.cacheSalt === undefined,
    processor: wgslSource(processors),
    lora,
    ...(media && { media }),
    ...(source && { source }),
  };
}

/** The sampling values of the request, else those of the model, else the engine's. A temperature below a millionth is taken as 0, which is greedy. */
function readSampling(
  request: TextRequest,
  { sampling, suppressedIds }: Pick<RequestContext, 'sampling' | 'suppressedIds'>,
  stopIds: ReadonlySet<number>,
): Omit<SequenceSampling, 'seedLow' | 'seedHigh'> {
  const values = mapSampling((name) => request[name] ?? sampling[name]);
  const masked = (ids: Iterable<number>) => Array.from(ids, (id) => [id, MASKED] as const);
  const own = Object.entries(request.logitBias ?? {}).map(
    ([token, value]) => [Number(token), value] as const,
  );
  const biases = new Map([...own, ...masked(suppressedIds)]);
  return {
    ...values,
    temperature: values.temperature < 1e-6 ? 0 : values.temperature,
    frequencyPenalty: request.frequencyPenalty ?? SAMPLING.frequencyPenalty.default,
    presencePenalty: request.presencePenalty ?? SAMPLING.presencePenalty.default,
    bias: [...biases],
    biasBelowMin: [...new Map([...biases, ...masked(stopIds)])],
    logprobs: request.logprobs ?? null,
  };
}

/** The 64-bit seed of a choice: the request's for the first one, mixed with the choice's number for the others. */
function choiceSeed(seed: number, choice: number): { seedLow: number; seedHigh: number } {
  const wide = BigInt.asUintN(64, BigInt(seed));
  const high = Number(wide >> 32n);
  return {
    seedLow: Number(wide & 0xffffffffn),
    seedHigh: (high ^ Math.imul(choice, 0x9e3779b9)) >>> 0,
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
  { prompt: { ids }, lora }: PreparedReply,
  { ropes, prefixCache }: RequestContext,
): string {
  const apart = prefixCache ? null : crypto.randomUUID();
  return JSON.stringify([lora?.identity ?? null, cacheSalt ?? null, lengthKey(ropes, ids.length), apart]);
}
