// Prompts of sentence-transformers: what stands before texts, by the names of what their vectors are for.

import { badCheckpoint } from '../error.ts';
import { isRecord, readJson, type Folder } from '../source.ts';

const SETTINGS = 'config_sentence_transformers.json';
/** Limit on the prompts that are read. */
const MOST_PROMPTS = 256;

export interface Prompts {
  prompts: Readonly<Record<string, string>>;
  /** The name whose prompt stands before texts that name none; null: nothing does. */
  usualPrompt: string | null;
}

export const NO_PROMPTS: Prompts = { prompts: {}, usualPrompt: null };

/** Entries that are not texts are left out. Throws bad_checkpoint for a usual prompt that is not there. */
export async function readPrompts(folder: Folder, names: readonly string[]): Promise<Prompts> {
  if (!names.includes(SETTINGS)) return NO_PROMPTS;
  const { prompts: stated, default_prompt_name: usual } = await readJson(folder, SETTINGS);
  const prompts = textsOf(stated);
  if (usual == null) return { prompts, usualPrompt: null };
  if (typeof usual === 'string' && Object.hasOwn(prompts, usual)) return { prompts, usualPrompt: usual };
  throw badCheckpoint(
    `${SETTINGS} in ${folder.path}: default_prompt_name is ${JSON.stringify(usual)}, which prompts does not have: take the file that the model was published with`,
    'default_prompt_name',
  );
}

function textsOf(prompts: unknown): Record<string, string> {
  const entries = isRecord(prompts) ? Object.entries(prompts).slice(0, MOST_PROMPTS) : [];
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
