// A reply in Ollama's form: as one object, or as lines of JSON. Both consist of the same parts; the last line carries the end and
// the timings, and the generated text precedes it.

import type { TokenLogprob } from '../../index.ts';
import { type ErrorReply, toErrorReply, toOllamaError } from '../errors.ts';
import { toLogprobs } from '../text/logprobs.ts';
import type { Fold } from '../text/reply-fold.ts';
import { isGenerated, type Part } from '../text/reply-parts.ts';
import type { Events } from '../text/reply-parts.ts';
import type { Send, StreamForm } from '../text/text-stream.ts';

export interface ReplyHead {
  model: string;
  /** The text is in message.content (chat) or in response (generate). */
  route: 'chat' | 'generate';
  logprobs: boolean;
}

export interface Said {
  text: string;
  thinking: string;
  calls: object[];
  logprobs: TokenLogprob[];
}

export interface Clock {
  watch(events: Events): Events;
  /**
   * Timings in nanoseconds. Rendering, grammar compilation and waiting count before the prompt's first step; loading is always 0.
   */
  durations(fold: Fold): object;
}

/** `startedAt`: milliseconds on the monotonic clock. */
export function startClock(startedAt: number): Clock {
  let began: number | undefined;
  let first: number | undefined;
  let ended: number | undefined;
  const nanoseconds = (from: number, to: number): number => Math.round(1e6 * (to - from));
  return {
    async *watch(events) {
      for await (const event of events) {
        if (event.type === 'prefill') began ??= performance.now();
        else if (event.type === 'done') ended = performance.now();
        else if (isGenerated(event)) first ??= performance.now();
        yield event;
      }
    },
    durations({ promptTokens, choices }) {
      const end = ended ?? performance.now();
      const toldAt = first ?? end;
      const begin = began ?? toldAt;
      return {
        total_duration: nanoseconds(startedAt, end),
        load_duration: nanoseconds(startedAt, begin),
        prompt_eval_count: promptTokens,
        prompt_eval_duration: nanoseconds(begin, toldAt),
        eval_count: choices[0]?.tokens ?? 0,
        eval_duration: nanoseconds(toldAt, end),
      };
    },
  };
}

/** Collects the parts of a reply in order. Each call is added when it is complete, so the events must come from wholeCalls. */
export interface Sayings {
  add(part: Part): void;
  /** Ends the last call. */
  close(): void;
}

export function createSayings(tell: (said: Said) => void): Sayings {
  let open: { id: string; name: string; text: string; logprobs: TokenLogprob[] } | null = null;
  let index = 0;
  const close = (): void => {
    if (!open) return;
    const { id, name, text, logprobs } = open;
    open = null;
    const given: unknown = JSON.parse(text);
    tell({ ...NOTHING, calls: [{ id, function: { index: index++, name, arguments: given } }], logprobs });
  };
  return {
    close,
    add(part) {
      if (part.kind === 'call') {
        close();
        open = { id: part.id, name: part.name, text: '', logprobs: [...part.logprobs] };
      } else if (part.kind === 'arguments') {
        if (!open) throw new Error('arguments of no call');
        open.text += part.text;
        open.logprobs.push(...part.logprobs);
      } else {
        close();
        const { kind, text, logprobs } = part;
        if (text === '' && logprobs.length === 0) return;
        tell({ ...NOTHING, [kind === 'content' ? 'text' : 'thinking']: text, logprobs });
      }
    },
  };
}

const NOTHING: Readonly<Said> = { text: '', thinking: '', calls: [], logprobs: [] };

function line({ model, route, logprobs }: ReplyHead, said: Said, end: object = { done: false }) {
  const { text, thinking, calls } = said;
  const thoughts = thinking !== '' && { thinking };
  const body =
    route === 'generate'
      ? { response: text, ...thoughts }
      : {
          message: {
            role: 'assistant',
            content: text,
            ...thoughts,
            ...(calls.length > 0 && { tool_calls: calls }),
          },
        };
  return {
    model,
    created_at: new Date().toISOString(),
    ...body,
    ...(logprobs && said.logprobs.length > 0 && { logprobs: toLogprobs(said.logprobs).content }),
    ...end,
  };
}

/** Returns the members of the last line; in this interface a reply with tool calls ends with the reason `stop`. */
function endOf(fold: Fold, clock: Clock): object {
  const reason = fold.choices[0]?.finishReason;
  return { done: true, done_reason: reason === 'tool_calls' ? 'stop' : reason, ...clock.durations(fold) };
}

export function ollamaReply(head: ReplyHead, fold: Fold, clock: Clock, all: readonly Said[]) {
  const joined = (of: (said: Said) => string): string => all.map(of).join('');
  const said = {
    text: joined(({ text }) => text),
    thinking: joined(({ thinking }) => thinking),
    calls: all.flatMap(({ calls }) => calls),
    logprobs: all.flatMap(({ logprobs }) => logprobs),
  };
  return line(head, said, endOf(fold, clock));
}

export function ollamaForm(head: ReplyHead, fold: Fold, clock: Clock, write: Send): StreamForm {
  const sayings = createSayings((said) => write(line(head, said)));
  return {
    marker: false,
    begin() {},
    part: (_, part) => sayings.add(part),
    end: () => sayings.close(),
    finish(error): ErrorReply['body']['error'] | null {
      if (error) {
        const reply = toErrorReply(error);
        write(toOllamaError(reply));
        return reply.body.error;
      }
      write(line(head, NOTHING, endOf(fold, clock)));
      return null;
    },
  };
}
