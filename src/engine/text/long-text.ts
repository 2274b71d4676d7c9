// Work that would hold up every running stream is done off the engine's thread: tokenizing a long text, rendering a conversation that
// takes the chat template long, compiling a grammar or large stop expressions. Long texts, such conversations and stop expressions have a
// thread each; the first two open the same checkpoint's tokenizer and template there at the first one. Grammars go through stages with more and more time: what is not compiled within one goes on to the next, so
// that a small grammar waits for short turns of other grammars only, never for a long one.

import { readCheckpointSpeech } from '../../files/checkpoint/checkpoint.ts';
import { EngineError, type ErrorCode } from '../../files/error.ts';
import type { Folder } from '../../files/source.ts';
import { RENDER_LIMITS } from '../../files/template/jinja/meter.ts';
import { openChatTemplate, type ChatRendering, type ChatTemplate } from '../../files/template/template.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { Port } from '../session/port.ts';
import { TaskThreads, type FromTaskThread, type TaskAnswer } from '../task-threads.ts';
import { toWire } from '../session/wire-error.ts';
import { MOST_MILLISECONDS } from '../../grammar/dfa.ts';
import { withEngineErrors } from './grammar-error.ts';
import { compileSource, type GrammarSource } from './grammar-source.ts';
import type { CompileSource } from './grammar-cache.ts';
import type { CompiledGrammar } from '../../grammar/compiled-grammar.ts';
import { stopTables, type StopTable } from '../../grammar/stops/stop-table.ts';

/** UTF-16 units from which a text counts as long: some 20 ms of tokenizing. */
export const LONG_TEXT = 20_000;

export interface Stage {
  /** That a grammar may take. */
  milliseconds: number;
  /** Grammars at once. */
  threads: number;
  /** MiB that the heap of a thread may take. */
  memory: number;
  /** Milliseconds after which a thread that is not needed is ended. Left out: it stays. */
  idle?: number;
}

/** The time that a grammar spends in the earlier stages is a fraction of that in the last. */
export const STAGES: readonly Stage[] = [
  { milliseconds: 200, threads: 2, memory: 128 },
  { milliseconds: 500, threads: 1, memory: 256, idle: 5000 },
  { milliseconds: MOST_MILLISECONDS, threads: 1, memory: 512, idle: 5000 },
];

/** Milliseconds that the first grammar of a thread may take in any stage. */
const FIRST_TIME = 300;
/** Milliseconds that the stop expressions of one request may take. */
const STOPS_TIME = 2000;

export interface LongTextEncoder {
  encode(text: string, addSpecialTokens: boolean): Promise<number[]>;
  /** By the checkpoint's chat template; `rendering` is plain data (ChatTemplate.portable). Throws cancelled where `signal` aborts. */
  render(rendering: ChatRendering, signal?: AbortSignal): Promise<string>;
  /** See stopTables. Throws cancelled where `signal` aborts. */
  stops(patterns: readonly string[], signal?: AbortSignal): Promise<StopTable[]>;
}

export interface TextThread extends LongTextEncoder {
  /** See compileSource. Throws cancelled where `signal` aborts. */
  compile: CompileSource;
}

type Task =
  | { kind: 'encode'; path: string; text: string; addSpecialTokens: boolean }
  | { kind: 'render'; path: string; rendering: ChatRendering }
  | { kind: 'stops'; patterns: readonly string[] }
  | {
      kind: 'compile';
      constraint: GrammarSource;
      available: Uint8Array;
      milliseconds: number;
      /** On memory that both sides see: see Limits. */
      stop: Int32Array;
    };

/** A checkpoint's own, as far as tasks have needed it. */
interface Speech {
  tokenizer: Tokenizer;
  template: ChatTemplate;
}

/** MiB that the heap of the thread for conversations may take. */
const RENDER_MEMORY = 1024;
const RENDER_THREADS = { threads: 2, idle: 60_000 };
/** Milliseconds that opening the tokenizer and the template, which the first conversation of a thread waits for, may take besides. */
const SPEECH_TIME = 10_000;

/** The far side: what a checkpoint speaks with is opened once and kept. */
export function serveTokenizer(port: Port, openFolder: (path: string) => Promise<Folder>): void {
  const speeches = new Map<string, Promise<Speech>>();
  let isFirst = true;
  const open = async (path: string): Promise<Speech> => {
    const { tokenizer, chatTemplate } = await readCheckpointSpeech(await openFolder(path));
    return { tokenizer, template: openChatTemplate(chatTemplate, tokenizer.specials) };
  };
  const speech = (path: string): Promise<Speech> => {
    const found = speeches.get(path) ?? open(path);
    speeches.set(path, found);
    // A file that could not be read may be readable at the next text.
    found.catch(() => speeches.delete(path));
    return found;
  };
  const run = async (task: Task): Promise<number[] | string | CompiledGrammar | StopTable[]> => {
    if (task.kind === 'stops') return withEngineErrors(() => stopTables(task.patterns));
    if (task.kind === 'compile') {
      // The first one waits for the JavaScript engine to compile the compiler.
      const milliseconds = Math.max(task.milliseconds, isFirst ? FIRST_TIME : 0);
      isFirst = false;
      return compileSource(task.constraint, task.available, { ...task, milliseconds });
    }
    const { tokenizer, template } = await speech(task.path);
    if (task.kind === 'render') return template.render(task.rendering);
    const { text, addSpecialTokens } = task;
    return tokenizer.encode(text, { addSpecialTokens });
  };
  const answer = async (task: Task): Promise<void> => {
    const reply: TaskAnswer = { result: null, error: null };
    try {
      reply.result = await run(task);
    } catch (error) {
      reply.error = toWire(error);
    }
    port.post(reply);
  };
  port.onMessage((message) => void answer(message as Task));
  port.post('ready' satisfies FromTaskThread);
}

/** The near side. `connect` starts a thread; `memory`: MiB that its heap may take. */
export function connectTokenizer(path: string, connect: (memory?: number) => Port): TextThread {
  const texts = new TaskThreads(connect);
  const conversations = new TaskThreads(() => connect(RENDER_MEMORY), RENDER_THREADS);
  const stops = new TaskThreads(connect);
  const stages = STAGES.map((stage) => ({
    ...stage,
    pool: new TaskThreads(() => connect(stage.memory), stage),
  }));
  return {
    encode: (text, addSpecialTokens) =>
      texts.run({ kind: 'encode', path, text, addSpecialTokens } satisfies Task) as Promise<number[]>,
    async render(rendering, signal) {
      const task: Task = { kind: 'render', path, rendering };
      const { milliseconds } = RENDER_LIMITS;
      const options = { milliseconds, first: milliseconds + SPEECH_TIME, signal };
      try {
        return (await conversations.run(task, options)) as string;
      } catch (error) {
        throw renderRefusal(error);
      }
    },
    async stops(patterns, signal) {
      const task: Task = { kind: 'stops', patterns };
      try {
        return (await stops.run(task, { milliseconds: STOPS_TIME, signal })) as StopTable[];
      } catch (error) {
        throw stopsRefusal(error);
      }
    },
    async compile(constraint, available, signal) {
      const flag = new Int32Array(new SharedArrayBuffer(4));
      const stop = (): void => void Atomics.store(flag, 0, 1);
      for (const { milliseconds, pool } of stages) {
        const task: Task = { kind: 'compile', constraint, available, milliseconds, stop: flag };
        try {
          return (await pool.run(task, {
            milliseconds,
            first: Math.max(milliseconds, FIRST_TIME),
            signal,
            stop,
          })) as CompiledGrammar;
        } catch (error) {
          const isOver = error instanceof EngineError && TOO_MUCH.includes(error.code);
          if (!isOver || milliseconds === STAGES.at(-1)!.milliseconds) throw refusal(error);
        }
      }
      throw new Error('there is no stage');
    },
  };
}

/** A stage with more time and memory may get further. */
const TOO_MUCH: readonly ErrorCode[] = ['timed_out', 'out_of_memory'];

/** Errors of a thread that was ended in the middle say nothing of the grammar. */
function refusal(error: unknown): unknown {
  if (!(error instanceof EngineError) || error.param !== null) return error;
  const { milliseconds, memory } = STAGES.at(-1)!;
  const most = { timed_out: `${milliseconds / 1000} s`, out_of_memory: `${memory} MiB` }[
    error.code as string
  ];
  if (most === undefined) return error;
  const code = error.code === 'timed_out' ? 'timed_out' : 'bad_request';
  const message = `the grammar takes more than ${most} to compile: make it smaller`;
  return new EngineError(code, message, { param: 'constraint', cause: error });
}

function renderRefusal(error: unknown): unknown {
  if (!(error instanceof EngineError) || error.param !== null) return error;
  const most = {
    timed_out: `${RENDER_LIMITS.milliseconds / 1000} s`,
    out_of_memory: `${RENDER_MEMORY} MiB`,
  }[error.code as string];
  if (most === undefined) return error;
  const message = `the chat template takes more than ${most} to render these messages: send fewer or shorter ones`;
  return new EngineError('bad_request', message, { param: 'messages', cause: error });
}

function stopsRefusal(error: unknown): unknown {
  if (!(error instanceof EngineError) || error.code !== 'timed_out') return error;
  const message = `the stop expressions take more than ${STOPS_TIME / 1000} s to compile: make them shorter`;
  return new EngineError('bad_request', message, { param: 'stopRegex', cause: error });
}
