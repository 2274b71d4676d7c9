// Notes on prompt syntax of other programs that this engine reads as plain words.

import { parseEmphasis } from '../blocks/prompt.ts';

/** Largest weight of a word with which CLIP models still produce usable images. */
const MOST_WEIGHT = 2;

const FOREIGN: readonly [RegExp, string][] = [
  [
    /<(?:lora|lyco|hypernet):[^<>]*>/gi,
    'the model was opened without adapters, and prompts name those that it was opened with',
  ],
  [/\bembedding:[\w.-]+/gi, 'the model was opened without a textual inversion of that name'],
  [/\[[^[\]:]*:[^[\]:]*:\s*[\d.]+\s*\]/g, 'a prompt does not change between steps here'],
  [/\[[^[\]|]*\|[^[\]]*\]/g, 'a prompt does not change between steps here'],
  // The word comes first: looking behind every space would take quadratic time.
  [/AND(?<=\S\s+AND)(?=\s+\S)/g, 'prompts are not drawn together here'],
];
/** Weighted words like (word:1.2), but not times of day like (at 12:30). */
const WEIGHTED = /\([^()]*:\s*(?:\d?\.\d+|\d)\s*\)/g;

/** `weighs`: whether the model reads emphasis; `words`: those that have embeddings of their own. */
export function promptNotes(prompt: string, weighs: boolean, words: readonly string[] = []): string[] {
  const patterns = weighs ? FOREIGN : [...FOREIGN, [WEIGHTED, 'this model reads no emphasis'] as const];
  const isShouted = !/\p{Ll}/u.test(prompt);
  const notes = patterns.flatMap(([pattern, why]) => {
    const found = isShouted ? [] : (prompt.match(pattern) ?? []).filter((text) => !isWord(text, words));
    return found.length > 0
      ? [`${[...new Set(found)].join(', ')} in the prompt is read as words: ${why}`]
      : [];
  });
  const heavy = weighs
    ? parseEmphasis(prompt)
        .flat()
        .find(({ weight }) => Math.abs(weight) > MOST_WEIGHT)
    : undefined;
  if (!heavy) return notes;
  const weight = Number(heavy.weight.toFixed(2));
  return [
    ...notes,
    `"${heavy.text.trim()}" has the weight ${weight}: beyond ${MOST_WEIGHT} images usually fall apart`,
  ];
}

/** Whether a text names a word that has embeddings of its own, as ComfyUI writes it. */
function isWord(text: string, words: readonly string[]): boolean {
  const [, name] = /^embedding:(.*)$/i.exec(text) ?? [];
  return name !== undefined && words.some((word) => name.toLowerCase().startsWith(word.toLowerCase()));
}
