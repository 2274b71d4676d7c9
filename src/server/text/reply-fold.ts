// Folds the engine's events into one value per choice, from which the replies of every route are made, both streamed and whole.

import {
  type CachedTokens,
  EngineError,
  type FinishReason,
  type MediaTokens,
  type PromptToken,
  type TextEvent,
  type TokenLogprob,
} from '../../index.ts';
import type { MediaUsage } from '../http/reply-members.ts';
import type { Extensions, Usage, Logprobs, TokenLogprob as Entry } from './text-reply-schema.ts';

export interface Call {
  id: string;
  name: string;
  /** JSON; complete when the call is over. */
  arguments: string;
}

type Done = Extract<TextEvent, { type: 'done' }>;

export interface Choice {
  text: string;
  reasoning: string;
  calls: Call[];
  tokens: number;
  reasoningTokens: number;
  ids: number[];
  logprobs: TokenLogprob[];
  finishReason: FinishReason | null;
  matchedStop: string | number | null;
  drafts?: Done['drafts'];
  hiddenStates?: Done['hiddenStates'];
  routedExperts?: Done['routedExperts'];
}

export interface Fold {
  choices: Choice[];
  promptTokens: number;
  /** Tokens of the prompt that stand for media, by kind. */
  mediaTokens?: MediaTokens;
  promptIds?: number[];
  /** Tokens of the prompt with log probabilities, if requested. */
  prompt?: PromptToken[];
  cachedTokens: number;
  cached?: CachedTokens;
  /** The error that ended a choice, if the server is at fault. */
  error?: Error;
}

export function startFold(n: number): Fold {
  const choices = Array.from({ length: n }, () => ({
    text: '',
    reasoning: '',
    calls: [],
    tokens: 0,
    reasoningTokens: 0,
    ids: [],
    logprobs: [],
    finishReason: null,
    matchedStop: null,
  }));
  return { choices, promptTokens: 0, cachedTokens: 0 };
}

export function applyEvent(fold: Fold, event: TextEvent): void {
  if (event.type === 'accepted') {
    fold.promptTokens = event.promptTokens;
    if (event.mediaTokens) fold.mediaTokens = event.mediaTokens;
    if (event.promptIds) fold.promptIds = event.promptIds;
  } else if (event.type === 'prefill') {
    fold.cachedTokens = event.cachedTokens;
    if (event.cached) fold.cached = event.cached;
  } else if (event.type === 'prompt') {
    fold.prompt = event.tokens;
  } else if (event.type === 'done') {
    applyDone(fold, choiceAt(fold, event.choice), event);
  } else {
    const choice = choiceAt(fold, event.choice);
    choice.tokens += event.ids.length;
    choice.ids.push(...event.ids);
    if (event.logprobs) choice.logprobs.push(...event.logprobs);
    if (event.type === 'delta') choice.text += event.text;
    else if (event.type === 'toolCall') applyCall(choice, event);
    else {
      choice.reasoning += event.text;
      choice.reasoningTokens += event.ids.length;
    }
  }
}

function applyCall({ calls }: Choice, event: Extract<TextEvent, { type: 'toolCall' }>): void {
  const call = (calls[event.call] ??= { id: '', name: '', arguments: '' });
  if (event.id !== undefined) call.id = event.id;
  if (event.name !== undefined) call.name = event.name;
  call.arguments += event.arguments;
}

function applyDone(fold: Fold, choice: Choice, event: Done): void {
  choice.finishReason = event.finishReason;
  // The text that ends a call is not one of the client's stops.
  choice.matchedStop = event.finishReason === 'tool_calls' ? null : event.matchedStop;
  choice.tokens = event.completionTokens;
  if (event.reasoningTokens !== undefined) choice.reasoningTokens = event.reasoningTokens;
  if (event.drafts) choice.drafts = event.drafts;
  if (event.hiddenStates) choice.hiddenStates = event.hiddenStates;
  if (event.routedExperts) choice.routedExperts = event.routedExperts;
  if (event.error) fold.error ??= errorOf(event.error);
}

/** The error that a `done` event carries. */
export function errorOf({ code, message, parts, param }: NonNullable<Done['error']>): EngineError {
  return new EngineError(code, parts ? { parts } : message, param === undefined ? {} : { param });
}

export function completionTokens({ choices }: Fold): number {
  return choices.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Counts the prompt once, however many choices it has. */
export function usageOf(fold: Fold): Usage {
  const generated = completionTokens(fold);
  const reasoning = fold.choices.reduce((sum, { reasoningTokens }) => sum + reasoningTokens, 0);
  return {
    prompt_tokens: fold.promptTokens,
    completion_tokens: generated,
    total_tokens: fold.promptTokens + generated,
    prompt_tokens_details: { cached_tokens: fold.cachedTokens, ...mediaTokensOf(fold) },
    completion_tokens_details: { reasoning_tokens: reasoning, ...draftedTokensOf(fold) },
    reasoning_tokens: reasoning,
  };
}

/** Members of usage that count drafted tokens, if any were drafted. */
function draftedTokensOf({ choices }: Fold): Partial<Usage['completion_tokens_details']> {
  const drafts = choices.flatMap((choice) => choice.drafts ?? []);
  if (drafts.length === 0) return {};
  const accepted = drafts.reduce((sum, one) => sum + one.accepted, 0);
  const proposed = drafts.reduce((sum, one) => sum + one.proposed, 0);
  return { accepted_prediction_tokens: accepted, rejected_prediction_tokens: proposed - accepted };
}

/** Members of usage that count the tokens of media, of the kinds that the prompt has. */
export function mediaTokensOf({ mediaTokens = {} }: Fold): MediaUsage {
  const { image, video, audio } = mediaTokens;
  return {
    ...(image !== undefined && { image_tokens: image }),
    ...(video !== undefined && { video_tokens: video }),
    ...(audio !== undefined && { audio_tokens: audio }),
  };
}

interface ExtensionFields {
  return_routed_experts?: boolean | undefined;
  return_cached_tokens_details?: boolean | undefined;
}

/** Returns the member `svcext`, if the request asked for any of its parts. */
export function extensionsOf(
  fold: Fold,
  { return_routed_experts: routedExperts, return_cached_tokens_details: cachedDetails }: ExtensionFields,
): Extensions | undefined {
  const experts = routedExperts ? fold.choices[0]?.routedExperts : undefined;
  const { device, host, storage, storageBackend } = fold.cached ?? {
    device: fold.cachedTokens,
    host: 0,
    storage: 0,
  };
  if (!experts && !cachedDetails) return undefined;
  return {
    ...(experts && {
      routed_experts: Buffer.from(experts.data).toString('base64'),
      routed_experts_shape: experts.shape,
    }),
    ...(cachedDetails && {
      cached_tokens_details: {
        device,
        host,
        storage,
        ...(storageBackend !== undefined && { storage_backend: storageBackend }),
      },
    }),
  };
}

export function choiceAt({ choices }: Fold, index: number): Choice {
  const choice = choices[index];
  if (!choice) throw new Error(`event for choice ${index} of ${choices.length}`);
  return choice;
}

/** The log probability that is sent for a probability of 0, because JSON cannot express minus infinity. */
const NEVER = -9999;
const decoder = new TextDecoder();

export function toLogprobs(tokens: readonly TokenLogprob[]): Logprobs {
  const content = tokens.map((token) => ({ ...toEntry(token), top_logprobs: token.top.map(toEntry) }));
  return { content, refusal: null };
}

function toEntry({ bytes, logprob }: { bytes: number[]; logprob: number }): Omit<Entry, 'top_logprobs'> {
  return {
    token: decoder.decode(Uint8Array.from(bytes)),
    bytes,
    logprob: Number.isFinite(logprob) ? logprob : NEVER,
  };
}
