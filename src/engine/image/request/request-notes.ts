// Notes on a request before it is drawn: settings without effect, and syntax of other programs in its prompts.

import { type Prose, field, say } from '../../../files/message.ts';
import { parseEmphasis } from '../blocks/prompt.ts';
import { fewStepsNote } from './few-steps.ts';
import { isEmpty } from '../stages/mask-crop.ts';
import type { FamilyModel } from '../blocks/family.ts';
import type { Resolved, ResolveContext } from '../stages/resolved.ts';
import type { StepPlanner } from '../stages/step-planner.ts';

/** The part of an opened pipeline that notes are about. */
interface OpenedModel {
  planner: Pick<StepPlanner, 'leavesOut' | 'unknownSettings'>;
  context: Pick<ResolveContext, 'pipeline' | 'words'>;
  runner: Pick<FamilyModel, 'notesOn' | 'guides' | 'ignoresGuidance'>;
}

/** Returns the notes on a request. */
export function notesOn(resolved: Resolved, parts: OpenedModel): Prose[] {
  const {
    request,
    event: { values },
  } = resolved;
  const { planner, context } = parts;
  const weighs = context.pipeline.family.readsEmphasis;
  const left = planner.leavesOut(values.scheduler);
  const notes: Prose[] = [request.prompt, values.negativePrompt].flatMap((text) =>
    promptNotes(text, weighs, context.words),
  );
  const few = fewStepsNote(resolved);
  if (left !== null) notes.unshift(left);
  if (few !== null) notes.unshift(few);
  if (planner.unknownSettings !== null) notes.unshift(planner.unknownSettings);
  if (request.mask && isEmpty(request.mask))
    notes.push('the mask is black throughout, and only what is white is drawn anew');
  return [...new Set([...notes, ...ineffective(resolved, parts)])];
}

/** Returns notes on fields that were given and have no effect. */
function ineffective(
  { event: { values, sources }, call }: Resolved,
  { runner }: Pick<OpenedModel, 'runner'>,
): Prose[] {
  const own = runner.notesOn?.({ values, sources, call }) ?? [];
  if (runner.guides(values.guidance, call)) return own;
  const isAsked = (key: keyof typeof values): boolean => ['request', 'kwargs'].includes(sources[key]);
  const unguided =
    runner.ignoresGuidance === true && isAsked('guidance') && values.guidance > 1
      ? [say`${field('guidance')} changes nothing: this model is distilled to a few steps without guidance`]
      : [];
  const asked = [
    ...(isAsked('negativePrompt') && values.negativePrompt !== '' ? ['negativePrompt'] : []),
    ...(isAsked('guidanceRescale') && values.guidanceRescale > 0 ? ['guidanceRescale'] : []),
  ];
  const why = say`at ${field('guidance')} ${values.guidance} this model makes no pass without the prompt`;
  return [...own, ...unguided, ...asked.map((name) => say`${field(name)} changes nothing: ${why}`)];
}

/** Largest weight of a word with which CLIP models still produce usable images. */
const MOST_WEIGHT = 2;

const FOREIGN: readonly [RegExp, string][] = [
  [
    /<(?:lora|lyco|hypernet):[^<>]*>/gi,
    'the model was opened without LoRAs, and prompts name those that it was opened with',
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
