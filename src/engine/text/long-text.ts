// What would hold up every running stream is done off the engine's thread: tokenizing a long text, compiling a grammar. One thread
// of its own does both; it opens the same checkpoint's tokenizer at the first long text.

import { openCheckpoint } from '../../files/checkpoint.ts';
import type { Folder } from '../../files/source.ts';
import type { Tokenizer } from '../../files/tokenizer.ts';
import type { Port } from '../remote.ts';
import { fromWire, toWire, type WireError } from '../wire-error.ts';
import type { GrammarSource } from './grammar/front-end.ts';
import { compileProgram } from './grammar/grammars.ts';
import type { Program } from './grammar/program.ts';

/** UTF-16 units from which a text counts as long: some 20 ms of tokenizing. */
export const LONG_TEXT = 20_000;

export interface LongTextEncoder {
  encode(text: string, addSpecialTokens: boolean): Promise<number[]>;
}

export interface TextThread extends LongTextEncoder {
  /** See compileProgram. */
  compile(constraint: GrammarSource, available: Uint8Array): Promise<Program>;
}

type Task =
  | { kind: 'encode'; path: string; text: string; addSpecialTokens: boolean }
  | { kind: 'compile'; constraint: GrammarSource; available: Uint8Array };

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
  const run = async (task: Task): Promise<number[] | Program> => {
    if (task.kind === 'compile') return compileProgram(task.constraint, task.available);
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

/** The near side. `connect` starts the far one, at the first use. */
export function connectTokenizer(path: string, connect: () => Port): TextThread {
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
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
  const ask = (task: Task): Promise<unknown> =>
    new Promise((resolve, reject) => {
      port ??= start();
      const id = nextId++;
      waiting.set(id, { resolve, reject });
      port.post({ ...task, id } satisfies Ask);
    });
  return {
    encode: (text, addSpecialTokens) =>
      ask({ kind: 'encode', path, text, addSpecialTokens }) as Promise<number[]>,
    compile: (constraint, available) => ask({ kind: 'compile', constraint, available }) as Promise<Program>,
  };
}
