// Files beside model_index.json of a model made for this engine: svc.json with defaults (width, height, num_frames, fps,
// num_inference_steps, guidance_scale, negative_prompt), words.txt with every word of its training prompts, one per line, and colours.json.

import { badCheckpoint } from '../../../files/error.ts';
import { readJson, readText, type Folder } from '../../../files/source.ts';
import { ownColours, type OwnColours } from './own-colours.ts';
import { plainText } from '../blocks/prompt.ts';
import { fpsProblem, framesProblem, guidanceProblem, sideProblem, stepsProblem } from './request-check.ts';
import type { ModelDefaults, ResolveContext } from '../stages/resolved.ts';

export interface OwnSettings {
  defaults: Partial<ModelDefaults>;
  /** Words of the training prompts; null: the model has no list. */
  words: ReadonlySet<string> | null;
  /** Words whose colour prompts do not change; null: the model has no list. */
  colours: OwnColours | null;
}

const SETTINGS = 'svc.json';
const WORDS = 'words.txt';

const NUMBERS = {
  width: 'width',
  height: 'height',
  frames: 'num_frames',
  fps: 'fps',
  steps: 'num_inference_steps',
  guidance: 'guidance_scale',
} as const;
const NEGATIVE = 'negative_prompt';
const KEYS: readonly string[] = [...Object.values(NUMBERS), NEGATIVE];

/** What sizes and numbers of frames of a model are multiples of. */
type Multiples = Pick<ResolveContext, 'sizeMultiple' | 'framesPerLatent'>;

/** Returns the number of frames that svc.json states, unchecked; undefined: it states none. */
export async function ownFrames(folder: Folder): Promise<unknown> {
  const names = await folder.names();
  return names.includes(SETTINGS) ? (await readJson(folder, SETTINGS))[NUMBERS.frames] : undefined;
}

/** Reads the files. Throws bad_checkpoint for an unknown key and for an invalid value. */
export async function ownSettings(folder: Folder, takes: Multiples): Promise<OwnSettings> {
  const names = await folder.names();
  const json = names.includes(SETTINGS) ? await readJson(folder, SETTINGS) : {};
  const refuse = (key: string, problem: string): never => {
    const message = `${key} in ${SETTINGS} of ${folder.path} ${problem}: correct it there`;
    throw badCheckpoint(message, SETTINGS);
  };
  const unknown = Object.keys(json).find((key) => !KEYS.includes(key));
  if (unknown !== undefined)
    refuse(JSON.stringify(unknown), `is nothing that a model says of itself; it says ${KEYS.join(', ')}`);
  const defaults: Partial<ModelDefaults> = {};
  for (const [field, key] of Object.entries(NUMBERS) as [keyof typeof NUMBERS, string][]) {
    const value = json[key];
    if (value === undefined) continue;
    const problem =
      typeof value === 'number'
        ? problemOf(field, value, takes)
        : `is ${JSON.stringify(value)}, which is not a number`;
    if (problem !== null) refuse(key, problem);
    defaults[field] = value as number;
  }
  const { [NEGATIVE]: negative } = json;
  if (typeof negative === 'string') defaults.negativePrompt = negative;
  else if (negative !== undefined) refuse(NEGATIVE, `is ${JSON.stringify(negative)}, which is not text`);
  const words = names.includes(WORDS) ? (await readText(folder, WORDS)).toLowerCase().split(/\s+/) : null;
  const known = words && new Set(words.filter((word) => word !== ''));
  return { defaults, words: known, colours: await ownColours(folder) };
}

function problemOf(
  field: keyof typeof NUMBERS,
  value: number,
  { sizeMultiple, framesPerLatent }: Multiples,
): string | null {
  switch (field) {
    case 'steps':
      return stepsProblem(value);
    case 'guidance':
      return guidanceProblem(value);
    case 'frames':
      return framesProblem(value, framesPerLatent);
    case 'fps':
      return fpsProblem(value, framesPerLatent !== null);
    default:
      return sideProblem(value, sizeMultiple);
  }
}

/**
 * Returns the words of prompts that are not in the list, in order, each once; `known` maps plurals among them to their singulars in
 * the list.
 */
export function unknownWords(
  prompts: readonly string[],
  known: ReadonlySet<string>,
): { words: string[]; known?: Record<string, string> } {
  const all = prompts.flatMap(
    (prompt) =>
      plainText(prompt)
        .toLowerCase()
        .match(/\p{L}[\p{L}\p{M}'-]*/gu) ?? [],
  );
  const words = [...new Set(all)].filter((word) => !known.has(word));
  const singulars = words.flatMap((word) => {
    const one = PLURALS.map(([ending, other]) => word.replace(ending, other)).find((other) =>
      known.has(other),
    );
    return one === undefined ? [] : [[word, one]];
  });
  return { words, ...(singulars.length > 0 && { known: Object.fromEntries(singulars) }) };
}

const PLURALS: readonly [RegExp, string][] = [
  [/s$/, ''],
  [/es$/, ''],
  [/ies$/, 'y'],
];
