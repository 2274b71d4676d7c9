// What would hold up every running stream is done off the engine's thread: tokenizing a long text, compiling a grammar or large stop
// expressions. Texts have a thread of their own, which opens the same checkpoint's tokenizer at the first long one, and so have stop
// expressions. Grammars have one for each length of
// time: what is not compiled within the first one's goes on to the next, so that quick ones never wait behind long ones. Each
// thread starts at its first use.

import { openCheckpoint } from '../../files/checkpoint/checkpoint.ts';
import { EngineError } from '../../files/error.ts';
import type { Folder } from '../../files/source.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { Port } from '../remote.ts';
import { withResolvers, type PromiseWithResolvers } from '../resolvers.ts';
import { fromWire, toWire, type WireError } from '../wire-error.ts';
import type { GrammarSource } from './grammar/front-end.ts';
import { LONGEST } from './grammar/dfa.ts';
import { compileProgram, type CompileProgram } from './grammar/grammars.ts';
import type { Program } from './grammar/program.ts';
import { stopTables, type StopTable } from './stops/stop-table.ts';

/** UTF-16 units from which a text counts as long: some 20 ms of tokenizing. */
export const LONG_TEXT = 20_000;

/** Milliseconds that a grammar may take, thread by thread. What the shorter ones waste is a fraction of the longest. */
export const SLICES: readonly number[] = [200, 1000, LONGEST];

export interface LongTextEncoder {
  encode(text: string, addSpecialTokens: boolean): Promise<number[]>;
  /** See stopTables. */
  stops(patterns: readonly string[]): Promise<StopTable[]>;
}

export interface TextThread extends LongTextEncoder {
  /** See compileProgram. Throws cancelled where `signal` aborts. */
  compile: CompileProgram;
}

type Task =
  | { kind: 'encode'; path: string; text: string; addSpecialTokens: boolean }
  | { kind: 'stops'; patterns: readonly string[] }
  | {
      kind: 'compile';
      constraint: GrammarSource;
      available: Uint8Array;
      milliseconds: number;
      /** On memory that both sides see: see Limits. */
      stop: Int32Array;
    };

type Ask = Task & { id: number };

interface Answer {
  id: number;
  result: unknown;
  error: WireError | null;
}

/** The far side: one tokenizer a checkpoint, kept. */
export function serveTokenizer(
  port: Port,
  openFolder: (path: string) => Promise<Folder>,
  architectures: readonly string[],
): void {
  const tokenizers = new Map<string, Promise<Tokenizer>>();
  const open = async (path: string): Promise<Tokenizer> => {
    const checkpoint = await openCheckpoint(await openFolder(path), { architectures });
    try {
      return await checkpoint.tokenizer();
    } finally {
      await checkpoint.close();
    }
  };
  const run = async (task: Task): Promise<number[] | Program | StopTable[]> => {
    if (task.kind === 'stops') return stopTables(task.patterns);
    if (task.kind === 'compile') return compileProgram(task.constraint, task.available, task);
    const { path, text, addSpecialTokens } = task;
    let tokenizer = tokenizers.get(path);
    if (!tokenizer) tokenizers.set(path, (tokenizer = open(path)));
    return (await tokenizer).encode(text, { addSpecialTokens });
  };
  const answer = async (ask: Ask): Promise<void> => {
    const reply: Answer = { id: ask.id, result: null, error: null };
    try {
      reply.result = await run(ask);
    } catch (error) {
      reply.error = toWire(error);
    }
    port.post(reply);
  };
  port.onMessage((message) => void answer(message as Ask));
}

/** The near side. `connect` starts a thread. */
export function connectTokenizer(path: string, connect: () => Port): TextThread {
  const texts = createThread(connect);
  const stops = createThread(connect);
  const grammars = SLICES.map((milliseconds) => ({ milliseconds, thread: createThread(connect) }));
  return {
    encode: (text, addSpecialTokens) =>
      texts.ask({ kind: 'encode', path, text, addSpecialTokens }) as Promise<number[]>,
    stops: (patterns) => stops.ask({ kind: 'stops', patterns }) as Promise<StopTable[]>,
    async compile(constraint, available, signal) {
      const stop = new Int32Array(new SharedArrayBuffer(4));
      signal.addEventListener('abort', () => Atomics.store(stop, 0, 1), { once: true });
      for (const { milliseconds, thread } of grammars) {
        if (signal.aborted) break;
        const task = { kind: 'compile', constraint, available, milliseconds, stop } as const;
        try {
          return (await thread.ask(task)) as Program;
        } catch (error) {
          const isLate = error instanceof EngineError && error.code === 'timed_out';
          if (!isLate || (milliseconds === SLICES.at(-1) && !signal.aborted)) throw error;
        }
      }
      throw new EngineError('cancelled', 'nobody waits for the grammar any more');
    },
  };
}

/** A thread that answers one task after the other. */
function createThread(connect: () => Port): { ask(task: Task): Promise<unknown> } {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let port: Port | null = null;
  let nextId = 0;
  const start = (): Port => {
    const started = connect();
    started.onMessage((message) => {
      const { id, result, error } = message as Answer;
      const asked = waiting.get(id);
      waiting.delete(id);
      if (error) asked?.reject(fromWire(error));
      else asked?.resolve(result);
    });
    started.onLost((error) => {
      port = null;
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    });
    return started;
  };
  return {
    ask(task) {
      port ??= start();
      const id = nextId++;
      const asked = withResolvers<unknown>();
      waiting.set(id, asked);
      port.post({ ...task, id } satisfies Ask);
      return asked.promise;
    },
  };
}
