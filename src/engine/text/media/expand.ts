// Puts media into a rendered prompt. A run of tokens that take rows is tokenized as one token and repeated afterwards: special tokens divide
// a text, so the tokens around are the same, and the text stays short.

import { badRequest, type EngineError } from '../../../files/error.ts';
import type { MediaReaders } from '../../../models/media.ts';
import { PromptMedia, type PlacedRun } from '../towers/prompt-media.ts';
import { rowsOf, runOf, type Medium } from '../towers/medium.ts';

export interface ExpandedText {
  /** The text with what each medium's processor writes, and one token for each run. */
  text: string;
  /** The runs in order. */
  runs: { medium: Medium; token: string; rows: number }[];
}

/**
 * `media`: in the order in which the conversation shows them; `textOf`: text of a token by its id. Throws bad_request if the text has another number
 * of placeholders.
 */
export function expandText(
  text: string,
  media: readonly Medium[],
  readers: MediaReaders,
  textOf: (id: number) => string,
): ExpandedText {
  const queues = queuesIn(text, media, readers);
  const runs: ExpandedText['runs'] = [];
  const longestFirst = [...queues.keys()].toSorted((a, b) => b.length - a.length);
  const pattern = new RegExp(
    longestFirst.map((one) => one.replace(/[^\w\s]/g, String.raw`\$&`)).join('|'),
    'g',
  );
  const expanded = text.replace(pattern, (placeholder) => {
    const medium = queues.get(placeholder)!.shift()!;
    const { parts, token } = medium.prepared;
    return parts
      .map((part): string => {
        if (typeof part === 'string') return part;
        const run = runOf(part, token);
        const shown = typeof run.token === 'number' ? textOf(run.token) : run.token;
        runs.push({ medium, token: shown, rows: run.rows });
        return shown;
      })
      .join('');
  });
  return { text: expanded, runs };
}

/** The media by the placeholders at which they stand in the text. */
function queuesIn(text: string, media: readonly Medium[], readers: MediaReaders): Map<string, Medium[]> {
  const queues = new Map<string, Medium[]>();
  for (const medium of media) {
    const { placeholder } = readers[medium.kind]!;
    queues.set(placeholder, [...(queues.get(placeholder) ?? []), medium]);
  }
  const count = (placeholder: string): number => text.split(placeholder).length - 1;
  const shown = [...queues].map(([placeholder, queue]) => {
    const { otherPlaceholders = [] } = readers[queue[0]!.kind]!;
    const mostFirst = [placeholder, ...otherPlaceholders].toSorted((a, b) => count(b) - count(a));
    const found = mostFirst.find((one) => count(one) === queue.length);
    if (found === undefined) throw miscounted(queue, count(mostFirst[0]!), mostFirst[0]!);
    return [found, queue] as const;
  });
  return new Map(shown);
}

function miscounted(queue: readonly Medium[], found: number, placeholder: string): EngineError {
  const { kind } = queue[0]!;
  const count = queue.length;
  const message =
    found > count
      ? `the prompt has ${placeholder} ${found} times for ${count} of type ${kind}: leave it out of texts, the model's chat template writes it`
      : `the model's chat template shows ${found} of ${count} parts of type ${kind}: send them in messages of the user`;
  return badRequest(message, 'messages');
}

/** Repeats the token of each run. Throws bad_request if the tokens that take rows are not those of the runs. */
export function expandIds(
  ids: readonly number[],
  runs: ExpandedText['runs'],
  tokenToId: (text: string) => number | null,
): { ids: number[]; runs: PlacedRun[] } {
  const tokens = new Map(runs.map(({ token }) => [token, tokenToId(token)]));
  const taking = new Set(tokens.values());
  const expanded: number[] = [];
  const placed: PlacedRun[] = [];
  const rowsBefore = new Map<Medium, number>();
  let at = 0;
  for (const id of ids) {
    if (!taking.has(id)) {
      expanded.push(id);
      continue;
    }
    const run = runs[at++];
    if (run === undefined || tokens.get(run.token) !== id) throw strayToken(ids, runs);
    const { medium, rows } = run;
    const row = rowsBefore.get(medium) ?? 0;
    // A medium that is shown twice begins anew at its first row.
    const first = row === rowsOf(medium) ? 0 : row;
    placed.push({ medium, row: first, first: expanded.length, end: expanded.length + rows });
    rowsBefore.set(medium, first + rows);
    for (let i = 0; i < rows; i++) expanded.push(id);
  }
  if (at !== runs.length) throw strayToken(ids, runs);
  return { ids: expanded, runs: placed };
}

function strayToken(ids: readonly number[], runs: ExpandedText['runs']): EngineError {
  const { token } = runs[0]!;
  return badRequest(
    `the ${ids.length} tokens of the prompt do not show ${token} once for each of ${runs.length} runs of media: leave it out of texts`,
    'messages',
  );
}

/** The media of a prompt; null: it has none. Throws bad_request for several whose rows are to be added to the same tokens. */
export function placeMedia(
  tokens: number,
  runs: readonly PlacedRun[],
  model: ConstructorParameters<typeof PromptMedia>[2],
): PromptMedia | null {
  const [run] = runs;
  if (run === undefined) return null;
  if (!model.added) return new PromptMedia(tokens, runs, model);
  if (runs.length > 1)
    throw badRequest(`the model hears one sound while it writes, not ${runs.length}: send one`, 'messages');
  return new PromptMedia(tokens, [{ ...run, first: 0, end: rowsOf(run.medium) }], model);
}
