// Text completions and the chunks of their streams. The choices of several prompts are numbered consecutively.

import type { PromptToken, TokenLogprob } from '../../index.ts';
import type { Completion, CompletionChunk } from './completion-reply-schema.ts';
import type { CompletionBody } from './completion-request.ts';
import { type ErrorReply, OPENAI_ERRORS } from '../http/errors.ts';
import { extensionsOf, usageOf } from '../text/reply-fold.ts';
import type { ReplyPart } from '../text/reply-parts.ts';
import type { TextCall } from '../text/text-call.ts';
import type { Usage } from '../text/text-reply-schema.ts';
import type { ReplyHead } from '../text/text-interface.ts';
import { offsetOf, runOf, type Send, type TextForm } from '../text/text-reply.ts';

interface CompletionReply {
  head: ReplyHead<'text_completion'>;
  call: TextCall;
  /** Echoed text of each prompt. */
  echoes: string[];
  body: CompletionBody;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

type Told = TokenLogprob | PromptToken;

/** The older form of log probabilities: parallel lists, tokens as text. */
function legacyLogprobs(tokens: readonly Told[], firstOffset: number) {
  let offset = firstOffset;
  const texts = tokens.map(({ bytes }) => tokenText(bytes));
  return {
    tokens: texts,
    token_logprobs: tokens.map(({ logprob }) => logprob),
    // The sampled token is always included; of tokens with equal text the more probable one stays.
    top_logprobs: tokens.map(({ logprob: own, top }, i) => {
      const entries = top.map(({ bytes, logprob }) => [tokenText(bytes), logprob] as const);
      return own === null ? null : Object.fromEntries([[texts[i]!, own], ...entries.toReversed()]);
    }),
    text_offset: tokens.map((token, i) => {
      const at = offset;
      // Special tokens of a prompt have no text in the echo.
      offset += ('text' in token ? token.text : texts[i]!).length;
      return at;
    }),
  };
}

/** Log probabilities of an echoed prompt, then of the generated text. */
function allLogprobs(prompt: readonly PromptToken[], echo: string, generated: readonly TokenLogprob[]) {
  const first = legacyLogprobs(prompt, 0);
  const then = legacyLogprobs(generated, echo.length);
  return {
    tokens: [...first.tokens, ...then.tokens],
    token_logprobs: [...first.token_logprobs, ...then.token_logprobs],
    top_logprobs: [...first.top_logprobs, ...then.top_logprobs],
    text_offset: [...first.text_offset, ...then.text_offset],
  };
}

/** Text of a token; `bytes:\xe2\x80` if its bytes are not whole characters. */
function tokenText(bytes: number[]): string {
  try {
    return decoder.decode(Uint8Array.from(bytes));
  } catch {
    return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`;
  }
}

function textCompletion(reply: CompletionReply): Completion {
  const { call, echoes, body } = reply;
  const choices = call.runs.flatMap(({ fold }, run) =>
    fold.choices.map((choice, index) => ({
      index: offsetOf(call, run) + index,
      text: echoes[run] + choice.reasoning + choice.text,
      logprobs:
        body.logprobs === undefined ? null : allLogprobs(fold.prompt ?? [], echoes[run]!, choice.logprobs),
      finish_reason: choice.finishReason!,
      matched_stop: choice.matchedStop,
      ...(choice.hiddenStates && { hidden_states: choice.hiddenStates }),
      ...(body.return_token_ids && { token_ids: choice.ids }),
      ...(fold.promptIds && { prompt_token_ids: fold.promptIds }),
    })),
  );
  return { ...reply.head, choices, usage: totalUsage(call), ...extensions(reply) };
}

function extensions({ call, body }: CompletionReply) {
  const svcext = extensionsOf(call.runs[0]!.fold, body);
  return svcext && { svcext };
}

/** Token counts of all prompts together. */
function totalUsage({ runs }: TextCall): Usage {
  const all = runs.map(({ fold }) => usageOf(fold));
  const sum = (of: (usage: Usage) => number): number => all.reduce((total, usage) => total + of(usage), 0);
  return {
    prompt_tokens: sum((usage) => usage.prompt_tokens),
    completion_tokens: sum((usage) => usage.completion_tokens),
    total_tokens: sum((usage) => usage.total_tokens),
    prompt_tokens_details: { cached_tokens: sum((usage) => usage.prompt_tokens_details.cached_tokens) },
    completion_tokens_details: detailsOf(all),
    reasoning_tokens: sum((usage) => usage.reasoning_tokens),
  };
}

function detailsOf(all: readonly Usage[]): Usage['completion_tokens_details'] {
  const each = all.map((usage) => usage.completion_tokens_details);
  const sum = (name: keyof (typeof each)[number]): number =>
    each.reduce((total, details) => total + (details[name] ?? 0), 0);
  const isDrafted = each.some((details) => details.accepted_prediction_tokens !== undefined);
  return {
    reasoning_tokens: sum('reasoning_tokens'),
    ...(isDrafted && {
      accepted_prediction_tokens: sum('accepted_prediction_tokens'),
      rejected_prediction_tokens: sum('rejected_prediction_tokens'),
    }),
  };
}

interface Said {
  text: string;
  logprobs?: readonly Told[];
  ids?: number[];
}

/** The form of a reply: its chunks, and the whole. */
export class CompletionForm implements TextForm {
  readonly #reply: CompletionReply;
  readonly #write: Send;
  /** Characters of each choice's text so far, for text_offset. */
  readonly #lengths = new Map<number, number>();

  constructor(reply: CompletionReply, write: Send) {
    this.#reply = reply;
    this.#write = write;
  }

  begin(): void {
    const { body, call } = this.#reply;
    // An echo with log probabilities is sent when they are known.
    if (!body.echo || body.logprobs === undefined) for (const run of call.runs.keys()) this.prompt(run);
  }

  prompt(run: number): void {
    const { call, echoes } = this.#reply;
    const { choices, promptIds, prompt = [] } = call.runs[run]!.fold;
    const ids = promptIds && { prompt_token_ids: promptIds };
    const said = { text: echoes[run]!, logprobs: prompt };
    if (said.text === '' && !ids && prompt.length === 0) return;
    for (const index of choices.keys()) this.#say(offsetOf(call, run) + index, said, ids);
  }

  part(index: number, part: ReplyPart): void {
    const { body } = this.#reply;
    const text = part.kind === 'call' ? '' : part.text;
    const shows =
      text !== '' || (part.ids.length > 0 && (body.logprobs !== undefined || body.return_token_ids));
    if (shows) this.#say(index, { text, logprobs: part.logprobs, ids: part.ids });
  }

  end(choice: number): void {
    const { call } = this.#reply;
    const { run, index } = runOf(call, choice);
    const { finishReason, matchedStop, hiddenStates } = call.runs[run]!.fold.choices[index]!;
    const ended = { finish_reason: finishReason, matched_stop: matchedStop };
    this.#say(choice, { text: '' }, { ...ended, ...(hiddenStates && { hidden_states: hiddenStates }) });
  }

  finish(error: ErrorReply | undefined): void {
    const { call, body } = this.#reply;
    const empty = { ...this.#reply.head, choices: [] };
    const svcext = extensions(this.#reply);
    if (svcext) this.#write({ ...empty, ...svcext });
    if (body.stream_options?.include_usage) this.#write({ ...empty, usage: totalUsage(call) });
    if (error) this.#write(OPENAI_ERRORS.event(error));
  }

  whole(): Completion {
    return textCompletion(this.#reply);
  }

  #say(
    index: number,
    { text, logprobs, ids }: Said,
    more: Partial<CompletionChunk['choices'][number]> = {},
  ): void {
    const { body } = this.#reply;
    const begins = this.#lengths.get(index) ?? 0;
    this.#lengths.set(index, begins + text.length);
    const hasLogprobs = body.logprobs !== undefined && logprobs && logprobs.length > 0;
    this.#send([
      {
        index,
        text,
        logprobs: hasLogprobs ? legacyLogprobs(logprobs, begins) : null,
        finish_reason: null,
        matched_stop: null,
        ...(body.return_token_ids && { token_ids: ids ?? [] }),
        ...more,
      },
    ]);
  }

  #send(choices: CompletionChunk['choices']): void {
    const { body, call } = this.#reply;
    const usage = body.stream_options?.continuous_usage_stats && { usage: totalUsage(call) };
    this.#write({ ...this.#reply.head, choices, ...usage } satisfies CompletionChunk);
  }
}
