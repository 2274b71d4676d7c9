// Threads for work that would delay every running stream: tokenizing long texts, rendering conversations with slow chat templates, and
// compiling grammars and large stop expressions. Texts, conversations and stop expressions have pools of their own; grammars have those
// of GrammarScheduler.

import { badRequest, EngineError } from '../../../files/error.ts';
import { RENDER_LIMITS } from '../../../files/template/jinja/values/meter.ts';
import type { ChatRendering } from '../../../files/template/template.ts';
import type { StopTable } from '../../../grammar/stops/stop-table.ts';
import type { Port } from '../../platform/port.ts';
import { TaskThreads } from '../../platform/task-threads.ts';
import type { CompileSource } from './grammar-cache.ts';
import { GrammarScheduler } from './grammar-scheduler.ts';
import type { TextTask } from './text-tasks.ts';

/** UTF-16 units from which a text is tokenized in a thread; that many take about 20 ms. */
export const LONG_TEXT = 20_000;

/** Milliseconds that the stop expressions of one request may take. */
const STOPS_TIME = 2000;
/** Heap limit in MiB of a thread for conversations. */
const RENDER_MEMORY = 1024;
const RENDER_THREADS = { threads: 2, idle: 60_000 };
/** Further milliseconds that the first conversation of a thread may take, since it opens the tokenizer and the template. */
const OPEN_TIME = 10_000;

export interface LongTextEncoder {
  encode(text: string, addSpecialTokens: boolean): Promise<number[]>;
  /**
   * Renders with the checkpoint's chat template; `rendering` is plain data (ChatTemplate.portable). Throws cancelled where `signal`
   * aborts.
   */
  render(rendering: ChatRendering, signal?: AbortSignal): Promise<string>;
  /** See stopTables. Throws cancelled where `signal` aborts. */
  stops(patterns: readonly string[], signal?: AbortSignal): Promise<StopTable[]>;
}

export interface TextThreads extends LongTextEncoder {
  compile: CompileSource;
}

/** `path`: folder of the checkpoint. `connect` starts a thread; `memory`: its heap limit in MiB. */
export function connectTextThreads(path: string, connect: (memory?: number) => Port): TextThreads {
  const texts = new TaskThreads(connect);
  const conversations = new TaskThreads(() => connect(RENDER_MEMORY), RENDER_THREADS);
  const stops = new TaskThreads(connect);
  const grammars = new GrammarScheduler(connect);
  return {
    encode: (text, addSpecialTokens) =>
      texts.run({ kind: 'encode', path, text, addSpecialTokens } satisfies TextTask) as Promise<number[]>,
    async render(rendering, signal) {
      const task: TextTask = { kind: 'render', path, rendering };
      const { milliseconds } = RENDER_LIMITS;
      const options = { milliseconds, first: milliseconds + OPEN_TIME, signal };
      try {
        return (await conversations.run(task, options)) as string;
      } catch (error) {
        throw renderRefusal(error);
      }
    },
    async stops(patterns, signal) {
      const task: TextTask = { kind: 'stops', patterns };
      try {
        return (await stops.run(task, { milliseconds: STOPS_TIME, signal })) as StopTable[];
      } catch (error) {
        throw stopsRefusal(error);
      }
    },
    compile: (source, available, options) => grammars.compile(source, available, options),
  };
}

/** The error of a conversation whose thread was ended; errors of the template itself name a parameter and stay as they are. */
function renderRefusal(error: unknown): unknown {
  if (!(error instanceof EngineError) || error.param !== null) return error;
  const most = {
    timed_out: `${RENDER_LIMITS.milliseconds / 1000} s`,
    out_of_memory: `${RENDER_MEMORY} MiB`,
  }[error.code as string];
  if (most === undefined) return error;
  const message = `the chat template takes more than ${most} to render these messages: send fewer or shorter ones`;
  return badRequest(message, 'messages', error);
}

function stopsRefusal(error: unknown): unknown {
  if (!(error instanceof EngineError) || error.code !== 'timed_out') return error;
  const message = `the stop expressions were not compiled within ${STOPS_TIME / 1000} s, since the machine is busy: send the request again later`;
  return new EngineError('timed_out', message, { param: 'stopRegex', cause: error });
}
