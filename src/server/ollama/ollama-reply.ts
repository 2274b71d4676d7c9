// A reply in Ollama's form: as one object, or as lines of JSON. Both consist of the same parts; the last line carries the end and
// the timings, and the generated text precedes it.

import type { TokenLogprob } from '../../index.ts';
import { OLLAMA_ERRORS } from '../http/errors.ts';
import { toLogprobs } from '../text/reply-fold.ts';
import type { ReplyPart } from '../text/reply-parts.ts';
import type { TextRun } from '../text/text-call.ts';
import type { Send, TextForm } from '../text/text-reply.ts';

export interface OllamaHead {
  model: string;
  /** The text is in message.content (chat) or in response (generate). */
  route: 'chat' | 'generate';
  logprobs: boolean;
  /** When the request came, in milliseconds on the monotonic clock. */
  startedAt: number;
}

interface Said {
  text: string;
  thinking: string;
  calls: object[];
  logprobs: TokenLogprob[];
}

/**
 * Timings in nanoseconds. Rendering, grammar compilation and waiting count before the prompt's first step; loading is always 0.
 * `startedAt`: milliseconds on the monotonic clock.
 */
function durations({ fold: { promptTokens, choices }, timing }: TextRun, startedAt: number): object {
  const nanoseconds = (from: number, to: number): number => Math.round(1e6 * (to - from));
  const end = timing.endedAt ?? performance.now();
  const toldAt = timing.firstAt ?? end;
  const begin = timing.begunAt ?? toldAt;
  return {
    total_duration: nanoseconds(startedAt, end),
    load_duration: nanoseconds(startedAt, begin),
    prompt_eval_count: promptTokens,
    prompt_eval_duration: nanoseconds(begin, toldAt),
    eval_count: choices[0]?.tokens ?? 0,
    eval_duration: nanoseconds(toldAt, end),
  };
}

/** Collects the parts of a reply in order. Each call is added when it is complete, so the events must come from wholeCalls; `close` ends the last call. */
function createReplyPieces(tell: (said: Said) => void) {
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
    add(part: ReplyPart): void {
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

function line({ model, route, logprobs }: OllamaHead, said: Said, end: object = { done: false }) {
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
function endOf(run: TextRun, { startedAt }: OllamaHead): object {
  const reason = run.fold.choices[0]?.finishReason;
  return { done: true, done_reason: reason === 'tool_calls' ? 'stop' : reason, ...durations(run, startedAt) };
}

export function ollamaForm(head: OllamaHead, run: TextRun, write: Send): TextForm {
  const all: Said[] = [];
  const pieces = createReplyPieces((said) => {
    all.push(said);
    write(line(head, said));
  });
  const joined = (of: (said: Said) => string): string => all.map(of).join('');
  return {
    part: (_, part) => pieces.add(part),
    end: () => pieces.close(),
    finish: (error) => write(error ? OLLAMA_ERRORS.event(error) : line(head, NOTHING, endOf(run, head))),
    whole() {
      const said = {
        text: joined(({ text }) => text),
        thinking: joined(({ thinking }) => thinking),
        calls: all.flatMap(({ calls }) => calls),
        logprobs: all.flatMap(({ logprobs }) => logprobs),
      };
      return line(head, said, endOf(run, head));
    },
  };
}
