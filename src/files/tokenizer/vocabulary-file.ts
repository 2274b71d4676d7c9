// vocab.json: the ids of tokens that a model of SentencePiece cuts texts into, where these are others than the model's.

import { badCheckpoint } from '../error.ts';

const FILE = 'vocab.json';
const MOST_TOKENS = 2 ** 22;

export interface VocabularyFile {
  /** By their ids. */
  tokens: readonly string[];
  /** Throws bad_checkpoint for a token that the file lacks. */
  idOf(text: string): number;
}

/** `of`: whose vocabulary it is, for messages. Throws bad_checkpoint unless the file has each id once. */
export function tokensById(vocabulary: unknown, of: string): VocabularyFile {
  const damaged = (reason: string): Error =>
    badCheckpoint(`${FILE} is not a vocabulary of ${of}: ${reason}; fetch the file again`, FILE);
  if (typeof vocabulary !== 'object' || vocabulary === null) throw damaged('it is no object');
  const entries = Object.entries(vocabulary as Record<string, unknown>);
  const tokens = new Array<string>(Math.min(entries.length, MOST_TOKENS));
  for (const [text, id] of entries) {
    if (
      typeof id !== 'number' ||
      !Number.isInteger(id) ||
      id < 0 ||
      id >= entries.length ||
      tokens[id] !== undefined
    )
      throw damaged(`the id of ${JSON.stringify(text)} is ${JSON.stringify(id)}`);
    tokens[id] = text;
  }
  const ids = new Map(tokens.map((text, id) => [text, id]));
  const idOf = (text: string): number => {
    const id = ids.get(text);
    if (id === undefined) throw damaged(`it lacks the token ${JSON.stringify(text)}`);
    return id;
  };
  return { tokens, idOf };
}
