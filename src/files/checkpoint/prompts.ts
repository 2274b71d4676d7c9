// Prompts of sentence-transformers: what stands before texts, by the names of what their vectors are for.

import { isRecord, readJson, type Folder } from '../source.ts';

const SETTINGS = 'config_sentence_transformers.json';
/** Limit on the prompts that are read. */
const MOST_PROMPTS = 256;

/** Entries that are not texts are left out. */
export async function readPrompts(folder: Folder, names: readonly string[]): Promise<Record<string, string>> {
  if (!names.includes(SETTINGS)) return {};
  const { prompts } = await readJson(folder, SETTINGS);
  const entries = isRecord(prompts) ? Object.entries(prompts).slice(0, MOST_PROMPTS) : [];
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
