// Token ids in a tokenizer's files. A repeated id would make two tokens indistinguishable, so such files are refused.

import { badCheckpoint, badRequest, type EngineError } from '../error.ts';

/** The part of a tokenizer that shows which ids it may give. */
interface TokenIds {
  /** Highest id of the tokens that were not added after training; -1 where there are none. */
  highestId: number;
  encode(text: string): number[];
}

/** Ids of one tokenizer; the largest published vocabularies have about 300,000. */
const MOST_IDS = 2 ** 22;

interface Token {
  id: number;
  content: string;
}

/** The tokens of a vocabulary by their ids. Throws bad_checkpoint for an id that is beyond bounds, or that two different tokens of a file have. */
export function tokensById(
  vocabulary: ReadonlyMap<string, number>,
  added: readonly Token[],
  file: string,
): (string | undefined)[] {
  const tokens: (string | undefined)[] = [];
  for (const [content, id] of vocabulary) {
    if (!isId(id) || (tokens[id] !== undefined && tokens[id] !== content))
      throw unfit({ id, content }, 'token', tokens, file);
    tokens[id] = content;
  }
  const known = new Map<number, string>();
  for (const token of added) {
    const other = known.get(token.id) ?? tokens[token.id];
    if (!isId(token.id) || (other !== undefined && other !== token.content))
      throw unfit(token, 'added token', { [token.id]: other }, file);
    known.set(token.id, token.content);
  }
  return tokens;
}

const isId = (id: number): boolean => Number.isInteger(id) && id >= 0 && id < MOST_IDS;

function unfit(
  { id, content }: Token,
  kind: string,
  tokens: Readonly<Record<number, string | undefined>>,
  file: string,
): EngineError {
  const problem = isId(id)
    ? `which ${JSON.stringify(tokens[id])} has too`
    : `an integer from 0 to ${MOST_IDS - 1} is needed`;
  return wrong(file, `the ${kind} ${JSON.stringify(content)} has the id ${id}, ${problem}`);
}

/**
 * Throws bad_checkpoint where tokens that were not added afterwards, or those put around each text, lie beyond the rows of a model's
 * embedding.
 */
export function checkVocabularySize(tokenizer: TokenIds, rows: number): void {
  const beyond = tokenizer.encode('').find((id) => id >= rows);
  if (tokenizer.highestId < rows && beyond === undefined) return;
  const problem =
    beyond === undefined
      ? `the tokenizer's vocabulary has the id ${tokenizer.highestId}`
      : `tokenizer.json puts the id ${beyond} around each text (post_processor)`;
  throw badCheckpoint(
    `${problem}, and vocab_size in config.json is ${rows}: the tokenizer is another model's, or one of the two files is damaged; take both from where the model was published`,
    'vocab_size',
  );
}

/** Throws bad_request for a token of a text that has no row in the model's embedding. `param`: the text's place in the request. */
export function checkRows(ids: readonly number[], rows: number, param: string): void {
  const beyond = ids.find((id) => id >= rows);
  if (beyond === undefined) return;
  throw badRequest(
    `${param} has token ${beyond}, and the model has ${rows}: the token was added to the tokenizer and not to the model, leave its text out`,
    param,
  );
}

function wrong(file: string, problem: string): EngineError {
  return badCheckpoint(`${file}: ${problem}: put the published file in its place`, file);
}
