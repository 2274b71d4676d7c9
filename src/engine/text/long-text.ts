// Tokenizing off the engine's thread: a long text would hold up every running stream. A thread of its own opens the same
// checkpoint's tokenizer at the first long text.

import { openCheckpoint } from '../../files/checkpoint.ts';
import type { Folder } from '../../files/source.ts';
import type { Tokenizer } from '../../files/tokenizer.ts';
import type { Port } from '../remote.ts';
import { fromWire, toWire, type WireError } from '../wire-error.ts';

/** UTF-16 units from which a text counts as long: some 20 ms of tokenizing. */
export const LONG_TEXT = 20_000;

export interface LongTextEncoder {
  encode(text: string, addSpecialTokens: boolean): Promise<number[]>;
}

interface Ask {
  id: number;
  path: string;
  text: string;
  addSpecialTokens: boolean;
}

interface Answer {
  id: number;
  ids: number[];
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
  const answer = async ({ id, path, text, addSpecialTokens }: Ask): Promise<void> => {
    let tokenizer = tokenizers.get(path);
    if (!tokenizer) tokenizers.set(path, (tokenizer = open(path)));
    const reply: Answer = { id, ids: [], error: null };
    try {
      reply.ids = (await tokenizer).encode(text, { addSpecialTokens });
    } catch (error) {
      reply.error = toWire(error);
    }
    port.post(reply);
  };
  port.onMessage((message) => void answer(message as Ask));
}

/** The near side. `connect` starts the far one, at the first use. */
export function connectTokenizer(path: string, connect: () => Port): LongTextEncoder {
  const waiting = new Map<number, { resolve(ids: number[]): void; reject(error: Error): void }>();
  let port: Port | null = null;
  let nextId = 0;
  const start = (): Port => {
    const started = connect();
    started.onMessage((message) => {
      const { id, ids, error } = message as Answer;
      const asked = waiting.get(id);
      waiting.delete(id);
      if (error) asked?.reject(fromWire(error));
      else asked?.resolve(ids);
    });
    started.onLost((error) => {
      port = null;
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    });
    return started;
  };
  return {
    encode: (text, addSpecialTokens) =>
      new Promise((resolve, reject) => {
        port ??= start();
        const id = nextId++;
        waiting.set(id, { resolve, reject });
        port.post({ id, path, text, addSpecialTokens } satisfies Ask);
      }),
  };
}
