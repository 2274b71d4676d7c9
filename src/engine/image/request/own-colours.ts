// colours.json beside model_index.json of a model made for this engine: the words for colours, and words whose colour prompts do not
// change, each with the colours that it has. A note names other colours in a prompt, whose words are all known.

import { badCheckpoint } from '../../../files/error.ts';
import { isRecord, readJson, type Folder } from '../../../files/source.ts';
import { plainText } from '../blocks/prompt.ts';

export interface OwnColours {
  colours: ReadonlySet<string>;
  /** Words whose colour prompts do not change, with the colours that they have. */
  fixed: ReadonlyMap<string, readonly string[]>;
}

const COLOURS = 'colours.json';

/** Reads the file; null: the model has none. Throws bad_checkpoint for one of another form. */
export async function ownColours(folder: Folder): Promise<OwnColours | null> {
  if (!(await folder.names()).includes(COLOURS)) return null;
  const { colours, fixed } = await readJson(folder, COLOURS);
  const isWords = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((word) => typeof word === 'string' && word !== '');
  if (isWords(colours) && isRecord(fixed) && Object.values(fixed).every(isWords))
    return {
      colours: new Set(colours),
      fixed: new Map(Object.entries(fixed) as [string, string[]][]),
    };
  throw badCheckpoint(
    `${COLOURS} of ${folder.path} is not of the form {"colours": ["red"], "fixed": {"sky": ["blue"]}}: correct it there`,
    COLOURS,
  );
}

const WORD = /\p{L}[\p{L}\p{M}'-]*|[^\s\p{L}]/gu;

/**
 * Returns notes on colours in a prompt that stand before a word of another colour. Between them may be further colours, and further words
 * of fixed colour, as in "red and white mountain peaks".
 */
export function colourNotes(prompt: string, { colours, fixed }: OwnColours): string[] {
  const words = plainText(prompt).toLowerCase().match(WORD) ?? [];
  const isColour = (at: number): boolean => colours.has(words[at] ?? '');
  const notes: string[] = [];
  for (let at = 0; at < words.length; at++) {
    if (!isColour(at)) continue;
    let first = at + 1;
    while (isColour(first) || (words[first] === 'and' && isColour(first + 1))) first++;
    let end = first;
    while (fixed.has(words[end] ?? '')) end++;
    const word = words[end - 1]!;
    const own = end > first ? fixed.get(word)! : null;
    const others = words.slice(at, first).filter((one) => colours.has(one) && !own?.includes(one));
    if (own && others.length > 0)
      notes.push(
        `${others.join(' and ')} in "${words.slice(at, end).join(' ')}" may change nothing, or something else: this model knows ${word} in ${own.length === 0 ? 'colours that no word changes' : own.join(' and ')}`,
      );
    at = end - 1;
  }
  return [...new Set(notes)];
}
